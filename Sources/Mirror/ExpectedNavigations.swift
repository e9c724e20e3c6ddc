internal import Synchronization

/// The addresses to which people have just been redirected, by a link that they followed or an address that they
/// typed.
///
/// A service worker that passes such a navigation on does not say that a person caused it. A page of another site
/// could cause the same request, but it cannot redirect a person in this way without a click.
final class ExpectedNavigations: Sendable {
    private let times = Mutex<[String: ContinuousClock.Instant]>([:])

    /// The maximum number of expected navigations. Beyond it, the oldest is dropped.
    private static let maxAddresses = 64
    /// How long a browser may take to follow the redirect, which includes the start of the worker.
    private static let timeout = Duration.seconds(30)

    func expect(_ address: String) {
        let now = ContinuousClock.now
        times.withLock { times in
            times = times.filter { now - $0.value < Self.timeout }
            if times.count >= Self.maxAddresses, let oldest = times.min(by: { $0.value < $1.value }) {
                times[oldest.key] = nil
            }
            times[address] = now
        }
    }

    /// Removes an address. Returns whether a navigation to it was expected.
    func remove(_ address: String) -> Bool {
        times.withLock { times in
            times.removeValue(forKey: address).map { ContinuousClock.now - $0 < Self.timeout } ?? false
        }
    }
}
