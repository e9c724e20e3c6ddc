/// Chooses between sites that start on the same host.
package enum NearestStart {
    /// The index of the start URL that is nearest to a URL: the same URL, or else the one whose folder has the longest path
    /// in common with the URL. Of equally near ones, it is the shortest, which is a whole site rather than one of its pages.
    package static func index(of starts: [String], for href: String) -> Int? {
        starts.firstIndex(of: href) ?? starts.indices.max { rank(starts[$0], href) < rank(starts[$1], href) }
    }

    /// The length of the common path, up to its last slash, and then the shortness of the start URL.
    private static func rank(_ start: String, _ href: String) -> (Int, Int) {
        let common = zip(start.utf8, href.utf8).prefix { $0 == $1 }.map(\.0)
        let folder = common.lastIndex(of: UInt8(ascii: "/")) ?? 0
        return (folder, -start.utf8.count)
    }
}
