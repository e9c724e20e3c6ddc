public import Web

/// Which pages belong to a site. What they need is fetched from wherever it is.
public struct ScopeOptions: Sendable, Equatable {
    public var extent = SiteExtent.host
    /// Patterns of pages that are followed as well: `/blog/**`, `*.pdf`, `docs.example.com`, `regex:[0-9]{4}$`.
    public var include: [String] = []
    /// Patterns of what is never asked for, pages or not; they outweigh everything else.
    public var exclude: [String] = []
    /// How many links away from a start URL a page may be; the start itself is none away. Nil for any number.
    public var depth: Int?

    public init(extent: SiteExtent = .host, include: [String] = [], exclude: [String] = [], depth: Int? = nil) {
        self.extent = extent
        self.include = include
        self.exclude = exclude
        self.depth = depth
    }
}
