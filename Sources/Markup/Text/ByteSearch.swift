internal import Glibc

extension UnsafePointer<UInt8> {
    /// The first `byte` at or behind `index` and before `end`, else `end`. Eight bytes a step for the first few, since
    /// most stretches between two marks are short, then libc's.
    @inline(__always)
    func find(_ byte: UInt8, from index: Int, to end: Int) -> Int {
        var index = index
        let pattern = 0x0101_0101_0101_0101 &* UInt64(byte)
        var steps = 4
        while index &+ 8 <= end, steps > 0 {
            let word = UInt64(littleEndian: UnsafeRawPointer(self + index).loadUnaligned(as: UInt64.self)) ^ pattern
            // The lowest byte that became zero gets its high bit set; borrows only disturb the bytes above it.
            let hit = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
            if hit != 0 { return index &+ hit.trailingZeroBitCount &>> 3 }
            index &+= 8
            steps &-= 1
        }
        guard index < end else { return end }
        guard let hit = memchr(self + index, Int32(byte), end &- index) else { return end }
        return UnsafeRawPointer(hit) - UnsafeRawPointer(self)
    }
}
