internal import Digest

/// Counts the devices that run an update, and those that failed to. Each device counts once: a device that restarts in a loop, or
/// someone who repeats a request, does not stop a roll-out alone. A failure counts more than a success.
package struct OutcomeTally: Sendable, Equatable {
    package enum Outcome: Sendable {
        case success, failure
    }

    /// Whether a device failed, by a hash of its ID.
    private var failures: [UInt64: Bool] = [:]
    /// The number of devices that failed.
    package private(set) var failureCount = 0

    /// The maximum number of devices. Further ones are not counted; the share of failures hardly changes any more.
    private static let maxDevices = 1_000_000

    package init() {}

    /// The hashes of the devices with an outcome, each as 8 bytes, in ascending order.
    func hashes(failed: Bool) -> [UInt8] {
        let hashes = failures.filter { $0.value == failed }.keys.sorted()
        return hashes.flatMap { hash in (0..<8).map { UInt8(truncatingIfNeeded: hash >> (56 - 8 * $0)) } }
    }

    /// Restores a stored state. Returns nil if a device is there twice, or there are too many.
    init?(succeeded: [UInt8], failed: [UInt8]) {
        for (bytes, isFailure) in [(succeeded, false), (failed, true)] {
            guard bytes.count % 8 == 0, bytes.count / 8 + failures.count <= Self.maxDevices else {
                return nil
            }
            for start in stride(from: 0, to: bytes.count, by: 8) {
                let hash = bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                guard failures.updateValue(isFailure, forKey: hash) == nil else { return nil }
            }
        }
        failureCount = failed.count / 8
    }

    /// The number of devices that reported.
    package var count: Int { failures.count }

    package mutating func record(_ outcome: Outcome, of device: String) {
        let digest = DigestStream.digest(.sha256, of: Array(device.utf8).span).bytes
        let key = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let known = failures[key]
        guard known != true, known != nil || failures.count < Self.maxDevices else { return }
        switch outcome {
        case .success: failures[key] = false
        case .failure:
            failures[key] = true
            failureCount += 1
        }
    }
}
