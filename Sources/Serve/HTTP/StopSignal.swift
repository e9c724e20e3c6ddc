internal import CLinux
internal import Glibc

/// Tells every event loop to stop, from any thread.
final class StopSignal: Sendable {
    /// Readable once the signal is given; nobody reads it, so that each loop sees it.
    let descriptor: Int32

    init() throws(ServerError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw ServerError("create a stop signal", errno) }
    }

    deinit {
        close(descriptor)
    }

    func give() {
        eventfd_write(descriptor, 1)
    }
}
