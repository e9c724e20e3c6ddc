import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit
@testable import Prefetch

@Suite struct ManifestVerifierTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/", .page("<script src=/a.js></script>"))
        origin.on("/a.js", .file("a", type: "text/javascript"))
    }

    private func makeVerifier(_ text: String) throws -> ManifestVerifier {
        let source = try ManifestSource(
            try folder.write(text, to: "m.json"), nearestZone: .thisMachine, options: CheckOptions(),
            folder: larder.folder, interruption: Interruption())
        return try ManifestVerifier(source, options: CheckOptions(), folder: larder.folder)
    }

    private var manifest: String {
        "{\"start\": [\"\(origin.url("/"))\"], \"bundles\": "
            + "[{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}"
    }

    @Test func `a snapshot is checked as it would be served`() async throws {
        let verifier = try makeVerifier(manifest)
        #expect(try verifier.startURLs().map(\.href) == [origin.url("/")])
        #expect(verifier.bundleURLs.map(\.href) == [origin.url("/a.js")])
        let first = try await larder.prefetch([origin.url("/")])
        #expect(try verifier.report(onSnapshot: first.snapshot).isClean)

        origin.on("/a.js", .file("b", type: "text/javascript"))
        let second = try await larder.prefetch([origin.url("/")])
        let report = try verifier.report(onSnapshot: second.snapshot)
        #expect(!report.isClean)
        #expect(report.items.map(\.verdict) == [.mismatch])
        #expect(try verifier.report(onSnapshot: first.snapshot).isClean)

        // For a URL that the snapshot could not fetch, the previous snapshot's response is served, even if that snapshot
        // is not live.
        origin.on("/a.js", .failure(500))
        let third = try await larder.prefetch([origin.url("/")])
        #expect(try !verifier.report(onSnapshot: third.snapshot).isClean)
        try await larder.rollBack(origin.url("/"), to: first.snapshot)
        #expect(try !verifier.report(onSnapshot: third.snapshot).isClean)
        #expect(try verifier.report(onSnapshot: first.snapshot).isClean)
    }

    @Test func `the manifest's prefetch settings are added to the user's options`() throws {
        let verifier = try makeVerifier(
            """
            {"start": ["https://a.test/docs/"], "scope": "path", "depth": 3, "exclude": ["*.pdf"],
             "headers": ["X-Key: 1"], "policy": "protocol", "rules": ["/api/** max-age=600"]}
            """)
        var options = PrefetchOptions()
        options.plan.scope.exclude = ["*.zip"]
        verifier.apply(to: &options)
        #expect(options.plan.scope.extent == .path)
        #expect(options.plan.scope.depth == 3)
        #expect(options.plan.scope.exclude == ["*.zip", "*.pdf"])
        #expect(options.network.headers == ["X-Key: 1"])
        #expect(options.policy == .protocol)
        #expect(options.plan.rules == ["/api/** max-age=600"])
    }

    @Test func `a manifest without start URLs belongs to the origin of its bundles`() throws {
        let verifier = try makeVerifier(
            "{\"bundles\": [{\"url\": \"https://a.test/b/c\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}"
        )
        #expect(try verifier.startURLs().isEmpty)
        #expect(try verifier.defaultSite().href == "https://a.test/")
    }

    @Test("A fetched manifest sets headers for its own origin only, and none that the user set")
    func trustedHeaders() throws {
        let url = try #require(WebURL("https://example.com:8443/manifest.json"))
        func trusted(_ header: String, beside user: [String] = []) -> [String] {
            ManifestVerifier.trustedHeaders(of: [header], from: url, beside: user)
        }
        let own = ["https://example.com:8443 X-Key: v"]
        #expect(trusted("X-Key: v") == own)
        #expect(trusted("example.com X-Key: v") == own)
        #expect(trusted("https://example.com:8443 X-Key: v") == own)
        #expect(trusted("https://example.com X-Key: v").isEmpty)
        #expect(trusted("other.test X-Key: v").isEmpty)
        #expect(trusted("X-Key: v", beside: ["x-key: u"]).isEmpty)
        #expect(trusted("X-Key: v", beside: ["example.com:8443 X-Key: u"]).isEmpty)
        #expect(trusted("X-Key: v", beside: ["X-Other: u"]) == own)
        #expect(trusted("Accept:text/html, a/b") == ["https://example.com:8443 Accept: text/html, a/b"])
    }
}
