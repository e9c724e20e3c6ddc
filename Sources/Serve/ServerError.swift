internal import Glibc
internal import Store

/// Why the server does not run.
package struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// What the system said; 0 when it was not asked.
    let code: Int32

    init(_ doing: String, _ code: Int32) {
        self.code = code
        description =
            "cannot \(doing): \(String(cString: strerror(code))); close other programs, then try again"
    }

    init(listening port: UInt16, _ code: Int32) {
        self.code = code
        switch code {
        case EADDRINUSE:
            description = "port \(port) is in use: stop what listens there, or choose another with --port"
        case EACCES:
            description = "port \(port) is not for this user: choose one above 1023 with --port"
        default:
            description =
                "cannot listen on port \(port): \(String(cString: strerror(code))); choose another with --port, or another "
                + "address with --listen"
        }
    }

    init(_ error: StoreError) {
        description = error.description
        code = 0
    }
}
