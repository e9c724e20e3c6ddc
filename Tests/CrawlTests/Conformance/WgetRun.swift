import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// A run of a wget case with Larder: the same server, the equivalent options, and stored responses in place of
/// files.
struct WgetRun {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder
    private let wget: WgetCase
    private var folder: StoreFolder { StoreFolder(scratch.path) }

    init(_ json: JSONValue) throws {
        let origin = try TestOrigin()
        self.origin = origin
        scratch = try TemporaryFolder()
        wget = try #require(WgetCase(json, port: origin.port))
        let dates: [String: String] = Dictionary(
            wget.entries.compactMap { entry in
                entry.fields.first { $0.0.lowercased() == "last-modified" }.map { (entry.target, $0.1) }
            }, uniquingKeysWith: { one, _ in one })
        let answers = wget.entries.map { Self.handler($0, date: dates[$0.target]) }
        for (entry, handler) in zip(wget.entries, answers) {
            origin.on(entry.target, handler)
            if entry.target.hasSuffix("/index.html") { origin.on(String(entry.target.dropLast(10)), handler) }
        }
    }

    private static func handler(
        _ entry: WgetCase.Entry, date: String?
    ) -> @Sendable (OriginRequest) -> OriginAnswer {
        let fields = entry.fields.filter { $0.0.lowercased() != "last-modified" }
        let answer = OriginAnswer(
            status: entry.status == 304 ? 200 : entry.status, fields: fields, body: entry.body)
        let (expected, rejected, login) = (entry.expected, entry.rejected, entry.login)
        return { request in
            if let login {
                let scheme = login.scheme.lowercased()
                let sent = request["Authorization"] ?? ""
                let isRejected = rejected.contains { $0.name == "Authorization" && $0.value == sent }
                let isRight =
                    sent == "Basic " + Base64.encode(Array("\(login.user):\(login.password)".utf8))
                    && scheme != "digest"
                    || sent.hasPrefix("Digest ") && sent.contains("\"\(login.user)\"") && scheme != "basic"
                guard isRight, !isRejected else {
                    var challenges: [(String, String)] = []
                    let digest = "Digest realm=\"Test\", nonce=\"abcd\", qop=\"auth\""
                    if scheme != "basic" { challenges.append(("WWW-Authenticate", digest)) }
                    if scheme != "digest" { challenges.append(("WWW-Authenticate", "Basic realm=\"Test\"")) }
                    return .failure(401, fields: challenges)
                }
            }
            for field in expected where field.name.lowercased() != "if-modified-since" {
                if request[field.name]?.contains(field.value) != true { return .failure(400) }
            }
            for field in rejected where login == nil {
                if let value = request[field.name], value.contains(field.value) { return .failure(400) }
            }
            return date.map { answer.validated(entityTag: nil, lastModified: $0) } ?? answer
        }
    }

    /// Runs the crawl, and returns how its result differs from that of wget.
    func differences() throws -> [String] {
        try storeExistingFiles()
        var plan = CrawlPlan(
            site: "wget", start: [], startZone: .thisMachine, folder: folder, userAgent: "larder-test")
        let starts = wget.starts.compactMap { WebURL($0) }
        plan.start = starts.map(\.key)
        for start in starts where start.hasCredentials {
            plan.fetch.credentials.add(.basic(user: start.username, password: start.password), for: start)
        }
        try #require(!plan.start.isEmpty)
        plan.fetch.proxies = ProxyRules()
        if wget.isThroughProxy { plan.fetch.proxies.http = Proxy("http://127.0.0.1:\(origin.port)") }
        if wget.words.contains("-i") {
            // A crawl needs a start URL besides the list: the first URL of the list.
            plan.sitemaps = plan.start
            let list = wget.entries.first { $0.target == plan.start[0].path }.map(\.body) ?? []
            let first = list.split(separator: UInt8(ascii: "\n")).first.map {
                String(decoding: $0, as: UTF8.self)
            }
            plan.start = [try #require(first.flatMap { WebURL($0) })]
        }
        plan.fetch.family = .ipv4
        plan.fetch.cookies = CookieOptions()
        plan.fetch.strictTransport = nil
        // wget sends one request at a time, and some of its tests depend on that.
        plan.sitePlan.connectionsPerHost = 1
        plan.productToken = wget.isRecursive ? "Wget" : nil
        // `-e robots=off` makes wget ignore nofollow as well.
        plan.sitePlan.nofollow = wget.isRecursive && !wget.words.contains("robots=off") ? .obey : .follow
        plan.sitePlan.robots = wget.words.contains("robots=off") ? .ignore : .obey
        plan.sitePlan.scope.depth = wget.isRecursive ? nil : wget.words.contains("-i") ? 1 : 0
        if wget.words.contains("-rH") { plan.sitePlan.scope.include = ["regex:^http"] }
        if wget.words.contains("--https-only") { plan.sitePlan.scope.exclude = ["regex:^http:"] }
        if wget.words.contains("-l2") { plan.sitePlan.scope.depth = 2 }
        if wget.words.contains("-np") || wget.value(of: "--include-directories") != nil {
            plan.sitePlan.scope.extent = .path
        }
        plan.sendsReferrer = true
        if let user = wget.value(of: "--user") ?? login?.user {
            let password = wget.value(of: "--password") ?? login?.password ?? ""
            if !wget.words.contains("--no-netrc") {
                let isBasic = wget.entries.contains { $0.login?.scheme == "Basic" }
                plan.fetch.credentials.add(
                    isBasic
                        ? .basic(user: user, password: password)
                        : .digestOrBasic(user: user, password: password),
                    for: plan.start[0])
            }
        }
        let report = try Crawl(plan, interruption: Interruption()).run()
        return try storedDifferences(report)
    }

    /// The login in the case's netrc file, which is the one that the server requires; nil without such a file.
    private var login: (user: String, password: String)? {
        guard wget.expectedNames.contains(".netrc") else { return nil }
        return wget.entries.lazy.compactMap { $0.login }.first.map { ($0.user, $0.password) }
    }

    private func storedDifferences(_ report: CrawlReport) throws -> [String] {
        if wget.isSpider { return try brokenLinks(report) }
        let reader = try StoreReader(folder)
        var differences: [String] = []
        let named = Set(wget.entries.filter(isExpectedByName).map(\.body))
        for entry in wget.entries where entry.target != "/robots.txt" {
            let href = href(entry)
            var stored = try reader.response(for: WebURL(href)?.href ?? href)
            if stored?.body == nil, entry.target.hasSuffix("/index.html") {
                stored = try reader.response(for: String(href.dropLast(10)))
            }
            let body = try stored?.body.flatMap { body throws in try reader.content(of: body)?.load() }
            let older = wget.existing.first { $0.name == Self.name(of: entry.target) }
            if isExpected(entry, named) {
                let isKept = older.map { wget.expectedBodies.contains($0.body) } ?? false
                let expectedBody = isKept ? older?.body : entry.body
                if body != expectedBody {
                    differences.append("\(entry.target) is not stored with the expected body")
                }
            } else if body != nil, stored?.status == 200 {
                differences.append("\(entry.target) is stored, but not expected")
            }
        }
        if let requests = wget.requests {
            let requested = Set(origin.requests.map { "\($0.method) \($0.target)" })
            if requested != Set(requests) { differences.append("requested \(requested.sorted())") }
        }
        return differences
    }

    /// The differences of a `--spider` run: wget only checks the links, whereas a crawl reports broken links while it
    /// stores the pages.
    private func brokenLinks(_ report: CrawlReport) throws -> [String] {
        var differences: [String] = []
        if report.missing.isEmpty != (wget.exit == 0) {
            differences.append("missing: \(report.missing.map(\.url))")
        }
        let reader = try StoreReader(folder)
        for entry in wget.entries where entry.status == 200 && !entry.target.contains(" ") {
            let hrefs = [href(entry), href(entry).replacing("/index.html", with: "/")]
            guard wget.isRecursive || wget.starts.contains(where: hrefs.contains) else { continue }
            let isStored = try hrefs.contains {
                try reader.response(for: WebURL($0)?.href ?? $0)?.body != nil
            }
            if !isStored { differences.append("\(entry.target) was not reached") }
        }
        return differences
    }

    private func href(_ entry: WgetCase.Entry) -> String {
        entry.target.hasPrefix("http://") ? entry.target : "http://localhost:\(origin.port)\(entry.target)"
    }

    /// Whether wget writes a file for this entry. Files are matched by name, or by body if no other file with that
    /// name has it, because wget renames some files by rules of its own.
    private func isExpected(_ entry: WgetCase.Entry, _ named: Set<[UInt8]>) -> Bool {
        guard (200..<300).contains(entry.status) || entry.status == 304 else { return false }
        return isExpectedByName(entry)
            || wget.expectedBodies.contains(entry.body) && !named.contains(entry.body)
    }

    private func isExpectedByName(_ entry: WgetCase.Entry) -> Bool {
        let path =
            entry.target.hasPrefix("http://")
            ? String(entry.target.dropFirst(7)) : String(entry.target.dropFirst())
        let decoded = PercentCoding.decoded(path)
        return [path, decoded, Self.name(of: path), Self.name(of: decoded)].contains {
            wget.expectedNames.contains($0)
        }
    }

    private static func name(of path: String) -> String {
        String(path.split(separator: "/", omittingEmptySubsequences: false).last ?? "")
    }

    /// Stores the files that exist before the run, as responses of an earlier snapshot.
    private func storeExistingFiles() throws {
        guard !wget.existing.isEmpty else { return }
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "wget", start: wget.starts, now: 1)
        for (number, file) in wget.existing.enumerated() {
            let date = HTTPDate(secondsSinceEpoch: file.time).text
            let body = try NewBody(.bytes(file.body), form: "opaque;utf-8", links: [], in: folder)
            var response = NewResponse(
                href: "http://localhost:\(origin.port)/\(file.name)", referrer: nil, status: 200, role: 0,
                fields: "Content-Type: text/plain\r\nLast-Modified: \(date)\r\n", fetched: 1, body: .new(body)
            )
            response.number = UInt32(number)
            try writer.add([response], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 2))
    }
}

enum PercentCoding {
    static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
