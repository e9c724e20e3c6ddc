internal import Web

/// Where a body goes while it comes: into memory, from a size on into a file, or behind the beginning that is held.
struct BodySink {
    /// Of the whole body, with what was held of it before.
    private(set) var byteCount = 0
    private var bytes: [UInt8] = []
    private var spool: Spool?
    /// How large it was when somebody looked for room.
    private var lookedAt = 0

    private static let stride = 1024 * 1024

    init() {}

    init(continuing held: PartialBody) throws(FetchFailure) {
        spool = try Spool(held.path, after: held.byteCount)
        byteCount = held.byteCount
    }

    mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// - Parameter whole: how large the body is going to be, where that is known.
    mutating func take(
        _ more: UnsafeRawBufferPointer, of whole: Int?, _ options: FetchOptions
    ) throws(FetchFailure) {
        byteCount += more.count
        if let spool {
            try spool.write(more)
        } else if byteCount <= options.spoolThreshold {
            bytes.append(contentsOf: more)
        } else {
            try moveToFile(in: options.spoolFolder).write(more)
        }
        guard let spool, byteCount - lookedAt >= Self.stride || lookedAt == 0 else { return }
        lookedAt = byteCount
        try spool.look(for: whole.map { $0 - byteCount }, beside: byteCount, options.room)
    }

    /// Counts what goes elsewhere.
    mutating func pass(_ count: Int) {
        byteCount += count
    }

    /// The whole; a file is the caller's.
    mutating func finish() throws(FetchFailure) -> FetchedBody {
        defer { self = BodySink() }
        guard let spool else { return .bytes(bytes) }
        return .file(path: try spool.finish(), byteCount: byteCount)
    }

    /// The beginning, as a file that is the caller's.
    mutating func keep(_ fields: HTTPFields, in folder: String) throws(FetchFailure) -> PartialBody {
        defer { self = BodySink() }
        let spool = if let spool { spool } else { try moveToFile(in: folder) }
        return PartialBody(path: try spool.keep(), byteCount: byteCount, fields: fields)
    }

    private mutating func moveToFile(in folder: String) throws(FetchFailure) -> Spool {
        let spool = try Spool(in: folder)
        self.spool = spool
        try spool.write(bytes)
        bytes = []
        return spool
    }
}
