package import Store
public import Web

/// The URLs that clients requested from a server or proxy and that are not stored.
public struct MissesReport: Sendable, Equatable {
    /// The misses in the order of their URLs.
    public let misses: [MissedURL]

    /// The recorded misses that are still not stored, and the URLs of those that are stored by now.
    ///
    /// - Parameter recorded: the misses that servers recorded.
    package static func report(
        on recorded: [Miss], _ reader: StoreReader
    ) throws(StoreError) -> (missing: MissesReport, stored: [String]) {
        var (missing, stored): ([MissedURL], [String]) = ([], [])
        for miss in recorded {
            // Requests with a body are never fetched again, so only GET can be stored by now.
            let url = miss.method == "GET" ? WebURL(miss.href) : nil
            let found = try url.map { (url) throws(StoreError) in try reader.lookUp(url) } ?? nil
            if found != nil { stored.append(miss.href) } else { missing.append(MissedURL(miss)) }
        }
        return (MissesReport(misses: missing), stored)
    }

    /// The report as JSON.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.value(misses)
        return writer.text
    }
}

/// A URL that clients requested and that is not stored.
public struct MissedURL: Sendable, Equatable {
    /// The URL that was requested.
    public let url: String
    /// The method of the request. A prefetch fetches only misses of GET requests.
    public let method: String
    /// Whether a user navigated to it; else a page requested it.
    public let isPage: Bool
    /// The page that requested it, if the browser sent a referrer.
    public let referrer: String?
    /// The number of requests.
    public let count: Int
    /// The time of the first request.
    public let first: Timestamp
    /// The time of the last request.
    public let last: Timestamp

    init(_ miss: Miss) {
        url = miss.href
        method = miss.method
        isPage = miss.isPage
        referrer = miss.referrer
        count = miss.count
        first = Timestamp(secondsSinceEpoch: miss.first)
        last = Timestamp(secondsSinceEpoch: miss.last)
    }
}

extension MissedURL: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "method": method, "role": isPage ? "page" : "asset", "referrer": referrer,
            "count": count, "first": Wording.date(first), "last": Wording.date(last),
        ]
    }
}

/// The result of following all links of a site, like `larder check --offline`, but without comparing digests.
package struct SiteNeeds: Sendable, Equatable {
    /// A URL that is missing or broken, although pages of the site need it or link to it.
    package struct UnmetNeed: Sendable, Equatable {
        package let href: String
        package let reason: Reason
        /// Whether a page needs the URL; otherwise it is a page.
        package let isAsset: Bool
        /// The URL that first links to it; nil for a start URL.
        package let referrer: String?

        package init(href: String, reason: Reason, isAsset: Bool, referrer: String?) {
            (self.href, self.reason) = (href, reason)
            (self.isAsset, self.referrer) = (isAsset, referrer)
        }

        /// Why a URL counts as missing.
        package enum Reason: Sendable, Equatable {
            case notStored
            /// Only a part of the body is stored.
            case part
            /// The server answered with a status that is not a success.
            case answered(status: Int)
            case other(String)

            /// The reason for messages.
            package var text: String {
                switch self {
                case .notStored: "it is not stored"
                case .part: "only a part of it is stored"
                case .answered(let status): "the server answered \(status)"
                case .other(let text): text
                }
            }
        }
    }

    package var missing: [UnmetNeed] = []
    /// URLs that do not exist on the live site.
    package var broken: [UnmetNeed] = []
    /// The numbers of missing URLs in the scope of the site.
    package var counts = MissingURLCounts(broken: 0, failed: 0, notFetched: 0)
    /// The number of URLs that were visited.
    package var walked = 0
    /// The number of URLs that belong to the site, as `larder check` counts them.
    package var checkedCount = 0
    /// Whether an asset was left out because of a limit or the settings.
    package var lacksAssets = false

    package init() {}

    /// Follows the links of a site. Nil if these are more than `limit` URLs, or the settings of the site cannot be read.
    package typealias Walk =
        @Sendable (_ reader: StoreReader, _ site: Site, _ limit: Int) throws(StoreError) ->
        SiteNeeds?
}

/// Whether the settings of a site leave out a URL, so that no update fetches it.
package typealias URLExclusion = @Sendable (_ url: WebURL, _ site: Site, _ isPage: Bool) -> Bool

extension SiteNeeds.UnmetNeed: JSONObject {
    package var members: JSONMembers { ["url": href, "reason": reason.text, "asker": referrer] }
}
