internal import Glibc

extension ServerError {
    /// Names the port, and what to do.
    init(listening port: UInt16, on host: ListenAddress.Host, _ code: Int32) {
        switch code {
        case EADDRNOTAVAIL:
            self.init("listen on \(host.text): choose an address of this machine with --listen, or none", code)
        case EADDRINUSE, EACCES:
            self.init(listening: port, code)
        default:
            self.init("listen on \(host.text), port \(port)", code)
        }
    }
}
