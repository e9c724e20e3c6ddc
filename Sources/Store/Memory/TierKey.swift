/// What an entry of a `MemoryTier` is found by: bytes in two parts, which nobody has to join to ask for it.
struct TierKey {
    let first: UnsafeBufferPointer<UInt8>
    let second: UnsafeBufferPointer<UInt8>
    let hash: Int

    init(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) {
        self.first = first
        self.second = second
        // Seeded anew in each process: pages choose their addresses, and must not choose where they end up.
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(first))
        hasher.combine(first.count)
        hasher.combine(bytes: UnsafeRawBufferPointer(second))
        hash = hasher.finalize()
    }

    var byteCount: Int { first.count + second.count }
}
