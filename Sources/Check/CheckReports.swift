internal import Web

/// The reports of one call, which may check bundles, stored sites and links together. Each format shows all of them in one
/// text.
public struct CheckReports: Sendable {
    /// A report of either kind.
    public enum Entry: Sendable {
        case check(CheckReport)
        case links(LinkCheckReport)
    }

    /// The reports, in the order in which the checks ran.
    public let entries: [Entry]

    /// Creates the reports of one call.
    public init(_ entries: [Entry]) {
        self.entries = entries
    }

    /// Whether no check fails.
    public var isClean: Bool {
        entries.allSatisfy { entry in
            switch entry {
            case .check(let report): report.isClean
            case .links(let report): report.isClean
            }
        }
    }

    /// All reports in a format, without a line feed at the end. JSON is the object of the only report, or an object with the
    /// list `checks` if there are several.
    ///
    /// - Parameter isBrief: plain text shows only the strongest digest of a mismatch, shortened.
    public func text(as format: ReportFormat, isBrief: Bool = false) -> String {
        switch format {
        case .text:
            entries.map { entry in
                switch entry {
                // The line with the counts is the last one about a site, so that it is on the screen after many others.
                case .check(let report) where entries.count > 1 && report.missingURLs != nil:
                    "\(report.name.visible):\n" + report.plainText(isBrief: isBrief)
                case .check(let report): report.plainText(isBrief: isBrief)
                case .links(let report): report.plainText
                }
            }.joined(separator: "\n")
        case .json: json
        case .junit: JUnitReport(ciReports).text
        case .sarif: SARIFReport(ciReports).text
        case .github: GitHubReport(ciReports).text
        case .tap: TAPReport(ciReports).text
        case .markdown: MarkdownReport(ciReports).text
        }
    }

    /// The lines about the findings that make the checks fail, for a call that prints errors only; empty if all checks succeed.
    public var failureLines: [String] {
        entries.filter { !CheckReports([$0]).isClean }.flatMap { entry in
            switch entry {
            case .check(let report): report.failureLines
            case .links(let report): report.failureLines
            }
        }
    }

    private var json: String {
        let members = entries.map { entry in
            switch entry {
            case .check(let report): report.members
            case .links(let report): report.members
            }
        }
        if let only = members.first, members.count == 1 { return only.text() }
        return (["clean": isClean, "checks": members] as JSONMembers).text()
    }

    private var ciReports: [CIReport] {
        entries.map { entry in
            switch entry {
            case .check(let report): report.ciReport
            case .links(let report): report.ciReport
            }
        }
    }
}
