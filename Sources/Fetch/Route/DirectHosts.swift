internal import Web

/// The hosts that no proxy is asked for.
package struct DirectHosts: Sendable {
    private var isEverything = false
    /// With all that end in a dot and them.
    private var names: [String] = []
    private var blocks: [(address: IPAddress, length: Int)] = []

    /// What `$no_proxy` names, separated by commas or spaces (hosts, domains, addresses, blocks of addresses, or a star
    /// alone), and this machine: a proxy would look for it in itself.
    package init(given: String?) {
        isEverything = given == "*"
        for entry in ["localhost", "127.0.0.0/8", "::1"] { add(entry[...]) }
        for entry in (given ?? "").split(whereSeparator: { $0 == "," || $0 == " " }) { add(entry) }
    }

    private mutating func add(_ entry: Substring) {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(String(parts[0])) {
            let most = address.bitWidth
            guard let length = parts.count == 1 ? most : Int(parts[1]), (0...most).contains(length) else { return }
            blocks.append((address, length))
        } else {
            let name = Self.trimmed(entry.lowercased())
            if !name.isEmpty { names.append(name) }
        }
    }

    /// - Parameter host: as a URL has it.
    package func contains(_ host: String) -> Bool {
        if isEverything { return true }
        if let address = IPAddress(host) {
            return blocks.contains { address.isInside($0.address, length: $0.length) }
        }
        let host = Self.trimmed(host)
        return names.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    /// Without dots at the ends: `.example.com` means what `example.com` means.
    private static func trimmed(_ name: String) -> String {
        var name = name[...]
        while name.hasPrefix(".") { name = name.dropFirst() }
        while name.hasSuffix(".") { name = name.dropLast() }
        return String(name)
    }
}

extension IPAddress {
    var bitWidth: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// Whether the first bits are the same; never between the families.
    func isInside(_ block: IPAddress, length: Int) -> Bool {
        switch (self, block) {
        case (.v4(let own), .v4(let other)):
            length == 0 || (own ^ other) >> (32 - UInt32(length)) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            if length <= 64 {
                length == 0 || (high ^ otherHigh) >> (64 - UInt64(length)) == 0
            } else {
                high == otherHigh && (low ^ otherLow) >> (128 - UInt64(length)) == 0
            }
        case (.v4, .v6), (.v6, .v4):
            false
        }
    }
}
