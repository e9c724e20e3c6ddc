import Testing

@testable import larder

@Suite struct PrefetchTimeTests {
    @Test(
        arguments: [
            (
                Duration.seconds(138), Duration.seconds(91),
                "(1 min 31 s to open pages offline and download missing files)"
            ),
            (.seconds(138), .seconds(69), nil), (.seconds(138), .zero, nil),
        ] as [(Duration, Duration, String?)])
    func `the total time names the part of the rehearsal if that was most of it`(
        total: Duration, rehearsal: Duration, part: String?
    ) {
        let text = PrefetchSummary.totalTime(total, ofRehearsal: rehearsal)
        #expect(text == "2 min 18 s in total" + (part.map { " " + $0 } ?? ""))
    }
}
