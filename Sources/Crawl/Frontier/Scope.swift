internal import Web

/// Which pages belong to a site. Requisites are followed wherever they are and never ask the scope.
package struct Scope: Sendable, Equatable {
    private var hosts: Set<String>

    /// Every page on the hosts of the start URLs, whatever their port or scheme.
    init(start: [WebURL]) {
        hosts = Set(start.map(\.host))
    }

    /// A start URL that leads elsewhere at once takes its site along: `example.com` that is `www.example.com`.
    /// True when that is news.
    mutating func include(hostOf url: WebURL) -> Bool {
        hosts.insert(url.host).inserted
    }

    /// Nil when a page is to be followed.
    func reasonToSkip(_ page: WebURL) -> SkipReason? {
        hosts.contains(page.host) ? nil : .otherHost
    }
}

/// Why something that was linked was not asked for.
package enum SkipReason: Sendable, Hashable, CaseIterable {
    /// A page on a host that the scope leaves out.
    case otherHost
    /// Neither http nor https.
    case scheme

    package var name: String {
        switch self {
        case .otherHost: "on another host"
        case .scheme: "not http or https"
        }
    }
}
