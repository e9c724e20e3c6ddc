import Crawl
import Digest
import System
import TestOrigin
import Testing

@testable import Check

/// Decisions on signatures, without any loading.
@Suite struct ManifestTrustTests {
    private let folder: TemporaryFolder
    private let key: MinisignPrivateKey
    private let other: MinisignPrivateKey
    private static let bytes = Array("{\"bundles\": []}".utf8)

    init() throws {
        folder = try TemporaryFolder()
        key = try #require(MinisignPrivateKey())
        other = try #require(MinisignPrivateKey())
    }

    private func sign(_ bytes: [UInt8] = bytes, comment: String = "timestamp:1\tfile:m.json\thashed")
        -> String
    {
        key.sign(bytes, trustedComment: comment).text
    }

    private func trust(_ values: String..., storedKeys: [String] = []) throws -> ManifestTrust {
        try ManifestTrust(values, storedKeys: storedKeys)
    }

    /// The reason why a manifest is refused; nil if it is accepted.
    private func refusal(
        _ found: ManifestTrust.FoundSignature, _ trust: ManifestTrust, as name: String = "m.json",
        namedKey: MinisignPublicKey? = nil
    ) -> ManifestRefusal? {
        do throws(ManifestRefusal) {
            _ = try trust.verify(found, as: name, namedKey: namedKey)
            return nil
        } catch {
            return error
        }
    }

    @Test func `without keys everything is accepted, and no signature is needed`() throws {
        for trust in [try trust(), try trust("none", storedKeys: [key.publicKey.text]), .anyone] {
            #expect(!trust.requiresSignature)
            #expect(refusal(.missing("nowhere"), trust) == nil)
        }
    }

    @Test func `the signature of any trusted key is accepted, and the signer is returned`() throws {
        let both = try trust(other.publicKey.text, key.publicKey.text)
        let signature = sign()
        let signer = try both.verify(.text(signature, of: Self.bytes), as: "m.json", namedKey: nil)
        #expect(signer == ManifestSigner(key: key.publicKey.text, signature: signature))
    }

    @Test func `everything else is refused, with its reason`() throws {
        let own = try trust(key.publicKey.text)
        #expect(refusal(.missing("m.json.minisig"), own) == .unsigned("m.json.minisig"))
        #expect(refusal(.unreadable("too large"), own) == .damaged("too large"))
        var changed = Self.bytes
        changed[3] ^= 1
        #expect(refusal(.text(sign(), of: changed), own) == .changed(key.publicKey.fingerprint))
        let beginning = key.publicKey.text.prefix(13) + "…"
        #expect(
            refusal(.text(sign(), of: Self.bytes), try trust(other.publicKey.text))
                == .otherKey(String(beginning)))
        let comment = sign().replacing("timestamp:1", with: "timestamp:2")
        #expect(refusal(.text(comment, of: Self.bytes), own) == .changed(key.publicKey.fingerprint))
        for text in ["", "<!doctype html>", String(sign().dropLast(8)), sign() + sign()] {
            guard case .damaged? = refusal(.text(text, of: Self.bytes), own) else {
                Issue.record("\(text)")
                continue
            }
        }
    }

    /// A publisher may sign several manifests with one key. A server must not exchange them.
    @Test(arguments: [
        ("timestamp:1\tfile:m.json\thashed", "m.json", true),
        ("timestamp:1\tfile:m.json\thashed", "n.json", false),
        ("timestamp:1\tfile:m.json\thashed", "", false), ("file:über uns.json", "über uns.json", true),
        ("timestamp:1", "n.json", true), ("", "n.json", true), ("my file:m.json", "n.json", true),
        ("file:m.json\tfile:n.json", "n.json", false), ("file:", "n.json", false),
    ])
    func `a signature that names a file is valid only under that name`(
        comment: String, name: String, isValid: Bool
    ) throws {
        let found = ManifestTrust.FoundSignature.text(sign(comment: comment), of: Self.bytes)
        let reason = refusal(found, try trust(key.publicKey.text), as: name)
        if isValid {
            #expect(reason == nil)
        } else {
            #expect(reason == .otherFile(ManifestTrust.fileName(in: comment) ?? "", name))
        }
    }

    @Test func `on first use the key that the manifest names is trusted, unless a key is stored`() throws {
        let found = ManifestTrust.FoundSignature.text(sign(), of: Self.bytes)
        let first = try trust("first-use")
        #expect(first.acceptsNamedKey)
        #expect(refusal(found, first, namedKey: key.publicKey) == nil)
        #expect(refusal(found, first) == .namesNoKey)
        #expect(refusal(.missing("nowhere"), first, namedKey: key.publicKey) == .unsigned("nowhere"))
        // The manifest names the key of someone else.
        guard case .otherKey? = refusal(found, first, namedKey: other.publicKey) else {
            Issue.record("accepted")
            return
        }
        let later = try trust("first-use", storedKeys: [other.publicKey.text])
        #expect(!later.acceptsNamedKey && later.keys == [other.publicKey])
        #expect(refusal(found, later, namedKey: key.publicKey) != nil)
    }

    @Test func `named keys replace the stored ones`() throws {
        let trust = try trust(key.publicKey.text, storedKeys: [other.publicKey.text])
        #expect(trust.keys == [key.publicKey])
        #expect(try self.trust(storedKeys: [other.publicKey.text]).keys == [other.publicKey])
    }

    @Test func `a key is given as text or as its file`() throws {
        let file = try folder.write(key.publicKey.fileText, to: "larder.pub")
        #expect(try trust(file).keys == [key.publicKey])
        #expect(try trust(file, key.publicKey.text).keys == [key.publicKey])
    }

    @Test func `a stored key is never the path of a file`() throws {
        let path = try folder.write(key.publicKey.fileText, to: "larder.pub")
        #expect(try trust(path).keys == [key.publicKey])
        #expect(throws: LarderError.self) { try trust(storedKeys: [path]) }
    }

    @Test func `a value that is no key is an error that says which values are keys`() throws {
        let secret = try folder.write(try key.fileText(passphrase: nil), to: "larder.key")
        let several = try folder.write(
            key.publicKey.fileText + other.publicKey.fileText, to: "several.pub")
        for (values, words) in [
            (
                [folder.file("gone.pub")],
                "the file \(folder.file("gone.pub")) of a key does not exist; name a public key"
            ),
            (["release.pub"], "the file release.pub of a key does not exist"),
            (["nosuch"], "the file nosuch of a key does not exist"),
            (
                [several],
                "\(several) is not a minisign public key: it contains 2 keys, but only one is expected"
            ),
            (["RWQ"], "the key \"RWQ\" cannot be used: not a minisign public key"),
            ([""], "cannot be used"),
            ([secret], "\(secret) is not a minisign public key"),
            (["first-use", key.publicKey.text], "\"first-use\" cannot be combined with other keys"),
            (["none", "none"], "\"none\" cannot be combined with other keys"),
            ((0..<65).map { _ in MinisignPrivateKey()?.publicKey.text ?? "" }, "65 keys are named"),
        ] {
            let error = #expect(throws: LarderError.self) { try ManifestTrust(values, storedKeys: []) }
            #expect(error?.kind == .input)
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
    }

    @Test func `the message of a refusal names the manifest, the reason and what to do`() throws {
        let trust = try trust(key.publicKey.text)
        for (refusal, words, remedy) in [
            (
                .unsigned("m.json.minisig does not exist"),
                ["it is not signed", "have its publisher sign it"], false
            ),
            (
                .otherKey("RWQf…"), ["signed by another key, RWQf…", key.publicKey.fingerprint, "name it"],
                true
            ),
            (.changed("RWQf…"), ["the signature by RWQf… does not match", "sign it again"], false),
            (.damaged("cut"), ["its signature is damaged: cut", "sign it again"], false),
            (.otherFile("a", "b"), ["signed as the file \"a\", not as \"b\""], false),
            (.namesNoKey, ["names no key", "name its key"], true),
        ] as [(ManifestRefusal, [String], Bool)] {
            let error = LarderError(refusal, of: "https://a.test/m.json", trust)
            #expect(error.kind == .refused)
            #expect(error.description.hasPrefix("the manifest https://a.test/m.json is refused: "))
            for words in words { #expect(error.description.contains(words), "\(error)") }
            #expect(error.remedy == (remedy ? .trust : nil))
        }
    }

    @Test(arguments: [
        ("https://a.test/m.json", "https://a.test/m.json.minisig", "m.json"),
        (
            "https://a.test/v1/m%20n.json?x=1&y=/z", "https://a.test/v1/m%20n.json.minisig?x=1&y=/z",
            "m n.json"
        ),
        ("https://a.test//b.test/m.json#x", "https://a.test//b.test/m.json.minisig", "m.json"),
        ("http://u:p@a.test:8080/m.json", "http://u:p@a.test:8080/m.json.minisig", "m.json"),
        ("https://a.test/weex/", "https://a.test/weex/.minisig", ""),
        ("dist/m.json", "dist/m.json.minisig", "m.json"), ("m.json", "m.json.minisig", "m.json"),
        ("/a?b/m.json", "/a?b/m.json.minisig", "m.json"),
    ])
    func `the signature is looked for beside the manifest`(name: String, signature: String, file: String) {
        let location = ManifestLocation(name)
        #expect(location.signatureLocation?.name == signature)
        #expect((location.signatureLocation?.url == nil) == (location.url == nil))
        #expect(location.fileName == file)
    }

    @Test func `the keys of another site with the same manifest apply if this location has none`() {
        func plan(_ place: String, _ base: String?, _ keys: [String]) -> ManifestPlan {
            var plan = ManifestPlan(place: place, base: base)
            plan.trustedKeys = keys
            return plan
        }
        let stored = [
            plan("/m.json", "https://a.test/", ["A"]), plan("/m.json", "https://b.test/", ["B"]),
            plan("/m.json", nil, []), plan("/n.json", nil, ["D"]),
        ]
        func keys(_ base: String?, own: [String] = []) -> [String] {
            plan("/m.json", base, own).storedKeys(among: stored)
        }
        #expect(keys("https://b.test/") == ["B"])
        #expect(keys(nil) == ["A"])
        #expect(keys(nil, own: ["C"]) == ["C"])
        #expect(keys("https://a.test/", own: []) == ["A"])
        #expect(plan("/o.json", nil, []).storedKeys(among: stored).isEmpty)
    }
}
