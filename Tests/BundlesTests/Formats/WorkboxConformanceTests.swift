import Bundles
import TestOrigin
import Testing
import Web

@Suite struct WorkboxConformanceTests {
    @Test(
        .enabled(if: ConformanceData.isThere, "no conformance data"),
        arguments: ConformanceData.cases("bundles/workbox-precache-examples.json", "examples"))
    func `precache lists are found as in Workbox's examples`(row: JSONValue) throws {
        let manifest = try Sample.manifest(try #require(row["text"]?.string))
        #expect(manifest.format == .workbox)
        #expect(manifest.bundles.map(\.reference) == row["expect_urls"]?.array?.compactMap(\.string))
    }
}
