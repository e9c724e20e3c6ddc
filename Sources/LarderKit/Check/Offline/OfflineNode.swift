internal import Store

/// An URL that a walk came to.
struct OfflineNode {
    enum State: Equatable {
        /// Nobody has looked yet.
        case waiting
        /// By the place of its body among those of the walk.
        case held(Int)
        /// To the node with this number.
        case redirects(to: Int)
        /// The site itself says that there is no such thing.
        case gone(status: Int)
        case missing(String)
        /// It was not asked for; why.
        case leftOut(String)
        /// Held, and what it needs was never written down.
        case unlisted(Int)
        /// Not of the site, not wanted, or no link after all.
        case ignored
    }

    let href: String
    /// The node that led to it first; -1 for a start.
    let parent: Int
    /// How many links away from the start.
    var depth: Int
    var isRequisite: Bool
    var isGuess: Bool
    var isStart = false
    var state = State.waiting
}
