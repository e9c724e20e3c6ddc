internal import System
internal import Web

/// The file that curl keeps for `--hsts`: a line a host, a dot before it for its subdomains, and until when in quotes.
extension StrictTransport {
    private static let mostBytes = 16 * 1024 * 1024

    /// Takes in a file; a line that says nothing is passed over, as curl does. Throws when it cannot be read.
    package mutating func load(_ path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.mostBytes)
        }
        for line in bytes.split(separator: 0x0A) { add(String(decoding: line, as: UTF8.self)) }
    }

    package func save(_ path: String) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try WholeFile.replace(path, with: text) }
    }

    mutating func add(_ line: String) {
        guard !line.hasPrefix("#") else { return }
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2 else { return }
        let includesSubdomains = parts[0].hasPrefix(".")
        let host = Self.name(String(parts[0].drop { $0 == "." })).lowercased()
        let date = parts[1].filter { $0 != "\"" && $0 != "\r" }
        guard !host.isEmpty else { return }
        if date == "unlimited" {
            rules[host] = Rule(includesSubdomains: includesSubdomains, end: nil)
        } else if let end = Self.date(date) {
            rules[host] = Rule(includesSubdomains: includesSubdomains, end: end)
        }
    }

    var text: String {
        rules.sorted { $0.key < $1.key }.reduce(into: "# Hosts that are asked over TLS only\n") { text, entry in
            let end = entry.value.end.map(Self.compact) ?? "unlimited"
            text += "\(entry.value.includesSubdomains ? "." : "")\(entry.key) \"\(end)\"\n"
        }
    }

    /// `20261231 23:59:59`, in UTC.
    private static func date(_ text: String) -> HTTPDate? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].utf8.count == 8, parts[0].utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return HTTPDate(
            iso8601: "\(parts[0].prefix(4))-\(parts[0].dropFirst(4).prefix(2))-\(parts[0].suffix(2))T\(parts[1])Z")
    }

    private static func compact(_ date: HTTPDate) -> String {
        let parts = date.iso8601.dropLast().split(separator: "T")
        return parts[0].filter { $0 != "-" } + " " + (parts.last ?? "")
    }
}
