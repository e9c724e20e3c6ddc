/// How to load an URL.
public struct LoadOptions: Sendable {
    public var network = NetworkOptions()
    /// What the app wants otherwise than servers say, before what its sites' rules say; see `larder help rules`.
    public var rules: [String] = []
    /// Asked before a response is stored.
    public var willStore: WillStore?

    public init() {}
}

/// What an URL answered, and where that came from.
public struct LoadReport: Sendable, Equatable {
    public enum Source: String, Sendable, CaseIterable {
        /// It is held, and nobody was asked.
        case held
        /// It is held, its time is up, and its server was not asked, does not answer, or is being asked behind.
        case stale
        /// It is held, and its server says that it still holds.
        case confirmed
        /// Its server sent it.
        case loaded
    }

    /// With the URL where redirects led.
    public let response: WebResponse
    public let source: Source
    /// Why what was loaded is not held from now on; nil where it is.
    public internal(set) var notStored: String?

    public var body: [UInt8] { response.body }
}
