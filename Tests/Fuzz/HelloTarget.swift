import Glibc
import TLS

/// The first bytes of TLS clients, which the server's TLS library parses.
struct HelloTarget: Target {
    let name = "hello"
    let suffixes = [".tls"]
    let pieces = [
        "\u{16}\u{3}\u{1}", "\u{16}\u{3}\u{3}", "\u{15}\u{3}\u{3}\u{0}\u{2}", "\u{17}\u{3}\u{3}",
        "\u{0}\u{0}",
        "\u{0}\u{10}",
        "\u{8}http/1.1", "\u{2}h2", "www.example.com", "*.example.com", "xn--", "a\u{0}b", "127.0.0.1",
    ]

    /// The TLS server, created on first use, with a folder for its key that the system removes from /tmp.
    private static let server: TLSServer? = {
        var path = Array("/tmp/larder-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { return nil }
        let folder = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return try? TLSServer(CertificateAuthority.openOrCreate(in: folder))
    }()

    func fault(_ input: [UInt8]) -> String? {
        guard let server = Self.server else { return "a server: there is none" }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            return "a socket: none"
        }
        defer { for end in ends { close(end) } }
        guard let session = try? server.session(on: ends[0], for: "example.com") else {
            return "a session: none"
        }
        // In two parts, as a network may deliver it.
        for part in [input[..<(input.count / 2)], input[(input.count / 2)...]] {
            part.withUnsafeBufferPointer(session.receive)
            switch session.continueHandshake() {
            // A handshake needs more than the first message of a client.
            case .done: return "an end: hands were shaken"
            case .failed: return nil
            case .needsInput, .needsOutput: break
            }
        }
        return nil
    }
}
