import Check
import Testing
import Web

@Suite struct RehearsalReportTests {
    @Test func aKindWithFrozenAndReplayedPagesReportsBoth() {
        let kind = Rehearsal.PageKind(
            example: "https://a.example/1", pages: 5, opened: 2, compared: 2, .frozen(pages: 1, replayed: 3))
        let rehearsal = Rehearsal([kind])
        #expect(
            rehearsal.summary == [
                "served with the live messages of their first seconds replayed: 3 pages",
                "served as frozen copies, without scripts: 1 page, such as https://a.example/1",
            ])
        #expect(kind.members.text(.compact).contains(#""frozen":1,"replayed":3"#))
        #expect(rehearsal.isProved)
    }

    private static func kind(
        _ url: String, _ result: Rehearsal.PageKind.Result
    ) -> Rehearsal.PageKind {
        Rehearsal.PageKind(example: url, pages: 2, opened: 1, compared: 1, result)
    }

    @Test
    func `an interrupted rehearsal reports kinds that differed as unknown, and does not prove the site`() {
        let reason = "the rehearsal was interrupted"
        let equal = Self.kind("https://a.example/1", .equal)
        let before = Rehearsal([
            equal, Self.kind("https://a.example/2", .different(page: "https://a.example/2", detail: "blank")),
        ])
        let rehearsal = before.interrupted
        #expect(rehearsal.kinds == [Self.kind("https://a.example/2", .unknown(reason)), equal])
        #expect(rehearsal.isInterrupted && !rehearsal.isProved && rehearsal.level == .read)
        #expect(
            rehearsal.lines.first
                == "not compared with the live site: 2 pages with scripts, such as https://a.example/2: \(reason)"
        )
        #expect(rehearsal.members.text(.compact).hasPrefix(#"{"level":"read","interrupted":true,"#))
        // Another reason does not hide the interruption.
        let other = Rehearsal([Self.kind("https://a.example/3", .unknown("no page was rendered"))])
        #expect(other.interrupted.lines.contains(reason))
    }

    @Test func `an interruption after all kinds were proved changes nothing`() {
        let rehearsal = Rehearsal([Self.kind("https://a.example/1", .equal)])
        #expect(rehearsal.interrupted == rehearsal)
        #expect(rehearsal.level == .rehearsed)
        #expect(rehearsal.members.text(.compact).hasPrefix(#"{"level":"rehearsed","interrupted":false,"#))
    }

    @Test func aReasonForFrozenCopiesKeepsTheReplayedPages() {
        let url = "https://a.example/1"
        let before = Rehearsal([
            Rehearsal.PageKind(
                example: url, pages: 5, opened: 2, compared: 2,
                .different(page: url, detail: "a word is missing"))
        ])
        let after = Rehearsal([
            Rehearsal.PageKind(example: url, pages: 5, opened: 2, compared: 2, .frozen(pages: 1, replayed: 3))
        ])
        #expect(
            after.addingReasonsForCopies(from: before).kinds.map(\.result) == [
                .frozen(pages: 1, replayed: 3, reason: "a word is missing")
            ])
    }
}
