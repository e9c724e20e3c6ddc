/// A start URL with what is held of it.
package struct Site: Sendable, Equatable {
    package let id: Int64
    /// How people name it: the first start URL.
    package let name: String
    package let start: [String]
    package let visits: [Visit]
    /// The visit that readers see; nil until one is complete.
    package let published: Int64?
    /// What servers loaded, shown on top of it; nil when they loaded nothing since.
    package let overlay: Int64?
    /// How it is prefetched and served, as whoever prefetched it wrote it down; empty when nothing was said.
    package let settings: String

    package init(
        id: Int64, name: String, start: [String], visits: [Visit], published: Int64?, settings: String = "",
        overlay: Int64? = nil
    ) {
        self.id = id
        self.name = name
        self.start = start
        self.visits = visits
        self.published = published
        self.overlay = overlay
        self.settings = settings
    }
}

/// One prefetch run of a site, or what servers loaded on top of one.
package struct Visit: Sendable, Equatable {
    package let id: Int64
    /// Seconds since 1970.
    package let started: Int64
    /// Nil while it runs, and after it was interrupted: the next run of the site goes on with it.
    package let finished: Int64?
    /// The visit that an overlay lies over; nil for a prefetch run.
    package let base: Int64?
    package let responseCount: Int

    package init(id: Int64, started: Int64, finished: Int64?, base: Int64? = nil, responseCount: Int) {
        self.id = id
        self.started = started
        self.finished = finished
        self.base = base
        self.responseCount = responseCount
    }
}
