/// Something that was asked of a server and is not held.
package struct Miss: Sendable, Equatable {
    package let href: String
    /// What asked for it by another method than GET is told, and never fetched: it might do something.
    package let method: String
    /// The page that asked for it, as far as its browser said.
    package var referrer: String?
    /// Whether a person went there; else a page needs it.
    package var isPage: Bool
    package var count: Int
    /// Seconds since 1970.
    package var first: Int64
    package var last: Int64

    package init(
        href: String, method: String = "GET", referrer: String? = nil, isPage: Bool, count: Int = 1, first: Int64,
        last: Int64
    ) {
        self.href = href
        self.method = method
        self.referrer = referrer
        self.isPage = isPage
        self.count = count
        self.first = first
        self.last = last
    }
}
