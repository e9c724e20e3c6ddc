import Digest
import Markup
import Store
import System
import TestOrigin
import Web

@testable import Archives

/// A store with one site, and what comes of exporting it and taking it in again.
struct HeldSite {
    /// What an answer is, in a few words.
    struct Answer {
        var path: String
        var status = 200
        var type = "text/html; charset=utf-8"
        var body: [UInt8]?
        var role: UInt8 = 0
        var fields: [(String, String)] = []
        var request = RequestKey.get
        var variant = ""
        var flags: ResponseFlags = []

        static func page(_ path: String, _ text: String) -> Answer {
            Answer(path: path, body: Array(text.utf8))
        }

        static func file(_ path: String, _ type: String, _ bytes: [UInt8]) -> Answer {
            Answer(path: path, type: type, body: bytes, role: 1)
        }
    }

    let home: TemporaryFolder
    let folder: StoreFolder

    static let name = "https://example.com/"
    /// 2026-11-20T12:00:00Z
    static let time: Int64 = 1_795_176_000

    init(_ answers: [Answer] = []) throws {
        home = try TemporaryFolder()
        folder = StoreFolder(home.file("store"))
        if !answers.isEmpty { try add(answers) }
    }

    /// As a snapshot of its own, published.
    func add(_ answers: [Answer], at time: Int64 = time) throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.name, start: [Self.name], now: time)
        try writer.add(try answers.map { try response($0, time) }, to: snapshot)
        try writer.end(snapshot, .publish(now: time + 60))
    }

    private func response(_ answer: Answer, _ time: Int64) throws -> NewResponse {
        var fields = HTTPFields()
        fields.append("Content-Type", answer.type)
        for (name, value) in answer.fields { fields.append(name, value) }
        let body: NewResponse.Body =
            try answer.body.map { bytes in
                guard let url = WebURL("https://example.com\(answer.path)") else {
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
            href: "https://example.com\(answer.path)", referrer: answer.role == 1 ? Self.name : nil,
            status: answer.status, role: answer.role, fields: fields.block, fetched: time, body: body)
        // As with a crawl: redirects and what is gone have none.
        if answer.body != nil || (200..<300).contains(answer.status) {
            new.type = answer.type.split(separator: ";").first.map(String.init)
        }
        new.request = answer.request
        new.variant = answer.variant
        new.flags = answer.flags
        return new
    }

    func site() throws -> Site {
        guard let site = try StoreReader(folder).sites().first else { throw TestError("there is no site") }
        return site
    }

    @discardableResult
    func export(_ file: String, _ form: ArchiveFormat, change: (inout ExportPlan) -> Void = { _ in }) throws
        -> ExportReport
    {
        var plan = ExportPlan(site: try site(), path: home.file(file), format: form)
        plan.hasPrivate = true
        plan.shouldVerify = true
        // Any program can have a site.
        plan.program = "/bin/true"
        change(&plan)
        return try Export(plan, StoreReader(folder), Interruption()).run()
    }

    /// Takes files of this one's home in.
    func take(_ files: [String], site: String? = nil, limits: ArchiveLimits = ArchiveLimits()) throws
        -> ImportReport
    {
        var plan = ImportPlan(folder, paths: files)
        plan.site = site
        plan.limits = limits
        return try Import(plan, Interruption(), now: Self.time + 1000).run(now: Self.time + 2000)
    }

    /// Everything that is held, a line each, without its provenance: an import is one.
    func held() throws -> [String] {
        let reader = try StoreReader(folder)
        var rows: [ShownRow] = []
        try reader.eachShown(ofSite: try site().id, asOf: nil) { row in
            rows.append(row)
            return true
        }
        return try rows.map { row in
            let held = row.response
            let body = try held.body.flatMap { try reader.content(of: $0)?.load() }
            let sum = body.map { DigestStream.digest(.sha256, of: $0.span).hex } ?? "-"
            return
                "\(held.href) [\(held.request.text)|\(held.variant)] \(held.status) \(held.role) \(held.flags.subtracting(.ofProvenance).rawValue) "
                + "\(held.fetched) \(held.type ?? "-") \(row.referrer ?? "-") \(sum) \(held.fields)"
        }
    }
}
