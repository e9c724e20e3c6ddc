internal import Web

/// The origin that is shown at the root, and where the others are shown beside it.
struct RootOrigin: Sendable, Equatable {
    /// By either scheme, unless it has a port of its own.
    let origins: [String]

    static let prefix = "/-/web/"

    /// Nil for what is no http or https URL.
    init?(_ url: WebURL) {
        guard url.isHTTP, !url.host.isEmpty else { return nil }
        let other = url.scheme == "https" ? "http" : "https"
        origins = url.port == nil ? [url.origin, "\(other)://\(url.host)"] : [url.origin]
    }

    func isRoot(_ url: WebURL) -> Bool { origins.contains(url.origin) }

    /// The path, with the query, under which a URL is shown. A path that begins with two slashes would be read as a host.
    ///
    /// - Parameter folder: below which others are shown.
    func path(of url: WebURL, below folder: String = Self.prefix) -> String {
        if isRoot(url) { return url.target.hasPrefix("//") ? "/." + url.target : url.target }
        let host = url.port.map { "\(url.host):\($0)" } ?? url.host
        return "\(folder)\(url.scheme)/\(host)\(url.target)"
    }

    /// Whether a source of a policy names the root's origin.
    func isNamed(by source: String) -> Bool {
        let isWhole = source.utf8.contains("://".utf8)
        guard let star = source.firstIndex(of: "*") else {
            return ["https", "http"].contains { scheme in
                WebURL(isWhole ? source : "\(scheme)://\(source)").map(isRoot) ?? false
            }
        }
        return origins.contains { origin in
            origin.hasPrefix(source[..<star]) && origin.hasSuffix(source[star...].dropFirst())
        }
    }

    /// The original URLs that a target may mean, the likelier first; empty for the larder's own pages.
    func addresses(of target: String) -> [String] {
        guard target.hasPrefix("/-/") else { return origins.map { $0 + target } }
        let isSealed = target.hasPrefix(PageSeals.prefix)
        let folder = isSealed ? PageSeals.prefix : Self.prefix
        let parts = target.utf8.dropFirst(folder.utf8.count)
            .split(separator: UInt8(ascii: "/"), maxSplits: isSealed ? 3 : 2, omittingEmptySubsequences: false)
            .dropFirst(isSealed ? 1 : 0).map { String(Substring($0)) }
        guard target.hasPrefix(folder), parts.count == 3, ["http", "https"].contains(parts[0]),
            let url = WebURL("\(parts[0])://\(parts[1])/\(parts[2])"), !url.hasCredentials
        else { return [] }
        let other = parts[0] == "https" ? "http" : "https"
        return url.port == nil ? [url.href, "\(other)://\(parts[1])/\(parts[2])"] : [url.href]
    }
}
