import Bundles
import Digest
import Testing
import Web

@testable import Rollouts

/// A release for all platforms, as `larder publish` stores it, and a channel with it.
enum UpdateSample {
    static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
    static let base = "https://updates.example/-/updates/demo/files/0123456789abcdef/"
    static let files = ["index.html": "<html>", "js/app.js": "app"]

    /// The manifest of files with these contents.
    static func manifest(_ files: [String: String]) -> [UInt8] {
        let bundles = files.sorted { $0.key < $1.key }.map { path, text in
            let bytes = Array(text.utf8)
            return Bundle(
                reference: PathReference.reference(to: path),
                digests: [DigestAlgorithm.md5, .sha256].map { DigestStream.digest($0, of: bytes.span) },
                byteCount: bytes.count)
        }
        return Array(Manifest(bundles: bundles).json.utf8)
    }

    static func served(_ files: [String: String] = files) throws -> ServedRelease {
        ServedRelease(try #require(ReleaseContents(manifest: manifest(files))), base: base)
    }

    static func release(_ name: String, versions: Set<String> = [""]) throws -> Release {
        let bytes = Array(name.utf8)
        let archive = try #require(
            ReleaseFile(
                key: AppName.archiveName, url: "https://demo.app.invalid/\(name)/\(AppName.archiveName)",
                sha256: DigestStream.digest(.sha256, of: bytes.span), mediaType: "application/zip",
                byteCount: 1024))
        return Release(
            platform: .any, runtimeVersions: versions, launch: try Sample.file(name), archive: archive,
            metadata: [Release.idKey: name])
    }

    static func channel() throws -> (channel: Channel, rollout: Rollout) {
        var channel = Channel("production")
        let rollout = channel.publish(.release(try release("a")), at: now)
        return (channel, rollout)
    }

    static func json(_ answer: DeviceAnswer) throws -> JSONValue {
        #expect(answer.mediaType == "application/json")
        let body = answer.body
        return try JSONValue.parse(body.span)
    }
}

@Suite struct ReleaseContentsTests {
    @Test func `the digest of a package is the one that CodePush's clients compute`() throws {
        let contents = try UpdateSample.served([
            "index.html": "<html>", "js/app.js": "app", "js/app.js.map": "map", "js.txt": "t",
            "bild ü.png": "png", "__MACOSX/x": "x", "a/.DS_Store": "d",
        ]).contents
        // The SHA-256 of ["bild ü.png:8f8c…","index.html:b7d0…","js.txt:e3b9…","js/app.js.map:60be…","js/app.js:a172…"].
        #expect(
            contents.codePushHash == "32dcbb98ad663a86d8afe91286edec977a5b5c92887e05cfd8661380403914d6")
    }

    @Test func `a damaged manifest has no contents`() {
        for text in ["", "{}", "[]", "{\"bundles\":[{\"url\":\"a?b\",\"sha256\":\"00\"}]}"] {
            #expect(ReleaseContents(manifest: Array(text.utf8)) == nil)
        }
        let query = "{\"bundles\":[{\"url\":\"a?b\",\"sha256\":\"\(String(repeating: "0", count: 64))\"}]}"
        #expect(ReleaseContents(manifest: Array(query.utf8)) == nil)
    }
}
