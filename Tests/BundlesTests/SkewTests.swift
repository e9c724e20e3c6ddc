import Bundles
import Digest
import Testing
import Web

@Suite struct SkewTests {
    private func url(_ text: String) throws -> WebURL { try #require(WebURL("https://a.example" + text)) }

    @Test(arguments: [
        // The names in the manifest, the URLs that the page requests, and those of another release.
        (["/js/app.3f2a9c81.js"], ["/js/app.3f2a9c81.js"], []),
        (["/js/app.3f2a9c81.js"], ["/js/app.aa2a9c82.js"], ["/js/app.aa2a9c82.js"]),
        (["/js/app.3f2a9c81.js"], ["/js/app.aa2a9c82.js", "/js/app.bb2a9c82.js"], ["/js/app.aa2a9c82.js"]),
        // A chunk that the manifest does not list belongs to no known family.
        (["/js/app.3f2a9c81.js"], ["/js/other.aa2a9c82.js", "/js/app.js"], []),
        // Two chunks have the same name.
        (["/a/index-BRBmoGS9.js"], ["/a/index-BRBmoGS9.js", "/a/index-DxYz1234.js"], []),
        (["/a/index-BRBmoGS9.js"], ["/a/index-DxYz1234.js"], ["/a/index-DxYz1234.js"]),
        (["/photo-aaaa1111.jpg"], ["/photo-bbbb2222.jpg"], []),
        (
            ["/js/app.js?id=3f2a9c813f2a9c81ffff"], ["/js/app.js?id=3f2a9c813f2a9c81fff0"],
            ["/js/app.js?id=3f2a9c813f2a9c81fff0"]
        ),
    ])
    func `a page that requests hashed names of another release is a skew`(
        manifest: [String], page: [String], skewed: [String]
    ) throws {
        let names = ReleaseNames(try manifest.map(url))
        let skews = try names.skews(onPage: url("/index.html"), references: page.map(url))
        let expected = try skewed.map { name in
            Skew.name(
                requested: try url(name).href, page: try url("/index.html").href,
                known: try manifest.map { try url($0).href })
        }
        #expect(skews == expected)
    }

    @Test func `a body of another release is a skew, and any other body a mismatch`() throws {
        let old = try Sample.manifest(
            "{\"bundles\": [{\"url\": \"/app.js\", \"md5\": \"\(Sample.hex(.md5, of: Sample.altered))\"}]}")
        let bundle = Bundle(reference: "/app.js", digests: [Sample.digest(.md5)])
        var releases = KnownReleases()
        releases.add(old, name: "1.3")
        func explained(_ bytes: [UInt8]) -> Verdict {
            let meter = BundleMeter(bundle)
            meter.update(bytes.span)
            let measured = meter.measurement()
            return releases.explain(
                bundle.finding(on: measured), of: bundle, measured: measured, expected: "1.4"
            )
            .verdict
        }
        #expect(explained(Sample.altered) == .skew(.release(expected: "1.4", found: "1.3")))
        #expect(explained(Sample.altered).detail == "it is the bundle of 1.3, not 1.4")
        #expect(explained([1]).name == "mismatch")
        #expect(explained(Sample.body) == .verified)
    }
}

@Suite struct HashedNameTests {
    @Test(arguments: [
        ("app.3f2a9c81.js", "3f2a9c81", "app.*.js"),
        ("/js/main-9c68d5e8de1b810a80e4.js", "9c68d5e8de1b810a80e4", "/js/main-*.js"),
        ("2.b1c975ff.chunk.js", "b1c975ff", "2.*.chunk.js"),
        ("assets/index-BRBmoGS9.js", "BRBmoGS9", "assets/index-*.js"),
        ("assets/shared-ChJ_j-JJ.css", "ChJ_j-JJ", "assets/shared-*.css"),
        ("3f2a9c81.js", "3f2a9c81", "*.js"),
        ("https://a.example/x/app_3F2A9C81.css?v=1#f", "3F2A9C81", "https://a.example/x/app_*.css"),
        ("/js/app.js?id=4d1c2b3a4d1c2b3a4d1c", "4d1c2b3a4d1c2b3a4d1c", "/js/app.js?id=*"),
        ("chunk-QX7ZB2AC.js", "QX7ZB2AC", "chunk-*.js"),
    ])
    func `the hash in a file name is found where bundlers put it`(name: String, hash: String, family: String)
    {
        #expect(HashedName(name)?.hash == hash)
        #expect(HashedName(name)?.family == family)
    }

    @Test(arguments: [
        "app.js", "", "/", "?", "?id=", "user-settings.js", "user-Settings.js", "report-20240131.js",
        "deadbeef.js",
        "a.3f2a9c8.js", "jquery-3.7.1.min.js", "/3f2a9c81/app.js", "app.js?id=xyz", "app.js?v=3f2a9c813f2a",
    ])
    func `a file name without a hash has none`(name: String) {
        #expect(HashedName(name) == nil)
    }

    @Test func `a hash in a file name is weak evidence if its algorithm is given`() throws {
        let name = "app.\(Sample.md5.prefix(10)).js"
        let right = try #require(HashedName(name)?.claim(.md5))
        #expect(right.content == .prefix(.md5, String(Sample.md5.prefix(10))) && right.strength == .weak)
        let finding = BundleMeter.finding(on: Bundle(reference: name, claims: [right]), bytes: Sample.body)
        #expect(finding.verdict.name == "unverifiable")
        #expect(finding.remarks == ["file name matches, which proves nothing"])
        #expect(HashedName("index-BRBmoGS9.js")?.claim(.md5) == nil)
        #expect(HashedName("a-\(Sample.sha256).js")?.claim(.md5) == nil)
    }
}
