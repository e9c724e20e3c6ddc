import Markup
import TestOrigin
import Testing
import Web

/// Precache lists as Workbox writes them.
@Suite struct PrecacheConformanceTests {
    @Test("Each entry of a precache list is found", .enabled(if: ConformanceData.isThere))
    func lists() {
        let examples = ConformanceData.cases("bundles/workbox-precache-examples.json", "examples")
        #expect(!examples.isEmpty)
        for example in examples {
            let scan = Scan(example["text"]?.string ?? "", .javaScript)
            #expect(scan.references == example["expect_urls"]?.array?.compactMap(\.string))
            #expect(scan.found.allSatisfy { $0.kind.role == .requisite || $0.kind == .page })
        }
    }
}
