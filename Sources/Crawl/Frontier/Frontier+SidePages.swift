internal import Web

/// Recognition of side pages by other pages of the site.
extension Frontier {
    /// Recognises a side page by the last part of its path, if the page in its folder is known. Until enough folders
    /// have such pages, it waits. Returns false for other pages.
    mutating func isSidePage(_ number: UInt32) -> Bool {
        let url = url(number)
        sidePages.noteChild(url)
        guard let (name, page, folder) = sidePage(at: url) else { return false }
        sidePages.note(name, below: folder)
        guard scope.leavesOut(page, at: url) else { return false }
        parkUntilRendered(number)
        let found = sidePages.add(
            number, url, .init(host: records[Int(number)].host, name: name), page, below: folder,
            hasSession: options.hasSession)
        skipSidePages(found)
        return true
    }

    /// Skips the waiting pages that are side pages, when nothing else is left to fetch.
    mutating func skipSidePages() { skipSidePages(sidePages.judge()) }

    private mutating func skipSidePages(_ found: [(number: UInt32, page: SidePage)]) {
        for side in found where records[Int(side.number)].state == .waiting {
            skip(side.number, .sidePage(side.page))
        }
    }

    /// The name of a side page by the end of its path, and the page to which it belongs.
    private func sidePage(at url: WebURL) -> (name: String, page: SidePage, folder: UInt32)? {
        if let (name, page) = SidePage.matchLastPathPart(of: url), let folder = knownFolder(of: url) {
            return (name, page, folder)
        }
        if let name = SidePage.nestedForm(of: url), let folder = pageOfForm(at: url) {
            return (name, .form, folder)
        }
        for sibling in SidePage.siblings(of: url) {
            let target = WebURL(sibling.path + (url.query.map { "?\($0)" } ?? ""), base: url)
            if let target, let known = urls.find(target.key), records[Int(known)].role == .page,
                records[Int(known)].state != .skipped
            {
                return (sibling.name, sibling.page, known)
            }
        }
        guard let (name, path) = SidePage.format(of: url), let target = WebURL(path, base: url),
            let known = urls.find(target.key), records[Int(known)].role == .page
        else { return nil }
        return (name, .history, known)
    }

    /// The page to which a form with a name of two parts belongs: for `/topics/3/post/create` and for
    /// `/topics/3/17/post/update`, which is about a numbered part of it, `/topics/3`.
    private func pageOfForm(at url: WebURL) -> UInt32? {
        guard let parent = Self.folder(of: url), let object = Self.folder(of: parent) else { return nil }
        return knownFolder(of: parent) ?? (PagePattern.endsInNumber(object) ? knownFolder(of: object) : nil)
    }

    private static func folder(of url: WebURL) -> WebURL? {
        WebURL(url.path.hasSuffix("/") ? ".." : ".", base: url)
    }

    /// The number of the page whose URL is that of this page without the last part of its path; nil if there is no
    /// such page, or it is the page of the root.
    private func knownFolder(of url: WebURL) -> UInt32? {
        guard let folder = Self.folder(of: url) else { return nil }
        let path = folder.path.hasSuffix("/") ? String(folder.path.dropLast()) : folder.path
        guard !path.isEmpty else { return nil }
        for path in [path, path + "/"] {
            if let target = WebURL(path, base: url), let known = urls.find(target.key),
                records[Int(known)].role == .page
            {
                return known
            }
        }
        return nil
    }
}
