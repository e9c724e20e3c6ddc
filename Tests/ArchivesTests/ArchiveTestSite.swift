import Digest
import Markup
import Store
import System
import TestOrigin
import Web

@testable import Archives

/// A store with one site, which tests export and import again.
struct ArchiveTestSite {
    /// A short description of a response to store.
    struct Response {
        var path: String
        var status = 200
        var type = "text/html; charset=utf-8"
        var body: [UInt8]?
        var role: UInt8 = 0
        var fields: [(String, String)] = []
        var request = RequestKey.get
        var variant = ""
        var flags: ResponseFlags = []

        static func page(_ path: String, _ text: String) -> Response {
            Response(path: path, body: Array(text.utf8))
        }

        static func file(_ path: String, _ type: String, _ bytes: [UInt8]) -> Response {
            Response(path: path, type: type, body: bytes, role: 1)
        }
    }

    let home: TemporaryFolder
    let folder: StoreFolder

    static let name = "https://example.com/"
    /// 2026-11-20T12:00:00Z
    static let time: Int64 = 1_795_176_000

    init(_ responses: [Response] = []) throws {
        home = try TemporaryFolder()
        folder = StoreFolder(home.file("store"))
        if !responses.isEmpty { try add(responses) }
    }

    /// Stores responses as a snapshot of their own, and publishes it.
    func add(_ responses: [Response], at time: Int64 = time) throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.name, start: [Self.name], now: time)
        try writer.add(try responses.map { try response($0, time) }, to: snapshot)
        try writer.end(snapshot, .publish(now: time + 60))
    }

    /// Returns a response to store, with its body's links and digests as a crawl finds them.
    private func response(_ description: Response, _ time: Int64) throws -> NewResponse {
        var fields = HTTPFields()
        fields.append("Content-Type", description.type)
        for (name, value) in description.fields { fields.append(name, value) }
        let body: NewResponse.Body =
            try description.body.map { bytes in
                guard let url = WebURL("https://example.com\(description.path)") else {
                    throw TestError("no address")
                }
                let reading = LinkScanner().read(bytes.span, of: url, as: fields.contentType)
                return .new(
                    try NewBody(
                        .bytes(bytes), form: reading.form, title: reading.table.title,
                        links: reading.table.encoded(),
                        in: folder))
            } ?? .none
        var new = NewResponse(
            href: "https://example.com\(description.path)", referrer: description.role == 1 ? Self.name : nil,
            status: description.status, role: description.role, fields: fields.block, fetched: time,
            body: body)
        // As in a crawl, redirects and error responses without a body have no type.
        if description.body != nil || (200..<300).contains(description.status) {
            new.type = description.type.split(separator: ";").first.map(String.init)
        }
        new.request = description.request
        new.variant = description.variant
        new.flags = description.flags
        return new
    }

    /// Changes a byte of each body that has a file of its own, which bodies of more than 1 MiB have.
    func damageBodyFiles() throws {
        let names = Folder.names(in: folder.bodies) ?? []
        guard !names.isEmpty else { throw TestError("no body has a file") }
        for name in names {
            let file = try File(folder.bodies + "/" + String(decoding: name, as: UTF8.self), 2)
            try file.write([8], at: 1_000_000)
        }
    }

    func site() throws -> Site {
        guard let site = try StoreReader(folder).sites().first else { throw TestError("there is no site") }
        return site
    }

    @discardableResult
    /// Exports the site with private responses, and verifies the file.
    func export(_ file: String, _ form: ArchiveFormat, change: (inout ExportPlan) -> Void = { _ in }) throws
        -> ExportReport
    {
        var plan = ExportPlan(site: try site(), path: home.file(file), format: form)
        plan.hasPrivate = true
        plan.shouldVerify = true
        // An export can append a site to any program.
        plan.program = "/bin/true"
        change(&plan)
        return try Export(plan, StoreReader(folder), Interruption()).run()
    }

    /// Imports archives into this store.
    func importFiles(_ files: [String], site: String? = nil, limits: ArchiveLimits = ArchiveLimits()) throws
        -> ImportReport
    {
        var plan = ImportPlan(folder, paths: files)
        plan.site = site
        plan.limits = limits
        return try Import(plan, Interruption(), now: Self.time + 1000).run(now: Self.time + 2000)
    }

    /// Returns a line for each stored response. It leaves out the provenance, which differs between fetched and imported
    /// responses.
    func storedResponses() throws -> [String] {
        let reader = try StoreReader(folder)
        var rows: [VisibleResponse] = []
        try reader.eachVisibleResponse(ofSite: try site().id, asOf: nil) { row in
            rows.append(row)
            return true
        }
        return try rows.map { row in
            let stored = row.response
            let body = try stored.body.flatMap { try reader.content(of: $0)?.load() }
            let sum = body.map { DigestStream.digest(.sha256, of: $0.span).hex } ?? "-"
            return
                "\(stored.href) [\(stored.request.text)|\(stored.variant)] \(stored.status) \(stored.role) \(stored.flags.subtracting(.provenanceFlags).rawValue) "
                + "\(stored.fetched) \(stored.type ?? "-") \(row.referrer ?? "-") \(sum) \(stored.fields)"
        }
    }
}

extension ArchiveFormat {
    /// The formats that contain responses and can be imported again.
    static var responseFormats: [ArchiveFormat] { [.warc, .wacz, .har] }
}
