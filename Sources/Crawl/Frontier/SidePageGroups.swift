/// The pages of a crawl that may be side pages, grouped by host and name.
///
/// One page named `history` may be an article about history. If the pages of several folders each have a `history` and
/// another such name, all pages of that name are side pages (``SidePage``). Until then they wait. Some names of forms need
/// no other name.
struct SidePageGroups: Sendable {
    /// A name of side pages on a host, such as `history` in `/Home/history`.
    struct Key: Hashable {
        let host: UInt32
        let name: String
    }

    /// The pages with such a name.
    private struct Group {
        let page: SidePage
        /// The pages below which there are pages with this name.
        var folders: Set<UInt32> = []
        /// Pages that wait until it is clear whether the name means side pages.
        var held: [UInt32] = []
        /// Whether the folders need no other such name.
        let isFormAlone: Bool
        var isLeftOut = false
    }

    private var groups: [Key: Group] = [:]
    /// The names of possible side pages below each page.
    private var namesByFolder: [UInt32: Set<String>] = [:]

    /// Notes that the page `folder` has a page with this name, which the scope may include.
    mutating func note(_ name: String, below folder: UInt32) {
        namesByFolder[folder, default: []].insert(name)
    }

    /// Adds a page that waits. Its name must have been noted.
    ///
    /// - Parameter hasSession: whether the crawl has a login.
    /// - Returns: the waiting pages that now turn out to be side pages.
    mutating func add(
        _ number: UInt32, _ key: Key, _ page: SidePage, below folder: UInt32, hasSession: Bool
    ) -> [(number: UInt32, page: SidePage)] {
        let isFormAlone = SidePage.isForm(key.name, hasSession: hasSession)
        groups[key, default: Group(page: page, isFormAlone: isFormAlone)].folders.insert(folder)
        groups[key]?.held.append(number)
        return (namesByFolder[folder] ?? []).flatMap { takeSidePages(Key(host: key.host, name: $0)) }
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
                let folders = group.folders.count {
                    group.isFormAlone || (namesByFolder[$0]?.count ?? 0) > 1
                }
                group.isLeftOut = folders >= SidePage.minFolders
            }
        }
        guard group.isLeftOut else { return [] }
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
