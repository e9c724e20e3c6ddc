public import Reports

/// The result of a check of links. The findings are in a stable order: the worst verdicts first, then by URL.
public struct LinkCheckReport: Sendable, Equatable {
    /// The name of the checked site, folder or files.
    public let name: String
    /// The number of documents whose links were read.
    public var documentCount = 0
    /// The number of different links, counted once for each fragment.
    public var linkCount = 0
    /// The number of different links whose verdict is `verified`.
    public var verifiedCount = 0
    /// The links with any other verdict.
    public var findings: [Finding] = []
    /// The verdicts that make the check fail.
    public var failsOn: Set<Verdict> = LinkCheckReport.usualFailures
    /// Notes about content that was not checked.
    public var notes: [String] = []

    package init(name: String) { self.name = name }

    /// The verdicts that make a check fail by default.
    public static let usualFailures: Set<Verdict> = [.fragmentMissing, .dead]

    public typealias Verdict = LinkVerdict

    /// A link that is not verified.
    public struct Finding: Sendable, Equatable {
        /// The target with its fragment, as a URL or as the path of a file; the link as written if it is no URL.
        public let target: String
        /// The result.
        public let verdict: Verdict
        /// The reason of the verdict, such as "the server answered 404".
        public let detail: String
        /// Whether the target belongs to the checked site, folder or files. If not, it is on another site.
        public let isInternal: Bool
        /// The places at which documents contain the link: at most `maxPlaces`, in the order of documents.
        public let places: [Place]
        /// The number of places, which may be greater than that of `places`.
        public let placeCount: Int

        /// Further places are only counted. A link in a footer may be on every page of a site.
        public static let maxPlaces = 20

        package init(
            target: String, _ verdict: Verdict, _ detail: String, isInternal: Bool, places: [Place],
            placeCount: Int
        ) {
            (self.target, self.verdict, self.detail) = (target, verdict, detail)
            (self.isInternal, self.places, self.placeCount) = (isInternal, places, placeCount)
        }
    }

    /// A place at which a document contains a link.
    public struct Place: Sendable, Equatable {
        /// The path of the file, or the URL of the page.
        public let document: String
        /// The line, counted from 1.
        public let line: Int
        /// The column in characters, counted from 1.
        public let column: Int
        /// The kind of the link, such as "page" or "image".
        public let kind: String
        /// The reference as the document contains it.
        public let reference: String

        package init(document: String, line: Int, column: Int, kind: String, reference: String) {
            (self.document, self.line, self.column) = (document, line, column)
            (self.kind, self.reference) = (kind, reference)
        }
    }

    /// Whether no finding makes the check fail.
    public var isClean: Bool { !findings.contains { failsOn.contains($0.verdict) } }

    /// Whether a finding makes the check fail.
    public func fails(_ finding: Finding) -> Bool { failsOn.contains(finding.verdict) }

    /// The number of links with a verdict.
    public func count(_ verdict: Verdict) -> Int {
        verdict == .verified ? verifiedCount : findings.count { $0.verdict == verdict }
    }
}
