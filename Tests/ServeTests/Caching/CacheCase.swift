import TestOrigin
import Testing

/// A sequence of requests to a cache, with the responses of the origin and the expected responses of the cache. Named
/// functions such as `load` and `held` create the steps, and modifiers such as `with` and `getting` change them.
struct CacheCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]

    init(_ description: String, _ steps: Step...) {
        (testDescription, self.steps) = (description, steps)
    }

    /// A request, the response that the origin would send to it, and the expected effects.
    struct Step: Sendable {
        /// The time in seconds since the first request.
        var time: Int64
        var method = "GET"
        var path = "/a"
        /// Header lines of the request. In all lines, the value `@+60` is the date 60 seconds after the first request.
        var request: [String] = []
        /// The response of the origin to a request; nil if it closes the connection instead.
        var originResponse: OriginResponse? = OriginResponse()
        /// Whether the cache must request the origin.
        var requestsOrigin: Bool
        var status: Int
        var shows: ExpectedBody
        /// Header lines that the origin must receive. `!Name` is a header field that it must not receive.
        var expectedByOrigin: [String] = []
        /// Header lines that the client must receive.
        var expectedByClient: [String] = []
        /// Whether the cache must refresh the response in the background.
        var refreshesBehind = false
    }

    struct OriginResponse: Sendable {
        var status = 200
        var lines: [String] = []
        /// The body; nil for the text "step" with the number of the step.
        var body: String?
        /// Changes how the response is sent, such as its framing.
        var modify: @Sendable (OriginAnswer) -> OriginAnswer = { $0 }
    }

    enum ExpectedBody: Sendable, Equatable {
        case anything
        /// The body of the origin's response in a step, counted from 0; nil for the current step.
        case step(Int?)
        case text(String)
    }
}

extension CacheCase.Step {
    /// The first request, which always goes to the origin.
    static func load(_ lines: String..., status: Int = 200) -> Self {
        Self(
            time: 0, originResponse: .init(status: status, lines: lines), requestsOrigin: true,
            status: status, shows: .step(nil))
    }

    /// The cache requests the origin, and the client receives the origin's response.
    static func asks(_ time: Int64 = 0, _ lines: String..., status: Int = 200) -> Self {
        Self(
            time: time, originResponse: .init(status: status, lines: lines), requestsOrigin: true,
            status: status,
            shows: .step(nil))
    }

    /// The client receives the stored response of an earlier step, without a request to the origin.
    static func held(_ time: Int64 = 0, of step: Int = 0, status: Int = 200) -> Self {
        Self(time: time, requestsOrigin: false, status: status, shows: .step(step))
    }

    /// The origin confirms the stored response with a 304.
    static func confirmed(_ time: Int64, _ lines: String..., of step: Int = 0) -> Self {
        Self(
            time: time, originResponse: .init(status: 304, lines: lines), requestsOrigin: true, status: 200,
            shows: .step(step))
    }

    /// The request to the origin fails, and the client receives the stale stored response.
    static func stale(_ time: Int64, status: Int? = nil, of step: Int = 0) -> Self {
        Self(
            time: time, originResponse: status.map { CacheCase.OriginResponse(status: $0) },
            requestsOrigin: true, status: 200,
            shows: .step(step))
    }

    /// The cache generates an error response.
    static func refused(_ time: Int64, _ status: Int, requestsOrigin: Bool = false) -> Self {
        Self(
            time: time, originResponse: nil, requestsOrigin: requestsOrigin, status: status, shows: .anything)
    }

    /// The client's own copy is confirmed with a 304, without a request to the origin.
    static func unchanged(_ time: Int64, _ lines: String...) -> Self {
        Self(time: time, request: lines, requestsOrigin: false, status: 304, shows: .text(""))
    }

    func by(_ method: String) -> Self { with { $0.method = method } }
    func at(_ path: String) -> Self { with { $0.path = path } }
    func with(_ lines: String...) -> Self { with { $0.request += lines } }
    func sending(_ lines: String...) -> Self { with { $0.expectedByOrigin += lines } }
    func getting(_ lines: String...) -> Self { with { $0.expectedByClient += lines } }
    var showingAnything: Self { with { $0.shows = .anything } }
    func showing(_ text: String) -> Self { with { $0.shows = .text(text) } }
    func saying(_ body: String) -> Self { with { $0.originResponse?.body = body } }
    func answering(_ status: Int) -> Self { with { $0.status = status } }
    func refreshing(_ lines: String...) -> Self {
        with {
            $0.refreshesBehind = true
            $0.originResponse?.lines = lines
        }
    }

    func modifyingResponse(_ modify: @escaping @Sendable (OriginAnswer) -> OriginAnswer) -> Self {
        with { $0.originResponse?.modify = modify }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var step = self
        change(&step)
        return step
    }
}
