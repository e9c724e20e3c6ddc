/// Why something that was linked was not asked for.
package enum SkipReason: Sendable, Hashable {
    /// A page on a host that the scope leaves out.
    case otherHost
    case otherDomain
    case otherFolder
    /// A page that lies further from the start than this many links.
    case tooDeep(Int)
    /// The pattern that excludes it, as the user wrote it.
    case excluded(String)
    /// Neither http nor https.
    case scheme
    case longURL
    /// The rule of robots.txt, with its line.
    case robots(String)
    /// Why it is not known what robots.txt says.
    case robotsUnknown(String)
    /// The page that links there, or the link, asks that it is not followed.
    case nofollow
    /// It asks not to be kept, and was read for its links alone.
    case noindex
    /// A rule of the user's says that it is not stored: the rule.
    case unstored(String)
    /// A sitemap that sitemaps lead to, further than the standard has it.
    case nestedSitemap
    /// It would end the session that the user gave.
    case sessionEnd
    /// One crawl is not kept busy by it any longer.
    case bound(CrawlBound)
    /// What may be no link at all, where such are not tried.
    case guess
    /// It is on the air, or never comes to its end: why.
    case endless(String)
    /// A server missed it, and whoever asked for it there may not lead so far.
    case refused(String)
    indirect case limit(CrawlLimits.Reached)
    indirect case trap(TrapReason)

    /// Another way to it may be short enough.
    var isOfDepth: Bool {
        if case .tooDeep = self { true } else { false }
    }

    /// It would have been fetched, had the run been allowed more.
    package var isOfLimit: Bool {
        if case .limit = self { true } else { false }
    }

    package var name: String {
        switch self {
        case .otherHost: "on another host"
        case .otherDomain: "on another domain"
        case .otherFolder: "outside the start's folder"
        case .tooDeep(let depth): "deeper than --depth \(depth)"
        case .excluded(let pattern): "excluded by \(pattern)"
        case .scheme: "not http or https"
        case .longURL: "an URL longer than \(Scope.longestURL) bytes"
        case .robots(let rule): "robots.txt says \(rule)"
        case .robotsUnknown(let trouble): "robots.txt could not be read: \(trouble)"
        case .nofollow: "marked as nofollow where it is linked (--nofollow ignore follows it)"
        case .noindex: "says noindex: read for its links and not kept"
        case .unstored(let rule): "not to be stored, by the rule \"\(rule)\""
        case .nestedSitemap: "a sitemap in sitemaps of sitemaps: further or more than are read"
        case .sessionEnd: "it would end the session; name it as an URL of its own to fetch it all the same"
        case .bound(let bound): bound.description
        case .guess: "no sure link"
        case .endless(let reason): reason
        case .refused(let refusal): refusal
        case .limit(let reached): reached.description
        case .trap(let reason): reason.description
        }
    }
}
