/// Decides how much of what is kept in memory goes when programs have to wait for memory: half, then half of the rest, for
/// as long as they do. What was given back comes again by use, once they no longer do.
package struct PressureRelief: Sendable, Equatable {
    /// What the kernel says of the programs that wait.
    package enum Sign: Sendable, Equatable {
        /// They waited for longer than was agreed.
        case stall
        /// For how much of the last ten seconds some of them waited, in hundredths of a percent.
        case average(Int)
    }

    /// How long relief takes to show before there is more of it.
    package let secondsBetween: Int64
    private var last: Int64?

    /// The share of ten seconds that counts as a stall: that of `PressureFile.trigger`.
    package static let averageThatStalls = 750
    /// Less than this is given back whole.
    package static let smallest = 1024 * 1024

    package init(secondsBetween: Int64 = 5) {
        self.secondsBetween = secondsBetween
    }

    /// How many of `byteCount` bytes may stay; nil when all of them may.
    package mutating func bytesToKeep(of byteCount: Int, after sign: Sign, now: Int64) -> Int? {
        switch sign {
        case .stall: break
        case .average(let average): guard average >= Self.averageThatStalls else { return nil }
        }
        if let last, now - last < secondsBetween { return nil }
        guard byteCount > 0 else { return nil }
        last = now
        return byteCount / 2 < Self.smallest ? 0 : byteCount / 2
    }
}
