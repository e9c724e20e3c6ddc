import Fetch
import Store
import TestOrigin
import Web

@testable import Crawl

/// A case of wget's test suite: the responses of a server, a command line, and the files that wget has written
/// in the end. Only the parts that concern a mirror are read.
struct WgetCase {
    /// A URL of the server, with its response and its conditions on requests.
    struct Entry {
        var target: String
        var status: Int
        var fields: [(String, String)]
        var body: [UInt8]
        /// The header fields that a request must have, and those that it must not have.
        var expected: [(name: String, value: String)] = []
        var rejected: [(name: String, value: String)] = []
        /// The authentication scheme that the server requires, with a user and a password.
        var login: (scheme: String, user: String, password: String)?
    }

    let id: String
    let words: [String]
    /// Whether the server is used as a proxy, for URLs of all hosts.
    let isThroughProxy: Bool
    /// Whether wget only checks links (`--spider`), or writes no files.
    let isSpider: Bool
    let exit: Int
    private(set) var entries: [Entry] = []
    private(set) var starts: [String] = []
    /// The files that exist before the run, with their modification times.
    private(set) var existing: [(name: String, body: [UInt8], time: Int64)] = []
    private(set) var expectedNames: Set<String> = []
    private(set) var expectedBodies: Set<[UInt8]> = []
    private(set) var requests: [String]?

    private static let table = "wget/wget-cases.json"
    static let isInstalled = !ConformanceData.bytes(table).isEmpty

    static func all() -> [JSONValue] { ConformanceData.cases(table) }

    init?(_ json: JSONValue, port: Int) {
        guard let id = json["id"]?.string, let command = json["command"]?.string else { return nil }
        self.id = id
        func text(_ text: String) -> String { text.replacing("{{port}}", with: "\(port)") }
        func bytes(_ json: JSONValue?) -> [UInt8] {
            if let latin = json?["latin1"]?.string {
                return text(latin).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
            }
            return Array(text(json?.string ?? "").utf8)
        }
        words = text(command).split(separator: " ").map { String($0) }
        let isThroughProxy = words.contains { $0.hasPrefix("http_proxy=") }
        self.isThroughProxy = isThroughProxy
        // With a proxy, start URLs may be host names without a scheme.
        starts = words.dropFirst().filter {
            $0.hasPrefix("http://")
                || isThroughProxy && !$0.hasPrefix("-") && !$0.contains("=")
                    && $0.utf8.contains { $0 >= 0x80 }
        }.map { $0.hasPrefix("http://") ? $0 : "http://\($0)/" }
        exit = json["expected_exit"]?.int ?? 0
        isSpider = words.contains("--spider") || json["expected_files"]?.isNull == true
        if let first = json["urls"]?[0]?.array {
            starts += first.compactMap { $0.string.map { "http://localhost:\(port)/\($0)" } }
        }
        let server = json["server"]?[0]?.array ?? json["server"]?.array ?? []
        for entry in server { entries.append(Self.entry(entry, text, bytes)) }
        for file in json["existing"]?.members ?? [] {
            existing.append(
                (file.key, bytes(file.value["content"]), Int64(file.value["timestamp"]?.int ?? 0)))
        }
        for file in json["expected_files"]?.members ?? [] {
            expectedNames.insert(file.key)
            expectedBodies.insert(bytes(file.value["content"]))
        }
        for file in json["expected_files"]?.array ?? [] {
            expectedNames.insert(file["name"]?.string ?? "")
            expectedBodies.insert(bytes(file["content"]))
        }
        requests = json["expected_requests"]?[0]?.array?.compactMap { $0.string }
    }

    private static func entry(
        _ json: JSONValue, _ text: (String) -> String, _ bytes: (JSONValue?) -> [UInt8]
    ) -> Entry {
        func fields(_ json: JSONValue?) -> [(String, String)] {
            (json?.members ?? []).compactMap { member in member.value.string.map { (member.key, text($0)) } }
                .filter { $0.0.lowercased() != "content-length" }
        }
        let rules = json["rules"]
        let status =
            json["code"]?.string.flatMap { Int($0) } ?? json["code"]?.int ?? rules?["Response"]?.int ?? 200
        var entry = Entry(
            target: json["path"]?.string ?? "/" + (json["name"]?.string ?? ""), status: status,
            fields: fields(json["headers"]) + fields(rules?["SendHeader"]), body: bytes(json["content"]))
        entry.expected = fields(rules?["ExpectHeader"]).map { (name: $0.0, value: $0.1) }
        entry.rejected = fields(rules?["RejectHeader"]).map { (name: $0.0, value: $0.1) }
        for member in json["request_headers"]?.members ?? [] {
            // `!Name` is a header field that must be absent. The values are regular expressions that end with the
            // literal text.
            let value = member.value["regex"]?.string ?? member.value.string ?? ""
            let text = value.split(separator: "[0-9]+").last?.split(separator: ":", maxSplits: 1).last ?? ""
            let end = text.filter { $0 != ")" && $0 != "\\" }
            if member.key.hasPrefix("!") {
                entry.rejected.append((String(member.key.dropFirst()), end))
            } else {
                entry.expected.append((member.key, end))
            }
        }
        if let login = rules?["Authentication"], let user = login["User"]?.string {
            entry.login = (login["Type"]?.string ?? "Basic", user, login["Pass"]?.string ?? "")
        } else if let user = json["user"]?.string {
            entry.login = (json["auth_method"]?.string ?? "Basic", user, json["passwd"]?.string ?? "")
        }
        if !entry.fields.contains(where: { $0.0.lowercased() == "content-type" }) {
            entry.fields.append(
                ("Content-Type", entry.target.hasSuffix(".html") ? "text/html" : "text/plain"))
        }
        return entry
    }

    func value(of option: String) -> String? {
        words.lazy.compactMap { word in
            word.hasPrefix(option + "=") ? String(word.dropFirst(option.utf8.count + 1)) : nil
        }.first
    }

    var isRecursive: Bool {
        words.contains { $0 == "-r" || $0 == "--recursive" || $0 == "-rH" }
    }
}
