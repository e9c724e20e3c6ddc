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
