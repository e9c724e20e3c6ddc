internal import Web

extension Frontier {
    /// Whether a person goes there or a page needs it. A page that something also needs becomes a requisite.
    enum Role: UInt8, Sendable {
        case page = 0
        case requisite = 1
    }

    enum State: Sendable, Equatable {
        case skipped(SkipReason)
        case queued
        case running
        /// Not queued yet: just heard of, or failed and to be tried again.
        case waiting
        case done
        /// Its answer led elsewhere.
        case redirected
        case failed(Failure)
    }

    struct Entry: Sendable {
        let url: WebURL
        let host: Int
        /// Who asked for it first; nil for a start URL.
        let referrer: UInt32?
        /// A start URL, or where one was redirected to.
        var isStart: Bool
        var role: Role
        /// Nobody is sure that it is a link; if it fails, nothing is missing.
        var isGuess: Bool
        var state: State
        var attempts: UInt8 = 0
        /// How many redirects led here.
        let redirects: UInt8
        /// Where its own redirect leads.
        var target: UInt32?
    }
}
