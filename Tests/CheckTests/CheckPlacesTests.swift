import Glibc
import TestOrigin
import Testing

@testable import Check
@testable import LarderKit

@Suite struct CheckPlacesTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let a = "0cc175b9c0f1b6a831c399e269772661"
    private static let b = "92eb5ffee6ae2fec3ad71c777531578f"

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/", .page("<script src=/app.0123abcd.js></script>"))
        origin.on("/app.0123abcd.js", .file("a", type: "text/javascript"))
        origin.on("/b.js", .file("b", type: "text/javascript"))
    }

    /// Checks a manifest with this text.
    private func check(
        _ text: String, as name: String = "m.json", _ change: (inout CheckOptions) -> Void = { _ in }
    ) async throws -> CheckReport {
        let manifest = try folder.write(text, to: name)
        var options = CheckOptions()
        change(&options)
        return try await larder.check(manifest, options: options)
    }

    @Test func `the files of a checksum list are looked up beside it, unless a base is given`() async throws {
        try folder.write("a", to: "a.js")
        try folder.write("x", to: "b.js")
        let list = "\(Self.a)  a.js\n\(Self.b)  b.js\n"
        let report = try await check(list, as: "MD5SUMS")
        #expect(report.places == [folder.path])
        #expect(report.items.map(\.verdict) == [.verified, .mismatch])
        #expect(report.items.map(\.line) == [1, 2])
        let live = try await check(list, as: "MD5SUMS") { $0.bases = [origin.url("/")] }
        #expect(live.items.map(\.verdict) == [.missing, .verified])
    }

    @Test func `URLs on the manifest's own origin move to a base, and others stay`()
        async throws
    {
        let staging = try TestOrigin()
        staging.on("/b.js", .file("b", type: "text/javascript"))
        let text = """
            {"start": ["\(origin.url("/"))"], "bundles": [
                {"url": "\(origin.url("/b.js"))", "md5": "\(Self.b)"},
                {"url": "https://elsewhere.invalid/c.js", "md5": "\(Self.b)"}]}
            """
        let report = try await check(text) { $0.bases = [staging.url("/"), origin.url("/")] }
        #expect(report.places == [staging.url("/"), origin.url("/")])
        #expect(report.items[0].findings.map(\.url) == [staging.url("/b.js"), origin.url("/b.js")])
        #expect(report.items[0].findings.map(\.verdict) == [.verified, .verified])
        #expect(Set(report.items[1].findings.map(\.url)) == ["https://elsewhere.invalid/c.js"])
        #expect(try await check(text).items[0].findings.map(\.url) == [origin.url("/b.js")])
    }

    @Test func `a page that requests chunks of another release is a skew`() async throws {
        let text = """
            {"start": ["\(origin.url("/"))"], "bundles": [{"url": "/app.89ef4567.js", "md5": "\(Self.a)"}]}
            """
        origin.on("/app.89ef4567.js", .file("a", type: "text/javascript"))
        let live = try await check(text)
        #expect(live.items.map(\.verdict) == [.verified, .skew])
        #expect(!live.isClean)
        #expect(live.items[1].url == origin.url("/"))
        #expect(live.items[1].detail?.contains("app.0123abcd.js") == true)
        #expect(try await check(text) { $0.failsOn = [.mismatch, .missing] }.isClean)

        _ = try await larder.prefetch([origin.url("/")])
        let held = try await check(text) { $0.places = [.stored, .live] }
        #expect(held.items[1].findings.map(\.verdict) == [.skew, .skew])
        origin.on("/", .page("<script src=/app.89ef4567.js></script>"))
        #expect(try await check(text).items.map(\.verdict) == [.verified])
    }

    @Test func `a page that matches its own digest is not scanned for skews`() async throws {
        origin.on("/page.html", .file("a", type: "text/html"))
        let text = """
            {"bundles": [{"url": "\(origin.url("/page.html"))", "md5": "\(Self.a)"},
                {"url": "\(origin.url("/app.0123abcd.js"))", "md5": "\(Self.a)"}]}
            """
        #expect(try await check(text).items.map(\.verdict) == [.verified, .verified])
        #expect(origin.requests.count == 2)
    }

    @Test func `a manifest that only names the real one is followed`() async throws {
        try folder.write("[{\"file\": \"b.js\", \"hash\": \"\(Self.b)\"}]", to: "chcp.manifest")
        let report = try await check(
            "{\"content_url\": \"\(origin.url("/"))\", \"release\": \"1\"}", as: "chcp.json")
        #expect(report.name == folder.file("chcp.manifest"))
        #expect(report.items.map(\.verdict) == [.verified])
        #expect(report.items.map(\.url) == [origin.url("/b.js")])
    }

    @Test func `digests in stored response headers count for stored bodies`() async throws {
        origin.on("/", .page("<script src=/b.js></script>"))
        origin.on(
            "/b.js",
            .file("b", type: "text/javascript").adding("Content-MD5", "DMF1ucDxtqgxw5niaXcmYQ=="))
        _ = try await larder.prefetch([origin.url("/")])
        let text = "{\"bundles\": [{\"url\": \"/b.js\", \"md5\": \"\(Self.b)\"}]}"
        let report = try await check(text) {
            $0.places = [.stored]
            $0.bases = [origin.url("/")]
        }
        #expect(report.items.map(\.verdict) == [.mismatch])
        #expect(
            report.items[0].detail?.contains("Content-MD5") == true
                || report.items[0].detail?.contains("expected") == true)
    }

    @Test func `a mismatch reports its first difference from a local body that matches`() async throws {
        try folder.write("one\ntwo", to: "a.js")
        origin.on("/a.js", .file("one\ntoo", type: "text/javascript"))
        let written = try await larder.manifest(of: folder.path)
        let report = try await check(written.text) {
            $0.places = [.folder(folder.path), .live]
            $0.bases = [origin.url("/")]
        }
        let item = try #require(report.items.first { $0.name == "a.js" })
        #expect(item.findings[0].verdict == .verified)
        #expect(item.detail?.contains("line 2, column 2, byte 5") == true, "\(item.detail ?? "")")
        #expect(item.detail?.contains("both have 7 bytes") == true)
    }

    @Test func `an unknown format is an error that lists the known ones`() async throws {
        let error = await #expect(throws: LarderError.self) {
            try await check("{}") { $0.format = "webpak" }
        }
        #expect(error?.kind == .input)
        #expect(error?.description.contains("unknown format \"webpak\"") == true)
    }

    @Test func `ten thousand bundles of a folder are checked`() async throws {
        mkdir(folder.file("dist"), 0o755)
        for number in 0..<10_000 { try folder.write("a", to: "dist/\(number).js") }
        let written = try await larder.manifest(of: folder.file("dist"))
        #expect(written.bundles == 10_000)
        let report = try await check(written.text) { $0.places = [.folder(folder.file("dist"))] }
        #expect(report.count(.verified) == 10_000)
    }
}
