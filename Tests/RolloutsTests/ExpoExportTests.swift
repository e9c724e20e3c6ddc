import Digest
import Testing
import Web

@testable import Rollouts

@Suite struct ExpoExportTests {
    private static let metadata = """
        {"version": 0, "bundler": "metro", "fileMetadata": {
          "ios": {"bundle": "_expo/static/js/ios/a.hbc", "assets": [
            {"path": "assets/4f1c", "ext": "png"}, {"path": "assets/77aa", "ext": "ttf"},
            {"path": "assets/4f1c", "ext": "png"}]},
          "web": {"bundle": "index.js", "assets": []}}}
        """

    private func export(_ text: String = metadata) throws -> ExpoExport { try ExpoExport(Array(text.utf8)) }

    private func content(_ path: String) -> ExpoExport.Content? {
        let sha256 = DigestStream.digest(.sha256, of: Array(path.utf8).span)
        return ExpoExport.Content(
            sha256: sha256, md5: "md5-\(path)", url: "https://example.com/\(path)",
            mediaType: path.hasSuffix("hbc") ? "application/javascript" : "image/png")
    }

    @Test func `the files of a platform become a release`() throws {
        let export = try export()
        #expect(export.files.count == 1)
        #expect(export.files[.ios]?.paths == ["_expo/static/js/ios/a.hbc", "assets/4f1c", "assets/77aa"])
        let release = try export.release(for: .ios, runtimeVersions: ["1"], metadata: ["a": "b"], content)
        #expect(
            release.launch.key == "md5-_expo/static/js/ios/a.hbc" && release.launch.fileExtension == ".bundle"
        )
        #expect(release.assets.map(\.fileExtension) == [".png", ".ttf", ".png"])
        #expect(release.metadata == ["a": "b"] && release.runtimeVersions == ["1"])
    }

    @Test func `a platform that was not exported and a file that is gone are errors`() throws {
        let export = try export()
        #expect(throws: ExpoExportError.noPlatform) {
            try export.release(for: .android, runtimeVersions: ["1"], content)
        }
        #expect(throws: ExpoExportError.missing("assets/77aa")) {
            try export.release(for: .ios, runtimeVersions: ["1"]) { $0 == "assets/77aa" ? nil : content($0) }
        }
    }

    @Test(arguments: [
        "/etc/passwd", "../a", "a/../b", "a//b", ".", "", "a/", "a\\\\b", "a\\u0000b",
    ])
    func `a path that leaves the folder is an error`(path: String) {
        for place in ["a.hbc", "assets/77aa"] {
            let text = Self.metadata.replacing("\"" + place, with: "\"" + path)
                .replacing("\"_expo/static/js/ios/\(place)", with: "\"" + path)
            #expect(throws: ExpoExportError.self) { try export(text) }
        }
    }

    @Test(arguments: [
        ("", ExpoExportError.noJSON), ("[]", .unknownVersion),
        ("{\"version\": 1, \"fileMetadata\": {}}", .unknownVersion),
        ("{\"version\": 0, \"fileMetadata\": {\"web\": {}}}", .noPlatform),
        ("{\"version\": 0, \"fileMetadata\": {\"ios\": {}}}", .malformed("ios")),
        (
            "{\"version\": 0, \"fileMetadata\": {\"ios\": {\"bundle\": \"a\", \"assets\": [1]}}}",
            .malformed("ios")
        ),
    ])
    func `a malformed list is an error`(text: String, expected: ExpoExportError) {
        #expect(throws: expected) { try export(text) }
    }
}
