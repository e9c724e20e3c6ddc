/// What a check found, item by item, in an order that stays.
public struct CheckReport: Sendable, Equatable {
    public enum Subject: Sendable, Equatable {
        /// The bundles of a manifest, named as it was asked for.
        case manifest(String)
        /// Everything that the pages of a site need offline.
        case site(String)
    }

    public let subject: Subject
    /// Where was looked: the name of each place, in the order of every item's findings.
    public let places: [String]
    public let items: [Item]
    /// What makes the check fail, where the item is required.
    public let failsOn: Set<Verdict>
    /// What the manifest says that cannot be checked.
    public var notes: [String] = []

    public struct Item: Sendable, Equatable {
        /// As the manifest writes it; of a site the URL.
        public let name: String
        /// Where the manifest has it, counted from 1; nil where that is not known.
        public let line: Int?
        public let isRequired: Bool
        /// From the start to the page that needs it; empty where everything is fine, and for bundles.
        public let chain: [String]
        /// One for each place.
        public let findings: [Finding]

        /// The worst of the findings, the first of several.
        public var finding: Finding {
            findings.dropFirst().reduce(findings[0]) { $1.verdict.severity > $0.verdict.severity ? $1 : $0 }
        }

        public var url: String { finding.url }
        public var verdict: Verdict { finding.verdict }
        public var detail: String? { finding.detail }
    }

    /// What was found of an item at one place.
    public struct Finding: Sendable, Equatable {
        public let url: String
        public let verdict: Verdict
        /// What differs, or why nothing can be said; of a verified one how it was found, where that is worth a word.
        public let detail: String?
        /// What else was noticed, and changes nothing about the verdict.
        public var remarks: [String] = []
    }

    /// What makes a check fail where nobody says otherwise.
    public static let usualFailures: Set<Verdict> = [.mismatch, .missing, .skew]

    /// From the best to the worst.
    public enum Verdict: String, Sendable, Equatable, CaseIterable {
        case verified
        /// The site itself says that there is no such thing.
        case gone
        /// The user's own settings kept it out of the visit: a limit, robots.txt, what was taken for a trap.
        case leftOut = "left-out"
        /// It was had, and nothing can be said of it.
        case unverifiable
        /// It is of another release than what it belongs to.
        case skew
        /// It could not be had.
        case missing
        /// It is not what it should be.
        case mismatch

        var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// Nothing that was asked to fail does.
    public var isClean: Bool { items.allSatisfy { item in item.findings.allSatisfy { !fails($0, of: item) } } }

    public func fails(_ finding: Finding, of item: Item) -> Bool {
        item.isRequired && failsOn.contains(finding.verdict)
    }

    public func count(_ verdict: Verdict) -> Int { items.count { $0.verdict == verdict } }

    /// What was checked, by its name.
    public var name: String {
        switch subject {
        case .manifest(let name), .site(let name): name
        }
    }
}
