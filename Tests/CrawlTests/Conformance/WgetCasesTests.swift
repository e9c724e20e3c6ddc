import Testing
import Web

@testable import Crawl

/// wget's own tests, held against Larder: each by its name, with what becomes of it.
@Suite(.enabled(if: WgetCase.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"))
struct WgetCasesTests {
    @Test(arguments: WgetTable.met) func `the cases of wget's tests pass`(id: String) throws {
        let json = try #require(WgetCase.all().first { $0["id"]?.string == id })
        #expect(try WgetRun(json).complaints() == [])
    }

    @Test func `every case is listed once`() throws {
        let named = WgetTable.met + WgetTable.others.flatMap(\.ids)
        #expect(named.count == Set(named).count)
        #expect(Set(named) == Set(WgetCase.all().compactMap { $0["id"]?.string }))
    }
}
