package import Store

/// The decision whether a URL is fetched, with the rule that decided.
package enum ScopeVerdict: Sendable, Hashable, CustomStringConvertible {
    /// The URL is fetched, by this rule.
    case followed(by: ScopeRule)
    /// The URL is not fetched, for this reason.
    case skipped(SkipReason)

    package var isFollowed: Bool {
        switch self {
        case .followed: true
        case .skipped: false
        }
    }

    package var description: String {
        switch self {
        case .followed(let rule): "followed: \(rule)"
        case .skipped(let reason): "skipped: \(reason.name)"
        }
    }
}

/// The rule by which a URL is fetched.
package enum ScopeRule: Sendable, Hashable, CustomStringConvertible {
    /// A start URL is always fetched.
    case start
    /// An asset of a page is fetched from any host.
    case asset
    /// A host of a start URL.
    case host(String)
    /// A host and a folder on it, `example.com/docs/`.
    case folder(String)
    /// A registrable domain (public suffix and one label) of a start URL.
    case domain(String)
    /// The pattern that includes it, as the user wrote it.
    case included(String)

    package var description: String {
        switch self {
        case .start: "a start URL"
        case .asset: "needed by a page"
        case .host(let host): "on \(host)"
        case .folder(let folder): "under \(folder)"
        case .domain(let domain): "on the domain \(domain)"
        case .included(let pattern): "included by \(pattern)"
        }
    }
}

/// The reason why a linked URL was skipped.
package enum SkipReason: Sendable, Hashable {
    /// A page on a host outside the scope.
    case otherHost
    /// A page on a domain outside the scope.
    case otherDomain
    /// A page outside the folders of the start URLs.
    case otherFolder
    /// A page that is more than this number of links away from the start.
    case tooDeep(Int)
    /// The pattern that excludes it, as the user wrote it.
    case excluded(String)
    /// A URL whose scheme is neither http nor https.
    case scheme
    /// A URL longer than `Scope.maxURLBytes`.
    case longURL
    /// Disallowed by robots.txt: the rule with its line number.
    case robots(String)
    /// robots.txt could not be read: the reason.
    case robotsUnknown(String)
    /// The link, or the page that contains it, is marked as nofollow.
    case nofollow
    /// A page marked as noindex, which was read only for its links.
    case noindex
    /// A rule of the user, given here, forbids storing it.
    case unstored(String)
    /// A sitemap that is nested more deeply than the standard allows, or beyond the limit.
    case nestedSitemap
    /// A link that logs the user out (`LogoutLinks`). A request would end the session that the user provided.
    case sessionEnd
    /// A request with the user's session may change something.
    case action
    /// A history or a form, beside the content of the site.
    case sidePage(SidePage)
    /// A page that only shows stored content in another way (`QueryViews`).
    case view
    /// A rendition of a video or sound that was not chosen (`MediaChoice`).
    case rendition
    /// A bound that protects the crawl from endless sites.
    case bound(CrawlBound)
    /// A text that may not be a link, if such guesses are not tried.
    case guess
    /// A live stream or an endless response: the reason.
    case endless(String)
    /// A recorded miss that the network guard blocks for its requester: the reason.
    case refused(String)
    /// The crawl sends no requests, and has no response for it (`SuppliedResponses`).
    case notSupplied
    /// A limit of the run was reached before.
    indirect case limit(CrawlLimits.Reached)
    /// The pages of its pattern are a trap (`Traps`).
    indirect case trap(TrapReason)

    /// Whether the URL may be reachable by a shorter path.
    var isOfDepth: Bool {
        if case .tooDeep = self { true } else { false }
    }

    /// Whether the URL was skipped because of a limit of the run.
    var isOfLimit: Bool {
        if case .limit = self { true } else { false }
    }

    /// Whether the page is left out because it is not content, whatever the limits of the run.
    var isNoContent: Bool {
        switch self {
        case .action, .sidePage, .view: true
        default: false
        }
    }

    /// Whether the crawl obeyed a directive of the site.
    package var isOfSite: Bool {
        switch self {
        case .robots, .robotsUnknown, .nofollow: true
        default: false
        }
    }

    /// The option that would make the crawl fetch the URL, if there is one.
    package var remedy: Remedy? {
        switch self {
        // The user asked for this page alone.
        case .tooDeep(0): nil
        case .tooDeep: .depth
        case .nofollow: .nofollow
        case .limit(let reached): reached.remedy
        case .otherHost, .otherDomain, .otherFolder, .excluded, .scheme, .longURL, .robots, .robotsUnknown,
            .noindex,
            .unstored, .nestedSitemap, .sessionEnd, .bound, .guess, .endless, .refused, .notSupplied, .trap:
            nil
        case .action: .allowActions
        case .sidePage(.history): .includeHistory
        case .sidePage(.form): .includeForms
        case .view: .includeViews
        case .rendition: .media
        }
    }

    /// The reason in words, for reports.
    package var name: String {
        switch self {
        case .otherHost: "on another host"
        case .otherDomain: "on another domain"
        case .otherFolder: "in another folder than the start"
        case .tooDeep(0): "a link of the one page that was asked for"
        case .tooDeep(let depth): "more than \(depth) \(depth == 1 ? "link" : "links") from the start"
        case .excluded(let pattern): "excluded by \(pattern)"
        case .scheme: "with another scheme than http or https, such as mailto:"
        case .longURL: "a URL longer than \(Scope.maxURLBytes) bytes"
        case .robots(let rule): "disallowed by robots.txt: \(rule)"
        case .robotsUnknown(let trouble): "robots.txt could not be read: \(trouble)"
        case .nofollow: "its link is marked as nofollow"
        case .noindex: "marked as noindex: read for its links, but not stored"
        case .unstored(let rule): "not stored because of the rule \"\(rule)\""
        case .nestedSitemap: "a sitemap that is nested too deeply, or one of too many"
        case .sidePage(.history): "a history, an old version, a comparison or another format of a page"
        case .sidePage(.form): "a form, such as to edit, log in or register"
        case .view: "stored content, only sorted, filtered or in another format"
        case .rendition: "a video or sound, or a rendition of one, that is not chosen"
        case .action: "it may change something with your login"
        case .sessionEnd: "it would end the session; name it as a start URL to fetch it anyway"
        case .bound(let bound): bound.description
        case .guess: "possibly not a link"
        case .endless(let reason): reason
        case .refused(let refusal): refusal
        case .notSupplied: "not in the update file"
        case .limit(let reached): reached.description
        case .trap(let reason): reason.description
        }
    }
}
