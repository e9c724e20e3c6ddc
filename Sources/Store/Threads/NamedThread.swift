internal import Glibc

/// A thread of ours with a name that `top -H` and profilers show. Blocking work runs on these, never on Swift's pool.
package struct NamedThread: Sendable {
    private let thread: pthread_t

    /// Starts at once. Fails only when the machine has no threads left.
    package static func start(
        _ name: String, body: @escaping @Sendable () -> Void
    ) throws(StoreError) -> NamedThread {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, run, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw StoreError(
                .failed, doing: "start", path: "the thread \(name)", detail: String(cString: strerror(code)),
                advice: "raise the limit on threads (ulimit -u)")
        }
        return NamedThread(thread: thread)
    }

    /// Waits for the body to return. To be called once, by one thread. A thread that is neither joined nor detached keeps
    /// its stack for ever.
    package func join() {
        pthread_join(thread, nil)
    }

    /// Lets go of a thread that nobody waits for. To be called once, in place of `join`.
    package func detach() {
        pthread_detach(thread)
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        nameThisThread(start.name)
        start.body()
        return nil
    }

    /// By way of /proc, since Glibc hides pthread_setname_np behind _GNU_SOURCE. The kernel keeps 15 bytes of a name;
    /// a thread that stays unnamed works as well.
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
