public import Reports
internal import Store
package import Web

/// What to look for, and where.
public struct SearchOptions: Sendable {
    /// A site by its name, its address or its host; nil for all that is held.
    public var site: String?
    public var type: TypeFilter?
    /// As this visit shows its site; nil for what is served.
    public var visit: Int64?
    /// The most hits.
    public var limit = 10
    /// How many of the best are left out, as those that were shown already.
    public var offset = 0

    public init() {}

    /// The index knows nothing of types and visits.
    var isFiltering: Bool { type != nil || visit != nil }
}

/// What a search found.
public struct SearchReport: Sendable, Equatable {
    /// A page that was found.
    public struct Hit: Sendable, Equatable {
        public let url: String
        public let title: String
        /// The part of the page that has it, and the fragment that leads there; empty where there is none.
        public let heading: String
        public let anchor: String
        public let snippet: Snippet
        /// The name of its site.
        public let site: String
        public let visit: Int64
        public let type: String?
        public let language: String
        /// Seconds since 1970.
        public let fetched: Int64
        /// The higher, the better; of use in comparisons within one search.
        public let score: Double

        /// The address with the fragment that leads to the part.
        public var address: String { anchor.isEmpty ? url : "\(url)#\(FragmentText.encoded(anchor))" }
    }

    public let question: String
    public package(set) var hits: [Hit] = []
    /// There are more.
    public package(set) var hasMore = false
    /// Nothing had all the words; the hits have some of them.
    public package(set) var isRelaxed = false
    /// What was meant, where a word stands nowhere: whole questions.
    public package(set) var proposals: [String] = []
    /// How many texts are known; nil where nothing was indexed yet.
    public package(set) var texts: Int?

    /// Pages whose words nobody has read yet: an indexing had no time for them.
    public package(set) var unread = 0

    package init(question: String) { self.question = question }

    /// The report for programs.
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
            "site": site, "visit": visit, "type": type, "language": language, "fetched": fetched,
            "score": score,
        ]
    }
}

/// A fragment as an address writes it.
enum FragmentText {
    static func encoded(_ anchor: String) -> String {
        let url = WebURL("http://localhost/#\(anchor.replacing("\n", with: "").replacing("\t", with: ""))")
        return url?.href.split(separator: "#", maxSplits: 1).last.map { String($0) } ?? ""
    }
}
