import Bundles
import Check
import Crawl
import Digest
import Prefetch
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Store

/// A manifest may name the site that it belongs to. A key that the user trusts for one manifest gets no power over the site
/// of another one by that.
@Suite struct ManifestClaimTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let key: MinisignPrivateKey
    private let newKey: MinisignPrivateKey

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        key = try #require(MinisignPrivateKey())
        newKey = try #require(MinisignPrivateKey())
        origin.on("/robots.txt", .failure(404))
        origin.on("/app.js", .file("app", type: "text/javascript"))
    }

    /// Publishes a manifest that claims the site `/`, signed by a key.
    private func publish(_ path: String, by key: MinisignPrivateKey) throws {
        let digest = DigestStream.digest(.sha256, of: Array("app".utf8).span).hex
        let text =
            "{\"site\": \"\(origin.url("/"))\", \"bundles\": [{\"url\": \"\(origin.url("/app.js"))\", "
            + "\"sha256\": \"\(digest)\"}]}"
        let bytes = try ManifestSignature.adding(key.publicKey, to: Array(text.utf8))
        origin.on(path, .file(bytes, type: "application/json"))
        let signature = key.sign(bytes, trustedComment: "timestamp:1").text
        origin.on(path + ".minisig", .file(signature, type: "text/plain"))
    }

    private func preload(_ path: String, _ keys: [String], base: String? = nil) async throws -> PreloadReport
    {
        var options = PreloadOptions()
        options.trustedKeys = keys
        options.base = base
        return try await larder.preload(origin.url(path), options: options)
    }

    /// The manifest of the only site, and its keys.
    private func stored() throws -> ManifestPlan? {
        let sites = try StoreReader(StoreFolder(larder.path)).sites()
        #expect(sites.map(\.name) == [origin.url("/")])
        return sites.first.flatMap { SitePlan(text: $0.settings).manifest }
    }

    @Test func `a manifest that claims the site of another one needs a key of that site`() async throws {
        try publish("/m.json", by: key)
        try publish("/n.json", by: newKey)
        #expect(try await preload("/m.json", [key.publicKey.text]).outcome == .changed)
        for keys in [
            [], ["first-use"], [newKey.publicKey.text], ["none"], [newKey, key].map(\.publicKey.text),
        ] {
            let report = try await preload("/n.json", keys)
            #expect(report.outcome == .refused, "\(keys)")
            let reason = try #require(report.manifestFailure)
            #expect(
                reason.contains("accepts only manifests signed by \(key.publicKey.fingerprint)"), "\(reason)")
            #expect(report.refusalRemedy == .newManifest(of: origin.url("/")))
            #expect(try stored()?.trustedKeys == [key.publicKey.text])
        }
        var options = PrefetchOptions()
        options.trustedKeys = [newKey.publicKey.text]
        let wanted = options
        let error = await #expect(throws: LarderError.self) {
            try await larder.prefetch(manifest: origin.url("/n.json"), options: wanted)
        }
        #expect(error?.kind == .refused)
    }

    @Test func `a key of the site suffices, and other keys of the manifest do not become keys of the site`()
        async throws
    {
        try publish("/m.json", by: key)
        try publish("/n.json", by: key)
        #expect(try await preload("/m.json", [key.publicKey.text]).outcome == .changed)
        let report = try await preload("/n.json", [key, newKey].map(\.publicKey.text))
        #expect(report.outcome == .changed && !report.hasNewKeys)
        #expect(try stored()?.place == origin.url("/n.json"))
        #expect(try stored()?.trustedKeys == [key.publicKey.text])
    }

    @Test func `a user who names the key and the site replaces the keys of the site`() async throws {
        try publish("/m.json", by: key)
        try publish("/n.json", by: newKey)
        #expect(try await preload("/m.json", [key.publicKey.text]).outcome == .changed)
        #expect(try await preload("/n.json", [], base: origin.url("/")).outcome == .refused)
        #expect(try await preload("/n.json", ["first-use"], base: origin.url("/")).outcome == .refused)
        #expect(
            try await preload("/n.json", [newKey.publicKey.text], base: origin.url("/x/")).outcome == .refused
        )
        let report = try await preload("/n.json", [newKey.publicKey.text], base: origin.url("/"))
        #expect(report.outcome == .changed && report.hasNewKeys)
        #expect(try stored()?.trustedKeys == [newKey.publicKey.text])
    }

    @Test func `a site without keys gets those of the manifest`() async throws {
        try publish("/m.json", by: key)
        try publish("/n.json", by: newKey)
        #expect(try await preload("/m.json", []).outcome == .changed)
        let report = try await preload("/n.json", [newKey.publicKey.text])
        #expect(report.outcome == .changed && report.hasNewKeys)
        #expect(try stored()?.trustedKeys == [newKey.publicKey.text])
    }

    @Test
    func `an update takes a new key in place of the stored one, and none for a site without a manifest`()
        async throws
    {
        try publish("/m.json", by: key)
        #expect(try await preload("/m.json", [key.publicKey.text]).outcome == .changed)
        try publish("/m.json", by: newKey)
        await #expect(throws: LarderError.self) { try await larder.update() }
        var options = PrefetchOptions()
        options.trustedKeys = [newKey.publicKey.text]
        let report = try await larder.update([origin.url("/")], options: options)
        #expect(report.first?.isPublished == true && report.first?.manifestFailure == nil)
        #expect(try stored()?.trustedKeys == [newKey.publicKey.text])
        let site = try await larder.status().sites.first
        #expect(site?.trustedKeys == [newKey.publicKey.text] && site?.manifest == origin.url("/m.json"))

        origin.on("/other/", .page("<title>Other</title>"))
        _ = try await larder.prefetch([origin.url("/other/")])
        let wanted = options
        let error = await #expect(throws: LarderError.self) {
            try await larder.update([origin.url("/other/")], options: wanted)
        }
        #expect(error?.kind == .input && error?.description.contains("has no manifest") == true)
    }
}
