/// How to prefetch.
public struct PrefetchOptions: Sendable {
    /// The most connections that one host gets at once.
    public var connectionsPerHost = 16
    /// Threads that scan what was fetched; at first one a core.
    public var scanThreads = Machine.coreCount
    /// Told of the counts a few times a second, on a thread of the crawl's.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?

    public init() {}
}

/// How far a prefetch is.
public struct PrefetchProgress: Sendable, Equatable {
    public let done: Int
    /// Everything that the site was found to link, wanted or not.
    public let known: Int
    public let running: Int
    public let byteCount: Int
}
