internal import Digest

/// Serves a handful of files out of memory, on loopback, until it is stopped.
package final class FilesServer: Sendable {
    /// Nil where there is no file at a path.
    package typealias Lookup = @Sendable (_ path: String) -> (type: String, body: [UInt8])?

    private let server: HTTPServer

    /// - Parameter port: 0 lets the kernel choose.
    package init(port: UInt16, lookup: @escaping Lookup) throws(ServerError) {
        server = try HTTPServer(port: port, threadCount: 1) { _ in FilesResponder(lookup) }
    }

    package var port: UInt16 { server.port }

    /// Ends what is under way, and returns when the thread is done. From any thread, and as often as one
    /// likes.
    package func stop() {
        server.stopAndWait()
    }
}

private final class FilesResponder: Responder {
    private let lookup: FilesServer.Lookup

    init(_ lookup: @escaping FilesServer.Lookup) {
        self.lookup = lookup
    }

    func respond(to request: Request, orLater _: Later) -> Reply? {
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
