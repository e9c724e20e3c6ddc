import Bundles
import Digest
import TestOrigin
import Testing
import Web

/// A key, and what it signs.
struct Signer {
    let key: Ed25519PrivateKey
    let signer: ResponseSigner

    init(seed: UInt8 = 1) throws {
        let key = try #require(Ed25519PrivateKey(seed: Array(repeating: seed, count: 32)))
        self.key = key
        signer = ResponseSigner(
            key: key.publicKey.bytes, sign: { key.sign($0) },
            sha256: { DigestStream.digest(.sha256, of: $0.span).bytes })
    }
}

@Suite struct ResponseIntegrityTests {
    private let one: Signer
    private let other: Signer
    private let url: WebURL
    private static let body = "console.log(1)"
    private static let now: Int64 = 1_700_000_000

    init() throws {
        one = try Signer(seed: 1)
        other = try Signer(seed: 2)
        url = try #require(WebURL("https://example.com/app.js?v=1"))
    }

    private func stated(_ fields: [(String, String)], at now: Int64 = now) -> ResponseIntegrity {
        let list = HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) })
        return ResponseIntegrity(of: SignedMessage(url: url, status: 200, fields: list), at: now)
    }

    /// Whether a browser accepts the body on a page with this attribute.
    private func isMet(_ integrity: String, _ stated: ResponseIntegrity?, _ text: String = body) -> Bool {
        let bytes = Array(text.utf8)
        return Integrity(integrity).isMet(by: bytes.span, stated)
    }

    /// The example of the draft, with the key of RFC 9421, section B.1.4.
    @Test func `the signature of the draft's example is valid`() throws {
        let key = "JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs="
        let stated = stated([
            ("Content-Type", "application/json"),
            ("Unencoded-Digest", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"),
            (
                "Signature-Input",
                "signature=(\"unencoded-digest\";sf);keyid=\"\(key)\";tag=\"ed25519-integrity\""
            ),
            (
                "Signature",
                "signature=:SbCdPUyjc0IBJjFbVRWs81ucEUcFz87b37nQ63d6kDW+/JvDmET6O5cSdwlddePvlwemLdaWFuY6pQGO+hrkAg==:"
            ),
        ])
        #expect(stated.refusal == nil && stated.ignored.isEmpty && !stated.expires)
        #expect(stated.signers.map(\.integrityText) == ["ed25519-\(key)"])
        #expect(isMet("ed25519-\(key)", stated, "{\"hello\": \"world\"}"))
        #expect(!isMet("ed25519-\(key)", stated, ""))
    }

    @Test func `a response without these fields states nothing`() {
        let stated = stated([("Content-Type", "text/javascript")])
        #expect(
            stated.signers.isEmpty && stated.digests.isEmpty && stated.refusal == nil
                && stated.ignored.isEmpty)
    }

    @Test(arguments: [("ed25519-integrity", 1), ("sri", 1), ("other", 0)])
    func `signatures for other purposes are not checked`(tag: String, count: Int) {
        var fields = one.signer.fields(of: Self.body, tag: tag)
        #expect(stated(fields).signers.count == count)
        // A wrong signature.
        fields[2].1 = "sig=:\(Base64.encode([UInt8](repeating: 0, count: 64))):"
        #expect((stated(fields).refusal == nil) == (count == 0))
    }

    @Test func `a signature by another key than the one it names makes the response refused`() {
        var fields = one.signer.fields(of: Self.body)
        fields[1].1 = other.signer.fields(of: Self.body)[1].1
        #expect(stated(fields).refusal == "a signature that is not by \(other.signer.word), which it names")
        #expect(stated(fields).signers.isEmpty)
    }

    @Test func `a changed digest makes the signature wrong`() {
        var fields = one.signer.fields(of: Self.body)
        fields[0] = other.signer.fields(of: "other")[0]
        #expect(stated(fields).refusal != nil)
    }

    @Test func `a response with several signatures is refused if one of them is wrong`() {
        let (first, second) = (one.signer.fields(of: Self.body), other.signer.fields(of: Self.body))
        func both(_ input: String, _ signature: String) -> ResponseIntegrity {
            stated([
                first[0], ("Signature-Input", "a\(first[1].1.dropFirst(3)), b\(input.dropFirst(3))"),
                ("Signature", "a\(first[2].1.dropFirst(3))"), ("Signature", "b\(signature.dropFirst(3))"),
            ])
        }
        #expect(both(second[1].1, second[2].1).signers == [one.key.publicKey, other.key.publicKey])
        #expect(both(first[1].1, first[2].1).signers == [one.key.publicKey])
        let wrong = both(second[1].1, first[2].1)
        #expect(wrong.signers.isEmpty && wrong.refusal != nil)
    }

    @Test func `a response with very many signatures is refused`() {
        let fields = one.signer.fields(of: Self.body)
        func many(_ count: Int) -> ResponseIntegrity {
            func join(_ text: String) -> String {
                (0..<count).map { "s\($0)\(text.dropFirst(3))" }.joined(separator: ", ")
            }
            return stated([fields[0], (fields[1].0, join(fields[1].1)), (fields[2].0, join(fields[2].1))])
        }
        #expect(many(32).signers.count == 1)
        #expect(many(33).refusal == "more than 32 signatures")
    }

    @Test(
        arguments: [
            ("expires=1700000000;", nil, nil), ("expires=1699999999;", "expired on", nil),
            ("created=1700000000;", nil, nil), ("created=1700000060;", nil, nil),
            ("created=1700000061;", nil, "is in the future"),
            ("created=1668464000;expires=1731536000;", nil, nil),
            ("created=1.5;", nil, "whole number"), ("created=-1;", nil, "whole number"),
            ("expires=\"1\";", nil, "whole number"), ("nonce=1;", nil, "string as nonce"),
            ("nonce=\"n\";", nil, nil), ("alg=\"ed25519\";", nil, "alg"), ("unknown=1;", nil, nil),
        ] as [(String, String?, String?)])
    func `parameters are checked as the profile says`(parameters: String, refusal: String?, ignored: String?)
    {
        let stated = stated(one.signer.fields(of: Self.body, parameters))
        if let refusal {
            #expect(stated.refusal?.contains(refusal) == true)
        } else {
            #expect(stated.refusal == nil)
        }
        if let ignored { #expect(stated.ignored.first?.contains(ignored) == true) }
        #expect(stated.signers.isEmpty == (refusal != nil || ignored != nil))
        #expect(stated.expires == (parameters.contains("expires=1")))
    }

    @Test(
        arguments: [
            ("\"@path\";req", "/app.js", true), ("\"@path\";req", "/other.js", false),
            ("\"@authority\";req", "example.com", true), ("\"@query-param\";req;name=\"v\"", "1", true),
            ("\"@status\"", "200", true), ("\"content-type\"", "text/javascript", true),
        ] as [(String, String, Bool)])
    func `a signature can cover parts of the request`(component: String, value: String, isValid: Bool) {
        let fields =
            [("Content-Type", "text/javascript")]
            + one.signer.fields(of: Self.body, covering: [(component, value)])
        #expect((stated(fields).refusal == nil) == isValid)
        #expect(stated(fields).signers.isEmpty == !isValid)
    }

    @Test(arguments: [
        "\"@path\"", "\"x-list\";sf", "\"unencoded-digest\"", "\"@status\";req", "\"X-Upper\";key=\"a\"",
    ])
    func `a signature that covers something else is ignored`(component: String) {
        let fields = one.signer.fields(of: Self.body, covering: [(component, "x")]) + [("X-List", "x")]
        #expect(stated(fields).signers.isEmpty && stated(fields).refusal == nil)
        #expect(stated(fields).ignored.count == 1)
    }

    @Test(arguments: [
        "", "sha-1=:AAAA:", "sha-256=:AAAA:", "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:",
    ])
    func `a signature of no usable digest does not count`(digest: String) {
        let key = Base64.encode(one.key.publicKey.bytes)
        let input = "(\"unencoded-digest\";sf);keyid=\"\(key)\";tag=\"ed25519-integrity\""
        let base = "\"unencoded-digest\";sf: \(digest)\n\"@signature-params\": \(input)"
        let stated = stated([
            ("Unencoded-Digest", digest), ("Signature-Input", "sig=\(input)"),
            ("Signature", "sig=:\(Base64.encode(one.key.sign(Array(base.utf8)))):"),
        ])
        #expect(stated.signers.isEmpty && stated.refusal == nil && stated.digests.isEmpty)
        #expect(!isMet(one.signer.word, stated))
    }

    // MARK: - Integrity attributes

    @Test func `an integrity attribute demands a digest and a key`() throws {
        let (bytes, stated) = (Array(Self.body.utf8), stated(one.signer.fields(of: Self.body)))
        let hash = "sha256-\(Base64.encode(DigestStream.digest(.sha256, of: bytes.span).bytes))"
        let wrong = "sha256-\(Base64.encode([UInt8](repeating: 0, count: 32)))"
        #expect(isMet(one.signer.word, stated) && !isMet(other.signer.word, stated))
        #expect(isMet("\(other.signer.word) \(one.signer.word)", stated))
        #expect(isMet("\(hash) \(one.signer.word)", stated) && !isMet("\(wrong) \(one.signer.word)", stated))
        #expect(!isMet("\(hash) \(other.signer.word)", stated))
        #expect(!isMet(one.signer.word, nil) && isMet(hash, nil))
        #expect(!isMet("ed25519-AAAA", stated) && !isMet("ED25519-", stated))
        #expect(isMet("ED25519-\(one.signer.word.dropFirst(8))?opt", stated))
        #expect(Integrity("ed25519-AAAA").unusable == ["ed25519-AAAA"])
    }

    @Test func `a wrong digest or signature in the header fields is refused without any demand`() {
        let stated = stated(one.signer.fields(of: Self.body))
        #expect(isMet("", stated) && !isMet("", stated, "changed") && isMet("", nil, "changed"))
    }

    @Test func `browsers ask for signatures by all keys`() {
        #expect(
            Integrity("\(one.signer.word) sha256-AAAA \(other.signer.word)").acceptSignature
                == "sig0=(\"unencoded-digest\";sf);keyid=\"\(one.signer.word.dropFirst(8))\";tag=\"ed25519-integrity\", "
                + "sig1=(\"unencoded-digest\";sf);keyid=\"\(other.signer.word.dropFirst(8))\";tag=\"ed25519-integrity\""
        )
        #expect(Integrity("sha256-AAAA").acceptSignature == nil)
    }

    // MARK: - Findings

    private func finding(_ integrity: String, _ stated: ResponseIntegrity?, _ body: String = body) -> Finding
    {
        let bundle = Bundle(reference: "/app.js", claims: [Claim(Integrity(integrity))])
        let meter = BundleMeter(bundle, stated)
        meter.update(Array(body.utf8).span)
        return meter.finding()
    }

    @Test func `a signed bundle is verified, with its signer`() {
        let stated = stated(one.signer.fields(of: Self.body))
        let finding = finding("\(other.signer.word) \(one.signer.word)", stated)
        #expect(finding.verdict == .verified && finding.signer == one.key.publicKey)
        #expect(finding.signedAlgorithm == .sha256)
        // No key is demanded.
        #expect(self.finding("", stated).signer == nil)
    }

    @Test func `a bundle that the demanded key has not signed is a mismatch`() {
        let stated = stated(one.signer.fields(of: Self.body))
        #expect(
            finding(other.signer.word, stated).verdict.detail
                == "expected a signature by \(other.signer.word), found one by \(one.signer.word)")
        #expect(
            finding(one.signer.word, self.stated([])).verdict.detail
                == "expected a signature by \(one.signer.word), found none")
        let changed = finding(one.signer.word, stated, "changed").verdict
        #expect(changed.detail?.hasPrefix("Unencoded-Digest: expected SHA-256 ") == true)
    }

    @Test func `a wrong signature is a mismatch although only a digest is demanded`() {
        let fields = one.signer.fields(of: Self.body, "expires=1;")
        let hash = Base64.encode(DigestStream.digest(.sha256, of: Array(Self.body.utf8).span).bytes)
        guard case .mismatch(let mismatch) = finding("sha256-\(hash)", stated(fields)).verdict else {
            Issue.record("an expired signature is accepted")
            return
        }
        #expect(
            mismatch.description.hasPrefix(
                "Signature: expected valid signatures, found a signature that expired on"))
        #expect(mismatch.brief.contains("expired on"))
    }

    @Test func `without header fields a demanded key leaves the body unverified`() {
        #expect(finding(one.signer.word, nil).verdict.name == "unverifiable")
        let bundle = Bundle(reference: "/a", claims: [Claim(Integrity(one.signer.word))])
        #expect(bundle.canBeVerified && bundle.requiresSignature && bundle.acceptSignature != nil)
        #expect(bundle.finding(knowing: [], byteCount: 1)?.verdict.name == "unverifiable")
    }

    @Test func `the digest that a signature covers must be known`() {
        let stated = stated(one.signer.fields(of: Self.body))
        let bundle = Bundle(reference: "/a", claims: [Claim(Integrity(one.signer.word))])
        let digest = DigestStream.digest(.sha256, of: Array(Self.body.utf8).span)
        #expect(bundle.finding(knowing: [], byteCount: 14, stated) == nil)
        #expect(bundle.finding(knowing: [digest], byteCount: 14, stated)?.verdict == .verified)
        #expect(
            bundle.finding(knowing: [Sample.digest(.sha256)], byteCount: 14, stated)?.verdict.name
                == "mismatch")
    }

    @Test func `a manifest may demand keys, and two demands do not contradict each other`() throws {
        let text = "{\"bundles\": [{\"url\": \"/a\", \"integrity\": \"\(one.signer.word)\"}]}"
        let manifest = try Manifest(Array(text.utf8), file: "m.json")
        #expect(manifest.bundles.first?.requiresSignature == true)
        #expect(manifest.json.contains(one.signer.word))
        let page =
            "<script src=/a integrity='\(one.signer.word)'></script><script src=/a integrity='\(other.signer.word)'></script>"
        let demands = try Manifest(Array(page.utf8), file: "p.html").bundles.first
        #expect(demands?.claims.count == 2)
        #expect(throws: ManifestError.self) {
            try Manifest(Array(text.replacing(one.signer.word, with: "ed25519-AAAA").utf8), file: "m.json")
        }
    }
}
