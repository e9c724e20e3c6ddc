internal import CLinux
internal import Glibc
internal import Synchronization

/// Keeps a process that does nothing but serve within a limit, by how much its `MemoryTier` may hold: what else the
/// process takes (databases, connections, answers on their way, what malloc loses between its blocks) is not
/// known in advance. Any thread may use it.
package final class MemoryBudget: Sendable {
    private let limit: Int
    private let measure: @Sendable () -> Int?
    private let isChecking = Atomic(false)

    /// - Parameters:
    ///   - limit: bytes for the whole process.
    ///   - measure: what the process takes now; nil where the system does not say.
    package init(limit: Int, measure: @escaping @Sendable () -> Int? = ProcessMemory.atStart.measure) {
        self.limit = limit
        self.measure = measure
    }

    /// How much caches may hold, given what they hold now and what the process takes with that. An eighth of the
    /// limit is left to them however much the rest takes: without any cache the server would only be slower.
    package static func allowance(limit: Int, taken: Int, cached: Int) -> Int {
        let rest = max(0, taken - cached)
        return min(max(limit - rest, limit / 8), limit)
    }

    /// Has the tier hold no more than there is room for. A check that another thread is at already is left out.
    package func check<Value>(_ tier: MemoryTier<Value>) {
        guard isChecking.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        else {
            return
        }
        defer { isChecking.store(false, ordering: .releasing) }
        guard var taken = measure() else { return }
        if taken > limit {
            tier.setLimit(Self.allowance(limit: limit, taken: taken, cached: tier.byteCount))
            // Free blocks inside the heap still count for the process.
            _ = malloc_trim(0)
            guard let left = measure() else { return }
            taken = left
        }
        tier.setLimit(Self.allowance(limit: limit, taken: taken, cached: tier.byteCount))
    }
}

/// Measures the resident memory of this process, without pages of files that are read later.
package struct ProcessMemory: Sendable {
    /// Pages of files that were in memory at the start: of the program itself, mostly. The kernel takes pages of
    /// files back by itself, so that those which come later do not count.
    private let filePages: Int

    package static let atStart = ProcessMemory(filePages: pages()?.files ?? 0)

    /// In bytes; nil where there is no `/proc`.
    package var measure: @Sendable () -> Int? {
        { [filePages] in Self.pages().map { ($0.anonymous + filePages) * Self.pageSize } }
    }

    private static let pageSize = max(1, sysconf(Int32(_SC_PAGESIZE)))

    private static func pages() -> (anonymous: Int, files: Int)? {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(file, &bytes, bytes.count)
        let words = bytes.prefix(max(0, count)).split(separator: 0x20)
        guard words.count > 2, let resident = Int(String(decoding: words[1], as: UTF8.self)),
            let files = Int(String(decoding: words[2], as: UTF8.self))
        else { return nil }
        return (max(0, resident - files), files)
    }
}
