internal import Browser
internal import Check
internal import Store
internal import System
internal import Web

/// A page whose scripts loaded other scripts.
struct ScriptLoader {
    let page: WebURL
    /// The stored URLs of all scripts that it requested.
    let scripts: [String]

    /// Fails if the scripts of the page loaded no others.
    ///
    /// - Parameter original: returns the stored URL that a URL of the local server stands for.
    init?(_ opened: OfflinePageCheck.OpenedPage, original: (String) -> WebURL?) {
        let scripts = opened.outcome.requests.filter { $0.type == "Script" && $0.status == 200 }
        guard scripts.contains(where: \.isFromScript) else { return nil }
        let hrefs = scripts.compactMap { original($0.url)?.key.href }
        guard !hrefs.isEmpty else { return nil }
        (page, self.scripts) = (opened.page.url, hrefs)
    }

    /// The bodies of the scripts, as far as they are stored.
    fileprivate func bodies(from reader: StoreReader) throws(StoreError) -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        for href in scripts {
            guard let body = try reader.response(for: href)?.body,
                let bytes = try reader.content(of: body)?.load()
            else { continue }
            bodies.append(bytes)
        }
        return bodies
    }
}

extension OfflinePageCheck {
    /// Finds the entries of `localStorage` in which scripts keep copies of other scripts (`ScriptCopies`).
    ///
    /// Opens a page of each origin and reads what its scripts have stored some time later. Only pages with a script that
    /// mentions `localStorage` are opened.
    func scriptCopies(
        of loaders: [ScriptLoader], _ interruption: Interruption, in browser: SharedBrowser
    ) throws(LarderError) -> [ScriptCopies] {
        let word = Array("localStorage".utf8)
        let candidates = try mapStoreError { () throws(StoreError) in
            let reader = try StoreReader(larder.folder)
            var candidates: [(page: WebURL, scripts: [[UInt8]])] = []
            for loader in loaders.prefix(Self.maxTrials) {
                let scripts = try loader.bodies(from: reader)
                if scripts.contains(where: { $0.firstOffset(of: word, in: 0..<$0.count) != nil }) {
                    candidates.append((loader.page, scripts))
                }
            }
            return candidates
        }
        guard let program, !candidates.isEmpty else { return [] }
        return try larder.withBrowserAndServer(by: program, in: browser) {
            (browser, service) throws(LarderError) in
            let stored = Monitor<[Int: [String: String]]>([:])
            for (number, candidate) in candidates.enumerated() {
                var visit = visitTemplate.visit(to: candidate.page, usesControls: false)
                visit.url = service.address(of: candidate.page.href) ?? candidate.page.href
                visit.acting = .never
                (visit.scroll, visit.maxViews, visit.seesDark) = (0, 0, false)
                visit.wantsStorage = true
                browser.open(visit) { outcome in stored.change { $0[number] = outcome.storage } }
            }
            let count = candidates.count
            while stored.wait(atMost: .milliseconds(200), { $0.count == count ? true : nil }) == nil {
                guard !interruption.isRequested else { throw .interrupted }
            }
            let values = stored.change { $0 }
            return candidates.enumerated().compactMap { number, candidate in
                let keys = (values[number] ?? [:]).filter { entry in
                    let value = Array(entry.value.utf8)
                    return candidate.scripts.contains { ScriptCopies.contains(value, $0) }
                }.keys.sorted()
                return keys.isEmpty ? nil : ScriptCopies(origin: candidate.page.origin, keys: keys)
            }
        }
    }

    /// The maximum number of origins of which a page is opened for this.
    private static let maxTrials = 8
}
