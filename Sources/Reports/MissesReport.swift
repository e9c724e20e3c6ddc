package import Store
package import Web

/// What was asked for and is not held.
public struct MissesReport: Sendable, Equatable {
    /// By address.
    public let misses: [MissedURL]

    /// What of the notes is not held, and the addresses of what is held by now.
    ///
    /// - Parameter notes: as a server took them.
    package static func report(
        on notes: [Miss], _ reader: StoreReader
    ) throws(StoreError) -> (missing: MissesReport, held: [String]) {
        var (missing, held): ([MissedURL], [String]) = ([], [])
        for miss in notes {
            // What was sent something is never fetched.
            let url = miss.method == "GET" ? WebURL(miss.href) : nil
            let found = try url.map { (url) throws(StoreError) in try reader.find(url) } ?? nil
            if found != nil { held.append(miss.href) } else { missing.append(MissedURL(miss)) }
        }
        return (MissesReport(misses: missing), held)
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.value(misses)
        return writer.text
    }
}

public struct MissedURL: Sendable, Equatable {
    public let url: String
    /// What was asked for by another method than GET is told, and never fetched.
    public let method: String
    /// Whether a person went there; else a page needs it.
    public let isPage: Bool
    /// The page that asked for it, as far as the browser said.
    public let referrer: String?
    public let count: Int
    /// Seconds since 1970.
    public let first: Int64
    public let last: Int64

    init(_ miss: Miss) {
        url = miss.href
        method = miss.method
        isPage = miss.isPage
        referrer = miss.referrer
        count = miss.count
        first = miss.first
        last = miss.last
    }
}

extension MissedURL: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "method": method, "role": isPage ? "page" : "requisite", "referrer": referrer,
            "count": count, "first": first, "last": last,
        ]
    }
}

/// What came of a walk over everything that a site's pages need, as `larder check --offline` makes it, but
/// for the digests of bodies.
package struct SiteNeeds: Sendable, Equatable {
    package struct Lack: Sendable, Equatable {
        package let href: String
        /// Why it counts as missing.
        package let reason: String
        /// What led there first; nil for a start.
        package let asker: String?

        package init(href: String, reason: String, asker: String?) {
            self.href = href
            self.reason = reason
            self.asker = asker
        }
    }

    package var missing: [Lack] = []
    /// What the user's own settings kept out.
    package var leftOut = 0
    /// How many addresses the walk came to.
    package var walked = 0

    package init() {}

    /// Makes the walk; nil where it comes to more addresses than `limit`, and where nobody can make it.
    package typealias Walk =
        @Sendable (_ reader: StoreReader, _ site: Site, _ limit: Int) throws(StoreError) ->
        SiteNeeds?
}

extension SiteNeeds.Lack: JSONObject {
    package var members: JSONMembers { ["url": href, "reason": reason, "asker": asker] }
}
