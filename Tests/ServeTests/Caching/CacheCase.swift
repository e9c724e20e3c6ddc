import TestOrigin
import Testing

/// What is asked of a proxy one after another, what the origin says when it is asked, and what is to come of
/// it.
struct CacheCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]

    init(_ description: String, _ steps: Step...) {
        (testDescription, self.steps) = (description, steps)
    }

    struct Step: Sendable {
        /// Seconds since the first request.
        var time: Int64
        var method = "GET"
        var path = "/a"
        /// Lines of the request's head. In all lines `@+60` stands for the date 60 seconds after the first
        /// request.
        var request: [String] = []
        /// What the origin says if it is asked; nil when it hangs up.
        var said: Said? = Said()
        /// Whether the origin is asked.
        var asks: Bool
        var status: Int
        var shows: Shown
        /// Lines that the origin must have got; a name behind `!` must not be there.
        var sent: [String] = []
        /// Lines that the client must get.
        var gets: [String] = []
        /// What was asked for behind is waited for.
        var asksBehind = false
    }

    struct Said: Sendable {
        var status = 200
        var lines: [String] = []
        /// Nil for a body that tells the step.
        var body: String?
        var bend: @Sendable (OriginAnswer) -> OriginAnswer = { $0 }
    }

    enum Shown: Sendable, Equatable {
        case anything
        /// The body that the origin sends in a step, counted from 0; nil for this one.
        case step(Int?)
        case text(String)
    }
}

extension CacheCase.Step {
    /// The first request, of which the origin is asked in any case.
    static func load(_ lines: String..., status: Int = 200) -> Self {
        Self(
            time: 0, said: .init(status: status, lines: lines), asks: true, status: status, shows: .step(nil))
    }

    /// The origin is asked, and its answer is the client's.
    static func asks(_ time: Int64 = 0, _ lines: String..., status: Int = 200) -> Self {
        Self(
            time: time, said: .init(status: status, lines: lines), asks: true, status: status,
            shows: .step(nil))
    }

    /// The origin is not asked: what came in an earlier step is shown.
    static func held(_ time: Int64 = 0, of step: Int = 0, status: Int = 200) -> Self {
        Self(time: time, asks: false, status: status, shows: .step(step))
    }

    /// The origin is asked, and says that what is held still is so.
    static func confirmed(_ time: Int64, _ lines: String..., of step: Int = 0) -> Self {
        Self(time: time, said: .init(status: 304, lines: lines), asks: true, status: 200, shows: .step(step))
    }

    /// The origin is asked in vain, and what is held is shown.
    static func stale(_ time: Int64, status: Int? = nil, of step: Int = 0) -> Self {
        Self(
            time: time, said: status.map { CacheCase.Said(status: $0) }, asks: true, status: 200,
            shows: .step(step))
    }

    /// The proxy answers by itself.
    static func refused(_ time: Int64, _ status: Int, asks: Bool = false) -> Self {
        Self(time: time, said: nil, asks: asks, status: status, shows: .anything)
    }

    /// The client is told that what it has still is so.
    static func unchanged(_ time: Int64, _ lines: String...) -> Self {
        Self(time: time, request: lines, asks: false, status: 304, shows: .text(""))
    }

    func by(_ method: String) -> Self { with { $0.method = method } }
    func at(_ path: String) -> Self { with { $0.path = path } }
    func with(_ lines: String...) -> Self { with { $0.request += lines } }
    func sending(_ lines: String...) -> Self { with { $0.sent += lines } }
    func getting(_ lines: String...) -> Self { with { $0.gets += lines } }
    var showingAnything: Self { with { $0.shows = .anything } }
    func showing(_ text: String) -> Self { with { $0.shows = .text(text) } }
    func saying(_ body: String) -> Self { with { $0.said?.body = body } }
    func answering(_ status: Int) -> Self { with { $0.status = status } }
    func refreshing(_ lines: String...) -> Self {
        with {
            $0.asksBehind = true
            $0.said?.lines = lines
        }
    }

    func bent(_ bend: @escaping @Sendable (OriginAnswer) -> OriginAnswer) -> Self {
        with { $0.said?.bend = bend }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var step = self
        change(&step)
        return step
    }
}
