internal import Digest
internal import Reports
package import Store
package import Web

/// The page of the stored scripts of all sites, with their digests and the results of bundle checks.
package struct ScriptsPage: PortalPage {
    /// A function that returns the results of bundle checks for URLs, also those of bodies that were replaced since.
    package typealias VerdictLookup = (_ hrefs: [String]) -> [BundleVerdict]

    package let scripts: [VisibleEntry]
    /// The position where the next page of the list starts; nil at the end.
    package let next: BodyCursor?
    /// The MD5s of the bodies, by the ids of the URLs. MD5s that the store does not have are computed, up to
    /// `PortalLimits.maxDigestBytes` of bodies for the page; the rest has none.
    let md5s: [Int64: String]
    /// The results for the bodies that are stored now, by URL. A result for another body says nothing about this one.
    package let verdicts: [String: BundleVerdict]
    package let title = "Scripts"
    var heading: Sentence? { .scripts }
    let section = PortalSection.scripts

    /// - Parameters:
    ///   - position: the position from the link to the next page; nil for the first page.
    ///   - lookUpVerdicts: finds the results of bundle checks; nil to show none.
    init(from position: SearchPosition?, _ reader: StoreReader, _ lookUpVerdicts: VerdictLookup?)
        throws(StoreError)
    {
        let start: BodyCursor =
            switch position {
            // Scripts are found by their bodies, as titles are.
            case .titles(let cursor): cursor
            case .urls, .hits, nil: .start
            }
        let listed = try reader.findByBody(
            .format("javaScript"), site: nil, after: start, bodyCount: PortalLimits.maxSearchedBodies,
            limit: PortalLimits.maxListItems)
        scripts = listed.entries
        next = listed.next
        var md5s: [Int64: String] = [:]
        var known = KnownMD5s(reader, upTo: PortalLimits.maxDigestBytes)
        for script in scripts {
            md5s[script.url] = try script.body.flatMap { (body) throws(StoreError) in
                try known.md5(of: body)?.hex
            }
        }
        self.md5s = md5s
        var currentVerdicts: [String: BundleVerdict] = [:]
        let bodies = Dictionary(
            scripts.map { ($0.href, $0.body?.sha256) }, uniquingKeysWith: { first, _ in first })
        for verdict in lookUpVerdicts?(scripts.map(\.href)) ?? [] where bodies[verdict.href] == verdict.sha256
        {
            currentVerdicts[verdict.href] = verdict
        }
        self.verdicts = currentVerdicts
    }

    package func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .scriptsLead)
        guard !scripts.isEmpty else {
            html.element("p", say: next == nil ? .noScripts : .noScriptsSoFar)
            return writeNext(to: &html, context)
        }
        html.element("ul", ["class": "list"]) { html in
            for script in scripts { html.element("li") { writeScript(script, to: &$0, context) } }
        }
        writeNext(to: &html, context)
    }

    /// Writes the URL of a script, the result of its check if there is one, its size and its digests.
    private func writeScript(_ script: VisibleEntry, to html: inout HTMLWriter, _ context: PortalContext) {
        html.link(context.links.details(script.href), ["class": "name url"]) { $0.url(script.href) }
        if let verdict = verdicts[script.href] {
            let name = Self.sentence(for: verdict).map { html.words($0) } ?? verdict.name
            html.element("span", ["class": verdict.isGood ? "badge" : "badge warn"], text: name)
            for text in Self.explanations(of: verdict, html) {
                html.element("span", ["class": "soft"]) { $0.isolatedText(text) }
            }
        }
        html.element("dl", ["class": "sheet"]) { html in
            html.element("dt", say: .figureSize)
            html.element("dd", text: html.language.bytes(script.body?.byteCount ?? 0))
            html.element("dt", text: "MD5")
            html.element("dd") { html in
                if let md5 = md5s[script.url] {
                    html.element("code", text: md5)
                } else {
                    html.element("span", ["class": "soft"], say: .tooLargeDigest)
                }
            }
            html.element("dt", text: "SHA-256")
            html.element("dd") { $0.element("code", text: script.body.map { Hex.encode($0.sha256) } ?? "") }
        }
    }

    /// The verdict in the reader's language. Nil for verdicts that do not occur for stored scripts, such as of bundles that
    /// are not stored.
    private static func sentence(for verdict: BundleVerdict) -> Sentence? {
        switch verdict.name {
        case "verified": .verdictVerified
        case "unverifiable": .verdictUnverifiable
        case "skew": .verdictSkew
        case "mismatch": .verdictMismatch
        default: nil
        }
    }

    /// The digest and the key that prove a verified bundle, and the detail of the verdict, each in the reader's language.
    private static func explanations(of verdict: BundleVerdict, _ html: HTMLWriter) -> [String] {
        guard let detail = verdict.detail else { return [] }
        guard verdict.isGood, let (proof, rest) = BundleProof.split(detail) else {
            return [weakAlgorithm(in: detail).map { html.words(.weakProof, $0) } ?? detail]
        }
        let algorithm = proof.algorithm
        let signer = proof.signer.map { html.words(.signedBy, BundleProof.fingerprint(ofKey: $0)) }
        return [html.words(algorithm.isStrong ? .strongProof : .weakProof, algorithm.label), signer, rest]
            .compactMap { $0 }
    }

    /// The algorithm in a detail that only says that the algorithm is weak; nil for other details. Earlier versions of
    /// Larder stored such details. Since details are stored in English, the English sentence is compared.
    private static func weakAlgorithm(in detail: String) -> String? {
        ["MD5", "SHA-1"].first { detail == Sentence.weakProof.text(in: .english, [$0]) }
    }

    private func writeNext(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let next else { return }
        html.nextLink(
            context.links.scripts(after: SearchPosition.titles(next).text), html.words(.moreScripts))
    }

    package func members(_ context: PortalContext) -> JSONMembers {
        [
            "scripts": scripts.map { script -> JSONMembers in
                let verdict = verdicts[script.href]
                let proven = verdict?.isGood == true ? verdict?.detail.flatMap(BundleProof.split) : nil
                return [
                    "url": script.href, "bytes": script.body?.byteCount, "md5": md5s[script.url],
                    "sha256": script.body.map { Hex.encode($0.sha256) },
                    "verdict": verdict?.name, "algorithm": IfAny(proven?.proof.algorithm.rawValue),
                    "signer": IfAny(proven?.proof.signer),
                    "detail": proven == nil ? verdict?.detail : proven?.rest,
                ]
            },
            "after": next.map { SearchPosition.titles($0).text },
        ]
    }
}
