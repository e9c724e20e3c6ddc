/// What kind of cache decides: whom it serves, which fields speak to it, and how far it guesses.
package struct CacheProfile: Sendable, Equatable {
    /// RFC 9111's two kinds.
    package enum Kind: Sendable, Equatable {
        /// One person's, like a browser's.
        case `private`
        /// Many people's, like a reverse proxy's.
        case shared
    }

    package var kind: Kind
    /// The fields that speak to this cache in place of `Cache-Control` and `Expires`, the most specific first (RFC 9213).
    package var targetedFields: [String] = []
    /// How many hundredths of the time since the last modification a response without a lifetime is taken as fresh.
    package var heuristicPercentage = 10
    /// The longest lifetime that is guessed, in seconds.
    package var heuristicLimit = 86_400
    /// Whether parts of a body are kept, to be completed later.
    package var storesParts = false

    package init(kind: Kind) { self.kind = kind }

    package static let `private` = CacheProfile(kind: .private)

    /// A reverse proxy, to which `CDN-Cache-Control` speaks.
    package static let reverseProxy: CacheProfile = {
        var profile = CacheProfile(kind: .shared)
        profile.targetedFields = ["CDN-Cache-Control"]
        return profile
    }()
}
