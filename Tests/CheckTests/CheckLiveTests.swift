import Glibc
import TestOrigin
import Testing

@testable import Check
@testable import LarderKit

@Suite struct CheckLiveTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let a = "0cc175b9c0f1b6a831c399e269772661"
    private static let b = "92eb5ffee6ae2fec3ad71c777531578f"
    /// The text "hello", compressed by `gzip -n`.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10,
        0x36, 0x05,
        0, 0, 0,
    ]
    private static let helloMD5 = "5d41402abc4b2a76b9719d911017c592"

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
    }

    /// Checks the bundles of a manifest at the origin.
    private func check(
        _ bundles: String, _ change: (inout CheckOptions) -> Void = { _ in }
    ) async throws -> CheckReport {
        let manifest = try folder.write("{\"bundles\": [\(bundles)]}", to: "m.json")
        var options = CheckOptions()
        options.bases = [origin.url("/")]
        change(&options)
        return try await larder.check(manifest, options: options)
    }

    /// The server that sends another body can send its digest, too.
    @Test(
        arguments: [
            ("\"md5\": \"\(Self.a)\"", "its strongest digest is MD5, which is too weak"),
            ("\"integrity\": \"sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=\"", nil),
        ] as [(String, String?)])
    func `a digest in a header does not satisfy the requirement of strong digests`(
        digest: String, reason: String?
    ) async throws {
        origin.on(
            "/a.js",
            .file("a", type: "text/javascript").adding(
                "Repr-Digest", "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:"))
        let report = try await check("{\"url\": \"/a.js\", \(digest)}") { $0.requiresStrongDigests = true }
        #expect(report.items.map(\.detail) == [reason])
        #expect(report.items.map(\.verdict) == [reason == nil ? .verified : .unverifiable])
        #expect(report.isClean == (reason == nil))
    }

    @Test(
        arguments: [
            ("Content-MD5", "DMF1ucDxtqgxw5niaXcmYQ==", .verified),
            ("Content-MD5", "kutf/uauL+w61xx3dTFXjw==", .mismatch),
            ("Repr-Digest", "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:", .verified),
            ("Repr-Digest", "sha-256=:PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=:", .mismatch),
            ("Content-Digest", "sha-256=:PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=:", .mismatch),
            ("Digest", "MD5=kutf/uauL+w61xx3dTFXjw==", .mismatch),
            // Header fields without a usable digest.
            ("Digest", "UNIXsum=30637", .verified), ("Content-MD5", "x", .verified),
        ] as [(String, String, CheckReport.Verdict)])
    func `digests in the headers of a live response count`(
        name: String, value: String, verdict: CheckReport.Verdict
    ) async throws {
        origin.on("/a.js", .file("a", type: "text/javascript").adding(name, value))
        let report = try await check("{\"url\": \"/a.js\", \"md5\": \"\(Self.a)\"}")
        #expect(report.items.map(\.verdict) == [verdict])
        if verdict == .mismatch { #expect(report.items[0].detail?.isEmpty == false) }
    }

    @Test
    func
        `a header's digest is compared with the encoded body, and a manifest's with the decoded body`()
        async throws
    {
        let coded = OriginAnswer.file(Self.gzip, type: "text/javascript").adding("Content-Encoding", "gzip")
        origin.on("/right.js", coded.adding("Content-MD5", "iMaiC8wqiFlD2NjLTemvCQ=="))
        origin.on("/plain.js", coded.adding("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg=="))
        origin.on("/none.js", coded)
        let bundles = ["right", "plain", "none"].map {
            "{\"url\": \"/\($0).js\", \"md5\": \"\(Self.helloMD5)\"}"
        }
        let report = try await check(bundles.joined(separator: ","))
        #expect(report.items.map(\.verdict) == [.verified, .mismatch, .verified])
        #expect(report.items[1].detail?.contains("which was compressed on the way") == true)
        #expect(origin.requests(to: "/none.js").count == 1)
    }

    @Test func `a body far over its expected size is aborted`() async throws {
        origin.on("/a.js", .endless("more", type: "text/javascript"))
        let report = try await check("{\"url\": \"/a.js\", \"md5\": \"\(Self.a)\", \"size\": 1}")
        #expect(report.items.map(\.verdict) == [.mismatch])
        #expect(report.items[0].detail?.hasPrefix("expected 1 bytes, found 4") == true)
        #expect(report.items[0].finding.remarks == ["it continues, and the rest was not downloaded"])
    }

    @Test func `two servers with different releases are reported as a skew`() async throws {
        origin.on("/app.js", .file("b", type: "text/javascript"), .file("a", type: "text/javascript"))
        origin.on("/new.js", .failure(404), .file("a", type: "text/javascript"))
        origin.on("/old.js", .file("b", type: "text/javascript"))
        origin.on("/gone.js", .failure(404))
        let names = ["app", "new", "old", "gone"]
        let report = try await check(
            names.map { "{\"url\": \"/\($0).js\", \"md5\": \"\(Self.a)\"}" }.joined(separator: ","))
        #expect(report.items.map(\.verdict) == [.skew, .skew, .mismatch, .missing])
        #expect(
            report.items[0].detail == "it changed between two responses: MD5 was \(Self.b), then \(Self.a)")
        #expect(report.items[1].detail == "it changed between two responses: status was 404, then 200")
        #expect(!report.isClean)
    }

    @Test func `a body that matches another release's manifest is a skew in every place`() async throws {
        let old = try folder.write(
            "{\"version\": \"1.3\", \"bundles\": [{\"url\": \"/app.js\", \"md5\": \"\(Self.b)\"}]}",
            to: "old.json")
        origin.on("/", .page("<script src=/app.js></script>"))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/")])
        mkdir(folder.file("dist"), 0o755)
        try folder.write("b", to: "dist/app.js")
        let report = try await check("{\"url\": \"/app.js\", \"md5\": \"\(Self.a)\"}") {
            $0.releases = [old]
            $0.places = [.stored, .folder(folder.file("dist")), .live]
        }
        #expect(report.items[0].findings.map(\.verdict) == [.skew, .skew, .skew])
        #expect(report.items[0].detail == "it is the bundle of version 1.3, not that of the manifest")
        #expect(!report.isClean)
    }

    @Test func `a local mismatch is compared with the correct live body`() async throws {
        origin.on("/app.js", .file("one\ntwo", type: "text/javascript"))
        mkdir(folder.file("dist"), 0o755)
        try folder.write("one\ntwo", to: "dist/app.js")
        let written = try await larder.manifest(of: folder.file("dist"))
        try folder.write("one\ntoo!", to: "dist/app.js")
        let manifest = try folder.write(written.text, to: "m.json")
        var options = CheckOptions()
        options.bases = [origin.url("/")]
        options.places = [.folder(folder.file("dist")), .live]
        let item = try #require(try await larder.check(manifest, options: options).items.first)
        #expect(item.findings.map(\.verdict) == [.mismatch, .verified])
        let detail = try #require(item.findings[0].detail)
        #expect(detail.contains("line 2, column 2, byte 5"), "\(detail)")
        #expect(detail.contains("expected 7 bytes, found 8 bytes"), "\(detail)")
        #expect(item.findings[0].remarks == ["compared with the copy in live"])
    }

    @Test func `weak evidence is reported on request, and never fails a check`() async throws {
        let script = OriginAnswer.file("a", type: "text/javascript")
        origin.on("/app.0cc175b9.js", script.adding("ETag", "\"\(Self.b)\""))
        origin.on("/app.92eb5ffe.js", script.adding("ETag", "\"\(Self.a)-3\""))
        let bundles = ["0cc175b9", "92eb5ffe"].map { "{\"url\": \"/app.\($0).js\", \"md5\": \"\(Self.a)\"}" }
            .joined(separator: ",")
        #expect(try await check(bundles).items.allSatisfy { $0.finding.remarks.isEmpty })
        let report = try await check(bundles) { $0.evidence = [.entityTags, .names(.md5)] }
        #expect(report.items.map(\.verdict) == [.verified, .verified])
        let first = report.items[0].finding.remarks
        #expect(first.first == "file name matches, which proves nothing")
        #expect(first.last?.hasPrefix("ETag does not match, which is not an error") == true)
        #expect(report.items[1].finding.remarks.count == 1)
        #expect(report.items[1].finding.remarks[0].hasPrefix("file name does not match"))
    }

    @Test func `the integrity attributes of a page are checked live and in the store`() async throws {
        let sri = "sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="
        origin.on(
            "/app/",
            .page("<script src=a.js integrity='\(sri)'></script><script src=/b.js integrity='\(sri)'>"))
        origin.on("/app/a.js", .file("a", type: "text/javascript"))
        origin.on("/b.js", .file("b", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/app/")])
        let live = try await larder.check(origin.url("/app/"))
        #expect(live.items.map(\.url) == [origin.url("/app/a.js"), origin.url("/b.js")])
        #expect(live.items.map(\.verdict) == [.verified, .mismatch])
        origin.stop()
        var options = CheckOptions()
        options.places = [.stored]
        #expect(
            try await larder.check(origin.url("/app/"), options: options).items.map(\.verdict) == [
                .verified, .mismatch,
            ])
    }

    @Test func `ten thousand bundles are fetched and checked, and one flipped byte is named`() async throws {
        origin.otherwise { .file($0.target == "/7777.js" ? "b" : "a", type: "text/javascript") }
        let report = try await check(
            (0..<10_000).map { "{\"url\": \"/\($0).js\", \"md5\": \"\(Self.a)\"}" }.joined(separator: ","))
        #expect(report.count(.verified) == 9_999)
        #expect(report.items.filter { $0.verdict == .mismatch }.map(\.name) == ["/7777.js"])
    }
}
