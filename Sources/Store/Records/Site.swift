/// A start URL with what is held of it.
package struct Site: Sendable, Equatable {
    package let id: Int64
    /// How people name it: the first start URL.
    package let name: String
    package let start: [String]
    package let visits: [Visit]
    /// The visit that readers see; nil until one is complete.
    package let published: Int64?
    /// How it is prefetched and served, as whoever prefetched it wrote it down; empty when nothing was said.
    package let settings: String

    package init(
        id: Int64, name: String, start: [String], visits: [Visit], published: Int64?, settings: String = ""
    ) {
        self.id = id
        self.name = name
        self.start = start
        self.visits = visits
        self.published = published
        self.settings = settings
    }
}

/// One prefetch run of a site.
package struct Visit: Sendable, Equatable {
    package let id: Int64
    /// Seconds since 1970.
    package let started: Int64
    /// Nil while it runs, and after it was interrupted: the next run of the site goes on with it.
    package let finished: Int64?
    package let responseCount: Int
}
