/// Which pages belong to a site.
public enum SiteExtent: String, Sendable, CaseIterable {
    /// The hosts of the start URLs, by any scheme and port.
    case host
    /// What lies in the folders of the start URLs.
    case path
    /// The registrable domains of the start URLs: from `www.example.co.uk`, everything at `example.co.uk`.
    case domain
}

/// Whether a word to robots is kept: pages that robots.txt forbids are not fetched, pages that say `noindex` not stored.
public enum RobotsPolicy: String, Sendable, CaseIterable {
    case obey, ignore
}

/// What `nofollow` keeps from being followed as a page. What a page needs is never affected.
public enum NofollowPolicy: String, Sendable, CaseIterable {
    case ignore
    /// The links of pages that say it in their head or their `X-Robots-Tag`.
    case pages
    /// Single links too: `rel=nofollow`, `ugc`, `sponsored`.
    case links
}

/// Who we say that we are.
package enum Product {
    package static let version = "0.1.0"
    /// By which robots.txt speaks to us.
    package static let token = "larder"
    /// What servers are told (RFC 9110, section 10.1.5).
    package static let userAgent = "\(token)/\(version)"
}
