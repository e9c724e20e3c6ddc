import Glibc

/// Starts a thread, which the caller must join. Returns nil if no thread can be created.
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
    final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { raw in
            guard let raw else { return nil }
            Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().body()
            return nil
        }, work.toOpaque())
    guard status == 0 else {
        work.release()
        return nil
    }
    return thread
}
