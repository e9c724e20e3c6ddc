/// Something that was asked of a server and is not held.
package struct Miss: Sendable, Equatable {
    package let href: String
    /// What asked for it by another method than GET is told, and never fetched: it might do something.
    package let method: String
    /// The page that asked for it, as far as its browser said.
    package var referrer: String?
    /// Whether a person went there; else a page needs it.
    package var isPage: Bool
    /// From where the page came that asked, so that its miss leads no nearer than its links: of `ResponseFlags.ofReach`,
    /// with `.fromThisMachine` where a person asked.
    package var from: ResponseFlags
    /// The original origin of the page that asked by CORS.
    package var origin: String?
    package var count: Int
    /// Seconds since 1970.
    package var first: Int64
    package var last: Int64

    package init(
        href: String, method: String = "GET", referrer: String? = nil, isPage: Bool, from: ResponseFlags = [],
        origin: String? = nil, count: Int = 1, first: Int64, last: Int64
    ) {
        self.href = href
        self.method = method
        self.referrer = referrer
        self.isPage = isPage
        self.from = from.intersection(.ofReach)
        self.origin = origin
        self.count = count
        self.first = first
        self.last = last
    }

    /// Asked for once more: who may lead further wins.
    package mutating func add(_ later: Miss) {
        referrer = later.referrer ?? referrer
        isPage = isPage || later.isPage
        if later.from.rawValue > from.rawValue { from = later.from }
        origin = later.origin ?? origin
        count += later.count
        first = min(first, later.first)
        last = max(last, later.last)
    }
}
