import Store
import Testing

@Suite struct PressureReliefTests {
    private static let megabyte = 1024 * 1024

    struct Step: Sendable, CustomTestStringConvertible {
        let now: Int64
        let sign: PressureRelief.Sign
        let held: Int
        let kept: Int?

        var testDescription: String { "\(now): \(sign), \(held) held" }
    }

    @Test func `half goes at a stall, not more often than every few seconds, and a small rest goes whole`() {
        let steps = [
            Step(now: 100, sign: .stall, held: 64 * Self.megabyte, kept: 32 * Self.megabyte),
            Step(now: 100, sign: .stall, held: 32 * Self.megabyte, kept: nil),
            Step(now: 104, sign: .average(9000), held: 32 * Self.megabyte, kept: nil),
            Step(now: 105, sign: .stall, held: 32 * Self.megabyte, kept: 16 * Self.megabyte),
            Step(now: 110, sign: .average(749), held: 16 * Self.megabyte, kept: nil),
            Step(now: 110, sign: .average(750), held: 16 * Self.megabyte, kept: 8 * Self.megabyte),
            Step(now: 115, sign: .stall, held: 2 * Self.megabyte, kept: Self.megabyte),
            Step(now: 120, sign: .stall, held: 2 * Self.megabyte - 1, kept: 0),
            // There was nothing to give back, which does not put off the next relief.
            Step(now: 125, sign: .stall, held: 0, kept: nil),
            Step(now: 126, sign: .stall, held: 3, kept: 0),
        ]
        var relief = PressureRelief(secondsBetween: 5)
        for step in steps {
            #expect(relief.bytesToKeep(of: step.held, after: step.sign, now: step.now) == step.kept, "\(step)")
        }
    }
}
