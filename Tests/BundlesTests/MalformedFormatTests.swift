import Bundles
import Testing
import Web

/// Errors in other tools' manifests have a position, a key and the expected value.
@Suite struct MalformedFormatTests {
    private static let md5 = Sample.md5
    private static let other = String(md5.reversed())

    @Test(arguments: [
        ("{\"pages\": 1}", "m:1:11: pages: expected an array, found a number"),
        (
            "{\"pages\": [{\"js\": \"/a\"}]}",
            "m:1:12: pages[0].md5: expected the MD5 of the bundle, found nothing"
        ),
        (
            "{\"pages\": [{\"js\": \"/a\",\n\"md5\": \"cf3edt\"}]}",
            "m:2:8: pages[0].md5: expected the 32 hexadecimal digits"
        ),
        ("{\"pages\": [{\"md5\": \"\(md5)\"}]}", "pages[0].js: expected the URL of a bundle, found nothing"),
        (
            "{\"pages\": [{\"js\": \"/a\", \"md5\": \"\(md5)\"}, {\"js\": \"/a\", \"md5\": \"\(other)\"}]}",
            "pages[1].js: the URL is listed twice, with different values of md5"
        ),
        (
            "{\"url\": \"/a\", \"md5\": \"cf3edt\"}",
            "md5: expected the 32 hexadecimal digits of MD5, found \"cf3edt\""
        ),
        (
            "{\"jsVersion\": \"1\", \"jsPath\": \"/x.zip\", \"isDiff\": true}",
            "jsPath: expected a URL with its MD5, found"
        ),
        (
            "[{\"file\": \"a.js\", \"hash\": \"12\"}]",
            "[0].hash: expected the 32 hexadecimal digits of MD5, found \"12\""
        ),
        (
            "[{\"file\": \"\", \"hash\": \"\(md5)\"}]",
            "[0].file: expected a non-empty string, found an empty one"
        ),
        (
            "[{\"file\": \"a\", \"hash\": \"\(md5)\"}, {\"hash\": \"\(md5)\"}]",
            "[1].file: expected the path of a file"
        ),
        ("{\"content_url\": 3}", "content_url: expected a string, found a number"),
        (
            "{\"packageUrl\": \"x\", \"assets\": {\"a b\": {\"size\": 1}}}",
            "assets[\"a b\"].md5: expected the MD5"
        ),
        (
            "{\"packageUrl\": \"x\", \"assets\": {\"a\": {\"md5\": \"\(md5)\", \"size\": -1}}}",
            "assets.a.size: expected a number of bytes, found -1"
        ),
        (
            "{\"packageUrl\": \"x\", \"assets\": {\"a\": {\"md5\": \"\(md5)\"}, \"a\": 1}}",
            "the key is listed twice"
        ),
        (
            "{\"remoteManifestUrl\": \"\"}",
            "remoteManifestUrl: expected a non-empty string, found an empty one"
        ),
        ("{\"hashTable\": []}", "hashTable: expected an object, found an array"),
        (
            "{\"hashTable\": {\"/a.js\": \"\(md5)\"}}",
            "hashTable[\"/a.js\"]: expected the 40 hexadecimal digits of SHA-1"
        ),
        (
            "{\"hashTable\": {}, \"assetGroups\": [{\"urls\": [7]}]}",
            "assetGroups[0].urls[0]: expected a string"
        ),
        ("[{\"url\": 5}]", "m:1:2: expected a URL or an object with \"url\""),
        ("[{\"url\": \"/a.js\", \"revision\": 5}]", "m:1:31: revision: expected a string or null"),
        ("[\"/a.js\"] x", "m:1:11: expected the end of the text, found 'x'"),
        (
            "[{\"url\": \"/a.js\", \"revision\": \"\(md5)\"}, {\"url\": \"/a.js\", \"revision\": \"\(other)\"}]",
            "the URL is listed twice, with different values of revision"
        ),
        ("precacheAndRoute([{url:'a.js',revision:`${x}`}])", "expected a string without placeholders"),
        ("precacheAndRoute([{url:'a.js'", "expected ',' or '}', found the end"),
        (
            "precacheAndRoute(self.__WB_MANIFEST);",
            "m:1:23: expected a list of URLs, found __WB_MANIFEST itself"
        ),
        (
            "{\"files\": {\"main.js\": 1}, \"entrypoints\": []}",
            "files[\"main.js\"]: expected a string, found a number"
        ),
        ("{\"a.js\": {\"src\": \"\"}}", "[\"a.js\"].src: expected a non-empty string, found an empty one"),
        (
            "{\"a.js\": {\"src\": \"/a.js\", \"integrity\": 1}}",
            "[\"a.js\"].integrity: expected a string, found a number"
        ),
        (
            "{\"a.js\": {\"file\": \"a.js\", \"imports\": [\"b.js\"]}}",
            "[\"a.js\"].imports[0]: expected the name of another chunk, found \"b.js\""
        ),
        (
            "{\"a.js\": {\"file\": \"a.js\", \"isEntry\": 1}}",
            "[\"a.js\"].isEntry: expected true or false, found a number"
        ),
        ("{\"assets\": [{\"size\": 5}]}", "assets[0].name: expected the name of a file, found nothing"),
        (
            "{\"assets\": [{\"name\": \"a.js\", \"size\": \"5\"}]}",
            "assets[0].size: expected a number of bytes, found a string"
        ),
        (
            "{\"files\": {\"a.js\": {\"digest\": \"abc\"}}, \"assets\": {}}",
            "files[\"a.js\"].digest: expected the 64 hexadecimal digits of SHA-256, found \"abc\""
        ),
        (
            "{\"files\": {}, \"assets\": {\"a.js\": \"a-1.js\"}}",
            "\"assets\" lists a-1.js, which is not in \"files\""
        ),
        ("{\"integrity\": {\"/a.js\": 5}}", "integrity[\"/a.js\"]: expected a string, found a number"),
        ("{\"imports\": {\"a\": []}}", "imports.a: expected a string, found an array"),
        (
            "\(md5)  a\n\(md5.dropLast(2))  b\n",
            "m:2:1: expected the 32, 40, 64, 96 or 128 hexadecimal digits of a digest, found 30"
        ),
        ("\(md5)  -\n", "m:1:1: expected a file name, found -"),
        ("\(md5)  a\nnonsense\n", "m:2:1: expected a digest and a file name"),
        ("\(md5)  a\n\(other)  a\n", "m:2:1: the URL is listed twice, with different values of md5"),
        ("\\\(md5)  a\\x\n", "m:1:1: expected \\\\, \\n or \\r in an escaped name"),
        ("MD5 (a) = 12\n", "m:1:1: expected the 32 hexadecimal digits of MD5, found \"12\""),
        ("\(md5)  a\nSIZE (a) = many\n", "m:2:1: expected a number of bytes, found \"many\""),
    ])
    func `a malformed manifest is rejected with its position`(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("", "m:1:1: expected a manifest: JSON, a list of checksums, a service worker"),
        ("hello", "the formats are larder, weex, weex-bundle, workbox"),
        ("{}", "expected \"bundles\", \"start\" or another manifest format"),
        ("[]", "expected an object or a list of files, found an array"),
        ("[1]", "expected an object or a list of files"),
        ("{\"name\": \"app\", \"icons\": []}", "another manifest format"),
        ("{\"bundels\": []}", "bundels: unknown key: did you mean \"bundles\"?"),
        ("{\"a\": ", "m:1:7: expected a value, found the end of the text"),
    ])
    func `the error for a text that is no manifest lists the formats`(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(text) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    /// Each of these texts would take hours if the parser read a part of it again for each marker.
    @Test(arguments: [
        "precacheAndRoute[/*", "precacheAndRoute([])", "precacheAndRoute ", "__WB_MANIFEST = x[0] ", "(",
        "MD5 (", "\\",
        "[", "{\"a\":",
    ])
    func `long texts without structure are rejected or read in linear time`(piece: String) {
        let text = String(repeating: piece, count: 300_000 / piece.utf8.count) + "*/ x]"
        for format in [nil, .workbox, .checksums] as [ManifestFormat?] {
            let manifest = try? Sample.manifest(text, format)
            #expect(manifest?.bundles.isEmpty ?? true)
        }
    }

    @Test func `manifests beyond the limits of nesting, URL length and size are rejected`() {
        let deep = String(repeating: "[", count: 100_000)
        for format in ManifestFormat.allCases {
            #expect(throws: ManifestError.self) { try Sample.manifest(deep, format) }
            #expect(throws: ManifestError.self) { try Sample.manifest("precacheAndRoute(" + deep, format) }
        }
        let long = "/" + String(repeating: "a", count: 17_000)
        let error = #expect(throws: ManifestError.self) {
            try Sample.manifest("{\"bundles\": [{\"url\": \"\(long)\", \"md5\": \"\(Self.md5)\"}]}")
        }
        #expect(error?.description.contains("a URL of at most 16384 bytes, found 17001") == true)
    }
}
