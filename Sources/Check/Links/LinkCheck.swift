internal import Crawl
internal import Fetch
internal import Markup
internal import Reports
package import Store
internal import Synchronization
package import System
internal import Web

/// Checks the links of a site, a folder or files.
///
/// 1. All documents are read on all cores: their links, and their fragments.
/// 2. Each different target is looked up among the documents. A redirect is followed, and a fragment is looked up in the
///    document that the target shows.
/// 3. Targets elsewhere are requested (`ExternalLinks`).
/// 4. The places of all links with a fault are found in the documents.
package struct LinkCheck {
    private let source: any LinkSource
    private let options: LinkCheckOptions
    private let interruption: Interruption
    /// The fragments of documents, by their URLs.
    private var anchors: [String: PageAnchors] = [:]
    /// The URLs that documents redirect to by `<meta http-equiv=refresh>`, by their own URLs.
    private var refreshTargets: [String: String] = [:]
    private var report: LinkCheckReport
    /// The targets whose document has another URL, by that URL with the fragment: `/x/` shows `/x/index.html`.
    private var aliases: [String: [Int]] = [:]
    /// The text of the document in which the last text directive was searched. Several links often name the same page.
    private var searchedText: (href: String, text: [UInt8])?
    /// Finds the fragments that scripts add to pages. Nil if no browser is used.
    private let renderedFragments: RenderedFragments?

    /// Opens pages in a browser, and returns those of the fragments that each page then has. `files` serves the pages of a
    /// folder; it is nil for a stored site.
    package typealias RenderedFragments = (_ fragments: [String: Set<String>], _ files: LinkedFiles?)
        throws(LarderError) -> [String: Set<String>]

    /// The maximum length of a chain of redirects. A longer one counts as a loop.
    private static let maxRedirects = 20

    /// Checks the links of a stored site. Blocks.
    ///
    /// - Parameters:
    ///   - folder: the store with the site.
    ///   - cache: the store that keeps the results for other sites; nil for `folder`.
    package static func report(
        onSite name: String, _ options: LinkCheckOptions, in folder: StoreFolder, cache: StoreFolder? = nil,
        hidesPrivate: Bool = false,
        rendering: RenderedFragments? = nil, _ interruption: Interruption
    ) throws(LarderError) -> LinkCheckReport {
        let reader = try mapStoreError { () throws(StoreError) in
            try StoreReader(folder, hidesPrivate: hidesPrivate)
        }
        let sites = try mapStoreError { () throws(StoreError) in try reader.sites() }
        let site = try mapStoreError { () throws(StoreError) in
            try SiteName.site(name, in: sites, acceptsOrigin: true)
        }
        let source = try StoredLinkSource(
            site, reader, accepting: options.acceptedStatuses, hidesPrivate: hidesPrivate)
        var check = LinkCheck(source, name: site.name, options, rendering, interruption)
        var report = try check.run(in: cache ?? folder)
        if cache == nil, let snapshot = site.published {
            do throws(StoreError) {
                let summary = LinkCheckSummary(
                    of: report, at: SystemClock.secondsSinceEpoch(), snapshot: snapshot)
                try ActivityDatabase(folder).recordLinkCheck(
                    LinkCheckRecord(at: summary.at, snapshot: snapshot, summary: summary.text),
                    ofSite: site.name, hidesPrivate: hidesPrivate,
                    // A reader that hides private responses does not see all sites.
                    among: hidesPrivate ? nil : Set(sites.map(\.name)))
            } catch {
                report.notes.append("the portal cannot show this result, since it was not stored: \(error)")
            }
        }
        return report
    }

    /// Checks the links of a build's output folder. Blocks.
    package static func report(
        onFolder path: String, _ options: LinkCheckOptions, in folder: StoreFolder,
        rendering: RenderedFragments? = nil, _ interruption: Interruption
    ) throws(LarderError) -> LinkCheckReport {
        let source = try FileLinkSource(folder: path, base: options.base, excluding: options.excludedPaths)
        var check = LinkCheck(source, name: path, options, rendering, interruption)
        return try check.run(in: folder)
    }

    /// Checks the links of HTML, Markdown, CSS or sitemap files. Blocks.
    ///
    /// - Parameter root: the folder that links beginning with a slash refer to; nil for the repository or the current folder.
    package static func report(
        onFiles files: [String], root: String?, _ options: LinkCheckOptions, in folder: StoreFolder,
        rendering: RenderedFragments? = nil, _ interruption: Interruption
    ) throws(LarderError) -> LinkCheckReport {
        let source = try FileLinkSource(
            files: files, root: root, base: options.base, excluding: options.excludedPaths)
        var check = LinkCheck(
            source, name: files.joined(separator: " "), options, rendering, interruption)
        return try check.run(in: folder)
    }

    /// Checks the links of a text that is in no file, such as one from standard input. Blocks.
    ///
    /// - Parameters:
    ///   - name: the name of the text in the report.
    ///   - root: as for files.
    package static func report(
        onText text: [UInt8], name: String, root: String?, _ options: LinkCheckOptions,
        in folder: StoreFolder, _ interruption: Interruption
    ) throws(LarderError) -> LinkCheckReport {
        let source = try FileLinkSource(text: text, name: name, root: root, base: options.base)
        var check = LinkCheck(source, name: name, options, nil, interruption)
        return try check.run(in: folder)
    }

    private init(
        _ source: any LinkSource, name: String, _ options: LinkCheckOptions, _ rendering: RenderedFragments?,
        _ interruption: Interruption
    ) {
        (self.source, self.options, self.interruption) = (source, options, interruption)
        renderedFragments = rendering
        report = LinkCheckReport(name: name)
        report.failsOn = options.failsOn
    }

    /// - Parameter folder: the store that keeps the results for other sites.
    private mutating func run(in folder: StoreFolder) throws(LarderError) -> LinkCheckReport {
        var filter = try LinkFilter(options)
        let (readings, targets) = try readDocuments()
        var judgements = try judge(targets)
        ignoreExternal(readings, targets, &judgements, &filter)
        try checkExternal(targets, &judgements, in: folder)
        let findings = LinkFindings(
            source: source, readings: readings, targets: targets, judgements: judgements,
            representatives: representatives(in: targets))
        try findings.add(to: &report, filter)
        addBaseNote(readings, targets)
        return report
    }

    /// Proposes a base if the pages of a folder name their addresses and none is given.
    private mutating func addBaseNote(
        _ readings: [LinkDocumentReading], _ targets: [LinkDocumentReader.Target]
    ) {
        guard options.base == nil, source is FileLinkSource else { return }
        let named = Set(
            readings.flatMap(\.occurrences).filter { $0.kind == .canonical }.map { Int($0.target) })
        let urls = named.compactMap { number -> WebURL? in
            guard case .url(let href) = targets[number], let url = WebURL(href), url.isHTTP else {
                return nil
            }
            return href.hasPrefix(FileLinkSource.unnamedBase) ? nil : url
        }
        guard let first = urls.first, urls.allSatisfy({ $0.origin == first.origin }) else { return }
        var path = first.path
        for url in urls {
            while !url.path.hasPrefix(path) { path.removeLast() }
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        report.notes.append(
            "the pages say that they are published at \(first.origin)\(folder); with this base, links there mean files of the folder"
        )
    }

    // MARK: - 1. Documents

    private mutating func readDocuments() throws(LarderError) -> (
        [LinkDocumentReading], [LinkDocumentReader.Target]
    ) {
        let (source, documents) = (source, source.documents)
        let targets = Mutex(LinkTargets())
        let tally = ProgressCounter(.pages, of: documents.count, options.progress)
        let found = try ParallelWork.share(documents.count, named: "larder-links", interruption) {
            (next, give) throws(LarderError) in
            let bodies = try source.makeReader()
            let reader = LinkDocumentReader()
            while let number = next() {
                let document = documents[number]
                guard let body = try bodies.body(of: document) else {
                    give(number, nil as LinkDocumentReading?)
                    continue
                }
                let reading = reader.read(document, body.span) { found in
                    targets.withLock { $0.numbers(of: found) }
                }
                give(number, reading)
                tally.add(byteCount: body.count)
            }
        }
        guard !interruption.isRequested else { throw .interrupted }
        var readings: [LinkDocumentReading] = []
        var unreadable: [String] = []
        for (document, reading) in zip(documents, found) {
            if let reading, let reading {
                anchors[document.url.href] = reading.anchors
                refreshTargets[document.url.href] = reading.refreshTarget
                readings.append(reading)
            } else {
                unreadable.append(document.name)
                readings.append(LinkDocumentReading())
            }
        }
        if let first = unreadable.first {
            let others =
                unreadable.count > 1 ? " and \(Wording.count(unreadable.count - 1, "other document"))" : ""
            report.notes.append("cannot read \(first)\(others); make it readable, or repair the store")
        }
        return (readings, targets.withLock { $0.all })
    }

    // MARK: - 2. Targets

    /// Judges all targets that the source knows. Those elsewhere have no judgement yet.
    private mutating func judge(_ targets: [LinkDocumentReader.Target]) throws(LarderError)
        -> [LinkJudgement?]
    {
        var judgements: [LinkJudgement?] = []
        judgements.reserveCapacity(targets.count)
        let bodies = try source.makeReader()
        var missing: [String: Set<String>] = [:]
        for (number, target) in targets.enumerated() {
            switch target {
            case .invalid(let reference):
                judgements.append(
                    LinkJudgement(verdict: .dead, detail: "\"\(reference)\" is not a valid URL"))
            case .template:
                judgements.append(
                    LinkJudgement(verdict: .notChecked, detail: "it has a placeholder of a template"))
            case .url(let href):
                let url = WebURL(href)
                let judgement = try url.map { url throws(LarderError) in
                    try judge(url, number, bodies, &missing)
                }
                judgements.append(judgement ?? LinkJudgement(verdict: .dead, detail: "it is not a valid URL"))
            }
        }
        if let renderedFragments, !missing.isEmpty {
            let rendered = try renderedFragments(missing, (source as? FileLinkSource)?.linkedFiles)
            for (number, judgement) in judgements.enumerated() where judgement?.verdict == .fragmentMissing {
                guard case .url(let href) = targets[number], let url = WebURL(href),
                    let fragment = url.fragment
                else { continue }
                if let page = judgement?.page, rendered[page]?.contains(fragment) == true {
                    judgements[number] = LinkJudgement(verdict: .verified)
                }
            }
        }
        return judgements
    }

    /// - Parameters:
    ///   - number: the number of the target.
    ///   - missing: gets the fragment if scripts may add it to its page.
    private mutating func judge(
        _ url: WebURL, _ number: Int, _ bodies: any LinkBodyReader, _ missing: inout [String: Set<String>]
    ) throws(LarderError) -> LinkJudgement? {
        guard url.isHTTP else {
            return OtherScheme.judge(url).map { LinkJudgement(verdict: $0.verdict, detail: $0.detail) }
        }
        var place = url.withoutFragment
        var visited: Set<String> = [place.href]
        // The end of the permanent redirects with which the chain begins: the URL that the link should have.
        var permanentEnd: WebURL?
        var isPermanent = true
        while true {
            switch source.lookUp(place) {
            case .unknown: return nil
            case .unstored:
                return options.checksExternal
                    ? nil : LinkJudgement(verdict: .notChecked, detail: "it is not stored")
            case .faulty(let verdict, let detail):
                let via = place == url.withoutFragment ? "" : "it redirects to \(place.href): "
                return LinkJudgement(verdict: verdict, detail: via + detail)
            case .redirectsInLoop: return .loop
            case .folder:
                return LinkJudgement(
                    verdict: .dead, detail: "the folder has no \(SiteFolder.index)", isFolder: true)
            case .redirects(let target, let isPermanentStep):
                guard let target else {
                    return LinkJudgement(verdict: .dead, detail: "its redirect has no valid target")
                }
                guard visited.insert(target.href).inserted else { return .loop }
                guard visited.count <= Self.maxRedirects else {
                    return LinkJudgement(
                        verdict: .dead, detail: "it redirects more than \(Self.maxRedirects) times")
                }
                isPermanent = isPermanent && isPermanentStep
                if isPermanent { permanentEnd = target }
                place = target
            case .exists(let document):
                if let document, place.href != document.url.href, place == url.withoutFragment,
                    place.query == nil, place.scheme == document.url.scheme
                {
                    let fragment = url.fragment.map { "#" + $0 } ?? ""
                    aliases[document.url.href + fragment, default: []].append(number)
                }
                if let fragment = url.fragment, let document,
                    try !has(fragment, document, bodies)
                {
                    let page = document.url.href
                    if anchors[page]?.hasScripts == true { missing[page, default: []].insert(fragment) }
                    if let coding = document.unknownCoding {
                        return LinkJudgement(verdict: .failed, detail: LinkDocument.unknownCodingText(coding))
                    }
                    let hasName = anchors[page]?.contains(LinkFragment(fragment).name) == true
                    return LinkJudgement(
                        verdict: .fragmentMissing,
                        detail: LinkFragment(fragment).missingText(in: document.name, hasName: hasName),
                        page: page)
                }
                if let permanentEnd {
                    return LinkJudgement(
                        verdict: .redirected, detail: "moved permanently to \(permanentEnd.href)")
                }
                return LinkJudgement(verdict: .verified)
            }
        }
    }

    /// The targets that are the same page as another one, by another name, each with the one that is counted: the first by
    /// its URL.
    private func representatives(in targets: [LinkDocumentReader.Target]) -> [Int: Int] {
        guard !aliases.isEmpty else { return [:] }
        var groups = aliases
        for (number, target) in targets.enumerated() {
            if case .url(let href) = target { groups[href]?.append(number) }
        }
        var representatives: [Int: Int] = [:]
        for group in groups.values where group.count > 1 {
            guard let first = group.min(by: { targets[$0].shownText < targets[$1].shownText }) else {
                continue
            }
            for number in group where number != first { representatives[number] = first }
        }
        return representatives
    }

    /// Whether a document has a fragment.
    ///
    /// - Parameter redirects: the number of refreshes that led to the document.
    private mutating func has(
        _ fragment: String, _ document: LinkDocument, _ bodies: any LinkBodyReader, redirects: Int = 0
    ) throws(LarderError) -> Bool {
        let parts = LinkFragment(fragment)
        guard try isTextFound(of: parts, in: document, bodies) else { return false }
        if anchors[document.url.href] == nil {
            // A file that is linked to, but not among the documents of the check.
            guard let body = try bodies.body(of: document) else { return true }
            let reading = LinkDocumentReader().read(document, body.span) {
                [Int32](repeating: 0, count: $0.count)
            }
            anchors[document.url.href] = reading.anchors ?? PageAnchors()
            refreshTargets[document.url.href] = reading.refreshTarget
        }
        guard let known = anchors[document.url.href] else { return true }
        if known.contains(parts.name) || parts.isViewOfImage(at: document.url.path) { return true }
        guard known.hasScripts else { return false }
        if let ends = parts.rangeEnds, known.contains(ends.first), known.contains(ends.last) { return true }
        if parts.isRoute { return true }
        return try isForwarded(fragment, from: document, bodies, redirects: redirects)
    }

    /// Whether a document contains the text of a fragment's directives; true if there are none, or the document cannot be read.
    private mutating func isTextFound(
        of parts: LinkFragment, in document: LinkDocument, _ bodies: any LinkBodyReader
    ) throws(LarderError) -> Bool {
        guard !parts.directives.isEmpty else { return true }
        if searchedText?.href != document.url.href {
            guard let body = try bodies.body(of: document) else { return true }
            searchedText = (document.url.href, LinkFragment.searchableText(of: document, body.span))
        }
        return parts.isTextFound(in: searchedText?.text ?? [])
    }

    /// Whether a document redirects by `<meta http-equiv=refresh>` to one that has the fragment. A refresh loses the fragment, so
    /// that generators of documentation add a script that redirects with it.
    private mutating func isForwarded(
        _ fragment: String, from document: LinkDocument, _ bodies: any LinkBodyReader, redirects: Int
    ) throws(LarderError) -> Bool {
        guard redirects < Self.maxRedirects, let href = refreshTargets[document.url.href],
            let target = WebURL(href)?.withoutFragment,
            case .exists(let next?) = source.lookUp(target)
        else { return false }
        return try has(fragment, next, bodies, redirects: redirects + 1)
    }

    // MARK: - 3. Other sites

    /// Ignores targets elsewhere that rules exclude in all documents, so that they are not requested.
    private func ignoreExternal(
        _ readings: [LinkDocumentReading], _ targets: [LinkDocumentReader.Target],
        _ judgements: inout [LinkJudgement?],
        _ filter: inout LinkFilter
    ) {
        guard filter.hasRules else { return }
        var reasons: [Int: String?] = [:]
        for (number, reading) in readings.enumerated() {
            for occurrence in reading.occurrences where judgements[Int(occurrence.target)] == nil {
                let target = Int(occurrence.target)
                if case .some(nil) = reasons[target] { continue }
                let reason = filter.ruleReason(
                    toIgnore: targets[target].shownText, in: source.documents[number].name)
                reasons.updateValue(reason, forKey: target)
            }
        }
        for (target, reason) in reasons {
            if let reason {
                judgements[target] = LinkJudgement(verdict: .ignored, detail: reason, isInternal: false)
            }
        }
    }

    private mutating func checkExternal(
        _ targets: [LinkDocumentReader.Target], _ judgements: inout [LinkJudgement?], in folder: StoreFolder
    ) throws(LarderError) {
        var numbers: [Int] = []
        var urls: [WebURL] = []
        for (number, judgement) in judgements.enumerated() where judgement == nil {
            guard case .url(let href) = targets[number], let url = WebURL(href) else { continue }
            numbers.append(number)
            urls.append(url)
        }
        guard options.checksExternal else {
            for number in numbers {
                judgements[number] = LinkJudgement(
                    verdict: .notChecked, detail: "it is on another site", isInternal: false)
            }
            return
        }
        var external = options
        // A header for all hosts may be a secret of the checked site, which other sites must not receive.
        external.network?.headers.removeAll { HeaderArgument($0)?.host == nil }
        // A check of a link needs no cookies, and those that servers set would make verdicts depend on the order of requests.
        external.network?.cookies = []
        external.network?.saveCookies = nil
        if options.isPublicOnly { external.network?.mayReachPrivate = false }
        let zone = options.isPublicOnly ? .publicNetwork : min(source.zone, options.nearestZone)
        let results = try ExternalLinks.check(urls, external, in: folder, from: zone, interruption)
        guard !interruption.isRequested else { throw .interrupted }
        if results.count >= 3, results.allSatisfy({ $0.detail.contains("host not found") }) {
            report.notes.append("no host of another site was found; this machine may be offline")
        }
        for (number, result) in zip(numbers, results) {
            judgements[number] = LinkJudgement(
                verdict: result.verdict, detail: result.detail, isInternal: false)
        }
    }
}
