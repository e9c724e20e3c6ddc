internal import Glibc
internal import Synchronization

/// A stream of text to whoever runs the command. What it could not take is not forgotten.
final class Output: Sendable {
    static let standard = Output(STDOUT_FILENO)
    static let errors = Output(STDERR_FILENO)

    private let file: Int32
    private let failed = Atomic(false)

    init(_ file: Int32) {
        self.file = file
    }

    /// Something was not written, for whatever reason.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// Writes all of it, however slow the reader; else gives the error's number.
    func write(_ text: String) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            let code = errno
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if code == EAGAIN {
                // Another program made the pipe or terminal that we share non-blocking.
                var wait = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if code != EINTR {
                failed.store(true, ordering: .relaxed)
                return code
            }
        }
        return nil
    }
}
