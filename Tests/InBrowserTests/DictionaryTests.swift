import LarderKit
import TestOrigin
import Testing
import Web

/// Chromium uses the scripts of a mirror as compression dictionaries (RFC 9842).
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct DictionaryTests {
    /// A bundle of a megabyte, in which one line differs by version.
    private static func bundle(_ version: Int) -> String {
        var state: UInt64 = 7
        var lines = (0..<15_000).map { number in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return "function f\(number)() { return '\(String(state, radix: 36)), plum jam, bread and tea' }"
        }
        lines[7000] = "var version = \(version)"
        return lines.joined(separator: "\n")
    }

    /// The bytes of the script in transfer and after decoding, and its version.
    private func load(_ visit: ChromiumVisit) throws -> (encoded: Int, decoded: Int, version: Int) {
        let entry = "performance.getEntriesByType('resource').find((entry) => entry.name.endsWith('/app.js'))"
        return (
            try #require(try visit.evaluate("\(entry).encodedBodySize")?.int),
            try #require(try visit.evaluate("\(entry).decodedBodySize")?.int),
            try #require(try visit.evaluate("version")?.int)
        )
    }

    @Test func `a changed line in a megabyte costs under 5 % of its bytes, and is shown at once`()
        async throws
    {
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><title>App</title><script src=/app.js></script>"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        var port: UInt16 = 0
        var visit: ChromiumVisit?
        for version in 1...3 {
            let bundle = Self.bundle(version)
            origin.on("/app.js", .file(bundle, type: "text/javascript"))
            _ = try await larder.prefetch([origin.url("/")])
            // A server that was restarted finds the dictionaries in the store.
            let service = try larder.serve(port: port)
            defer { service.stop() }
            port = service.port
            let address = try #require(service.address(of: origin.url("/")))
            if let visit {
                try visit.navigate(to: address)
            } else {
                visit = try Chromium().open(address)
            }
            let loaded = try load(try #require(visit))
            #expect(loaded.version == version)
            #expect(loaded.decoded == bundle.utf8.count)
            #expect(loaded.decoded > 1_000_000)
            if version == 1 {
                #expect(loaded.encoded > loaded.decoded / 10)
            } else {
                #expect(loaded.encoded < loaded.decoded / 20)
                #expect(loaded.encoded > 0)
            }
        }
    }
}
