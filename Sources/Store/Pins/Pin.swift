internal import Web

/// What eviction may never take.
package struct Pin: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// One address, with what it needs.
        case url
        /// The addresses that a glob matches, with what they need.
        case pattern
        /// Everything of a site, all its visits included.
        case site
    }

    package let kind: Kind
    package let value: String

    package init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }
}

/// All pins of a store together.
struct PinSet {
    private var addresses: Set<String> = []
    private var patterns: [URLGlob] = []
    private var sites: Set<String> = []

    init(_ pins: [Pin]) {
        for pin in pins {
            switch pin.kind {
            case .url: addresses.insert(WebURL(pin.value)?.withoutFragment.href ?? pin.value)
            case .pattern: if let glob = URLGlob(pin.value) { patterns.append(glob) }
            case .site: sites.insert(pin.value)
            }
        }
    }

    var isEmpty: Bool { addresses.isEmpty && patterns.isEmpty && sites.isEmpty }

    func holds(site: String) -> Bool { sites.contains(site) }

    func holds(address href: String) -> Bool {
        if addresses.contains(href) { return true }
        guard !patterns.isEmpty, let url = WebURL(href) else { return false }
        return patterns.contains { $0.matches(url) }
    }
}
