internal import Web

/// Whether an URL would be fetched, by which rule, and who links to it.
public struct ExplainReport: Sendable, Equatable {
    /// What one site's rules say.
    public struct Site: Sendable, Equatable {
        public let name: String
        /// `followed: on example.com`, `skipped: excluded by *.pdf`.
        public let asPage: String
        public let isPageFollowed: Bool
        public let asRequisite: String
        /// What the held robots.txt says of it as a page; nil when none is held.
        public let robots: String?
    }

    public let url: String
    public let sites: [Site]
    /// The status under which it is held and shown; nil when it is not.
    public let heldStatus: Int?
    /// From a start to who asked for it first; empty when that is not known.
    public let chain: [String]
    /// The addresses whose bodies link to it.
    public let linkedFrom: [String]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("url", url)
            object.member("heldStatus", heldStatus)
            object.member("chain", chain)
            object.member("linkedFrom", linkedFrom)
            object.member("sites") { list in
                list.array { array in
                    for site in sites {
                        array.object { object in
                            object.member("name", site.name)
                            object.member("asPage", site.asPage)
                            object.member("asRequisite", site.asRequisite)
                            object.member("robots", site.robots)
                        }
                    }
                }
            }
        }
        return writer.text
    }
}
