import TestOrigin
import Testing

@testable import Soak

/// Short runs of `scripts/soak kill` and `scripts/soak faults`.
@Suite struct KillTests {
    @Test func `a killed crawl is continued, with the same result as an uninterrupted one`() throws {
        let run = try KillRun(pages: 80)
        let (expected, time) = try run.undisturbed()
        #expect(expected.rows.count > 80)
        for part in 1...4 {
            let outcome = try run.kill(after: time * part / 5, expected)
            #expect(outcome.differences == [])
        }
    }

    @Test func `everything available of a misbehaving origin is stored, and the rest is reported`() throws {
        #expect(try FaultRun(pages: 120, seed: 3).run())
    }
}
