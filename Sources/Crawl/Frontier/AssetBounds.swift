internal import Web

/// The bounds for assets, which protect the crawl from faulty or hostile sites.
struct AssetBounds: Sendable {
    /// The maximum number of assets that one document is the first to need.
    static let maxAssetsPerDocument = 20_000
    /// The maximum length of a chain of assets that need each other, such as style sheets with imports.
    static let maxChainLength: UInt8 = 100
    /// The maximum number of hosts below one domain of two labels.
    static let maxHostsPerDomain = 1000

    private var finder = UInt32.max
    private var count = 0
    private var hosts: [Substring: Int] = [:]

    /// Counts an asset, and returns the reason to skip it if a bound is exceeded. All assets of one finder
    /// must be passed in a row.
    mutating func reason(_ finder: UInt32, chain: UInt8) -> SkipReason? {
        if finder != self.finder { (self.finder, count) = (finder, 0) }
        count += 1
        if count > Self.maxAssetsPerDocument { return .bound(.assets) }
        return chain >= Self.maxChainLength ? .bound(.chain) : nil
    }

    /// Counts a new host, and returns the reason to skip its URLs if its domain has too many. IP addresses
    /// are not counted.
    mutating func reason(newHost host: String) -> SkipReason? {
        let labels = host.split(separator: ".")
        guard labels.count > 2, labels.last?.utf8.first?.isASCIIDigit != true else { return nil }
        let start = labels[labels.count - 2].startIndex
        hosts[host[start...], default: 0] += 1
        return hosts[host[start...], default: 0] > Self.maxHostsPerDomain ? .bound(.hosts) : nil
    }
}

/// A bound of the crawl that was exceeded.
package enum CrawlBound: Sendable, Hashable, CustomStringConvertible {
    case assets, chain, hosts, refreshes

    package var description: String {
        switch self {
        case .assets: "one document needs more than \(AssetBounds.maxAssetsPerDocument) assets"
        case .chain: "at the end of a chain of more than \(AssetBounds.maxChainLength) assets"
        case .hosts: "on one of more than \(AssetBounds.maxHostsPerDomain) hosts of one domain"
        case .refreshes: "behind \(Frontier.maxRedirects) pages that only redirect to the next (refresh)"
        }
    }
}
