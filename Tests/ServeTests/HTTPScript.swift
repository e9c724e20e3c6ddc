import TestOrigin

@testable import Serve

/// A server whose answers a test writes.
final class HTTPScript {
    let server: HTTPServer

    init(
        _ limits: ServerLimits = .standard, address: ListenAddress = .loopback,
        answer: @escaping (Request) -> Reply
    ) throws {
        server = try HTTPServer(port: 0, threadCount: 1, address: address, limits: limits) { _ in
            ScriptedResponder(answer)
        }
    }

    init(_ limits: ServerLimits = .standard, responder: any Responder) throws {
        server = try HTTPServer(port: 0, threadCount: 1, limits: limits) { _ in responder }
    }

    deinit { server.stopAndWait() }

    var port: Int { Int(server.port) }

    func client() throws -> RawClient { try RawClient(port: port) }
}

private final class ScriptedResponder: Responder {
    private let answer: (Request) -> Reply

    init(_ answer: @escaping (Request) -> Reply) {
        self.answer = answer
    }

    func respond(to request: Request, orLater _: Later) -> Reply? { answer(request) }
}
