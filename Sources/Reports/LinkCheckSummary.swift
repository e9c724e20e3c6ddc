package import Store
package import Web

/// The result of the last check of a stored site's links, as the store keeps it for the portal: the counts, and the worst
/// findings. The full report is only given to the caller of the check.
package struct LinkCheckSummary: Sendable, Equatable {
    /// A link that is not verified.
    package struct Finding: Sendable, Equatable {
        /// The target with its fragment.
        package let target: String
        package let verdict: LinkVerdict
        /// The reason of the verdict, in English.
        package let detail: String
        /// The URL of the first page with the link; nil if no place is known.
        package let page: String?
        /// The line of the link there, counted from 1.
        package let line: Int
        /// The number of places with the link.
        package let placeCount: Int

        package init(
            target: String, _ verdict: LinkVerdict, _ detail: String, page: String?, line: Int,
            placeCount: Int
        ) {
            self.target = Self.limitLength(of: target)
            (self.verdict, self.detail) = (verdict, Self.limitLength(of: detail))
            (self.page, self.line, self.placeCount) = (page.map(Self.limitLength), line, placeCount)
        }

        /// Longer texts are cut, so that a hostile page cannot fill the store.
        private static let maxTextBytes = 1000

        private static func limitLength(of text: String) -> String {
            guard text.utf8.count > maxTextBytes else { return text }
            return String(decoding: text.utf8.prefix(maxTextBytes), as: UTF8.self) + "…"
        }
    }

    /// The time of the check, in seconds since 1970.
    package let at: Int64
    /// The id of the checked snapshot.
    package let snapshot: Int64
    package let documentCount: Int
    package let linkCount: Int
    /// The number of links with each verdict. Those without any are left out.
    package let counts: [LinkVerdict: Int]
    /// The worst findings first, then in the order of their targets. Verdicts that say nothing about the link are left out.
    package private(set) var findings: [Finding]

    /// Further findings are only counted.
    package static let maxFindings = 100

    /// - Parameter findings: in any order.
    package init(
        at: Int64, snapshot: Int64, documentCount: Int, linkCount: Int, counts: [LinkVerdict: Int],
        findings: [Finding]
    ) {
        (self.at, self.snapshot) = (at, snapshot)
        (self.documentCount, self.linkCount) = (documentCount, linkCount)
        self.counts = counts.filter { $0.value > 0 }
        let sorted = findings.filter(Self.isListed).sorted {
            ($1.verdict.severity, $0.target) < ($0.verdict.severity, $1.target)
        }
        self.findings = Array(sorted.prefix(Self.maxFindings))
    }

    private static func isListed(_ finding: Finding) -> Bool {
        switch finding.verdict {
        case .verified, .ignored, .notChecked: false
        case .redirected, .mixedContent, .blocked, .failed, .timedOut, .fragmentMissing, .dead: true
        }
    }

    /// The number of links that are certainly broken.
    package var brokenCount: Int { (counts[.dead] ?? 0) + (counts[.fragmentMissing] ?? 0) }

    /// The summary without findings on pages that the reader hides.
    package func visible(to reader: StoreReader) throws(StoreError) -> LinkCheckSummary {
        guard reader.hidesPrivate else { return self }
        var summary = self
        summary.findings = []
        for finding in findings {
            guard let page = finding.page, try reader.canReveal(page) else { continue }
            summary.findings.append(finding)
        }
        return summary
    }
}

// MARK: - Storing

extension LinkCheckSummary {
    /// The text that is stored, without the time and the snapshot.
    package var text: String { members.text(.compact) }

    /// Reads a stored summary; nil if it is damaged, or of a later version.
    package init?(_ record: LinkCheckRecord) {
        guard let value = try? JSONValue.parse(record.summary.utf8.span),
            let documentCount = value["documents"]?.int, let linkCount = value["links"]?.int
        else { return nil }
        var counts: [LinkVerdict: Int] = [:]
        for verdict in LinkVerdict.allCases { counts[verdict] = value["counts"]?[verdict.rawValue]?.int }
        let findings = (value["findings"]?.array ?? []).compactMap { entry -> Finding? in
            guard let target = entry["url"]?.string,
                let verdict = entry["verdict"]?.string.flatMap({ LinkVerdict(rawValue: $0) })
            else { return nil }
            return Finding(
                target: target, verdict, entry["detail"]?.string ?? "", page: entry["page"]?.string,
                line: entry["line"]?.int ?? 1, placeCount: entry["placeCount"]?.int ?? 0)
        }
        self.init(
            at: record.at, snapshot: record.snapshot, documentCount: documentCount, linkCount: linkCount,
            counts: counts, findings: findings)
    }
}

extension LinkCheckSummary: JSONObject {
    package var members: JSONMembers {
        let counts = LinkVerdict.allCases.reduce([:] as JSONMembers) { members, verdict in
            members + [verdict.rawValue: IfAny(self.counts[verdict])]
        }
        return [
            "documents": documentCount, "links": linkCount, "counts": counts,
            "findings": findings.map { finding -> JSONMembers in
                [
                    "url": finding.target, "verdict": finding.verdict.rawValue, "detail": finding.detail,
                    "page": IfAny(finding.page), "line": finding.line, "placeCount": finding.placeCount,
                ]
            },
        ]
    }
}

extension StoreReader {
    /// The summary of the last check of a site's links; nil if there is none that this reader may see, or its snapshot is
    /// not one of the site, which may have been removed and made again since.
    package func lastLinkCheck(of site: Site) throws(StoreError) -> LinkCheckSummary? {
        guard let record = try linkCheckRecord(ofSite: site.name),
            site.snapshots.contains(where: { $0.id == record.snapshot }),
            let summary = LinkCheckSummary(record)
        else { return nil }
        return try summary.visible(to: self)
    }
}
