/// Every bound on what one page of the portal looks at and shows, in one place: what is beyond is a link away.
enum PortalLimits {
    /// How many responses of each kind are counted one by one.
    static let counted = 20_000
    /// Lines of a list.
    static let lines = 50
    /// URLs that are looked through to fill a folder's list, and how many at once: fewer when half of them are used up.
    static let walkedURLs = 8_192
    static let slice = 512
    static let hurriedSlice = 32
    /// What one step of a search looks through.
    static let searchedBodies: Int64 = 100_000
    static let searchedURLs = 100_000
    /// Addresses that one page has walked over to tell what is missing of sites.
    static let neededURLs = 8000
    /// Bodies whose links are looked through for what is missing, or for who links to a page.
    static let linkers = 4_000
    static let words = 200
    /// How much is read to tell the MD5 of what has none yet.
    static let digestedBytes = 4_000_000
    /// Responses of a site up to which its visits are compared here.
    static let compared = 60_000
}
