internal import Reports
internal import Store
internal import Web

/// The part of a site's page about the last check of its links: the counts, the worst findings by their causes, and the button
/// that runs a new check.
struct LinkCheckSection {
    let site: SiteReport
    /// Nil if the links were not checked yet.
    let summary: LinkCheckSummary?

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "links"], say: .links)
        if let summary {
            writeState(summary, to: &html, context)
            writeCounts(summary, to: &html)
            writeFindings(summary, to: &html, context)
        } else {
            html.element("p", ["class": "soft"], say: .linksNotChecked)
        }
        guard context.token != nil, site.site.live != nil else { return }
        html.element("div", ["class": "orders"]) { html in
            html.commandButton(
                "links", .doCheckLinks, about: site.title, context, fields: [("site", site.site.name)])
        }
    }

    /// Writes the numbers of links and documents, the snapshot, and the time of the check.
    private func writeState(_ summary: LinkCheckSummary, to html: inout HTMLWriter, _ context: PortalContext)
    {
        guard let snapshot = site.site.snapshots.first(where: { $0.id == summary.snapshot }) else { return }
        html.element("p") { html in
            html.say(
                .linksChecked, Wording.number(summary.linkCount), Wording.number(summary.documentCount),
                "\(snapshot.name)")
            html.time(summary.at, now: context.now)
            html.say(snapshot.isLive ? .fullStop : .linksCheckedOld)
        }
    }

    private func writeCounts(_ summary: LinkCheckSummary, to html: inout HTMLWriter) {
        html.element("dl", ["class": "facts"]) { html in
            for verdict in LinkVerdict.allCases {
                if let count = summary.counts[verdict] {
                    html.fact(html.words(verdict.heading), html.language.number(count))
                }
            }
        }
        if summary.brokenCount == 0 { html.element("p", say: .noBrokenLinks) }
    }

    /// Writes the findings of each verdict in a part that can be opened, the worst first. Only broken links are open at once.
    private func writeFindings(
        _ summary: LinkCheckSummary, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        for verdict in LinkVerdict.allCases.reversed() {
            let findings = summary.findings.filter { $0.verdict == verdict }
            guard !findings.isEmpty else { continue }
            let count = summary.counts[verdict] ?? findings.count
            html.element("details", ["open": verdict.isBroken ? "" : nil]) { html in
                let heading = html.words(verdict.heading)
                html.element("summary", say: Phrase(.nameAndCount, heading, Wording.number(count)))
                html.element("ul", ["class": "list"]) { html in
                    for finding in findings {
                        html.element("li") { Self.write(finding, to: &$0, context) }
                    }
                }
                html.leftOutNote(of: count, shown: findings.count)
            }
        }
    }

    /// Writes the target with the reason, and the first page with the link.
    private static func write(
        _ finding: LinkCheckSummary.Finding, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        if WebURL(finding.target)?.isHTTP == true {
            html.link(context.links.details(finding.target), ["class": "name url"]) { $0.url(finding.target) }
        } else {
            html.element("span", ["class": "name url"]) { $0.isolatedText(finding.target) }
        }
        html.element("span", ["class": "soft"]) { html in
            html.isolatedText(FailureText.text(for: finding.detail, in: html.language))
        }
        guard let page = finding.page else { return }
        html.element("span", ["class": "soft"]) { html in
            html.say(.linkPlace)
            html.link(context.links.details(page)) { $0.url(page) }
            html.say(.linkPlaceLine, "\(finding.line)")
            let others = finding.placeCount - 1
            if others > 0 { html.text(html.count(others, .andOneOther, .andManyOthers)) }
        }
    }
}

extension LinkVerdict {
    /// The name in the reader's language.
    fileprivate var heading: Sentence {
        switch self {
        case .verified: .linkVerified
        case .ignored: .linkIgnored
        case .notChecked: .linkNotChecked
        case .redirected: .linkRedirected
        case .mixedContent: .linkMixedContent
        case .blocked: .linkBlocked
        case .failed: .linkFailed
        case .timedOut: .linkTimedOut
        case .fragmentMissing: .linkFragmentMissing
        case .dead: .linkDead
        }
    }

    /// Whether the link is certainly broken.
    fileprivate var isBroken: Bool {
        switch self {
        case .fragmentMissing, .dead: true
        case .verified, .ignored, .notChecked, .redirected, .mixedContent, .blocked, .failed, .timedOut: false
        }
    }
}
