import Glibc
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror

/// A server with one thread whose answers are written by the test.
final class HTTPScript {
    let server: HTTPServer

    init(
        _ limits: ServerLimits = .patient, address: ListenAddress = .loopback,
        answer: @escaping (Request) -> Reply
    ) throws {
        server = try HTTPServer(port: 0, threadCount: 1, address: address, limits: limits) { _ in
            ScriptedResponder(answer)
        }
    }

    init(_ limits: ServerLimits = .patient, responder: any Responder) throws {
        server = try HTTPServer(port: 0, threadCount: 1, limits: limits) { _ in responder }
    }

    deinit { server.stopAndWait() }

    var port: Int { Int(server.port) }

    func client() throws -> RawClient { try RawClient(port: port) }

    /// Sends `piece` every few milliseconds until the server answers or closes the connection. Returns the answer;
    /// nil if the connection was closed before the answer was read.
    func drip(_ piece: [UInt8], by client: RawClient) throws -> RawResponse? {
        let end = ContinuousClock.now + .hangGuard
        while ContinuousClock.now < end {
            do throws(TestError) {
                return try client.response(within: .milliseconds(10))
            } catch  where error.why.hasPrefix("nothing more came") {
                guard (try? client.send(piece)) != nil else { return nil }
            } catch {
                return nil
            }
        }
        throw HangError("the server to refuse a client that sends slowly")
    }
}

/// Repeats an attempt until the server does not disconnect the client. A server with short timeouts does that if the
/// machine pauses the test for longer than they allow.
///
/// - Parameter attempt: Returns nil or throws if the client was disconnected.
func untilNotCutOff<Result>(_ attempt: () throws -> Result?) throws -> Result {
    let end = ContinuousClock.now + .hangGuard
    while ContinuousClock.now < end {
        if let result = try? attempt() { return result }
        usleep(1000)
    }
    throw HangError("a server to answer a client")
}

/// The error of a test that waited in vain.
struct HangError: Error, CustomStringConvertible {
    let awaited: String

    init(_ awaited: String) { self.awaited = awaited }

    var description: String { "waited in vain for \(awaited)" }
}

extension Duration {
    /// The time after which a test that waits for an event fails.
    static let hangGuard = Duration.seconds(300)
}

extension ServerLimits {
    /// Limits with long timeouts, so that no client is disconnected when the machine pauses a test.
    static let patient = Self.standard.patient

    var patient: ServerLimits {
        var limits = self
        (limits.headTimeoutMilliseconds, limits.stallTimeoutMilliseconds, limits.lingerTimeoutMilliseconds) =
            (600_000, 600_000, 600_000)
        (limits.idleTimeoutMilliseconds, limits.crowdedIdleTimeoutMilliseconds) = (600_000, 600_000)
        return limits
    }
}

private final class ScriptedResponder: Responder {
    private let answer: (Request) -> Reply

    init(_ answer: @escaping (Request) -> Reply) {
        self.answer = answer
    }

    func respond(to request: Request, orDefer _: DeferredReply) -> Reply? { answer(request) }
}

/// A generator of random numbers that are the same in each run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
