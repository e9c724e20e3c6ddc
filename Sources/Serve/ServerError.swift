internal import Glibc
package import Store
internal import System

/// Why the server does not run.
package struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// With what the description ends.
    package let remedy: Remedy?
    /// What the system said; 0 when it was not asked.
    let code: Int32

    init(_ doing: String, _ code: Int32) {
        self.code = code
        remedy = nil
        description = "cannot \(doing): \(SystemError.text(of: code)); close other programs, then try again"
    }

    /// Names the port, and what to do.
    init(listening port: UInt16, on host: ListenAddress.Host, _ code: Int32) {
        self.code = code
        switch code {
        case EADDRNOTAVAIL:
            remedy = .address
            description =
                "cannot listen on \(host.text): it is no address of this machine; choose one that is, or name none"
        case EADDRINUSE:
            remedy = .port
            description = "port \(port) is in use: stop what listens there, or choose another"
        case EACCES:
            remedy = .port
            description = "port \(port) is not for this user: choose one above 1023"
        default:
            remedy = .port
            description =
                "cannot listen on \(host.text), port \(port): \(SystemError.text(of: code)); choose another address, or "
                + "another port"
        }
    }

    init(_ error: SystemError) {
        description = error.description
        remedy = nil
        code = error.code
    }

    init(_ error: StoreError) {
        description = error.description
        remedy = error.remedy
        code = 0
    }
}
