internal import Reports
package import Web

extension LinkCheckReport {
    /// The report in a format, without a line feed at its end.
    public func text(as format: ReportFormat) -> String { CheckReports([.links(self)]).text(as: format) }

    /// The number of links for each verdict: `812 verified, 1 dead`.
    package var summary: String {
        let counts = Verdict.allCases.compactMap { verdict in
            count(verdict) > 0 ? "\(count(verdict)) \(verdict.rawValue)" : nil
        }
        return counts.isEmpty ? "no links" : counts.joined(separator: ", ")
    }
}

// MARK: - Text

extension LinkCheckReport {
    /// The maximum number of places that the text lists for a link.
    private static let maxPlaceLines = 3
    /// The maximum number of links that the text lists for a verdict that does not fail the check.
    private static let maxHarmlessLinks = 10

    /// The findings, grouped by verdict. The worst group is the last, next to the prompt.
    var plainText: String {
        var lines: [String] = []
        for verdict in Verdict.allCases
        where verdict != .verified && verdict != .ignored && verdict != .notChecked {
            let group = findings.filter { $0.verdict == verdict }
            guard !group.isEmpty else { continue }
            lines.append("\(verdict.heading) (\(group.count))")
            let shown = failsOn.contains(verdict) ? group[...] : group.prefix(Self.maxHarmlessLinks)
            for finding in shown { lines += self.lines(of: finding).map { "  " + $0 } }
            if shown.count < group.count {
                lines.append("  and \(group.count - shown.count) more; the JSON report lists all")
            }
            lines.append("")
        }
        lines += notes.map { "note: \($0)" }
        let documents = Wording.count(documentCount, "document")
        lines.append("\(name): \(Wording.count(linkCount, "link")) in \(documents): \(summary)")
        return lines.map(\.visible).joined(separator: "\n")
    }

    /// The lines about the links that make the check fail, then the counts.
    var failureLines: [String] {
        let lines = findings.filter { failsOn.contains($0.verdict) }.flatMap { self.lines(of: $0) }
        let documents = Wording.count(documentCount, "document")
        return (lines + ["\(name): \(Wording.count(linkCount, "link")) in \(documents): \(summary)"])
            .map(\.visible)
    }

    private func lines(of finding: Finding) -> [String] {
        var lines = ["\(finding.target): \(finding.detail)"]
        lines += finding.places.prefix(Self.maxPlaceLines).map { "  \($0.document):\($0.line):\($0.column)" }
        let others = finding.placeCount - min(finding.places.count, Self.maxPlaceLines)
        if others > 0 { lines.append("  and \(Wording.count(others, "other place"))") }
        return lines
    }
}

extension LinkCheckReport.Verdict {
    /// The heading of a group in the text.
    fileprivate var heading: String {
        switch self {
        case .verified: "Verified"
        case .ignored: "Ignored"
        case .notChecked: "Not checked"
        case .redirected: "Moved permanently; update the links"
        case .mixedContent: "Loaded by http in pages that are sent by https"
        case .blocked: "Could not tell: blocked by robots.txt, a login, a rate limit or bot protection"
        case .failed: "Could not tell: the server had an error, or scripts make the fragment"
        case .timedOut: "Timed out twice"
        case .fragmentMissing: "The page exists, but the fragment does not"
        case .dead: "Dead"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .verified: "The target exists"
        case .ignored: "The link is ignored by a rule, an attribute or the baseline"
        case .notChecked: "The target was not checked"
        case .redirected: "The target has moved permanently"
        case .mixedContent: "A page that is sent by https loads the target by http"
        case .blocked: "The check could not tell, because the server refuses programs"
        case .failed: "The check could not tell, because of an error"
        case .timedOut: "The server did not answer in time"
        case .fragmentMissing: "The page exists, but has no such fragment"
        case .dead: "The target does not exist"
        }
    }

    fileprivate var lowerLevel: String {
        switch self {
        case .verified, .ignored, .notChecked, .redirected, .blocked: "note"
        case .mixedContent, .failed, .timedOut, .fragmentMissing, .dead: "warning"
        }
    }
}

// MARK: - JSON and CI

extension LinkCheckReport {
    /// The report as JSON.
    public var json: String { members.text() }
}

extension LinkCheckReport: JSONObject {
    package var members: JSONMembers {
        let counts = Verdict.allCases.reduce([:] as JSONMembers) { $0 + [$1.rawValue: count($1)] }
        return [
            "target": name, "clean": isClean, "documents": documentCount, "links": linkCount,
            "counts": counts,
            "failOn": Verdict.allCases.filter(failsOn.contains).map(\.rawValue), "notes": IfAny(notes),
            "findings": findings.map(members),
        ]
    }

    private func members(of finding: Finding) -> JSONMembers {
        [
            "url": finding.target, "verdict": finding.verdict.rawValue, "detail": finding.detail,
            "internal": finding.isInternal, "placeCount": finding.placeCount,
            "places": finding.places.map { place -> JSONMembers in
                [
                    "document": place.document, "line": place.line, "column": place.column,
                    "kind": place.kind,
                    "reference": place.reference,
                ]
            },
        ]
    }

    /// The report for CI servers: a finding for each listed place of a link. Verified links are only counted.
    var ciReport: CIReport {
        let rules = Verdict.allCases.filter { $0 != .verified }.map { verdict in
            CIReport.Rule(
                id: verdict.rawValue, meaning: verdict.meaning, isFailing: failsOn.contains(verdict),
                lowerLevel: verdict.lowerLevel)
        }
        let shown = findings.filter { $0.verdict != .ignored && $0.verdict != .notChecked }
        var cases = shown.flatMap(ciFindings)
        // A report without cases counts as a failure in some CI servers, and as skipped in TAP.
        if cases.isEmpty {
            cases.append(
                CIReport.Finding(
                    name: "all links of \(name)", url: name, sentence: summary,
                    fingerprint: "verified \(name)"))
        }
        return CIReport(
            name: name, summary: "\(Wording.count(linkCount, "link")): \(summary)",
            suites: [CIReport.Suite(name: "links", findings: cases)], rules: rules,
            fingerprintName: "larderLink/v1")
    }

    private func ciFindings(of finding: Finding) -> [CIReport.Finding] {
        // The lines of a document change often, so that they do not identify a link. Equal links of a document are counted.
        var counts: [String: Int] = [:]
        return finding.places.map { place in
            counts[place.document, default: 0] += 1
            let count = counts[place.document] ?? 1
            return CIReport.Finding(
                name: "\(place.document): \(finding.target)", url: finding.target,
                rule: finding.verdict.rawValue,
                fails: fails(finding), sentence: "\(finding.verdict.rawValue): \(finding.detail)",
                explanation: finding.detail,
                location: CIReport.Location(path: place.document, line: place.line, column: place.column),
                fingerprint: "\(finding.verdict.rawValue) \(finding.target) \(place.document)"
                    + (count > 1 ? " \(count)" : ""))
        }
    }
}

// MARK: - Stored summaries

extension LinkCheckSummary {
    /// - Parameter snapshot: the id of the checked snapshot.
    init(of report: LinkCheckReport, at time: Int64, snapshot: Int64) {
        var counts: [LinkVerdict: Int] = [:]
        for verdict in LinkVerdict.allCases { counts[verdict] = report.count(verdict) }
        // The worst findings are the first ones of the report.
        let findings = report.findings.prefix(Self.maxFindings).map { finding in
            LinkCheckSummary.Finding(
                target: finding.target, finding.verdict, finding.detail, page: finding.places.first?.document,
                line: finding.places.first?.line ?? 1, placeCount: finding.placeCount)
        }
        self.init(
            at: time, snapshot: snapshot, documentCount: report.documentCount, linkCount: report.linkCount,
            counts: counts, findings: findings)
    }
}
