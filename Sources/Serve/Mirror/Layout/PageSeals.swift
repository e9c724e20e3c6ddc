internal import Digest
internal import Web

/// Beside a site at the root, documents of other origins have none to a browser, which then says of no request whose it is.
/// So the larder shows each such document below a seal, which its own addresses carry on: whatever is asked for below
/// `/-/as/SEAL/` is asked for by a page of that origin, since nobody else knows its seal.
struct PageSeals: Sendable {
    /// Whose page asks, by the path of a request.
    enum Reading: Equatable, Sendable {
        case none
        /// The origins that it stands for, the likelier first.
        case page([String])
        /// An earlier server gave it, or somebody made it up.
        case unknown
    }

    static let prefix = "/-/as/"

    private let secret: [UInt8]

    init() {
        var generator = SystemRandomNumberGenerator()
        secret = (0..<4).flatMap { _ in
            let word: UInt64 = generator.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
    }

    /// Where a document of the URL's origin has its addresses.
    func folder(of url: WebURL) -> String {
        "\(Self.prefix)\(seal(of: url.origin)).\(url.scheme).\(url.origin.dropFirst(url.scheme.utf8.count + 3))/"
    }

    func reading(_ target: String) -> Reading {
        guard target.hasPrefix(Self.prefix) else { return .none }
        let parts = target.dropFirst(Self.prefix.utf8.count).prefix { $0 != "/" }
            .split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, ["http", "https"].contains(parts[1]),
            let url = WebURL("\(parts[1])://\(parts[2])/"), parts[0] == seal(of: url.origin)
        else { return .unknown }
        let other = url.scheme == "https" ? "http" : "https"
        return .page(url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin])
    }

    private func seal(of origin: String) -> String {
        let bytes = secret + Array(origin.utf8)
        return String(DigestStream.digest(.sha256, of: bytes.span).hex.prefix(32))
    }
}
