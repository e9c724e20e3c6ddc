/// A part of a `MemoryTier` with a lock of its own.
// @unchecked: `contents` is touched only while `lock` is held. Who makes a shard frees it, after its last use.
struct TierShard: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<TryLock>
    private let contents: UnsafeMutablePointer<TierContents>
    /// Lock and contents share a cache line; the next line, which a processor fetches along, is nobody's.
    private static let size = 128

    init(bucketCount: Int) {
        let block = UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: Self.size)
        let start = MemoryLayout<TierContents>.alignment
        assert(start >= MemoryLayout<TryLock>.size && start + MemoryLayout<TierContents>.size <= Self.size / 2)
        lock = block.bindMemory(to: TryLock.self, capacity: 1)
        lock.initialize(to: TryLock())
        contents = (block + start).bindMemory(to: TierContents.self, capacity: 1)
        contents.initialize(to: TierContents(bucketCount: bucketCount, generation: 0))
    }

    func free() {
        contents.deinitialize(count: 1)
        lock.deinitialize(count: 1)
        UnsafeMutableRawPointer(lock).deallocate()
    }

    /// For threads that serve a client: nil when another thread has it.
    func changeIfFree<Result>(_ change: (inout TierContents) -> Result) -> Result? {
        guard lock.pointee.lockIfFree() else { return nil }
        defer { lock.pointee.unlock() }
        return change(&contents.pointee)
    }

    /// For threads that nobody waits for.
    func change<Result>(_ change: (inout TierContents) -> Result) -> Result {
        lock.pointee.lock()
        defer { lock.pointee.unlock() }
        return change(&contents.pointee)
    }
}
