import Glibc
import TestOrigin
import Testing

@testable import Check
@testable import LarderKit

/// Checks every manifest format against a correct, an altered and a missing body, and with a malformed manifest.
@Suite struct CheckFormatsTests {
    /// A manifest with the bundle `app.js`, whose body is "a".
    struct Row: Sendable, CustomTestStringConvertible {
        let format: String
        let file: String
        let manifest: String
        /// A part of the error for a malformed manifest.
        let malformed: String
        var good = CheckReport.Verdict.verified
        var altered = CheckReport.Verdict.mismatch

        var testDescription: String { format }
    }

    private static let md5 = "0cc175b9c0f1b6a831c399e269772661"
    private static let sha1 = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"
    private static let sha256 = "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="
    private static let sri = "sha256-" + sha256

    static let rows = [
        Row(
            format: "larder", file: "m.json",
            manifest: "{\"bundles\": [{\"url\": \"app.js\", \"md5\": \"\(md5)\"}]}",
            malformed: "{\"bundles\": [{\"url\": \"app.js\", \"md5\": \"0cc1\"}]}"),
        Row(
            format: "weex", file: "m.json",
            manifest: "{\"pages\": [{\"page\": \"a\", \"js\": \"app.js\", \"md5\": \"\(md5)\"}]}",
            malformed: "{\"pages\": [{\"page\": \"a\", \"js\": \"app.js\", \"md5\": \"0cc1\"}]}"),
        Row(
            format: "weex-bundle", file: "m.json", manifest: "{\"url\": \"app.js\", \"md5\": \"\(md5)\"}",
            malformed: "{\"url\": \"app.js\", \"md5\": \"0cc1\"}"),
        Row(
            format: "workbox", file: "sw.js",
            manifest: "precacheAndRoute([{url:'app.js',revision:null,integrity:'\(sri)'}])",
            malformed: "precacheAndRoute([{url:'app.js',revision:`${x}`}])"),
        Row(
            format: "cordova", file: "chcp.manifest",
            manifest: "[{\"file\": \"app.js\", \"hash\": \"\(md5)\"}]",
            malformed: "[{\"file\": \"app.js\", \"hash\": \"0cc1\"}]"),
        Row(
            format: "cocos", file: "project.manifest",
            manifest:
                "{\"packageUrl\": \"./\", \"assets\": {\"app.js\": {\"md5\": \"\(md5)\", \"size\": 1}}}",
            malformed: "{\"packageUrl\": \"./\", \"assets\": {\"app.js\": {\"size\": 1}}}"),
        Row(
            format: "angular", file: "ngsw.json", manifest: "{\"hashTable\": {\"/app.js\": \"\(sha1)\"}}",
            malformed: "{\"hashTable\": {\"/app.js\": \"\(md5)\"}}"),
        Row(
            format: "webpack-assets", file: "m.json",
            manifest: "{\"app\": {\"src\": \"app.js\", \"integrity\": \"\(sri)\"}}",
            malformed: "{\"app\": {\"src\": \"\", \"integrity\": \"\(sri)\"}}"),
        Row(
            format: "cra", file: "asset-manifest.json",
            manifest: "{\"files\": {\"main.js\": \"app.js\"}, \"entrypoints\": []}",
            malformed: "{\"files\": {\"main.js\": 1}, \"entrypoints\": []}", good: .unverifiable,
            altered: .unverifiable),
        Row(
            format: "vite", file: "m.json",
            manifest: "{\"a.ts\": {\"file\": \"app.js\", \"isEntry\": true, \"integrity\": \"\(sri)\"}}",
            malformed: "{\"a.ts\": {\"file\": \"app.js\", \"imports\": [\"b.ts\"]}}"),
        Row(
            format: "webpack-stats", file: "stats.json",
            manifest: "{\"assets\": [{\"name\": \"app.js\", \"size\": 1, \"integrity\": \"\(sri)\"}]}",
            malformed: "{\"assets\": [{\"name\": \"app.js\", \"size\": \"1\"}]}"),
        Row(
            format: "sprockets", file: "m.json",
            manifest: """
                {"files": {"app.js": {"logical_path": "a.js", "size": 1, "digest": "\(md5)"}},
                 "assets": {"a.js": "app.js"}}
                """,
            malformed: "{\"files\": {\"app.js\": {\"digest\": \"0cc1\"}}, \"assets\": {}}"),
        Row(
            format: "import-map", file: "m.json",
            manifest: "{\"imports\": {\"a\": \"./app.js\"}, \"integrity\": {\"./app.js\": \"\(sri)\"}}",
            malformed: "{\"imports\": {\"a\": []}}"),
        Row(
            format: "checksums", file: "MD5SUMS", manifest: "\(md5)  app.js\n",
            malformed: "\(md5)  app.js\nnonsense\n"),
        Row(
            format: "html", file: "index.html", manifest: "<script src=app.js integrity=\(sri)></script>",
            malformed: "<script src=app.js></script>"),
        Row(
            format: "flutter", file: "flutter_service_worker.js",
            manifest: "const RESOURCES = {\"app.js\": \"\(md5)\"};",
            malformed: "const RESOURCES = {\"app.js\": \"0cc1\"};"),
        Row(
            format: "blazor", file: "blazor.boot.json",
            manifest: "{\"entryAssembly\": \"a\", \"resources\": {\"assembly\": {\"app.js\": \"\(sri)\"}}}",
            malformed: "{\"entryAssembly\": \"a\", \"resources\": {\"assembly\": {\"app.js\": 1}}}"),
        Row(
            format: "expo", file: "m.json",
            manifest: "{\"launchAsset\": {\"url\": \"app.js\", \"hash\": \"\(sha256)\"}, \"assets\": []}",
            malformed: "{\"launchAsset\": {\"url\": \"app.js\", \"hash\": \"ab\"}, \"assets\": []}"),
        Row(
            format: "waict", file: "m.json", manifest: "{\"hashes\": {\"/app.js\": \"\(sha256)\"}}",
            malformed: "{\"hashes\": {\"/app.js\": \"ab\"}, \"bt-server\": \"x\"}"),
        Row(
            format: "next", file: "m.json", manifest: "{\"app.js\": \"\(sri)\"}",
            malformed: "{\"app.js\": \"sha256-ab\"}"),
    ]

    @Test func `every format has a test case`() {
        #expect(Self.rows.map(\.format).sorted() == CheckOptions.formats.sorted())
    }

    @Test(arguments: rows, [nil, "a", "b"])
    func `each format verifies a correct body and rejects an altered one`(row: Row, body: String?)
        async throws
    {
        let home = try TemporaryFolder()
        mkdir(home.file("dist"), 0o755)
        if let body { try home.write(body, to: "dist/app.js") }
        let manifest = try home.write(row.manifest, to: row.file)
        let expected = body.map { $0 == "a" ? row.good : row.altered } ?? .missing
        for format in [nil, row.format] {
            var options = CheckOptions()
            options.places = [.folder(home.file("dist"))]
            options.format = format
            let report = try await Larder(at: home.file("none")).check(manifest, options: options)
            #expect(report.items.map(\.verdict) == [expected], "\(report.text(as: .text))")
            #expect(report.isClean == (expected == .verified || expected == .unverifiable))
        }
    }

    @Test(arguments: rows)
    func `a malformed manifest is an input error with its position`(row: Row) async throws {
        let home = try TemporaryFolder()
        let manifest = try home.write(row.malformed, to: row.file)
        for format in [nil, row.format] {
            var options = CheckOptions()
            options.places = [.folder(home.path)]
            options.format = format
            let error = await #expect(throws: LarderError.self) {
                try await Larder(at: home.file("none")).check(manifest, options: options)
            }
            #expect(error?.kind == .input)
            #expect(error?.description.hasPrefix("\(manifest):") == true, "\(error?.description ?? "")")
        }
    }
}
