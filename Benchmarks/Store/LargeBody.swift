internal import Store

/// Measures storing, reading and verifying a body that is larger than the memory.
struct LargeBody {
    private let folder: StoreFolder
    private static let href = "https://docs.example.org/film"

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    /// Stores a file. It is moved into the store, so it should be in the same file system.
    func put(file: String) throws(StoreError) {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.href, start: [Self.href], now: 1)
        var byteCount = 0
        let seconds = try Meter.time { () throws(StoreError) in
            let body = try NewBody(.file(path: file), form: "opaque", links: [], in: folder)
            byteCount = body.byteCount
            try writer.add(
                [
                    NewResponse(
                        href: Self.href, referrer: nil, status: 200, role: 1, fields: "", fetched: 1,
                        body: .new(body))
                ], to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        Meter.print("put", [("bytes", Double(byteCount)), ("seconds", seconds)])
    }

    func get() throws(StoreError) {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: Self.href)?.body, let content = try reader.content(of: body)
        else {
            preconditionFailure("\(Self.href) is not there")
        }
        var byteCount = 0
        let seconds = try Meter.time { () throws(StoreError) in
            try content.eachPiece { byteCount += $0.count }
        }
        precondition(byteCount == body.byteCount)
        Meter.print("get", [("bytes", Double(byteCount)), ("seconds", seconds)])
        let inspection = try Meter.time { () throws(StoreError) in
            let findings = try reader.inspect()
            precondition(findings.isSound)
        }
        Meter.print("inspect", [("bytes", Double(byteCount)), ("seconds", inspection)])
    }
}
