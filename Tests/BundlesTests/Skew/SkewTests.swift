import Bundles
import Digest
import Testing
import Web

@Suite struct SkewTests {
    private func url(_ text: String) throws -> WebURL { try #require(WebURL("https://a.example" + text)) }

    @Test(arguments: [
        // The manifest's names, what the page asks for, and what of it is of another release.
        (["/js/app.3f2a9c81.js"], ["/js/app.3f2a9c81.js"], []),
        (["/js/app.3f2a9c81.js"], ["/js/app.aa2a9c82.js"], ["/js/app.aa2a9c82.js"]),
        (["/js/app.3f2a9c81.js"], ["/js/app.aa2a9c82.js", "/js/app.bb2a9c82.js"], ["/js/app.aa2a9c82.js"]),
        // The manifest does not know the family: a chunk that it does not list.
        (["/js/app.3f2a9c81.js"], ["/js/other.aa2a9c82.js", "/js/app.js"], []),
        // Two chunks have one name.
        (["/a/index-BRBmoGS9.js"], ["/a/index-BRBmoGS9.js", "/a/index-DxYz1234.js"], []),
        (["/a/index-BRBmoGS9.js"], ["/a/index-DxYz1234.js"], ["/a/index-DxYz1234.js"]),
        (["/photo-aaaa1111.jpg"], ["/photo-bbbb2222.jpg"], []),
        (
            ["/js/app.js?id=3f2a9c813f2a9c81ffff"], ["/js/app.js?id=3f2a9c813f2a9c81fff0"],
            ["/js/app.js?id=3f2a9c813f2a9c81fff0"]
        ),
    ])
    func `a page that asks for names of another release is a skew`(
        manifest: [String], page: [String], skewed: [String]
    ) throws {
        let names = ReleaseNames(try manifest.map(url))
        let skews = try names.skews(onPage: url("/index.html"), references: page.map(url))
        let expected = try skewed.map { name in
            Skew.name(
                asked: try url(name).href, page: try url("/index.html").href,
                known: try manifest.map { try url($0).href })
        }
        #expect(skews == expected)
    }

    @Test func `a body of another release is a skew, and any other stays a mismatch`() throws {
        let old = try Sample.manifest(
            "{\"bundles\": [{\"url\": \"/app.js\", \"md5\": \"\(Sample.hex(.md5, of: Sample.altered))\"}]}")
        let bundle = Bundle(reference: "/app.js", digests: [Sample.digest(.md5)])
        var releases = KnownReleases()
        releases.add(old, name: "1.3")
        func explained(_ bytes: [UInt8]) -> Verdict {
            let meter = BundleMeter(bundle)
            meter.update(bytes.span)
            let measured = meter.measurement()
            return releases.explain(bundle.finding(on: measured), of: bundle, measured: measured, expected: "1.4")
                .verdict
        }
        #expect(explained(Sample.altered) == .skew(.release(expected: "1.4", found: "1.3")))
        #expect(explained(Sample.altered).detail == "it is what 1.3 has there, not 1.4")
        #expect(explained([1]).name == "mismatch")
        #expect(explained(Sample.body) == .verified)
    }

    private static let monday = "Mon, 06 Jan 2025 10:00:00 GMT"
    private static let tuesday = "Tue, 07 Jan 2025 10:00:00 GMT"
}
