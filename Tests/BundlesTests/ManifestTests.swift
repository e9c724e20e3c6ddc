import Bundles
import Digest
import Testing
import Web

@Suite struct ManifestTests {
    private static let md5 = "d41d8cd98f00b204e9800998ecf8427e"

    @Test func `every key of Larder's own format is read`() throws {
        let text = """
            {"$schema": "larder.schema.json", "site": "demo", "version": "2", "base": "https://a.example/",
             "start": ["/", "/docs/"], "scope": "domain", "depth": 3, "include": ["/blog/**"],
             "exclude": ["ads.example"], "nofollow": "links", "noindex": "obey",
             "headers": ["Accept-Language: en", "api.example:8080 X-Key: a b"], "policy": "prefer-cache",
             "rules": ["/api/** max-age=600"], "bundles": [
              {"url": "/a.js", "md5": "\(Self.md5)", "size": 0, "required": false, "version": "7"},
              {"url": "/b.js", "sha256": "\(String(repeating: "0", count: 64))", "integrity": "\(Sample.sri)"}
            ]}
            """
        let manifest = try Sample.manifest(text)
        #expect(manifest.site == "demo")
        #expect(manifest.version == "2")
        #expect(manifest.base == "https://a.example/")
        #expect(manifest.start == ["/", "/docs/"])
        #expect(manifest.settings.extent == .domain)
        #expect(manifest.settings.depth == 3)
        #expect(manifest.settings.include == ["/blog/**"])
        #expect(manifest.settings.exclude == ["ads.example"])
        #expect(manifest.settings.nofollow == .obey)
        #expect(manifest.settings.noindex == .obey)
        #expect(manifest.settings.headers.count == 2)
        #expect(manifest.settings.policy == .preferCache)
        #expect(manifest.settings.rules == ["/api/** max-age=600"])
        #expect(manifest.bundles.map(\.reference) == ["/a.js", "/b.js"])
        #expect(manifest.bundles[0].digests.map(\.hex) == [Self.md5])
        #expect(manifest.bundles[0].byteCount == 0)
        #expect(manifest.bundles[0].version == "7")
        #expect(!manifest.bundles[0].isRequired)
        #expect(manifest.bundles[1].isRequired)
        #expect(manifest.bundles[1].algorithms(of: .decoded) == [.sha256, .sha384])
    }

    @Test func `a manifest may have a start URL and no bundles`() throws {
        #expect(try Sample.manifest("{\"start\": [\"https://a.example/\"]}").bundles.isEmpty)
    }

    /// An invalid manifest, whether the schema rejects it too, and the expected error.
    static let mistakes: [(text: String, isInSchema: Bool, message: String)] = [
        ("[]", true, "m:1:1: expected an object"),
        ("{\"site\": \"x\"}", true, "m:1:1: expected \"bundles\" or \"start\", found neither"),
        ("{\"bundles\": 1}", true, "m:1:13: bundles: expected an array, found a number"),
        ("{\"bundles\": []}", true, "m:1:13: bundles: expected at least one element, found an empty list"),
        ("{\"start\": []}", true, "start: expected at least one element"),
        ("{\"start\": [\"\"]}", true, "start[0]: expected a non-empty string, found an empty one"),
        ("{\"start\": [\"/a\", \"/a\"]}", true, "start[1]: \"/a\" is listed twice"),
        ("{\n \"bundels\": []}", true, "m:2:2: bundels: unknown key: did you mean \"bundles\"?"),
        (
            "{\"start\": [\"/\"], \"zzzzzzzz\": 1}", true,
            "zzzzzzzz: unknown key: expected one of $schema, site, version"
        ),
        ("{\"start\": [\"/\"], \"site\": \"a\", \"site\": \"b\"}", false, "site: the key is listed twice"),
        (
            "{\"start\": [\"/\"], \"site\": \"\"}", true,
            "site: expected a non-empty string, found an empty one"
        ),
        ("{\"start\": [\"/\"], \"scope\": \"hots\"}", true, "found \"hots\": did you mean \"host\"?"),
        (
            "{\"start\": [\"/\"], \"created\": \"2026-01-31\"}", true,
            "created: expected a time such as 2026-01-31T12:00:00Z, found \"2026-01-31\""
        ),
        ("{\"start\": [\"/\"], \"expires\": 1800000000}", true, "expires: expected a string, found a number"),
        ("{\"start\": [\"/\"], \"expires\": \"2026-02-30T00:00:00Z\"}", false, "expires: expected a time"),
        ("{\"start\": [\"/\"], \"depth\": -1}", true, "depth: expected a number of links, found -1"),
        ("{\"start\": [\"/\"], \"depth\": 1.5}", true, "depth: expected a number of links, found 1.5"),
        ("{\"start\": [\"/\"], \"policy\": \"ofline\"}", true, "did you mean \"offline\"?"),
        ("{\"start\": [\"/\"], \"policy\": null}", true, "policy: expected a string, found null"),
        ("{\"start\": [\"/\"], \"headers\": [\"Accept\"]}", true, "headers[0]: expected \"Name: value\""),
        (
            "{\"start\": [\"/\"], \"headers\": [\"A: b\\r\\nC: d\"]}", true,
            "headers[0]: expected \"Name: value\""
        ),
        (
            "{\"start\": [\"/\"], \"headers\": {\"A\": \"b\"}}", true,
            "headers: expected an array, found an object"
        ),
        ("{\"start\": [\"/\"], \"rules\": [\"/a\"]}", false, "rules[0]: expected a rule such as"),
        (
            "{\"start\": [\"/\"], \"rules\": [\"/a max-ag=3\"]}", false,
            "\"max-ag=3\" is not a setting of a rule"
        ),
        ("{\"bundles\": [7]}", true, "bundles[0]: expected an object, found a number"),
        ("{\"bundles\": [{\"url\": \"/a\"}]}", true, "m:1:14: bundles[0]: expected a digest"),
        (
            "{\"bundles\": [{\"md5\": \"\(md5)\"}]}", true,
            "m:1:14: bundles[0].url: expected a URL, found nothing"
        ),
        (
            "{\"bundles\": [{\"url\": \"\", \"md5\": \"\(md5)\"}]}", true,
            "bundles[0].url: expected a non-empty string"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"abc\"}]}", true,
            "m:1:35: bundles[0].md5: expected the 32 hexadecimal digits of MD5, found \"abc\""
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5.dropLast())g\"}]}", true,
            "bundles[0].md5: expected the 32"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": 5}]}", true,
            "bundles[0].md5: expected a string, found a number"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md-5\": \"\(md5)\"}]}", true,
            "unknown key: did you mean \"md5\"?"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"sha265\": \"\"}]}", true,
            "unknown key: did you mean \"sha256\"?"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"integrity\": \"sha256-%\"}]}", true,
            "integrity: expected sha256-, sha384-"
        ),
        ("{\"bundles\": [{\"url\": \"/a\", \"integrity\": \"md5-AAAA\"}]}", true, "found \"md5-AAAA\""),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"integrity\": \"sha256-AAAA\"}]}", false,
            "found \"sha256-AAAA\""
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\", \"size\": -1}]}", true,
            "bundles[0].size: expected a number of bytes, found -1"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\", \"size\": \"1\"}]}", true,
            "size: expected a number of bytes"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\", \"required\": 1}]}", true,
            "expected true or false"
        ),
        (
            "{\"bundles\": [{\"url\": \"/a\", \"md5\": \"\(md5)\"},\n{\"url\": \"/a\", \"md5\": \"\(md5)\"}]}",
            false,
            "m:2:9: bundles[1].url: the URL is listed twice"
        ),
        ("{\"bundles\": [", false, "m:1:14: expected"),
    ]

    @Test(arguments: mistakes.map { ($0.text, $0.message) })
    func `an invalid value is rejected with its position and the expected value`(
        text: String, message: String
    ) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text, .larder) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `ten thousand bundles are read at once`() throws {
        let items = (0..<10_000).map { "{\"url\": \"/\($0).js\", \"md5\": \"\(Self.md5)\"}" }
        let text = "{\"bundles\": [\(items.joined(separator: ","))]}"
        #expect(try Sample.manifest(text).bundles.count == 10_000)
    }

    @Test func `a written manifest is read back equal, in the order of its references`() throws {
        var manifest = Manifest(bundles: [
            Bundle(
                reference: "/b.js", claims: [Claim(Sample.digest(.sha256)), Claim(Sample.digest(.md5))],
                version: "1", isRequired: false),
            Bundle(
                reference: "/a \"é.js", claims: [Claim(Integrity(Sample.sri)), Claim(byteCount: 23)]),
        ])
        manifest.site = "demo"
        manifest.start = ["/"]
        manifest.settings.extent = .path
        manifest.settings.policy = .offline
        manifest.settings.headers = ["A: b"]
        let text = manifest.json
        #expect(text.hasSuffix("}\n"))
        let again = try Sample.manifest(text)
        #expect(again.bundles.map(\.reference) == ["/a \"é.js", "/b.js"])
        #expect(again.bundles[1].digests.map(\.algorithm) == [.md5, .sha256])
        #expect(again.bundles[1].version == "1" && !again.bundles[1].isRequired)
        #expect(again.bundles[0] == manifest.bundles[1])
        #expect(again.settings == manifest.settings)
        #expect(again.json == text)
    }

    @Test func `a manifest of another tool can be written in Larder's format`() throws {
        for sample in FormatSample.all where sample.good == "verified" {
            var manifest = try Sample.manifest(sample.text)
            manifest.bundles.removeAll { !$0.canBeVerified || $0.claims.contains { $0.source == "revision" } }
            guard !manifest.bundles.isEmpty, sample.name != "webpack-assets-manifest" else { continue }
            let again = try Sample.manifest(manifest.json)
            #expect(again.bundles.count == manifest.bundles.count)
        }
    }
}
