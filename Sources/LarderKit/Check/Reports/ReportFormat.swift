/// How a report of a check is written. Each is a function of the report alone: the same report is the same text.
public enum ReportFormat: String, Sendable, CaseIterable {
    /// For people.
    case text
    case json
    /// The XML that CI servers collect.
    case junit
    /// For code scanning: SARIF 2.1.0.
    case sarif
    /// Annotations in a log of GitHub Actions.
    case github
    /// The Test Anything Protocol, version 14.
    case tap
}

extension CheckReport {
    /// The whole report, without the line feed at its end.
    public func text(as format: ReportFormat) -> String {
        switch format {
        case .text: plainText
        case .json: json
        case .junit: JUnitReport(self).text
        case .sarif: sarif
        case .github: GitHubReport(self).text
        case .tap: TAPReport(self).text
        }
    }

    /// The counts of what there is, in the order of the verdicts: `12 verified, 1 missing`.
    var summary: String {
        let counts = Verdict.allCases.compactMap { verdict in
            count(verdict) > 0 ? "\(count(verdict)) \(verdict.rawValue)" : nil
        }
        return counts.isEmpty ? "nothing to check" : counts.joined(separator: ", ")
    }
}

extension CheckReport.Finding {
    /// The verdict with what there is to say of it.
    var sentence: String { verdict.rawValue + (explanation.map { ": \($0)" } ?? "") }

    /// All that there is to say of what is not verified.
    var explanation: String? {
        guard verdict != .verified, !remarks.isEmpty else { return detail }
        return ([detail].compactMap { $0 } + remarks).joined(separator: "; ")
    }
}
