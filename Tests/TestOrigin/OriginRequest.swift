/// A request that an origin received.
package struct OriginRequest: Sendable {
    package var method: String
    /// The target, as in the request line.
    package var target: String
    package var version: String
    /// The headers, in the order received.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8] = []
    /// The number of the connection; the origin's first one is 1.
    package var connection: Int

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    package var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The first value of a header.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// Parses a request head without its closing empty line; nil if it is invalid.
    init?(head: ArraySlice<UInt8>, connection: Int) {
        var lines = head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        guard let first = lines.first else { return nil }
        lines.removeFirst()
        let words = first.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        (method, target, version) = (words[0], words[1], words[2])
        fields = []
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            fields.append((trimmed(line[..<colon]), trimmed(line[(colon + 1)...])))
        }
        self.connection = connection
    }

    var keepsAlive: Bool {
        let wish = self["Connection"]?.lowercased()
        return version == "HTTP/1.0" ? wish == "keep-alive" : wish != "close"
    }
}
