internal import Web

/// How much pages may need: whoever needs more has lost its way, or wants to keep others busy.
struct RequisiteBounds: Sendable {
    /// What one document is the first to need.
    static let mostOfOne = 20_000
    /// From a page to what it needs, what that needs, and so on: style sheets that import each other.
    static let longestChain: UInt8 = 100
    /// Hosts below one domain of two labels.
    static let mostHosts = 1000

    private var finder = UInt32.max
    private var count = 0
    private var hosts: [Substring: Int] = [:]

    /// Why what `finder` needs is not asked for; all that one finds comes in a row.
    mutating func reason(_ finder: UInt32, chain: UInt8) -> SkipReason? {
        if finder != self.finder { (self.finder, count) = (finder, 0) }
        count += 1
        if count > Self.mostOfOne { return .bound(.requisites) }
        return chain >= Self.longestChain ? .bound(.chain) : nil
    }

    /// Why nothing is asked of a host that was not heard of before. An address has no domain.
    mutating func reason(newHost host: String) -> SkipReason? {
        let labels = host.split(separator: ".")
        guard labels.count > 2, labels.last?.utf8.first?.isASCIIDigit != true else { return nil }
        let start = labels[labels.count - 2].startIndex
        hosts[host[start...], default: 0] += 1
        return hosts[host[start...], default: 0] > Self.mostHosts ? .bound(.hosts) : nil
    }
}

/// What was too much of something.
package enum CrawlBound: Sendable, Hashable, CustomStringConvertible {
    case requisites, chain, hosts, refreshes

    package var description: String {
        switch self {
        case .requisites: "one document needs more than \(RequisiteBounds.mostOfOne) things"
        case .chain: "needed by what is needed by others, over \(RequisiteBounds.longestChain) of them"
        case .hosts: "on one of more than \(RequisiteBounds.mostHosts) hosts of one domain"
        case .refreshes: "behind \(Frontier.mostRedirects) pages that only lead on to the next (refresh)"
        }
    }
}

/// What URLs have in common that come from one place, told at a glance: `URLShape` looks closer.
enum Kinship {
    /// Where an URL is: its path up to the last slash, with the ending of what is behind it.
    static func folder(of url: WebURL) -> UInt64 {
        let path = Array(url.path.utf8)
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = path[slash...].lastIndex(of: UInt8(ascii: ".")) ?? path.count
        return Mixing.mix(path[..<slash] + path[dot...])
    }

    /// The same, with one number as good as another, and with the names of what is asked for.
    static func kin(of href: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let query = href.firstIndex(of: UInt8(ascii: "?")) ?? href.count
        let path = href[..<query]
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = path[slash...].lastIndex(of: UInt8(ascii: ".")) ?? query
        var hash = Hash()
        for byte in href[..<slash] { hash.add(byte) }
        for byte in href[dot..<query] { hash.add(byte) }
        var isName = true
        for byte in href[query...] {
            if byte == UInt8(ascii: "&") { isName = true } else if byte == UInt8(ascii: "=") { isName = false }
            if isName { hash.add(byte) }
        }
        return hash.value
    }

    private struct Hash {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        private var isInNumber = false

        @inline(__always)
        mutating func add(_ byte: UInt8) {
            if byte.isASCIIDigit {
                if isInNumber { return }
                isInNumber = true
                value = (value ^ 0x30) &* 0x0000_0100_0000_01B3
            } else {
                isInNumber = false
                value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            }
        }
    }
}
