import Digest
import Testing

@testable import Bundles

@Suite struct ManifestSignatureTests {
    private let key: MinisignPrivateKey

    init() throws { key = try #require(MinisignPrivateKey()) }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The manifest with the signature of this suite's key inside.
    private func withSignature(_ source: [UInt8]) throws -> [UInt8] {
        try ManifestSignature.adding(key.sign(source, trustedComment: "timestamp:7\tfile:ü"), to: source)
    }

    private static let sources = [
        Manifest(bundles: [Bundle(reference: "a.js", digests: [Sample.digest(.sha256)], byteCount: 22)]).json,
        "\u{FEFF}{\"start\":[\"/\"]}",
        "{\r\n\t\"start\" : [ \"/\" ] \r\n } \r\n\r\n",
        "{\"bundles\": [{\"url\": \"signature\", \"md5\": \"\(Sample.md5)\", \"version\": \"signature\"}]}",
    ]

    @Test(arguments: sources)
    func `a signature inside a manifest signs the bytes without it`(source: String) throws {
        let named = try ManifestSignature.adding(key.publicKey, to: Array(source.utf8))
        let signed = try withSignature(named)
        let manifest = try Manifest(signed, file: "m")
        let signature = try #require(manifest.signature)
        #expect(signature.signedBytes(of: signed) == named)
        #expect(signature.signature.keyID == key.keyID && signature.signature.timestamp == 7)
        try key.publicKey.verify(signature.signature, of: signature.signedBytes(of: signed))
        #expect(manifest.format == .larder && manifest.key == key.publicKey)
        var unsigned = manifest
        unsigned.signature = nil
        #expect(try Manifest(named, file: "m") == unsigned)
    }

    @Test func `a written manifest has the members in the layout of the others, and no signature`() throws {
        let source = Array(Self.sources[0].utf8)
        let signed = try withSignature(ManifestSignature.adding(key.publicKey, to: source))
        let lines = text(signed).split(separator: "\n")
        #expect(lines.suffix(4).first == "  ],")
        #expect(lines.suffix(3).first == "  \"key\": \"\(key.publicKey.text)\",")
        #expect(lines.suffix(2).first?.hasPrefix("  \"signature\": \"untrusted comment: ") == true)
        #expect(text(signed).hasSuffix("\\n\"\n}\n"))
        let manifest = try Manifest(signed, file: "m")
        #expect(try Array(manifest.json.utf8) == ManifestSignature.adding(key.publicKey, to: source))
    }

    @Test func `any changed byte of a signed manifest is noticed`() throws {
        let signed = try withSignature(Array(Self.sources[0].utf8))
        for place in signed.indices {
            var changed = signed
            changed[place] ^= 1
            guard let manifest = try? Manifest(changed, file: "m"), let signature = manifest.signature else {
                continue
            }
            let isVerified =
                (try? key.publicKey.verify(signature.signature, of: signature.signedBytes(of: changed)))
                != nil
            // The comment at the beginning of a signature is not signed, nor is the space around it.
            #expect(
                !isVerified || signature.signedBytes(of: changed) == signature.signedBytes(of: signed),
                "\(place)")
        }
    }

    @Test func `a manifest that is signed already is not signed again`() throws {
        let signed = try withSignature(Array(Self.sources[0].utf8))
        #expect(throws: ManifestError.self) { try withSignature(signed) }
        #expect(throws: ManifestError.self) { try ManifestSignature.adding(key.publicKey, to: signed) }
        let named = try ManifestSignature.adding(key.publicKey, to: Array(Self.sources[0].utf8))
        #expect(throws: ManifestError.self) { try ManifestSignature.adding(key.publicKey, to: named) }
        for source in ["[]", "{}", "", "{\"start\": "] {
            #expect(throws: ManifestError.self, "\(source)") { try withSignature(Array(source.utf8)) }
        }
    }

    @Test(arguments: [
        ("{\"signature\": SIGNATURE, \"start\": [\"/\"]}", "expected the signature as the last member"),
        (
            "{\"start\": [\"/\"], \"signature\": SIGNATURE, \"depth\": 1}",
            "expected the signature as the last member"
        ),
        (
            "{\"start\": [\"/\"], \"signature\": SIGNATURE, \"signature\": SIGNATURE}",
            "the key is listed twice"
        ),
        ("{\"start\": [\"/\"], \"signature\": \"x\"}", "not a minisign signature: expected 4 lines"),
        ("{\"start\": [\"/\"], \"signature\": \"\"}", "expected a non-empty string"),
        ("{\"start\": [\"/\"], \"signature\": null}", "expected a string, found null"),
        ("{\"start\": [\"/\"], \"key\": \"RW\"}", "not a minisign public key"),
        (
            "{\"start\": [\"/\"], \"key\": \"untrusted comment: x\\nKEY\"}",
            "expected only the line that begins with RW"
        ),
        ("{\"start\": [\"/\"], \"key\": \"KEY\", \"key\": \"KEY\"}", "the key is listed twice"),
    ])
    func `a misplaced or malformed signature is an error`(source: String, detail: String) throws {
        let whole = try text(withSignature(Array("{\"depth\":1}".utf8)))
        let signature = try #require(whole.split(separator: "\"signature\": ").last?.dropLast())
        let source = source.replacing("SIGNATURE", with: signature).replacing("KEY", with: key.publicKey.text)
        let error = #expect(throws: ManifestError.self) { try Sample.manifest(source, .larder) }
        #expect(error?.detail.contains(detail) == true, "\(error?.detail ?? "")")
    }

    @Test func `a manifest without a signature has none`() throws {
        let manifest = try Sample.manifest(Self.sources[0])
        #expect(manifest.signature == nil && manifest.key == nil)
    }
}
