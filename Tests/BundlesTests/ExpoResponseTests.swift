import Testing
import Web

@testable import Bundles

@Suite struct ExpoResponseTests {
    private func response(_ text: String, signature: String? = nil) throws -> ExpoResponse {
        try ExpoResponse(Array(text.utf8), file: "manifest", signature: signature)
    }

    /// A response in parts: the name, further lines of the head, and the body of each.
    private func parts(_ parts: (name: String, head: String, body: String)...) -> String {
        parts.map { part in
            "--cut\r\nContent-Disposition: form-data; name=\"\(part.name)\"\r\n\(part.head)\r\n\(part.body)\r\n"
        }.joined() + "--cut--\r\n"
    }

    private func text(_ response: ExpoResponse) -> String {
        String(decoding: response.signedBytes, as: UTF8.self)
    }

    @Test func `the signature of JSON is that of the response, and signs the whole body`() throws {
        let json = try response("{\"a\": 1}\n", signature: "sig=\"x\"")
        #expect(json.content == .manifest && json.signature == "sig=\"x\"" && text(json) == "{\"a\": 1}\n")
        #expect(json.certificateChain == nil)
    }

    @Test func `the signature of a part signs its body, and that of the response does not count`() throws {
        let whole = parts(
            ("manifest", "expo-signature: sig=\"x\"\r\nContent-Type: application/json\r\n", "{\"a\": 1}"),
            ("extensions", "", "{}"), ("certificate_chain", "", "-----BEGIN"))
        let response = try response(whole, signature: "sig=\"other\"")
        #expect(response.content == .manifest && response.signature == "sig=\"x\"")
        #expect(text(response) == "{\"a\": 1}" && response.certificateChain == "-----BEGIN")
        #expect(try self.response(parts(("manifest", "", "{}")), signature: "sig=\"x\"").signature == nil)
    }

    @Test func `directives are recognised, with the time of a roll-back`() throws {
        let cases: [(String, ExpoDirective)] = [
            ("{\"type\": \"noUpdateAvailable\"}", .noUpdateAvailable),
            (
                "{\"type\": \"rollBackToEmbedded\", \"parameters\": {\"commitTime\": \"2026-01-31T12:00:00.000Z\"}}",
                .rollBackToEmbedded(HTTPDate(rfc3339: "2026-01-31T12:00:00Z"))
            ),
            ("{\"type\": \"rollBackToEmbedded\"}", .rollBackToEmbedded(nil)),
            ("{\"type\": \"dance\"}", .other("dance")),
        ]
        for (body, directive) in cases {
            let response = try response(parts(("directive", "expo-signature: sig=\"d\"\r\n", body)))
            #expect(response.content == .directive(directive))
            #expect(response.signature == "sig=\"d\"" && text(response) == body)
        }
    }

    /// Expo's client follows the directive, too.
    @Test func `a directive counts more than a manifest beside it`() throws {
        let both = try response(
            parts(("manifest", "", "{}"), ("directive", "", "{\"type\": \"noUpdateAvailable\"}")))
        #expect(both.content == .directive(.noUpdateAvailable))
        #expect(throws: ManifestError.self) {
            try Sample.manifest(
                parts(
                    ("manifest", "", "{\"launchAsset\": {\"url\": \"/a.js\"}}"),
                    ("directive", "", "{\"type\": \"noUpdateAvailable\"}")))
        }
    }

    @Test(arguments: [
        "", " \r\n", "--cut\r\nContent-Disposition: inline; name=\"extensions\"\r\n\r\n{}\r\n--cut--",
    ])
    func `a response without a manifest and a directive has nothing`(body: String) throws {
        #expect(try response(body, signature: "x").content == .nothing)
    }

    @Test func `two parts with one name and two signatures are an error`() {
        for name in ["manifest", "directive", "certificate_chain"] {
            #expect(throws: ManifestError.self) {
                try response(parts((name, "", "{\"type\": \"a\"}"), (name, "", "{\"type\": \"a\"}")))
            }
        }
        let twice = "expo-signature: sig=\"a\"\r\nExpo-Signature: sig=\"b\"\r\n"
        #expect(throws: ManifestError.self) { try response(parts(("manifest", twice, "{}"))) }
    }

    @Test(arguments: [
        "--cut\r\nContent-Disposition: inline; name=manifest\r\n\r\n{}",
        "--cut\r\nContent-Disposition: inline; name=manifest\r\n",
        "--cut\r\nContent-Disposition: inline; name=directive\r\n\r\n{}\r\n--cut--",
        "--cut\r\nContent-Disposition: inline; name=directive\r\n\r\n{\"type\": 1}\r\n--cut--",
        "--cut\r\nContent-Disposition: inline; name=directive\r\n\r\n{\"type\":\r\n--cut--",
    ])
    func `a truncated response and a malformed directive are errors`(body: String) {
        #expect(throws: ManifestError.self) { try response(body) }
    }

    @Test func `the ID of an update is read`() throws {
        let manifest = try Sample.manifest("{\"id\": \"7c1a\", \"launchAsset\": {\"url\": \"/a.js\"}}")
        #expect(manifest.updateID == "7c1a")
    }

    // MARK: expo-signature

    @Test func `a signature is read and written`() throws {
        let signature = ExpoSignature([1, 2, 3], keyID: "main")
        #expect(signature.text == "sig=\"AQID\", keyid=\"main\", alg=\"rsa-v1_5-sha256\"")
        #expect(try ExpoSignature(signature.text) == signature)
        // As expo/custom-expo-updates-server writes it.
        #expect(try ExpoSignature("sig=\"AQID\", keyid=\"main\"") == signature)
        #expect(try ExpoSignature("sig=\"AQID\"").keyID == nil)
    }

    @Test(arguments: [
        ("", ExpoSignatureError.noSignature), ("sig", .noSignature), ("keyid=\"main\"", .noSignature),
        ("sig=\"*\"", .noSignature), ("sig=AQID", .noSignature), ("sig=\"AQID", .notADictionary),
        ("<html>", .notADictionary), ("sig=\"AQID\", alg=\"none\"", .unknownAlgorithm),
        ("sig=\"AQID\", alg=rsa-v1_5-sha256", .unknownAlgorithm),
        (String(repeating: "a", count: 9000), .tooLarge(8192)),
    ])
    func `a malformed signature is an error`(text: String, expected: ExpoSignatureError) {
        #expect(throws: expected) { try ExpoSignature(text) }
    }
}
