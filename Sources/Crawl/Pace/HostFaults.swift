/// Whose fault it is when a host objects: that of the URL, of its folder, or of the host.
///
/// A fault is taken for the host's when a folder of which something was answered before shows it, or when the host has
/// answered nothing yet; each URL counts once.
struct HostFaults: Sendable {
    /// Folders of which something was answered.
    private var healthy: Set<UInt64> = []
    /// Folders that have objected since the last answer.
    private(set) var suspects: Set<UInt64> = []
    /// URLs that have, ever.
    private var objectors: Set<UInt32> = []

    private static let mostHealthy = 4096

    mutating func answered(_ folder: UInt64) {
        if healthy.count < Self.mostHealthy { healthy.insert(folder) }
        if !suspects.isEmpty { suspects.removeAll() }
    }

    /// Whether it counts against the host.
    mutating func objected(_ number: UInt32, _ folder: UInt64, _ failure: Failure) -> Bool {
        suspects.insert(folder)
        let isFirst = objectors.insert(number).inserted
        // Nobody was reached: of that no URL is to blame.
        if failure.isOfConnection { return true }
        return isFirst && (failure == .status(429) || healthy.isEmpty || healthy.contains(folder))
    }
}
