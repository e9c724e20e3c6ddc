import Bundles
import Digest
import Testing
import Web

/// Manifests in formats of other programs, written and read again.
@Suite struct ManifestWritingTests {
    private static func bundle(_ reference: String) -> Bundle {
        Bundle(reference: reference, digests: [Sample.digest(.md5), Sample.digest(.sha256)], byteCount: 23)
    }

    private func manifest(_ references: String..., site: String? = nil) -> Manifest {
        var manifest = Manifest(.larder, bundles: references.map(Self.bundle))
        manifest.site = site
        return manifest
    }

    private func keys(of manifest: Manifest) throws -> [String]? {
        let text = manifest.written(as: .waict).text
        return try JSONValue.parse(text.utf8.span)["hashes"]?.members?.map(\.key)
    }

    @Test(arguments: [WrittenFormat.waict, .cordova])
    func `a written manifest is recognised and verifies the same bodies`(format: WrittenFormat) throws {
        let text = manifest("b.js", "a%20b/c%231.js").written(as: format).text
        let read = try Sample.manifest(text)
        #expect(read.format.rawValue == format.rawValue)
        #expect(read.bundles.count == 2)
        for bundle in read.bundles {
            #expect(BundleMeter.verdict(on: bundle, bytes: Sample.body) == .verified)
            #expect(BundleMeter.verdict(on: bundle, bytes: Sample.altered).name == "mismatch")
        }
    }

    @Test func `WAICT contains paths of the origin, and folders of index files`() throws {
        let text = manifest("index.html", "docs/index.html", "a%20b.js").written(as: .waict).text
        #expect(
            text == """
                {
                  "hashes": {
                    "/": "\(Sample.base64(.sha256))",
                    "/a%20b.js": "\(Sample.base64(.sha256))",
                    "/docs/": "\(Sample.base64(.sha256))",
                    "/docs/index.html": "\(Sample.base64(.sha256))",
                    "/index.html": "\(Sample.base64(.sha256))"
                  }
                }

                """)
    }

    @Test func `WAICT of a site contains only the stored URLs`() throws {
        let manifest = manifest("/index.html", "/?q=1", "https://cdn.test/a.js", site: "https://a.test/")
        #expect(try keys(of: manifest) == ["/?q=1", "/index.html", "https://cdn.test/a.js"])
    }

    @Test func `the base of a WAICT manifest is the folder of its files`() throws {
        var manifest = manifest("a.js", "https://cdn.test/b.js")
        manifest.base = "https://a.test/app/"
        #expect(try keys(of: manifest) == ["/app/a.js", "https://cdn.test/b.js"])
    }

    @Test func `Cordova's manifest contains names of files without the plugin's own`() throws {
        let written = manifest(
            "js/b%231.js", "%C3%BC.js", "chcp.json", "chcp.json.minisig", "chcp.manifest",
            "chcp.manifest.minisig",
            "/c.js"
        ).written(as: .cordova)
        #expect(written.leftOut.isEmpty)
        #expect(
            written.text == """
                [
                  {
                    "file": "c.js",
                    "hash": "\(Sample.md5)"
                  },
                  {
                    "file": "js/b#1.js",
                    "hash": "\(Sample.md5)"
                  },
                  {
                    "file": "ü.js",
                    "hash": "\(Sample.md5)"
                  }
                ]

                """)
    }

    @Test func `bundles that a format cannot contain are reported`() throws {
        let written = manifest("a.js?v=1", "https://cdn.test/b.js", "//cdn.test/c.js", "d/", "e.js#f")
            .written(as: .cordova)
        #expect(written.text == "[]\n")
        #expect(
            written.leftOut.map(\.reference)
                == ["a.js?v=1", "https://cdn.test/b.js", "//cdn.test/c.js", "d/", "e.js#f"])
        let weak = Manifest(bundles: [Bundle(reference: "a.js", digests: [Sample.digest(.md5)])])
        #expect(weak.written(as: .waict).leftOut.map(\.reason) == ["it has no SHA-256"])
    }

    @Test func `chcp.json names the folder and the release`() throws {
        var manifest = manifest("a.js")
        (manifest.base, manifest.version) = ("https://a.test/www", "2026.11.28")
        let list = manifest.written(as: .cordova).text
        let read = try Sample.manifest(manifest.cordovaConfiguration(of: list))
        #expect(read.format == .cordova)
        #expect(read.base == "https://a.test/www/")
        #expect(read.version == "2026.11.28")
        #expect(read.continuation == "chcp.manifest")
        #expect(read.continuationDigest == DigestStream.digest(.sha256, of: Array(list.utf8).span))
    }
}
