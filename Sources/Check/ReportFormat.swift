internal import Digest
internal import Reports
internal import Store
package import Web

/// A format for the report of a check. The text depends only on the report.
public enum ReportFormat: String, Sendable, CaseIterable {
    /// Plain text.
    case text
    /// JSON; see `docs/json.md`.
    case json
    /// JUnit XML, for CI servers.
    case junit
    /// SARIF 2.1.0, for code scanning.
    case sarif
    /// Annotations for the log of GitHub Actions.
    case github
    /// The Test Anything Protocol, version 14.
    case tap
    /// Markdown, for the summary of a job.
    case markdown
}

extension CheckReport {
    /// The report in a format, without a line feed at its end.
    ///
    /// - Parameter isBrief: plain text shows only the strongest digest of a mismatch, shortened.
    public func text(as format: ReportFormat, isBrief: Bool = false) -> String {
        CheckReports([.check(self)]).text(as: format, isBrief: isBrief)
    }

    /// The number of items for each verdict: `12 verified, 1 missing`.
    package var summary: String {
        // A site's URLs that were not fetched are counted once, with those outside its scope (`missingURLs`).
        let shown = Verdict.allCases.filter {
            $0 != .notFetched || missingURLs == nil || failsOn.contains(.notFetched)
        }
        let counts = shown.compactMap { verdict in
            count(verdict) > 0 ? "\(Wording.number(count(verdict))) \(verdict.rawValue)" : nil
        }
        return counts.isEmpty ? "nothing to check" : counts.joined(separator: ", ")
    }
}

extension CheckReport.Finding {
    /// The verdict with its explanation.
    var sentence: String { verdict.rawValue + (explanation.map { ": \($0)" } ?? "") }

    /// The detail; for verified bundles, with what proves them; for other items, with the remarks.
    var explanation: String? { explanation(isBrief: false) }

    fileprivate func explanation(isBrief: Bool, hasProof: Bool = true) -> String? {
        let detail = isBrief ? briefDetail ?? detail : detail
        if verdict == .verified {
            let parts = [hasProof ? proof?.brief(with: otherAlgorithms) : nil, detail].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: "; ")
        }
        guard !remarks.isEmpty else { return detail }
        return ([detail].compactMap { $0 } + remarks).joined(separator: "; ")
    }
}

extension CheckReport {
    /// The report as JSON.
    public var json: String { members.text() }
}

extension CheckReport: JSONObject {
    package var members: JSONMembers {
        let (subject, list) =
            switch subject {
            case .manifest: ("manifest", "bundles")
            case .site: ("site", "urls")
            }
        return [
            subject: name, "clean": isClean, "signer": IfAny(signer), "places": places,
            "failOn": Verdict.allCases.filter(failsOn.contains).map(\.rawValue), "notes": IfAny(notes),
            "requires": IfAny(rehearsal == nil ? nil : requires.rawValue), "rehearsal": IfAny(rehearsal),
            list: items.map(members),
        ] + (missingURLs.map { ["complete": $0.isComplete] + $0.members } ?? [:])
    }

    private func members(of item: Item) -> JSONMembers {
        let finding = item.finding
        let places = zip(places, item.findings).map { place, finding in
            ["place": place] + finding.verdictMembers + ["remarks": IfAny(finding.remarks)]
        }
        return ["name": IfAny(item.name == item.url ? nil : item.name)] + finding.verdictMembers + [
            "required": item.isRequired, "line": IfAny(item.line), "remarks": IfAny(finding.remarks),
            "chain": IfAny(item.chain), "places": IfAny(places.count > 1 ? places : []),
        ]
    }
}

extension CheckReport.Finding {
    fileprivate var verdictMembers: JSONMembers {
        [
            "url": url, "verdict": verdict.rawValue, "detail": IfAny(detail), "algorithm": IfAny(algorithm),
            "signer": IfAny(signer),
        ]
    }
}

extension CheckReport {
    /// One line per bundle, or a table if there are several places. For a site, only URLs that are not
    /// verified.
    func plainText(isBrief: Bool) -> String {
        let lines =
            switch subject {
            case .site: siteLines
            case .manifest:
                places.count > 1 ? table(isBrief: isBrief) : items.map { line(of: $0, isBrief: isBrief) }
            }
        let all =
            lines + (notes + weakProofs).map { "note: \($0)" } + missingLines + signerLines + endings
        return all.map(\.visible).joined(separator: "\n")
    }

    /// A line for each finding that makes the check fail, then the counts.
    var failureLines: [String] {
        let lines = items.flatMap { item in
            item.findings.filter { fails($0, of: item) }.map { finding in
                let explanation = finding.explanation(isBrief: true)
                return "\(finding.verdict.rawValue) \(finding.url)" + (explanation.map { ": \($0)" } ?? "")
            }
        }
        return (lines + (rehearsal?.summary ?? []) + ["\(name): \(summary)"]).map(\.visible)
    }

    private var missingLines: [String] {
        guard let missingURLs else { return [] }
        let counts = [
            (missingURLs.broken, "broken on the live site"), (missingURLs.failed, "failed"),
            (missingURLs.notFetched, "not fetched"),
        ].map { "\(Wording.number($0)) \($1)" }
        let ending = missingURLs.isCutShort ? "; a limit ended the run before the site was complete" : ""
        return ["missing URLs: \(counts.joined(separator: ", "))\(ending)"]
    }

    private var weakProofs: [String] { WeakProofs.notes { count(verifiedBy: $0) } }

    /// The whole key that signed the manifest, since the other lines only have its fingerprint.
    private var signerLines: [String] {
        let proofs = places.count > 1 ? proofSummary.map { ["verified by \($0)"] } ?? [] : []
        return proofs + (signer.map { ["the manifest is signed by \($0)"] } ?? [])
    }

    private func line(of item: Item, isBrief: Bool = false) -> String {
        let word = item.isRequired ? item.verdict.rawValue : "\(item.verdict.rawValue) (optional)"
        let explanation = item.finding.explanation(isBrief: isBrief)
        return "\(word) \(item.url)" + (explanation.map { ": \($0)" } ?? "")
    }

    /// The lines of a site. Broken URLs and those that were not fetched do not fail the check, and there may be a hundred
    /// thousand, so only a few for each reason are listed.
    private var siteLines: [String] {
        let others: [Verdict] = [.verified, .broken, .notFetched]
        return items.filter { !others.contains($0.verdict) }.flatMap(siteLines)
            + groupedLines(of: .broken, max: Self.maxBrokenLines)
            + groupedLines(of: .notFetched, max: Self.maxNotFetchedLines)
    }

    /// The lines of the URLs with a verdict, grouped by reason.
    ///
    /// - Parameter max: the maximum number of URLs that are listed for one reason. Above it, one line counts them.
    private func groupedLines(of verdict: Verdict, max: Int) -> [String] {
        let items = items.filter { $0.verdict == verdict }
        return Dictionary(grouping: items, by: { $0.detail ?? "" })
            .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
            .flatMap { reason, items in
                guard items.count > max else { return items.flatMap(siteLines) }
                let count = Wording.number(items.count)
                return ["\(verdict.rawValue) \(count) URLs, such as \(items[0].url): \(reason)"]
            }
    }

    /// The maximum numbers of URLs that are listed for one reason.
    private static let (maxBrokenLines, maxNotFetchedLines) = (10, 3)

    private func siteLines(of item: Item) -> [String] {
        let way = item.chain.isEmpty ? [] : ["  via " + item.chain.joined(separator: " > ")]
        return [line(of: item)] + way
    }

    /// A row for each bundle and a column for each place, with details below a row.
    private func table(isBrief: Bool) -> [String] {
        let names = items.map { $0.isRequired ? $0.name : "\($0.name) (optional)" }
        var widths = [(["bundle"] + names).map(\.unicodeScalars.count).max() ?? 0]
        widths += places.map { max($0.unicodeScalars.count, "unverifiable".utf8.count) }
        func row(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: max(0, width - cell.unicodeScalars.count))
            }
            return String(padded.joined(separator: "  ").trimmingEnd)
        }
        var lines = [row(["bundle"] + places)]
        for (name, item) in zip(names, items) {
            lines.append(row([name] + item.findings.map(\.verdict.rawValue)))
            for (place, finding) in zip(places, item.findings) {
                guard let detail = finding.explanation(isBrief: isBrief, hasProof: false) else { continue }
                let isSharedURL = item.findings.count { $0.url == finding.url } > 1
                lines.append("  \(isSharedURL ? "\(place): " : "")\(finding.url): \(detail)")
            }
        }
        return lines
    }

    private var endings: [String] {
        if places.count > 1 {
            return zip(places, places.indices).map { place, column in
                let found = Verdict.allCases.compactMap { verdict in
                    let count = items.count { $0.findings[column].verdict == verdict }
                    return count > 0 ? "\(count) \(verdict.rawValue)" : nil
                }
                return "\(place): " + (found.isEmpty ? "no bundles" : found.joined(separator: ", "))
            }
        }
        let isRead = items.allSatisfy { item in item.findings.allSatisfy { !fails($0, of: item) } }
        if case .site = subject, isRead, !items.contains(where: { $0.verdict == .unverifiable }) {
            // URLs that the servers do not have are reported as broken.
            let needed =
                lacksAssets
                ? "all files that its pages need, except those that a limit or its settings left out,"
                : "all files that its pages are known to need"
            let isBroken = items.contains { $0.verdict == .broken }
            let stored = "\(needed)\(isBroken ? " and that its servers have" : "") are stored and undamaged"
            return (rehearsal?.summary ?? [])
                + ["\(name): \(summary)\(leftOutPages); \(stored)\(rehearsalEnding)"]
        }
        if let rehearsal { return rehearsal.summary + ["\(name): \(summary)"] }
        return ["\(name): " + (items.isEmpty ? "no bundles" : summary)]
    }
}

extension CheckReport {
    /// The number of pages of the site that were left out, for the last line. The lines before it say why.
    private var leftOutPages: String {
        guard missingURLs != nil, !failsOn.contains(.notFetched), count(.notFetched) > 0 else { return "" }
        return ", \(Wording.count(count(.notFetched), "linked URL")) left out"
    }

    /// The end of the last line about a site if some pages could not be compared. The lines before it say which.
    private var rehearsalEnding: String {
        rehearsal?.isProved ?? true ? "" : "; some kinds of pages with scripts were not compared"
    }
}

extension String {
    /// The text without trailing spaces.
    fileprivate var trimmingEnd: Substring {
        var rest = self[...]
        while rest.utf8.last == UInt8(ascii: " ") { rest = rest.dropLast() }
        return rest
    }
}
