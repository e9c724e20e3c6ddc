/// The limits on what one page of the portal reads and shows. They bound the time of one request, since requests of a
/// server thread wait for each other. Longer lists continue on the next page.
package enum PortalLimits {
    /// The maximum number of responses of a snapshot that are counted. Beyond it, totals are based on the first ones.
    static let maxCountedResponses = 20_000
    /// The maximum number of items of a list. Some lists of short items have four times as many.
    package static let maxListItems = 50
    /// The maximum number of items of a list of titles.
    static let maxTitles = 200
    /// The maximum number of pages with screenshots.
    static let maxScreenshotPages = 12
    /// The maximum number of sites on one home page, so that it stays below 100 kB.
    static let maxSiteCards = 36
    /// The maximum number of pages that were read last.
    static let maxRecentPages = 6
    /// The maximum number of search hits.
    static let maxSearchHits = 20
    /// The maximum number of URLs that are read to list a folder. Beyond it, the list continues on the next page.
    static let maxFolderURLs = 8_192
    /// The number of URLs that are read at a time to list a folder.
    static let folderSliceURLs = 512
    /// The same number after half of `maxFolderURLs` have been read.
    static let shortFolderSliceURLs = 32
    /// The maximum number of bodies that one step of a search reads.
    static let maxSearchedBodies: Int64 = 100_000
    /// The maximum number of URLs that one step of a search reads.
    static let maxSearchedURLs = 100_000
    /// The maximum number of URLs that are visited on one page to find the missing URLs of sites. Beyond it, a site is
    /// shown without them.
    static let maxMissingWalkURLs = 8000
    /// The same limit for all sites on the home page together. URLs are visited only for sites without stored counts.
    static let maxHomeWalkURLs = 2000
    /// The maximum number of bodies whose links are searched for missing URLs or for links to a page.
    static let maxLinkingBodies = 4_000
    /// The maximum length of a search text in bytes. Longer texts are cut.
    package static let maxSearchTextBytes = 200
    /// The maximum number of bytes that are read to compute missing MD5 digests.
    static let maxDigestBytes = 4_000_000
    /// The maximum number of responses of all snapshots of a site. Beyond it, the portal compares none of them.
    static let maxComparedResponses = 60_000
}
