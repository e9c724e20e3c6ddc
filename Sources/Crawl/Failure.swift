package import Fetch
package import Store
package import Web

/// Why something that was asked for is not held.
package indirect enum Failure: Sendable, Equatable, CustomStringConvertible {
    /// The server's answer was an error.
    case status(Int)
    case fetch(FetchFailure)
    /// Its host had never answered, and all else was done.
    case outwaited(FetchFailure)
    /// Redirects without an end.
    case redirects
    /// A redirect that does not say where.
    case nowhere
    /// It is not what its address promises: a page of HTML in place of a script.
    case standIn
    /// A rule of the user's says that it is not kept: the rule.
    case refused(String)
    /// The app was asked before it was stored, and said no.
    case unwanted
    /// It is not what a manifest requires.
    case altered(String)
    /// A page that says so, with a status that says the contrary.
    case softNotFound
    /// A login came in its place, or is where it leads: where that is.
    case login(String)
    /// It was never asked for: its host asks for a login, there, where it had asked for none.
    case sessionEnded(String)
    /// It was never asked for: its host did nothing but fail, so.
    case unasked(Failure)
    /// A complete response that is not believed, so that the stored copy stays.
    case heldBack(ReplacementCheck.Reason)
    /// The server asked to be left alone for longer than a run waits (`Retry-After`).
    case deferred(status: Int, seconds: Int64)

    /// Whether the same request may succeed a little later.
    var mayPass: Bool {
        switch self {
        case .status(let status):
            status == 408 || status == 425 || status == 429 || status >= 500 && status != 501
        case .fetch(let failure), .outwaited(let failure): failure.mayPass
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login,
            .sessionEnded, .unasked, .heldBack, .deferred:
            false
        }
    }

    /// Whether the host should be asked more gently.
    var isObjection: Bool {
        switch self {
        case .status(let status): status == 429 || status == 503
        // That a part does not fit the rest is nobody's haste.
        case .fetch(let failure), .outwaited(let failure): failure.mayPass && failure.kind != .mismatch
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login,
            .sessionEnded, .unasked, .heldBack, .deferred:
            false
        }
    }

    /// A server said so.
    var isStatus: Bool { if case .status = self { true } else { false } }

    /// No server was reached: the same holds for everything of the host.
    var isOfConnection: Bool {
        guard case .fetch(let failure) = self else { return false }
        return failure.kind == .unreachable || failure.kind == .unknownHost
    }

    /// Nobody said anything, which may be the fault of one request, unless nobody ever has.
    var isSilence: Bool {
        guard case .fetch(let failure) = self else { return false }
        return isOfConnection || failure.kind == .broken || failure.kind == .timeout
    }

    /// The server said something that it would say again.
    var isAnswer: Bool {
        switch self {
        case .status: !mayPass
        case .fetch, .outwaited, .unasked, .sessionEnded, .heldBack, .deferred: false
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login: true
        }
    }

    /// Nothing was asked: who led there may not lead so far, or no such request can be sent.
    var isRefusal: Bool {
        if case .fetch(let failure) = self { failure.kind == .refused } else { false }
    }

    /// The origin says that there is no such thing: the larder then says so too.
    package var isGone: Bool { self == .status(404) || self == .status(410) }

    /// Whether the failure concerns all URLs of the host.
    var saysOfHost: Bool {
        switch self {
        case .sessionEnded, .deferred: true
        case .status, .fetch, .outwaited, .redirects, .nowhere, .standIn, .refused, .unwanted, .altered,
            .softNotFound, .login, .unasked, .heldBack:
            false
        }
    }

    /// Whoever is known to the server would have got it.
    var isOfSession: Bool {
        if case .login = self { return true }
        if case .sessionEnded = self { return true }
        return false
    }

    /// It came, and is not what it has to be.
    package var isAltered: Bool { if case .altered = self { true } else { false } }

    /// What would have it come, where one thing does.
    package var remedy: Remedy? { if case .outwaited = self { .patience } else { nil } }

    package var description: String {
        switch self {
        case .status(let status): "the server answered \(status)"
        case .fetch(let failure), .outwaited(let failure): failure.description
        case .redirects: "redirects without an end"
        case .nowhere: "a redirect without a usable Location"
        case .standIn:
            "a page of HTML came in its place, as from a login or the portal of a network, and is not kept"
        case .refused(let rule): "the rule \"\(rule)\" refuses what came"
        case .unwanted: "the app's willStore says that it is not to be stored"
        case .altered(let detail): "what came is not what the manifest requires: \(detail)"
        case .login(let place): "a login came in its place, \(place), and is not kept"
        case .sessionEnded(let place):
            "not asked for: the session had ended, and pages led to a login, \(place)"
        case .unasked(let failure):
            "not asked for: its host answers nothing, at last: \(failure)"
        case .heldBack(let reason): "\(reason.text); the stored copy is kept"
        case .deferred(let status, let seconds):
            "the server answered \(status) and asks to wait \(seconds) s, which is longer than a run waits"
        case .softNotFound:
            "the page says that there is nothing, with a status that says the contrary (soft 404)"
        }
    }
}
