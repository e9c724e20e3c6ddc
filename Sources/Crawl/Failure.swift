package import Fetch
package import Store
package import Web

/// The reason why a requested URL was not stored.
package indirect enum Failure: Sendable, Hashable, CustomStringConvertible {
    /// The server answered with an error status.
    case status(Int)
    case fetch(FetchFailure)
    /// The host did not respond before everything else was done and the time to wait for it was over.
    case hostSilent(FetchFailure)
    /// Too many redirects.
    case redirects
    /// A redirect without a usable `Location`.
    case redirectWithoutTarget
    /// An HTML page was sent in place of another type, such as a script.
    case htmlInstead
    /// A rule of the user rejects the response: the text of the rule.
    case rejectedByRule(String)
    /// The app's `willStore` returned nil.
    case declinedByApp
    /// The response does not match the manifest: the reason.
    case digestMismatch(String)
    /// A page says "not found" with a status of success.
    case softNotFound
    /// The response, or the target of its redirects, is a login page: its URL.
    case login(String)
    /// The URL was not requested, because the session has ended: the URL of the login page.
    case sessionEnded(String)
    /// The URL was not requested, because all requests to its host failed: the last failure.
    case notRequested(Failure)
    /// The response is complete but suspicious, so that the stored copy is kept.
    case rejected(ReplacementCheck.Reason)
    /// The server sent a page that checks whether the client is a browser.
    case challenged(BotChallenge)
    /// The server asked to wait longer than a run waits (`Retry-After`).
    case deferred(status: Int, seconds: Int64)

    /// Hashes the description, because the types in the associated values are not hashable. Equal failures have equal
    /// descriptions.
    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// Whether the same request may succeed a little later.
    var isTemporary: Bool {
        switch self {
        case .status(let status):
            status == 408 || status == 425 || status == 429 || status >= 500 && status != 501
        case .fetch(let failure), .hostSilent(let failure): failure.canRetry
        case .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule, .declinedByApp,
            .digestMismatch, .softNotFound, .login, .sessionEnded, .notRequested, .rejected, .challenged,
            .deferred:
            false
        }
    }

    /// Whether the failure is a sign that requests to the host come too fast.
    var shouldSlowDownHost: Bool {
        switch self {
        case .status(let status): status == 429 || status == 503
        // A part that does not match the rest does not mean that requests come too fast.
        case .fetch(let failure), .hostSilent(let failure): failure.canRetry && failure.kind != .mismatch
        case .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule, .declinedByApp,
            .digestMismatch, .softNotFound, .login, .sessionEnded, .notRequested, .rejected, .challenged,
            .deferred:
            false
        }
    }

    /// The error status that the server answered with; nil if the failure is another one.
    var errorStatus: Int? { if case .status(let status) = self { status } else { nil } }

    /// Whether the server's certificate was not accepted, or TLS failed for another reason.
    var isOfTLS: Bool { if case .fetch(let failure) = self { failure.kind == .insecure } else { false } }

    /// Whether no connection to the host was possible.
    var isConnectionFailure: Bool {
        guard case .fetch(let failure) = self else { return false }
        return failure.kind == .unreachable || failure.kind == .unknownHost
    }

    /// Whether no response arrived. If the host has responded before, the request itself may be the cause.
    var isNoResponse: Bool {
        guard case .fetch(let failure) = self else { return false }
        return isConnectionFailure || failure.kind == .broken || failure.kind == .timeout
    }

    /// Whether the server responded, and would respond to a retry in the same way.
    var isFinalResponse: Bool {
        switch self {
        case .status: !isTemporary
        case .fetch, .hostSilent, .notRequested, .sessionEnded, .rejected, .challenged, .deferred: false
        case .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule, .declinedByApp,
            .digestMismatch, .softNotFound, .login:
            true
        }
    }

    /// Whether no request was sent, because the network guard blocked it or because it is invalid.
    var isBlocked: Bool {
        if case .fetch(let failure) = self { failure.kind == .refused } else { false }
    }

    /// Whether the origin answered 404 or 410. The mirror then answers the same.
    package var isGone: Bool { self == .status(404) || self == .status(410) }

    /// Whether a page's script that reads the status gets the same answer offline. Errors of gateways and of load say
    /// nothing about the URL.
    var isAnswerForScripts: Bool {
        guard case .status(let status) = self else { return false }
        return (400..<600).contains(status) && ![408, 425, 429, 502, 503, 504].contains(status)
    }

    /// Whether the resolver did not find the host.
    var isUnknownHost: Bool {
        switch self {
        case .fetch(let failure), .hostSilent(let failure): failure.kind == .unknownHost
        case .notRequested(let failure): failure.isUnknownHost
        case .status, .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule, .declinedByApp,
            .digestMismatch, .softNotFound, .login, .sessionEnded, .rejected, .challenged, .deferred:
            false
        }
    }

    /// Whether other URLs of the host would fail for the same reason.
    var concernsHost: Bool {
        switch self {
        case .sessionEnded, .challenged, .deferred: true
        case .fetch: isConnectionFailure
        case .status, .hostSilent, .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule,
            .declinedByApp, .digestMismatch, .softNotFound, .login, .notRequested, .rejected:
            false
        }
    }

    /// Whether the session is the reason: a login page was sent, or the session has ended.
    var isOfSession: Bool {
        if case .login = self { return true }
        if case .sessionEnded = self { return true }
        return false
    }

    /// Whether the response does not match its manifest.
    package var isDigestMismatch: Bool { if case .digestMismatch = self { true } else { false } }

    /// The option that would make the fetch succeed, if there is one.
    package var remedy: Remedy? { if case .hostSilent = self { .patience } else { nil } }

    package var description: String {
        switch self {
        case .status(let status): "the server answered \(status)"
        case .fetch(let failure), .hostSilent(let failure): failure.description
        case .redirects: "too many redirects"
        case .redirectWithoutTarget: "a redirect without a usable Location"
        case .htmlInstead:
            "an HTML page was sent instead, as by a login page or captive portal, and is not stored"
        case .rejectedByRule(let rule): "the rule \"\(rule)\" rejects the response"
        case .declinedByApp: "the app's willStore declined to store it"
        case .digestMismatch(let detail): "the response does not match the manifest: \(detail)"
        case .login(let place): "a login page was sent instead, \(place), and is not stored"
        case .sessionEnded(let place):
            "not requested: the session has ended, and pages redirect to a login page, \(place)"
        case .notRequested(let failure):
            "not requested: its host keeps failing, last with: \(failure)"
        case .rejected(let reason): "\(reason.text); the stored copy is kept"
        case .challenged(let challenge): "its server sends \(challenge) instead of the content"
        case .deferred(let status, let seconds):
            "the server answered \(status) and asked to wait \(seconds) s, longer than a run waits"
        case .softNotFound:
            "the page says \"not found\" (soft 404)"
        }
    }
}
