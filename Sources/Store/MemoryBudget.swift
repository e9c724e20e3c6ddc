internal import CLinux
internal import Glibc
internal import Synchronization

/// Keeps a serving process within a memory limit by adjusting the limit of its `MemoryTier`. The size of
/// everything else in the process (databases, connections, responses being sent, fragmentation in malloc) is
/// not known in advance, so it is measured. Any thread may use it.
package final class MemoryBudget: Sendable {
    private let limit: Int
    private let measure: @Sendable () -> Int?
    private let isChecking = Atomic(false)

    /// - Parameters:
    ///   - limit: The limit for the whole process, in bytes.
    ///   - measure: Returns the memory that the process uses now, in bytes; nil if the system does not report it.
    package init(limit: Int, measure: @escaping @Sendable () -> Int? = ProcessMemory.atStart.measure) {
        self.limit = limit
        self.measure = measure
    }

    /// Returns how many bytes caches may use, given their size and the size of the whole process. They always
    /// get at least an eighth of the limit: without any cache, the server would only become slower.
    ///
    /// For example, with a limit of 800 MB of which 500 MB are used, 100 MB by caches, they may use 400 MB.
    package static func allowance(limit: Int, used: Int, cached: Int) -> Int {
        let rest = max(0, used - cached)
        return min(max(limit - rest, limit / 8), limit)
    }

    /// Adjusts the limit of the tier. Does nothing if another thread is doing this already.
    package func check<Value>(_ tier: MemoryTier<Value>) {
        guard isChecking.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        else {
            return
        }
        defer { isChecking.store(false, ordering: .releasing) }
        guard var used = measure() else { return }
        if used > limit {
            tier.setLimit(Self.allowance(limit: limit, used: used, cached: tier.byteCount))
            // Free blocks in the heap count towards the memory of the process too.
            _ = malloc_trim(0)
            guard let usedAfterwards = measure() else { return }
            used = usedAfterwards
        }
        tier.setLimit(Self.allowance(limit: limit, used: used, cached: tier.byteCount))
    }
}

/// Measures the resident memory of this process, without the pages of files that were read after the start.
package struct ProcessMemory: Sendable {
    /// The number of pages of files that were in memory at the start, mostly of the program itself. Later
    /// ones do not count, because the kernel reclaims pages of files when it needs to.
    private let filePages: Int

    package static let atStart = ProcessMemory(filePages: pages()?.files ?? 0)

    /// Returns the memory in bytes; nil if there is no `/proc`.
    package var measure: @Sendable () -> Int? {
        { [filePages] in Self.pages().map { ($0.anonymous + filePages) * Self.pageSize } }
    }

    private static let pageSize = max(1, sysconf(Int32(_SC_PAGESIZE)))

    /// Returns the numbers of resident pages from `/proc/self/statm`: its second field is all resident pages, its
    /// third those of files and shared memory.
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
