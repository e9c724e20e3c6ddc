internal import Fetch

/// When something that failed is asked for again: a little later each time, not all at the same moment, and not for
/// ever.
struct RetryPlan: Sendable, Equatable {
    enum Decision: Sendable, Equatable {
        case again(after: Duration)
        case giveUp(Reason)
    }

    enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// The same request would fail in the same way.
        case lasting
        /// It was tried so many times.
        case attempts(Int)
        /// The server asks to be left alone for longer than anybody waits.
        case asksToWait(Duration)

        var description: String {
            switch self {
            case .lasting: "asking again would not help"
            case .attempts(let count): "tried \(count) times"
            case .asksToWait(let wait): "the server asks to wait \(wait.components.seconds) s"
            }
        }
    }

    /// The first one included.
    var attempts = 4
    /// A name that cannot be found is looked up so many times: mostly there is no such name, sometimes the resolver is
    /// not well.
    var attemptsToFindHost = 2
    var firstDelay: Duration = .milliseconds(500)
    var longestDelay: Duration = .seconds(60)

    /// What to do after the attempt with this number, counted from 1. `jitter` from 0 up to 1 spreads the delays:
    /// between half of what doubles each time and the whole of it, and up to an eighth more than the Retry-After that
    /// outweighs it.
    func decision(
        afterAttempt attempt: Int, of failure: Failure, retryAfter: Duration? = nil, jitter: Double
    ) -> Decision {
        let most = mostAttempts(failure)
        guard most > 1 else { return .giveUp(.lasting) }
        guard attempt < most else { return .giveUp(.attempts(attempt)) }
        let jitter = min(max(0, jitter), 1)
        let full = min(firstDelay * (1 << min(max(0, attempt - 1), 16)), longestDelay)
        guard let retryAfter, retryAfter > .zero else { return .again(after: full / 2 + full / 2 * jitter) }
        guard retryAfter <= HostPace.longestPause else { return .giveUp(.asksToWait(retryAfter)) }
        return .again(after: retryAfter + retryAfter / 8 * jitter)
    }

    /// 1 for what will not pass.
    private func mostAttempts(_ failure: Failure) -> Int {
        switch failure {
        case .status(408), .status(425), .status(429): attempts
        case .status(501), .status(505): 1
        case .status(let status): status >= 500 ? attempts : 1
        case .fetch(let failure): failure.kind == .unknownHost ? attemptsToFindHost : failure.mayPass ? attempts : 1
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login, .sessionEnded,
            .unasked:
            1
        }
    }

    /// A number from 0 up to 1 that differs from entry to entry and from attempt to attempt, and is the same in every
    /// run.
    static func jitter(of number: UInt32, attempt: Int) -> Double {
        Double(Mixing.mix(UInt64(number) << 8 | UInt64(attempt & 0xFF)) >> 11) / Double(1 << 53)
    }
}
