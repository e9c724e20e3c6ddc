internal import Glibc
package import System

/// The error that keeps a server from running.
package struct ServerError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// The advice at the end of the description.
    package let remedy: Remedy?
    /// The `errno` of the failed system call; 0 if no call failed.
    package let code: Int32

    package init(_ doing: String, _ code: Int32) {
        self.code = code
        remedy = nil
        description = "cannot \(doing): \(SystemError.text(of: code)); close other programs, then try again"
    }

    /// Describes why the server cannot listen on the port, and what to do about it.
    package init(listening port: UInt16, on host: ListenAddress.Host, _ code: Int32) {
        self.code = code
        switch code {
        case EADDRNOTAVAIL:
            remedy = .address
            description =
                "cannot listen on \(host.text): this machine does not have that address; choose one of its addresses, or name none"
        case EADDRINUSE:
            remedy = .port
            description = "port \(port) is in use: stop the program that uses it, or choose another port"
        case EACCES:
            remedy = .port
            description = "this user may not use port \(port): choose one above 1023"
        default:
            remedy = .port
            description =
                "cannot listen on \(host.text), port \(port): \(SystemError.text(of: code)); choose another address, or "
                + "another port"
        }
    }

    package init(_ error: SystemError) {
        description = error.description
        remedy = nil
        code = error.code
    }

    /// Wraps an error of another module.
    package init(description: String, remedy: Remedy?) {
        self.description = description
        self.remedy = remedy
        code = 0
    }
}
