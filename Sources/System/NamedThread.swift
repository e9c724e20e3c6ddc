internal import Glibc
internal import Synchronization

/// A thread with a name that `top -H` and profilers show. Blocking work runs on such threads, never on
/// Swift's concurrency pool.
///
/// A thread that has not been joined when the last reference to it is released is detached: it continues to
/// run, and its resources are freed when it ends.
package final class NamedThread: Sendable {
    private let thread: pthread_t
    private let isJoined = Mutex(false)

    /// Starts a thread. Throws if the system cannot create one, for lack of memory or because of a limit.
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

    /// Whether the address space is limited. Then a thread most likely failed to start because its stack did
    /// not fit.
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

    /// Waits until the thread ends. Any thread except this one may call it, repeatedly.
    package func join() {
        // Holding the lock while joining makes other callers wait as well. The thread never joins itself.
        isJoined.withLock { isJoined in
            guard !isJoined else { return }
            pthread_join(thread, nil)
            isJoined = true
        }
    }

    /// Gives the calling thread a lower priority. On Linux, `setpriority` for "this process" affects only the
    /// calling thread, contrary to POSIX, so the other threads keep their priority.
    package static func lowerPriority() { setpriority(Int32(PRIO_PROCESS.rawValue), 0, 5) }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        nameThisThread(start.name)
        start.body()
        return nil
    }

    /// Uses /proc, since Glibc hides pthread_setname_np behind _GNU_SOURCE. The kernel keeps 15 bytes of the
    /// name. Failures are ignored.
    private static func nameThisThread(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, name, min(name.utf8.count, 15))
        close(file)
    }

    /// The name and the body of a thread, passed to it at its start.
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// Facts about this machine.
package enum Machine {
    /// The number of online processor cores; at least 1.
    package static var coreCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
