internal import Bundles
internal import Digest

/// What there is to do about each bundle of a manifest, by what is held of it: a decision without any I/O.
struct PreloadPlan: Sendable, Equatable {
    enum Step: Sendable, Equatable {
        /// Readers see it as it has to be, by the site's own visit: nothing is asked, and nothing is written.
        case reuse
        /// It is held as it has to be, and the site itself does not show it: it does from the next visit on, and nothing is
        /// asked.
        case adopt
        /// The origin is asked.
        case fetch(Reason)
    }

    enum Reason: Sendable, Equatable {
        /// Nothing of it is held.
        case new
        /// What is held is another one.
        case differs
        /// It is held, and its bytes are not what they were.
        case damaged
        /// No digest says what it has to be: the origin is asked whether it still holds.
        case unproven
    }

    /// What is held of a bundle.
    struct Holding: Sendable, Equatable {
        /// What readers see.
        var shown: Version?
        /// The site itself shows it.
        var isOwn = false
        /// A visit that is not served has another one, which would come to light with the next that is.
        var isCovered = false
        /// Other visits have it as it has to be. Only looked for where what is shown does not do.
        var isElsewhere = false

        struct Version: Sendable, Equatable {
            var digests: [Digest]
            var byteCount: Int
            /// As far as anybody knows, its bytes are there and as they came.
            var isSound = true
        }
    }

    let steps: [Step]
    /// Nobody has to be asked, and nothing has to be written.
    let isCurrent: Bool

    init(_ bundles: [(bundle: Bundle, holding: Holding)]) {
        let steps = bundles.map { Self.step($0.bundle, $0.holding) }
        let isCurrent = steps.allSatisfy { $0 == .reuse }
        self.isCurrent = isCurrent
        self.steps = zip(steps, bundles).map { step, bundle in
            step == .reuse && bundle.holding.isCovered && !isCurrent ? .adopt : step
        }
    }

    static func step(_ bundle: Bundle, _ holding: Holding) -> Step {
        guard bundle.isProvable else { return .fetch(holding.shown == nil ? .new : .unproven) }
        guard let shown = holding.shown else { return holding.isElsewhere ? .adopt : .fetch(.new) }
        let isRight = bundle.finding(knowing: shown.digests, byteCount: shown.byteCount)?.verdict == .verified
        if isRight, shown.isSound { return holding.isOwn ? .reuse : .adopt }
        return holding.isElsewhere ? .adopt : .fetch(isRight ? .damaged : .differs)
    }
}
