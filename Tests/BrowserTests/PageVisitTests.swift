import Testing

@testable import Browser

@Suite struct PageVisitTests {
    @Test(
        "On a busy machine, pages and servers may be silent for longer, up to a part of the time limit",
        arguments: [(1.0, 3, 5), (2, 6, 10), (9, 10, 20)])
    func waits(slowness: Double, patience: Int, stall: Int) {
        var visit = PageVisit(url: "https://site.test/")
        visit.extendWaits(by: slowness)
        #expect(visit.patience == .seconds(patience))
        #expect(visit.stall == .seconds(stall))
    }

    @Test func `a short time limit keeps its patience`() {
        var visit = PageVisit(url: "https://site.test/")
        visit.limit = .seconds(5)
        visit.extendWaits(by: 9)
        #expect(visit.patience == .seconds(3))
    }
}
