/// A verdict on a link, from the best to the worst.
public enum LinkVerdict: String, Sendable, Equatable, CaseIterable {
    /// The target exists, and has the fragment.
    case verified
    /// An ignore file, an attribute or the baseline says that the link is not to be reported.
    case ignored
    /// The check was told not to look at the target, such as other sites with `--no-external`.
    case notChecked = "not-checked"
    /// The target has moved permanently: the link should be updated.
    case redirected
    /// A page that is sent by https loads the target by http, which browsers refuse.
    case mixedContent = "mixed-content"
    /// The check could not tell: robots.txt, a login, a rate limit or protection against bots is in the way.
    case blocked
    /// The check could not tell: the server had an error.
    case failed
    /// The server did not answer in time, not even on a second connection.
    case timedOut = "timed-out"
    /// The target exists, but does not have the fragment.
    case fragmentMissing = "fragment-missing"
    /// The target does not exist.
    case dead

    /// The position among all verdicts; a greater one is worse.
    package var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
