internal import Glibc
internal import Synchronization

/// A thread of ours with a name that `top -H` and profilers show. Blocking work runs on these, never on
/// Swift's pool.
///
/// It is let go of with the last reference to it, if nobody has waited for it by then: it runs on, and cleans
/// up after itself.
package final class NamedThread: Sendable {
    private let thread: pthread_t
    private let isJoined = Mutex(false)

    /// Starts at once. Fails only when the machine has no threads left.
    @discardableResult
    package static func start(
        _ name: String, body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> NamedThread {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, run, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw SystemError(
                code, doing: "start", "the thread \(name)",
                advice: isMemoryLimited
                    ? "raise the memory limit (ulimit -v)" : "raise the limit of threads (ulimit -u)")
        }
        return NamedThread(thread)
    }

    /// Each thread has a stack, for which there may be no room.
    private static var isMemoryLimited: Bool {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 && limit.rlim_cur < 1 << 62
    }

    private init(_ thread: pthread_t) {
        self.thread = thread
    }

    deinit {
        if !isJoined.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Returns when the body has. From any other thread, and as often as one likes.
    package func join() {
        // Whoever comes second waits for the first one's wait; the thread itself never asks.
        isJoined.withLock { isJoined in
            guard !isJoined else { return }
            pthread_join(thread, nil)
            isJoined = true
        }
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        nameThisThread(start.name)
        start.body()
        return nil
    }

    /// By way of /proc, since Glibc hides pthread_setname_np behind _GNU_SOURCE. The kernel keeps 15 bytes of
    /// a name; a thread that stays unnamed works as well.
    private static func nameThisThread(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, name, min(name.utf8.count, 15))
        close(file)
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// What this machine has.
package enum Machine {
    /// The cores that are switched on; at least 1.
    package static var coreCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
