public import Reports
public import Store
public import Web

/// Options for a search.
public struct SearchOptions: Sendable {
    /// The name, URL or host of a site; nil for all sites.
    public var site: String?
    /// The media type; nil for all.
    public var type: TypeFilter?
    /// Only responses that were fetched at or after this time; nil for all.
    public var fetchedSince: Timestamp?
    /// The snapshot of `site`, or of the only site, to search; nil for live snapshots.
    public var snapshot: SnapshotName?
    /// The maximum number of hits.
    public var limit = 10
    /// The number of best hits to leave out, for example because they were shown already.
    public var offset = 0

    /// Creates options for the first ten hits in all sites.
    public init() {}

    /// Whether stored types or snapshots must be looked up for each match, since the index does not contain
    /// them.
    var isFiltering: Bool { type != nil || snapshot != nil || fetchedSince != nil }
}

/// The result of a search.
public struct SearchReport: Sendable, Equatable {
    /// A page that matches.
    public struct Hit: Sendable, Equatable {
        /// The URL of the page.
        public let url: String
        /// The title of the page.
        public let title: String
        /// The heading of the part of the page that matches; empty if there is none.
        public let heading: String
        /// The fragment that links to that part; empty if there is none.
        public let anchor: String
        /// The text around the words.
        public let snippet: Snippet
        /// The name of the site.
        public let site: String
        /// The snapshot that has the page.
        public let snapshot: SnapshotName
        /// The media type; nil if the server sent none.
        public let type: String?
        /// The language of the text, such as `en`; empty if it is unknown.
        public let language: String
        /// The time of the response.
        public let fetched: Timestamp
        /// The score: higher is better. Comparable only within one search.
        public let score: Double

        /// The URL with the fragment of the part.
        public var address: String { anchor.isEmpty ? url : "\(url)#\(FragmentText.encoded(anchor))" }

        /// The heading to show after the title, without the colon of a heading such as `Functions:`; empty if the title
        /// contains it.
        package var headingAfterTitle: String {
            let shown = heading.hasSuffix(":") ? String(heading.dropLast()) : heading
            return title.utf8.contains(shown.utf8) ? "" : shown
        }

        /// Whether both are pages of one site with the same title, and the same text around the words.
        func showsSame(as other: Hit) -> Bool {
            site == other.site && title == other.title && snippet.parts == other.snippet.parts
        }
    }

    /// The query as it was passed.
    public let question: String
    /// The matches, the best first.
    public package(set) var hits: [Hit] = []
    /// Whether there are further matches.
    public package(set) var hasMore = false
    /// Whether no page has all words, so that the hits have only some of them.
    public package(set) var isRelaxed = false
    /// The number of hits that have all words, if others that have only some of them fill up the list; else nil.
    public package(set) var completeHitCount: Int?
    /// Similar queries that find something, each with a replacement for a word that no text has. Empty if a
    /// page has all words.
    public package(set) var proposals: [String] = []
    /// The number of texts in the index; nil if nothing was indexed yet.
    public package(set) var texts: Int?

    /// The number of pages that are not in the index yet.
    public package(set) var unread = 0

    package init(question: String) { self.question = question }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension SearchReport: JSONObject {
    package var members: JSONMembers {
        [
            "question": question, "relaxed": isRelaxed, "more": hasMore, "proposals": proposals,
            "texts": texts,
            "unread": unread,
            "hits": hits,
        ]
    }
}

extension SearchReport.Hit: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "title": title, "heading": heading, "anchor": anchor,
            "snippet": snippet.parts.map { ["text": $0.text, "marked": $0.isMarked] as JSONMembers },
            "site": site, "snapshot": snapshot.number, "overlay": IfAny(snapshot.isOverlay ? true : nil),
            "type": type, "language": language, "fetched": Wording.date(fetched),
            "score": score,
        ]
    }
}

/// Percent-encodes the fragment of a URL.
enum FragmentText {
    /// Returns the anchor in the form of a URL's fragment.
    static func encoded(_ anchor: String) -> String {
        let url = WebURL("http://localhost/#\(anchor.replacing("\n", with: "").replacing("\t", with: ""))")
        return url?.href.split(separator: "#", maxSplits: 1).last.map { String($0) } ?? ""
    }
}
