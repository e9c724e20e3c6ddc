import Testing
import Web

@testable import Crawl

/// Runs the cases of wget's test suite with Larder. `WgetTable` has the expected outcome of each case.
@Suite(.enabled(if: WgetCase.isInstalled, "the conformance data is not there (LARDER_CONFORMANCE)"))
struct WgetCasesTests {
    @Test(arguments: WgetTable.met) func `a crawl stores the same files as wget`(id: String) throws {
        let json = try #require(WgetCase.all().first { $0["id"]?.string == id })
        #expect(try WgetRun(json).differences() == [])
    }

    @Test func `every case of wget's tests is listed once`() throws {
        let named = WgetTable.met + WgetTable.others.flatMap(\.ids)
        #expect(named.count == Set(named).count)
        #expect(Set(named) == Set(WgetCase.all().compactMap { $0["id"]?.string }))
    }
}
