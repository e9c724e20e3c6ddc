/// Which pages a user wants, as a command line can say it.
package struct ScopeOptions: Sendable, Equatable {
    /// How far the site reaches.
    package enum Extent: String, Sendable, CaseIterable {
        /// The hosts of the start URLs, by any scheme and port.
        case host
        /// What lies in the folders of the start URLs.
        case path
        /// The registrable domains of the start URLs: from `www.example.co.uk`, everything at `example.co.uk`.
        case domain
    }

    package var extent = Extent.host
    /// Patterns of pages that are followed as well; see `URLPattern`.
    package var include: [String] = []
    /// Patterns of what is never asked for; they outweigh everything else.
    package var exclude: [String] = []
    /// How many links away from a start URL a page may be; the start itself is none away. Nil for any number.
    package var depth: Int?

    package init(extent: Extent = .host, include: [String] = [], exclude: [String] = [], depth: Int? = nil) {
        self.extent = extent
        self.include = include
        self.exclude = exclude
        self.depth = depth
    }
}
