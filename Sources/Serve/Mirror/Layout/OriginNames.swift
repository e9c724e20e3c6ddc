internal import Web

/// How origins are named under `localhost`, and back.
///
/// `https://example.com` is `example.com.localhost`, `http://127.0.0.1:9000` is `127.0.0.1--9000.localhost`, and
/// `http://[2001:db8::1]` is `2001-db8--1.ipv6.localhost`. A host that would be read back as something else gets its
/// port written out, which the reading then finds instead.
enum OriginNames {
    private static let suffix = ".localhost"
    private static let ipv6Suffix = ".ipv6"

    /// The name under which an http or https URL's origin is served, without the server's port. Nil for other schemes.
    static func name(of url: WebURL) -> String? {
        guard url.isHTTP, !url.host.isEmpty else { return nil }
        var host = url.host
        if host.utf8.first == UInt8(ascii: "[") {
            host = String(decoding: host.utf8.dropFirst().dropLast().map { $0 == colon ? dash : $0 }, as: UTF8.self)
            host += ipv6Suffix
        }
        if let port = url.port { return "\(host)--\(port)\(suffix)" }
        let isReadBack = self.host(fromName: host[...]).port == nil
        return isReadBack ? host + suffix : "\(host)--\(url.effectivePort)\(suffix)"
    }

    /// The origins that a name may stand for, the likelier one first; empty when the name is none of ours.
    static func origins(of name: String) -> [String] {
        guard name.utf8.count > suffix.utf8.count, name.hasSuffix(suffix) else { return [] }
        let (host, port) = host(fromName: name.dropLast(suffix.utf8.count))
        guard let port else { return ["https://\(host)", "http://\(host)"] }
        return ["http://\(host):\(port)", "https://\(host):\(port)"]
    }

    private static func host(fromName name: Substring) -> (host: String, port: Int?) {
        var host = name
        var port: Int?
        if let (start, number) = trailingPort(of: name) {
            host = name[..<start]
            port = number
        }
        guard host.hasSuffix(ipv6Suffix) else { return (String(host), port) }
        let address = host.dropLast(ipv6Suffix.utf8.count).utf8.map { $0 == dash ? colon : $0 }
        return ("[\(String(decoding: address, as: UTF8.self))]", port)
    }

    /// The `--9000` at the end, where it is no part of a label such as `xn--90`.
    private static func trailingPort(of name: Substring) -> (start: Substring.Index, port: Int)? {
        let bytes = name.utf8
        var start = bytes.endIndex
        while start > bytes.startIndex, (0x30...0x39).contains(bytes[bytes.index(before: start)]) {
            start = bytes.index(before: start)
        }
        let digits = name[start...]
        guard (1...5).contains(digits.utf8.count), digits.utf8.first != UInt8(ascii: "0"), let port = Int(digits),
            port <= 65535
        else { return nil }
        let head = name[..<start]
        guard head.hasSuffix("--"), head.utf8.count > 2 else { return nil }
        let host = head.dropLast(2)
        guard host != "xn", !host.hasSuffix(".xn") else { return nil }
        return (host.endIndex, port)
    }

    private static let colon = UInt8(ascii: ":")
    private static let dash = UInt8(ascii: "-")
}
