import Bundles
import Digest
import Testing
import Web

/// Details of the manifests of Flutter, Blazor, Expo, WAICT, Next.js and SvelteKit.
@Suite struct FrameworkFormatTests {
    private static let md5 = Sample.md5
    private static let other = String(md5.reversed())
    private static let sha256 = Sample.base64(.sha256)
    private static let sri = Sample.integrity(.sha256)

    private func sample(_ name: String) throws -> Manifest {
        let sample = try #require(FormatSample.all.first { $0.name == name })
        return try Sample.manifest(sample.text)
    }

    private func manifest(_ text: String, file: String) throws(ManifestError) -> Manifest {
        try Manifest(Array(text.utf8), file: file)
    }

    // MARK: Flutter

    @Test func `Flutter's keys are URLs, and the slash is the start page beside the worker`() throws {
        #expect(
            try sample("Flutter").bundles.map(\.reference)
                == ["index.html", "./", "assets/assets/ara%25C3%25B1a.png", "main.dart.js"])
        let manifest = try Sample.manifest(
            "var RESOURCES = {'a.js?v=12': '\(Self.md5)', 'a.js.map': '\(Self.md5)', '/b.js': '\(Self.md5)'}")
        #expect(manifest.bundles.map(\.reference) == ["a.js?v=12", "a.js.map", "./b.js"])
        #expect(manifest.bundles.map(\.isRequired) == [true, false, true])
    }

    @Test(arguments: [
        ("", "w/flutter_service_worker.js", "expected the table RESOURCES, found none"),
        (
            "const OLD = ['flutter-app-cache'];\nself.registration.unregister();", "sw.js",
            "found a service worker that only removes earlier ones"
        ),
        ("// moved", "https://a.test/flutter_service_worker.js?v=1", "writes no digests"),
        ("<p>not found", "flutter_service_worker.js", "found an HTML page"),
    ])
    func `a worker of Flutter without digests is rejected with the reason`(
        text: String, file: String, complaint: String
    ) {
        let error = #expect(throws: ManifestError.self) { try manifest(text, file: file) }
        #expect(error?.detail.contains(complaint) == true, "\(error?.description ?? "")")
    }

    // MARK: Blazor

    @Test func `files of a boot configuration are relative to the folder of the app`() throws {
        #expect(
            try sample("Blazor, .NET 5").bundles.map(\.reference) == [
                "_framework/App.dll", "_framework/Lazy.dll", "_content/Lib/Lib.lib.module.js",
                "_framework/App.pdb", "_framework/dotnet.wasm", "_framework/de/App.resources.dll",
                "appsettings.json",
            ])
        #expect(
            try sample("Blazor, .NET 8").bundles.map(\.reference) == [
                "_framework/dotnet.native.1p93gcv9fh.js", "_framework/App.eb9oqyqqgd.wasm",
                "_framework/de/App.resources.wasm", "_framework/dotnet.wasm", "_framework/a.bin",
                "_content/Lib/Lib.lib.module.js", "appsettings.json",
            ])
        #expect(
            try sample("Blazor, .NET 10").bundles.map(\.reference) == [
                "_framework/dotnet.native.hwglpvp32y.js", "_framework/dotnet.native.wasm",
                "_framework/App.fpnupp8qwh.wasm", "_framework/zh-CN/App.resources.phux2hphq7.wasm",
                "_content/Lib/Lib.module.js",
            ])
    }

    @Test(arguments: [
        ("_framework/blazor.boot.json", "../", "_framework/a.dll", "b.js"),
        ("https://a.test/app/_framework/blazor.boot.json", "../", "_framework/a.dll", "b.js"),
        ("blazor.boot.json", nil, "_framework/a.dll", "b.js"),
        ("package_1/dotnet.boot.js", nil, "a.dll", "../b.js"),
    ])
    func `the base of a boot configuration is the folder above _framework`(
        file: String, base: String?, assembly: String, initializer: String
    ) throws {
        let text = """
            {"entryAssembly": "a", "resources": {"assembly": {"a.dll": "\(Self.sri)"},
             "libraryInitializers": {"b.js": "\(Self.sri)"}}}
            """
        let manifest = try manifest(text, file: file)
        #expect(manifest.base == base)
        #expect(manifest.bundles.map(\.reference) == [assembly, initializer])
    }

    @Test func `files for debuggers and settings are optional`() throws {
        let optional = try sample("Blazor, .NET 5").bundles.filter { !$0.isRequired }.map(\.reference)
        #expect(optional == ["_framework/App.pdb", "appsettings.json"])
    }

    @Test func `files without a digest are listed, and unknown groups are noted`() throws {
        let manifest = try sample("Blazor, .NET 10")
        let unverifiable = manifest.bundles.filter { !$0.canBeVerified }.map(\.reference)
        #expect(
            unverifiable == ["_framework/dotnet.native.hwglpvp32y.js", "_content/Lib/Lib.module.js"])
        let unknown = try Sample.manifest(
            "{\"entryAssembly\": \"a\", \"resources\": {\"new\": {\"x\": 1}, \"runtime\": {\"a.js\": \"\(Self.sri)\"}}}"
        )
        #expect(unknown.notes == ["resources.new is not known to Larder, and its files are not checked"])
    }

    // MARK: Expo

    @Test func `an asset of Expo without a hash is listed without a digest`() throws {
        let manifest = try Sample.manifest(
            "{\"launchAsset\": {\"url\": \"/a.js\"}, \"assets\": [{\"url\": \"/b.png\", \"hash\": \"\(Self.sha256)\"}]}"
        )
        #expect(manifest.bundles.map(\.canBeVerified) == [false, true])
    }

    @Test func `an update of Expo has the time of its creation`() throws {
        #expect(try sample("Expo").created?.iso8601 == "2026-10-28T22:40:46Z")
        let error = #expect(throws: ManifestError.self) {
            try Sample.manifest("{\"launchAsset\": {\"url\": \"/a.js\"}, \"createdAt\": \"yesterday\"}")
        }
        #expect(error?.key == "createdAt")
    }

    @Test func `an early hash of Expo has hexadecimal digits`() throws {
        let manifest = try Sample.manifest(
            "{\"launchAsset\": {\"url\": \"/a.js\", \"hash\": \"\(Sample.sha256)\"}}")
        #expect(manifest.format == .expo)
        #expect(BundleMeter.verdict(on: manifest.bundles[0], bytes: Sample.body) == .verified)
    }

    @Test(arguments: [
        (
            "--b\r\nContent-Disposition: inline; name=\"directive\"\r\n\r\n{\"type\": \"rollBackToEmbedded\"}\r\n--b--",
            "m:4:10: type: expected a manifest, found the directive rollBackToEmbedded"
        ),
        (
            "--b\r\nContent-Disposition: inline; name=\"extensions\"\r\n\r\n{}\r\n--b--\r\n",
            "expected a part with the name \"manifest\", found none"
        ),
        (
            "--b\r\nContent-Disposition: inline; name=\"manifest\"\r\n\r\n{\"launchAsset\": {\"url\": \"/a\"}}",
            "expected --b-- after the last part, found the end"
        ),
        (
            "--b\r\nContent-Disposition: inline; name=\"manifest\"\r\n\r\n{\"launchAsset\": {\"url\": 1}}\r\n--b--",
            "m:4:25: launchAsset.url: expected a string, found a number"
        ),
        ("--b\r\nContent-Disposition: x; name=manifest\r\n\r\n{]\r\n--b--", "m:4:2: expected"),
        ("--b\r\nContent-Disposition: inline\r\n--b--", "expected an empty line after the head of a part"),
    ])
    func `a response in parts without a correct manifest is rejected`(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `a response with many parts is rejected`() {
        let part = "--b\nContent-Disposition: inline\n\n\n"
        let text = String(repeating: part, count: 17) + "--b--"
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.detail == "expected at most 16 parts")
    }

    // MARK: WAICT

    @Test(arguments: [
        sha256, "sha256-" + sha256, "SHA256-" + sha256, Sample.base64URL(.sha256),
        String(sha256.dropLast()),
    ])
    func `a digest of WAICT is base64 or base64url, with or without padding`(digest: String) throws {
        let manifest = try Sample.manifest("{\"hashes\": {\"/a.js\": \"\(digest)\"}}", .waict)
        #expect(BundleMeter.verdict(on: manifest.bundles[0], bytes: Sample.body) == .verified)
    }

    @Test func `keys of WAICT are relative to the root of the origin`() throws {
        let keys = ["a.js", "/b.js", "./c.js", "https://a.test/d.js", "//a.test/e.js"]
        let text =
            "{\"hashes\": {" + keys.map { "\"\($0)\": \"\(Self.sha256)\"" }.joined(separator: ",") + "}}"
        #expect(
            try Sample.manifest(text).bundles.map(\.reference)
                == ["/a.js", "/b.js", "/./c.js", "https://a.test/d.js", "//a.test/e.js"])
    }

    @Test func `a repeated key of WAICT is allowed with the same digest`() throws {
        let text = "{\"hashes\": {\"/a.js\": \"\(Self.sha256)\", \"/a.js\": \"sha256-\(Self.sha256)\"}}"
        #expect(try Sample.manifest(text).bundles.count == 1)
    }

    @Test func `digests without a URL are noted`() throws {
        #expect(
            try sample("WAICT").notes == ["any_hashes has digests without URLs, which are not checked: 1"])
    }

    // MARK: Next.js and SvelteKit

    @Test func `a build manifest of Next.js says that it has no digests`() throws {
        let manifest = try sample("Next.js, build manifest")
        #expect(manifest.notes.count == 1)
        #expect(manifest.notes.first?.contains("experimental.sri") == true)
    }

    @Test(arguments: [
        (
            "{\"version\": 1, \"config\": {}, \"appDir\": \"/a\", \"files\": [\".next/BUILD_ID\"]}",
            "found required-server-files.json, which lists files of the server and has no digests"
        ),
        ("{\"version\": \"1767225600000\"}", "SvelteKit's version.json, which has no digests"),
        (
            "const e=[\"/_app/immutable/entry/start.B5.js\"];self.addEventListener(\"install\",()=>{})",
            "found a script of SvelteKit, which has no digests"
        ),
    ])
    func `files of frameworks without digests are rejected with advice`(text: String, complaint: String) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.detail.contains(complaint) == true, "\(error?.description ?? "")")
    }

    // MARK: Errors

    @Test(arguments: [
        (
            "const RESOURCES = {\n\"a.js\": \"12\"}; // flutter-app-cache",
            "m:2:9: RESOURCES[\"a.js\"]: expected the 32 hexadecimal digits of MD5, found \"12\""
        ),
        (
            "const RESOURCES = {\"a.js\": \"\(md5)\", \"b.js\": null}",
            "RESOURCES[\"b.js\"]: expected the 32 hexadecimal digits of MD5, found no string"
        ),
        (
            "const RESOURCES = {\"a.js\": \"\(md5)\", \"a.js\": \"\(other)\"}",
            "RESOURCES[\"a.js\"]: the URL is listed twice, with different values of md5"
        ),
        ("const RESOURCES = {}; 'flutter-app-cache'", "m:1:19: RESOURCES: expected files with their MD5"),
        ("const RESOURCES = {\"a.js\": f()}; 'flutter-app-cache'", "expected ',' or '}', found '('"),
        (
            "{\"entryAssembly\": \"a\", \"resources\": {\"assembly\": {\"a.dll\": 1}}}",
            "resources.assembly[\"a.dll\"]: expected a string, found a number"
        ),
        (
            "{\"entryAssembly\": \"a\", \"resources\": {\"assembly\": [{\"hash\": \"x\"}]}}",
            "resources.assembly[0].name: expected the name of a file, found nothing"
        ),
        (
            "{\"entryAssembly\": \"a\", \"resources\": {\"assembly\": \"x\"}}",
            "resources.assembly: expected an object, found a string"
        ),
        ("{\"entryAssembly\": \"a\", \"resources\": {}}", "expected files in \"resources\", found none"),
        (
            "{\"mainAssemblyName\": \"a\", \"resources\": {\"icu\": {\"a.dat\": \"\(sri)\"}}, \"appsettings\": 1}",
            "appsettings: expected an array, found a number"
        ),
        (
            "f(/*json-start*/{\"mainAssemblyName\": \"a\",\n\"resources\": {\"icu\": [{\"name\": \"\"}]}}/*json-end*/)",
            "m:2:32: resources.icu[0].name: expected a non-empty string"
        ),
        (
            "{\"launchAsset\": {}, \"assets\": []}",
            "launchAsset.url: expected the URL of an asset, found nothing"
        ),
        (
            "{\"launchAsset\": {\"url\": \"/a\", \"hash\": \"ab\"}, \"assets\": []}",
            "launchAsset.hash: expected SHA-256 in base64, which has 43 digits, found \"ab\""
        ),
        (
            "{\"hashes\": {\"/a\": \"\(sha256)\",\n\"/b\": \"short\"}}",
            "m:2:7: hashes[\"/b\"]: expected SHA-256 in base64, which has 43 digits, found \"short\""
        ),
        ("{\"hashes\": {\"/a\": \" \(sha256)\"}, \"bt-server\": \"x\"}", "hashes[\"/a\"]: expected SHA-256"),
        ("{\"hashes\": {\"\": \"\(sha256)\"}}", "expected a URL as key, found an empty string"),
        (
            "{\"hashes\": {\"/a\": \"\(sha256)\", \"/a\": \"\(Sample.base64(.sha256, of: Sample.altered))\"}}",
            "the URL is listed twice, with different values of sha256"
        ),
        (
            "{\"hashes\": {}, \"any_hashes\": [\"\(sha256)\"]}",
            "hashes: expected \"hashes\" with digests by URL"
        ),
        ("{\"hashes\": {}, \"any_hashes\": [\"x\"]}", "any_hashes[0]: expected SHA-256 in base64"),
        ("{\"hashes\": {\"/a\": \"x\"}, \"emergency_opt_out\": true}", "withdraws the site from WAICT"),
        (
            "{\"a.js\": \"sha256-xx\"}",
            "[\"a.js\"]: expected sha256-, sha384- or sha512- and the digest in base64"
        ),
        ("{\"pages\": {\"/\": []}}", "expected files of pages, found none"),
    ])
    func `a malformed manifest of a framework is rejected with its position`(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    // MARK: Detection

    /// Texts that resemble the manifests of frameworks, but have another format or none.
    @Test(
        arguments: [
            ("{\"pages\": [{\"page\": \"a\", \"js\": \"/a.js\", \"md5\": \"\(md5)\"}]}", ManifestFormat.weex),
            ("{\"assets\": [{\"name\": \"a.js\", \"size\": 1}], \"launchAsset\": \"a\"}", .webpackStats),
            ("{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"\(md5)\"}]}", .larder),
            ("{\"integrity\": {\"/a.js\": \"\(sri)\"}}", .importMap),
            (
                "{\"a.js\": \"/a.1.js\", \"b.js\": {\"src\": \"/b.js\", \"integrity\": \"\(sri)\"}}",
                .webpackAssets
            ),
            ("precacheAndRoute(['/a.js']); const RESOURCES = {\"/b.js\": \"\(md5)\"};", .workbox),
            ("\(md5)  flutter-app-cache.js\n", .checksums),
            ("{\"hashTable\": {\"/a.js\": \"\(Sample.sha1)\"}, \"hashes\": {}}", .angular),
            ("{\"resources\": {}, \"name\": \"app\"}", nil),
            ("{\"hashes\": {\"a\": \"b\"}}", nil),
            ("{\"hashes\": [\"\(sha256)\"]}", nil),
            ("{\"a\": \"sha1-abc\", \"b\": \"\(sri)\"}", nil),
            ("{\"config\": {}, \"files\": [\"a\"]}", nil),
            ("const RESOURCES = {\"a\": \"b\"};", nil),
            ("const RESOURCES = {a: 1}; RESOURCES == {}", nil),
            ("MY_RESOURCES = {\"a.js\": \"\(md5)\"}", nil),
            ("window.X = /*json-start*/{\"title\": \"a\"}/*json-end*/;", nil),
            ("--help\nprints this text\n", nil),
            ("-- a comment of SQL\nSELECT 1;\n", nil),
        ] as [(String, ManifestFormat?)])
    func `a text that only resembles a framework's manifest keeps its format`(
        text: String, format: ManifestFormat?
    ) {
        #expect((try? Sample.manifest(text))?.format == format)
    }

    /// Each of these texts would take hours if a reader scanned a part of it again for each marker.
    @Test(arguments: [
        "RESOURCES ", "RESOURCES={", "/*json-start*/{", "/*json-start*/", "/*json-end*/", "--b\n", "--b\n\n",
        "--b\nContent-Disposition: x\n\n", "flutter-app-cache",
    ])
    func `long texts with many markers are rejected in linear time`(piece: String) {
        let text = String(repeating: piece, count: 300_000 / piece.utf8.count)
        for format in [nil, .flutter, .blazor, .expo, .waict] as [ManifestFormat?] {
            #expect(throws: ManifestError.self) { try Sample.manifest(text, format) }
        }
    }
}
