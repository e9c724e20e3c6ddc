import Bundles
import Digest
import Testing

@Suite struct HashedNameTests {
    @Test(arguments: [
        ("app.3f2a9c81.js", "3f2a9c81", "app.*.js"),
        ("/js/main-9c68d5e8de1b810a80e4.js", "9c68d5e8de1b810a80e4", "/js/main-*.js"),
        ("2.b1c975ff.chunk.js", "b1c975ff", "2.*.chunk.js"),
        ("assets/index-BRBmoGS9.js", "BRBmoGS9", "assets/index-*.js"),
        ("assets/shared-ChJ_j-JJ.css", "ChJ_j-JJ", "assets/shared-*.css"), ("3f2a9c81.js", "3f2a9c81", "*.js"),
        ("https://a.example/x/app_3F2A9C81.css?v=1#f", "3F2A9C81", "https://a.example/x/app_*.css"),
        ("/js/app.js?id=4d1c2b3a4d1c2b3a4d1c", "4d1c2b3a4d1c2b3a4d1c", "/js/app.js?id=*"),
        ("chunk-QX7ZB2AC.js", "QX7ZB2AC", "chunk-*.js"),
    ])
    func `a hash is found where bundlers put it`(name: String, hash: String, family: String) {
        #expect(HashedName(name)?.hash == hash)
        #expect(HashedName(name)?.family == family)
    }

    @Test(arguments: [
        "app.js", "", "/", "?", "?id=", "user-settings.js", "user-Settings.js", "report-20240131.js", "deadbeef.js",
        "a.3f2a9c8.js", "jquery-3.7.1.min.js", "/3f2a9c81/app.js", "app.js?id=xyz", "app.js?v=3f2a9c813f2a",
    ])
    func `a name without one has none`(name: String) {
        #expect(HashedName(name) == nil)
    }

    @Test func `a name whose algorithm is known is weak evidence`() throws {
        let name = "app.\(Sample.md5.prefix(10)).js"
        let right = try #require(HashedName(name)?.claim(.md5))
        #expect(right.content == .prefix(.md5, String(Sample.md5.prefix(10))) && right.strength == .weak)
        let finding = BundleMeter.finding(on: Bundle(reference: name, claims: [right]), bytes: Sample.body)
        #expect(finding.verdict.name == "unverifiable")
        #expect(finding.remarks == ["file name agrees, which proves nothing"])
        #expect(HashedName("index-BRBmoGS9.js")?.claim(.md5) == nil)
        #expect(HashedName("a-\(Sample.sha256).js")?.claim(.md5) == nil)
    }
}
