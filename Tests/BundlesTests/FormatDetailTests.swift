import Bundles
import Digest
import Testing

/// Details of single formats, such as bases and notes.
@Suite struct FormatDetailTests {
    private func sample(_ name: String) throws -> Manifest {
        let sample = try #require(FormatSample.all.first { $0.name == name })
        return try Sample.manifest(sample.text)
    }

    @Test func `chcp.json names the list in its content folder`() throws {
        let manifest = try Sample.manifest(
            "{\"content_url\": \"https://a.example/www\", \"release\": \"2015.09.01-13.30.35\"}")
        #expect(manifest.format == .cordova)
        #expect(manifest.base == "https://a.example/www/")
        #expect(manifest.continuation == "chcp.manifest")
        #expect(manifest.version == "2015.09.01-13.30.35")
        #expect(manifest.continuationDigest == nil)
    }

    @Test func `chcp.json may give the digest of the list`() throws {
        func manifest(_ digest: String) throws -> Manifest {
            try Sample.manifest("{\"content_url\": \"https://a.example/\", \"manifest_sha256\": \(digest)}")
        }
        #expect(try manifest("\"\(Sample.sha256)\"").continuationDigest == Sample.digest(.sha256))
        for wrong in ["\"\(Sample.md5)\"", "\"\"", "null", "5"] {
            #expect(throws: ManifestError.self) { try manifest(wrong) }
        }
    }

    @Test func `version.manifest names project.manifest`() throws {
        let manifest = try Sample.manifest(
            """
            {"packageUrl": "https://a.example/r/", "remoteManifestUrl": "https://a.example/r/p", "version": "2"}
            """)
        #expect(manifest.continuation == "https://a.example/r/p")
        #expect(manifest.base == "https://a.example/r/")
        #expect(try sample("project.manifest").continuation == nil)
        #expect(try sample("project.manifest").base == "https://game.example.com/remote/")
    }

    @Test func `Angular's URL rules without digests are noted`() throws {
        let manifest = try sample("ngsw.json")
        #expect(manifest.notes.count == 2)
        #expect(manifest.notes[0].contains("assetGroups[0].patterns[0]"))
        #expect(manifest.version == "1700000000000")
        #expect(manifest.bundles.first { $0.reference.hasPrefix("https") }?.canBeVerified == false)
        let without = try Sample.manifest(
            "{\"index\": \"/index.html\", \"hashTable\": {\"/a.js\": \"\(Sample.sha1)\"}}")
        #expect(without.notes.first?.contains("/index.html is not among its files") == true)
    }

    @Test func `Vite chunks that no entry reaches are optional`() throws {
        let optional = try sample("Vite").bundles.filter { !$0.isRequired }.map(\.reference)
        #expect(optional == ["assets/left-AbCdEf12.js"])
        let all = try Sample.manifest("{\"a.js\": {\"file\": \"a.js\"}}")
        #expect(all.bundles.allSatisfy { $0.isRequired })
    }

    @Test func `Vite's paths are relative to the folder above its own`() throws {
        let bytes = Array("{\"a.js\": {\"file\": \"a.js\"}}".utf8)
        #expect(try Manifest(bytes, file: "dist/.vite/manifest.json").base == "../")
        #expect(try Manifest(bytes, file: ".vite/manifest.json").base == "../")
        #expect(try Manifest(bytes, file: "dist/manifest.json").base == nil)
    }

    @Test func `Vite chunks may import each other`() throws {
        let manifest = try Sample.manifest(
            """
            {"a.js": {"file": "a.js", "isEntry": true, "imports": ["b.js"]},
             "b.js": {"file": "b.js", "imports": ["a.js"]}}
            """)
        #expect(manifest.bundles.allSatisfy { $0.isRequired })
    }

    @Test func `source maps and files of earlier releases are optional`() throws {
        #expect(try sample("create-react-app").bundles.filter { !$0.isRequired }.map(\.reference).count == 1)
        #expect(
            try sample("Sprockets, SHA-256").bundles.filter { !$0.isRequired }.map(\.reference) == [
                "old-1.js"
            ])
    }

    @Test func `each child of webpack's statistics has its own public path`() throws {
        #expect(
            try sample("webpack stats").bundles.map(\.reference)
                == ["/static/app.3f2a.js", "/static/app.js.map?x", "worker.js"])
    }

    @Test func `an empty Weex URL means the copy in the app`() throws {
        #expect(
            try sample("Weex configuration").notes == ["pages[1] has no URL: the copy inside the app is used"]
        )
        let answer = try Sample.manifest("{\"url\": \"\", \"md5\": \"\"}")
        #expect(answer.bundles.isEmpty && answer.notes.count == 1)
    }

    @Test func `a checksum with an unknown algorithm is noted`() throws {
        #expect(try sample("BSD").notes == ["a%20(1).js: RMD160 is not supported"])
        #expect(try sample("BSD").bundles[0].claims.count == 3)
    }

    @Test func `a file name becomes a URL reference to exactly that file`() throws {
        let names = [
            "a b.js", "c?d.js", "e#f.js", "g%20.js", "http:x.js", "//host/x.js", "ü.js", "a\\b.js",
            "d/e:f.js",
            "//a:b.js", "/c:d.js",
        ]
        let text = names.map { "\(Sample.md5)  \($0)\n" }.joined()
        #expect(
            try Sample.manifest(text).bundles.map(\.reference) == [
                "a%20b.js", "c%3Fd.js", "e%23f.js", "g%2520.js", "./http:x.js", "/host/x.js", "%C3%BC.js",
                "a%5Cb.js",
                "d/e:f.js", "/a:b.js", "/c:d.js",
            ])
    }

    @Test func `the integrity attributes of a page are read as a manifest`() throws {
        let manifest = try Sample.manifest(
            """
            <!-- <script src=/no.js integrity="\(Sample.sri)"></script> --><!doctype html><base href="/app/">
            <script src="a.js?x=1&amp;y=2" INTEGRITY='\(Sample.sri.replacing("+", with: "&#43;"))'></script>
            <link rel="stylesheet" integrity="" href=b.css><script>'<script src=c.js integrity=x>'</script>
            <link rel=modulepreload href="a.js?x=1&amp;y=2" integrity="\(Sample.integrity(.sha256))">
            <script src=d.js></script><img src=e.png integrity="\(Sample.sri)"><script integrity=sha256-x></script>
            """)
        #expect(manifest.format == .html)
        #expect(manifest.base == "/app/")
        #expect(manifest.bundles.map(\.reference) == ["a.js?x=1&y=2", "b.css"])
        #expect(manifest.bundles[0].claims.count == 2)
        #expect(BundleMeter.verdict(on: manifest.bundles[0], bytes: Sample.body) == .verified)
        #expect(BundleMeter.verdict(on: manifest.bundles[1], bytes: Sample.body).name == "unverifiable")
    }

    @Test(arguments: [
        ("<p>no scripts", "m.html", "integrity attribute; found another page"),
        ("<script src=a.js integrity=sha256-x>", "https://a.example/manifest.json?x=1", "found an HTML page"),
        ("<script src=a.js></script>", "m", "integrity attribute; found another page"),
    ])
    func `a page without integrity attributes, or in place of a manifest, is rejected`(
        text: String, file: String, complaint: String
    ) {
        let error = #expect(throws: ManifestError.self) { try Manifest(Array(text.utf8), file: file) }
        #expect(error?.detail.contains(complaint) == true)
    }

    @Test func `all lists of a service worker are read`() throws {
        let manifest = try Sample.manifest(
            "const x = [1];\nprecacheAndRoute([]); precacheAndRoute(['a.js']); addToCacheList([\"b.js\", \"a.js\"]);"
        )
        #expect(manifest.bundles.map(\.reference) == ["a.js", "b.js"])
    }

    @Test(arguments: [
        "precacheAndRoute([{url:'a.js',revision:null}],{ignoreURLParametersMatching:[/^utm_/],x:['b.js']});",
        "e.precacheAndRoute(['a.js'],{}),e.registerRoute(new e.NavigationRoute(e.x('/i'),{allowlist:['b.js']}))",
        "precacheAndRoute([],{directoryIndex:['b.js']});precacheAndRoute([].concat(['a.js']))",
        "self.__precacheManifest = [].concat(self.__precacheManifest || []);precaching.precacheAndRoute(['a.js'])",
        "self.__precacheManifest = [ /* the files */ 'a.js' ].concat([])",
    ])
    func `other lists near the list of files are ignored`(text: String) throws {
        #expect(try Sample.manifest(text).bundles.map(\.reference) == ["a.js"])
    }

    @Test(arguments: [
        (#"["\u00e9\x41\u{1F600}\ud83d\ude00\"\/\n.js"]"#, "éA😀😀\"/\n.js"), (#"['it\'s.js',]"#, "it's.js"),
        (#"[{url: `a.js`, revision: void 0, n: !0, o: {}}]"#, "a.js"), ("/* x */ [ // y\n 'a.js' ]", "a.js"),
    ])
    func `script literals are parsed as JavaScript parses them`(text: String, reference: String) throws {
        #expect(try Sample.manifest(text, .workbox).bundles.map(\.reference) == [reference])
    }
}
