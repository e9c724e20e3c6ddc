/// How stored responses and the network share the work. The names are the same in the library, the command and the portal;
/// most have a counterpart in NSURLRequest.CachePolicy.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// RFC 9111: what is fresh is served, what is stale is validated, what is missing is loaded.
    case `protocol`
    /// What is stored is served, however old; only what is missing is loaded.
    case preferCache = "prefer-cache"
    /// What is stored is served, however old; what is missing is a miss. Never asks the network.
    case offline
    /// Always loaded, and stored.
    case reload
    /// Always loaded, past the caches on the way too.
    case reloadEndToEnd = "reload-end-to-end"
    /// The server is always asked whether what is stored still holds.
    case revalidate
    /// What is stored is served at once and refreshed behind.
    case refreshBehind = "refresh-behind"
    /// `protocol` while the origin answers, `offline` when it does not.
    case auto
}

/// What is known of the way to the origin.
package enum Reachability: Sendable, Equatable {
    case reachable, unreachable, unknown
}

/// How good a stored response was when it was served.
package enum CacheHit: String, Sendable, Equatable {
    case fresh, stale
    /// The server has just confirmed it.
    case validated
}

/// What to do about a request.
package enum CacheAction: Sendable, Equatable {
    /// Answer with what is stored.
    case serve(CacheHit)
    /// Answer with what is stored and ask the server behind, with these fields; conditions among them, if it has a validator.
    case serveAndRefresh(CacheHit, with: HTTPFields)
    /// Ask the server, with these conditions, whether what is stored still holds.
    case validate(with: HTTPFields)
    /// Load it from the server, with these fields added.
    case load(adding: HTTPFields)
    /// It is not there and may not be loaded: 504.
    case miss
}
