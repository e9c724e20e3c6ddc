import Bundles
import Digest
import Testing

@Suite struct ManifestTests {
    private static let md5 = "d41d8cd98f00b204e9800998ecf8427e"

    @Test func `our own form is read with every key`() throws {
        let text = """
            {"site": "demo", "start": ["/"], "bundles": [
              {"url": "/a.js", "md5": "\(Self.md5)", "size": 0, "required": false},
              {"url": "/b.js", "sha256": "\(String(repeating: "0", count: 64))"}
            ]}
            """
        let manifest = try Manifest(Array(text.utf8), file: "m.json")
        #expect(manifest.site == "demo")
        #expect(manifest.start == ["/"])
        #expect(manifest.bundles.map(\.reference) == ["/a.js", "/b.js"])
        #expect(manifest.bundles[0].digests.map(\.hex) == [Self.md5])
        #expect(manifest.bundles[0].byteCount == 0)
        #expect(!manifest.bundles[0].isRequired)
        #expect(manifest.bundles[1].isRequired)
    }

    @Test func `a Weex update configuration is read, and its outer digest is no bundle's`() throws {
        let text = """
            {"md5": "short", "version": "1.0", "pages": [
              {"page": "index", "h5": "", "js": "https://a.example/i.js", "md5": "\(Self.md5)"},
              {"page": "built in", "js": "", "md5": ""}
            ]}
            """
        let manifest = try Manifest(Array(text.utf8), file: "m.json")
        #expect(
            manifest.bundles == [
                Bundle(reference: "https://a.example/i.js", digests: [try #require(Digest(.md5, hex: Self.md5))])
            ])
    }

    @Test(arguments: [
        ("[]", "m.json:1:1: expected an object, found an array"),
        ("{\"bundles\": 1}", "m.json:1:13: \"bundles\" wants an array, found a number"),
        ("{\n \"bundels\": []}", "m.json:2:2: unknown key \"bundels\""),
        ("{\"bundles\": [{\"url\": \"/a\"}]}", "m.json:1:14: the bundle has no digest"),
        ("{\"bundles\": [{\"md5\": \"\(md5)\"}]}", "m.json:1:14: \"url\" is missing"),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"abc\"}]}",
            "wants the 32 hexadecimal digits of MD5, found \"abc\""
        ),
        ("{\"bundles\": [{\"url\": \"/a\", \"md5\": 5}]}", "\"md5\" wants a string, found a number"),
        ("{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\", \"size\": -1}]}", "\"size\" wants a count of bytes"),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\"},\n{\"url\": \"/a\", \"sha1\": \"\(md5)00000000\"}]}",
            "m.json:2:1: /a stands here twice, with different digests"
        ),
        ("{\"pages\": [{\"js\": \"/a\"}]}", "the page has no \"md5\""),
        ("{\"pages\": [{\"js\": \"/a\", \"md5\": \"12\"}]}", "found \"12\""),
        ("{\"bundles\": [", "m.json:1:14: expected"),
    ])
    func `what is wrong is refused with its place and what was expected`(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try Manifest(Array(text.utf8), file: "m.json") }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `ten thousand bundles are read at once`() throws {
        let items = (0..<10_000).map { "{\"url\": \"/\($0).js\", \"md5\": \"\(Self.md5)\"}" }
        let text = "{\"bundles\": [\(items.joined(separator: ","))]}"
        #expect(try Manifest(Array(text.utf8), file: "m.json").bundles.count == 10_000)
    }
}

@Suite struct BundleMeterTests {
    private static let body = Array("bundle".utf8)

    private func bundle(_ algorithms: [DigestAlgorithm], of bytes: [UInt8] = body, byteCount: Int? = nil) -> Bundle {
        Bundle(
            reference: "/a", digests: algorithms.map { DigestStream.digest($0, of: bytes.span) }, byteCount: byteCount)
    }

    @Test func `bytes that agree with every digest are verified`() {
        #expect(BundleMeter.verdict(on: bundle([.md5, .sha256], byteCount: 6), bytes: Self.body) == .verified)
    }

    @Test func `one digest that differs is a mismatch that names both`() throws {
        let verdict = BundleMeter.verdict(on: bundle([.md5], of: [1]), bytes: Self.body)
        guard case .mismatch(let expected, let found) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(expected == "MD5 55a54008ad1ba589aa210d2629c1df41")
        #expect(found == DigestStream.digest(.md5, of: Self.body.span).description)
    }

    @Test func `another size is a mismatch, and no digest proves nothing`() {
        #expect(
            BundleMeter.verdict(on: bundle([.md5], byteCount: 7), bytes: Self.body)
                == .mismatch(expected: "7 bytes", found: "6 bytes"))
        #expect(BundleMeter.verdict(on: bundle([]), bytes: Self.body).name == "unverifiable")
    }
}
