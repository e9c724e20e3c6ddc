internal import Web

/// The pages of a crawl that may be side pages, grouped by host and name.
///
/// One page named `history` may be an article about history. If the pages of several folders each have a `history` and
/// another such name, and not many other pages, all pages of that name are side pages (``SidePage``). Some names of forms
/// need no other name. The pages wait until nothing else is left to fetch, because the other pages of their folders count:
/// a reference has pages such as `create` and `delete` beside `list` and `get`.
struct SidePageGroups: Sendable {
    /// A name of side pages on a host, such as `history` in `/Home/history`.
    struct Key: Hashable {
        let host: UInt32
        let name: String

        /// Whether the URL of a page names the page beside which it is, so that no other pages are needed.
        var isCertain: Bool { name.hasPrefix("/") || name.hasPrefix(".") }
    }

    /// The pages with such a name.
    private struct Group {
        let page: SidePage
        /// The pages below which there are pages with this name, with the keys of the folders of these.
        var folders: [UInt32: UInt64] = [:]
        /// Pages that wait until it is clear whether the name means side pages.
        var held: [UInt32] = []
        /// Whether the folders need no other such name.
        let isFormAlone: Bool
        var isLeftOut = false
    }

    /// The pages directly in a folder, without those whose names are numbers.
    private struct Children {
        var count: UInt32 = 0
        var sides: UInt32 = 0
        /// Whether one of them has a name as in a reference of functions or commands.
        var isReference = false

        /// Whether the folder shows that its pages are side pages of one page.
        var areSidePages: Bool { !isReference && 2 * sides >= count }
    }

    private var groups: [Key: Group] = [:]
    /// The names of possible side pages below each page.
    private var namesByFolder: [UInt32: Set<String>] = [:]
    /// The pages in each folder.
    private var children: [UInt64: Children] = [:]

    /// The maximum number of noted folders. In further ones, the names of the pages alone decide.
    private static let maxFolders = 200_000

    /// Notes a page of the site.
    mutating func noteChild(_ url: WebURL) {
        guard url.query == nil, let (folder, name) = Self.folder(of: url),
            !name.utf8.allSatisfy(\.isASCIIDigit), children[folder] != nil || children.count < Self.maxFolders
        else { return }
        children[folder, default: Children()].count += 1
        if SidePage.isSideName(name) { children[folder]?.sides += 1 }
        if SidePage.isNameInReference(name) { children[folder]?.isReference = true }
    }

    /// The key of a page's folder, and the last part of its path in lower case.
    static func folder(of url: WebURL) -> (key: UInt64, name: String)? {
        let path = url.path.utf8
        let end = path.last == UInt8(ascii: "/") ? path.index(before: path.endIndex) : path.endIndex
        guard let slash = path[..<end].lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = String(decoding: path[path.index(after: slash)..<end], as: UTF8.self)
        return (Mixing.mix(url.origin.utf8) ^ Mixing.mix(path[..<slash]), name.lowercased())
    }

    /// Notes that the page `folder` has a page with this name, which the scope may include.
    mutating func note(_ name: String, below folder: UInt32) {
        namesByFolder[folder, default: []].insert(name)
    }

    /// Adds a page that waits. Its name must have been noted.
    ///
    /// - Parameter hasSession: whether the crawl has a login.
    /// - Returns: the waiting pages that now turn out to be side pages.
    mutating func add(
        _ number: UInt32, _ url: WebURL, _ key: Key, _ page: SidePage, below folder: UInt32, hasSession: Bool
    ) -> [(number: UInt32, page: SidePage)] {
        let isFormAlone = SidePage.isForm(key.name, hasSession: hasSession)
        groups[key, default: Group(page: page, isFormAlone: isFormAlone)]
            .folders[folder] = Self.folder(of: url)?.key ?? 0
        groups[key]?.held.append(number)
        return key.isCertain || groups[key]?.isLeftOut ?? false ? takeSidePages(key) : []
    }

    /// Removes and returns the waiting pages that are side pages, when nothing else is left to fetch.
    mutating func judge() -> [(number: UInt32, page: SidePage)] {
        groups.filter { !$0.value.held.isEmpty }.keys
            .sorted { ($0.host, $0.name) < ($1.host, $1.name) }.flatMap { takeSidePages($0) }
    }

    /// Removes and returns the waiting pages of a name if it is one of side pages.
    private mutating func takeSidePages(_ key: Key) -> [(number: UInt32, page: SidePage)] {
        guard var group = groups[key] else { return [] }
        if !group.isLeftOut {
            if key.name.hasPrefix("/") {
                // The page is known for sure, too, and all versions of a folder belong to one page.
                group.isLeftOut = group.held.count > SidePage.minFolders
            } else if key.name.hasPrefix(".") {
                // The page of which the URL names another format is known for sure.
                group.isLeftOut = group.folders.count > 1 && group.held.count > SidePage.minFolders
            } else {
                let folders = group.folders.count { folder, children in
                    (group.isFormAlone || (namesByFolder[folder]?.count ?? 0) > 1)
                        && self.children[children]?.areSidePages ?? true
                }
                group.isLeftOut = folders >= SidePage.minFolders
            }
        }
        guard group.isLeftOut else {
            // The pages are fetched now.
            if !key.isCertain { groups[key]?.held = [] }
            return []
        }
        let found = group.held.map { ($0, group.page) }
        group.held = []
        groups[key] = group
        return found
    }

    /// The names of side pages that were left out.
    var leftOutNames: [String: SidePage] {
        var names: [String: SidePage] = [:]
        for (key, group) in groups where group.isLeftOut { names[key.name] = group.page }
        return names
    }
}
