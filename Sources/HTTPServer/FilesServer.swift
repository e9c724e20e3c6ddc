internal import Digest

/// Serves a few files from memory, on loopback, until it is stopped.
package final class FilesServer: Sendable {
    /// Returns the file at a path; nil if there is none.
    package typealias Lookup = @Sendable (_ path: String) -> (type: String, body: [UInt8])?

    private let server: HTTPServer

    /// - Parameter port: The port; 0 lets the kernel choose one.
    package init(port: UInt16, lookup: @escaping Lookup) throws(ServerError) {
        server = try HTTPServer(port: port, threadCount: 1) { _ in FilesResponder(lookup) }
    }

    package var port: UInt16 { server.port }

    /// Ends requests in progress, and returns when the thread has ended. Any thread may call this,
    /// repeatedly.
    package func stop() {
        server.stopAndWait()
    }
}

/// Answers requests with the files.
private final class FilesResponder: Responder {
    private let lookup: FilesServer.Lookup

    init(_ lookup: @escaping FilesServer.Lookup) {
        self.lookup = lookup
    }

    func respond(to request: Request, orDefer _: DeferredReply) -> Reply? {
        Reply(answer: answer(to: request))
    }

    private func answer(to request: Request) -> Answer {
        guard request.head.method != .other else {
            return .text(405, "Only GET and HEAD are answered.\n", fields: [("Allow", "GET, HEAD")])
        }
        let path = String(decoding: request.target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        guard let file = lookup(path) else { return .text(404, "There is no \(path) here.\n") }
        let tag = DigestStream.digest(.md5, of: file.body.span).hex
        return Answer(
            status: 200, fields: [("Content-Type", file.type), ("ETag", "\"\(tag)\"")], body: file.body)
    }
}
