import Digest
import Testing
import Web

@testable import TUF

@Suite struct SignedMetadataTests {
    /// The key ids of examples in the specification.
    @Test(arguments: [
        (
            "72378e5bc588793e58f81c8533da64a2e8f1565c1fcc7f253496394ffc52542c",
            "1bf1c6e3cdd3d3a8420b19199e27511999850f4b376c4547b2f32fba7e80fca3"
        ),
        (
            "01c61f8dc7d77fcef973f4267927541e355e8ceda757e2c402818dad850f856e",
            "66676daa73bdfb4804b56070c8927ae491e2a6c2314f05b854dea94de8ff6bfc"
        ),
    ])
    func `a key id is the digest of the key's canonical form`(publicKey: String, id: String) throws {
        let key = try #require(Hex.decode(publicKey).flatMap { Ed25519PublicKey($0) })
        #expect(TUFKey(key).id == id)
    }

    @Test func `metadata is written and read without loss, also with unknown members`() throws {
        var repository = try TestRepository()
        repository.add("a/b.js", "b")
        try repository.delegate("role", paths: ["a/*"], isTerminating: true)
        repository.publishNext()
        let bytes = try #require(repository.files["2.targets.json"])
        #expect(try SignedMetadata<TargetsMetadata>(bytes, file: "f").role == repository.targets)

        let extended = Self.text(bytes)
            .replacing("\"length\":", with: "\"x-length\": {\"a\": [1]}, \"length\":")
            .replacing("\"terminating\":", with: "\"x-role\": null, \"terminating\":")
            .replacing("\"_type\":", with: "\"x-header\": \"h\", \"_type\":")
            .replacing("\"keytype\":", with: "\"x-key\": true, \"keytype\":")
        let read = try SignedMetadata<TargetsMetadata>(Array(extended.utf8), file: "f")
        let written = String(decoding: read.role.json.bytes, as: UTF8.self)
        for name in ["x-length", "x-role", "x-header", "x-key"] { #expect(written.contains(name)) }
        #expect(read.signedBytes == read.role.json.bytes)
    }

    @Test func `only different keys count for a threshold`() throws {
        let (one, other, third) = try (TestRepository.key(1), TestRepository.key(2), TestRepository.key(3))
        let ids = [one, other].map { TUFKey($0.publicKey).id }
        let table = KeyTable([one, other, third].map { TUFKey($0.publicKey) })
        let keys = RoleKeys(keyIDs: ids + ids, threshold: 2)
        let header = MetadataHeader(expires: 0)
        var metadata = SignedMetadata(TimestampMetadata(header: header, snapshot: MetaFile(version: 1)))
        #expect(metadata.validKeyIDs(of: keys, in: table) == [])
        metadata.sign(with: one)
        metadata.sign(with: one)
        metadata.sign(with: third)
        #expect(metadata.validKeyIDs(of: keys, in: table) == [ids[0]])
        #expect(throws: TUFError.self) {
            try metadata.requireThreshold(of: keys, in: table, authority: "root", file: "f")
        }
        // A signature of other bytes, and text that is none.
        metadata.add(TUFSignature(keyID: ids[1], bytes: other.sign([1, 2, 3])))
        #expect(metadata.validKeyIDs(of: keys, in: table).count == 1)
        metadata.sign(with: other)
        try metadata.requireThreshold(of: keys, in: table, authority: "root", file: "f")
    }

    @Test func `one public key under two ids counts once`() throws {
        let secret = try TestRepository.key(1)
        let key = TUFKey(secret.publicKey)
        guard case .object(var members) = key.json else { return }
        members["x"] = .integer(1)
        let twin = try TUFKey(MetadataNode(.object(members), file: "f"))
        #expect(twin.id != key.id)
        var metadata = SignedMetadata(
            TimestampMetadata(header: MetadataHeader(expires: 0), snapshot: MetaFile(version: 1)))
        let signature = secret.sign(metadata.signedBytes)
        for id in [key.id, twin.id] { metadata.add(TUFSignature(keyID: id, bytes: signature)) }
        let valid = metadata.validKeyIDs(
            of: RoleKeys(keyIDs: [key.id, twin.id], threshold: 2), in: KeyTable([key, twin]))
        #expect(valid == [key.id])
    }

    @Test func `keys of unknown types and schemes are read but verify nothing`() throws {
        for text in [
            #"{"keytype":"sigstore-oidc","scheme":"Fulcio","keyval":{"identity":"a","issuer":"b"}}"#,
            #"{"keytype":"ed25519","scheme":"ed448","keyval":{"public":"00"}}"#,
            #"{"keytype":"ed25519","scheme":"ed25519","keyval":{"public":"not hexadecimal"}}"#,
            #"{"keytype":"rsa","scheme":"rsassa-pss-sha256","keyval":{"public":"not PEM"}}"#,
        ] {
            let key = try TUFKey(MetadataNode(CanonicalJSON(Array(text.utf8), file: "f"), file: "f"))
            #expect(!key.isSupported)
            #expect(!key.verifies([0], of: [0]))
        }
    }

    @Test func `a key with a wrong id never counts`() throws {
        var repository = try TestRepository()
        let key = TUFKey(try TestRepository.key(1).publicKey)
        let wrongID = String(repeating: "0", count: 64)
        let text = Self.text(try #require(repository.files["1.root.json"])).replacing(key.id, with: wrongID)
        let read = try SignedMetadata<RootMetadata>(Array(text.utf8), file: "f")
        #expect(read.role.keys[wrongID] == nil)
        repository.files["1.root.json"] = Array(text.utf8)
        var client = TestClient(repository)
        #expect(client.failure(repository) == .unsigned)
    }

    @Test func `two signatures by one key are refused`() throws {
        let repository = try TestRepository()
        let text = Self.text(try #require(repository.files["timestamp.json"]))
        let value = try CanonicalJSON(Array(text.utf8), file: "f")
        guard case .object(var file) = value, case .array(let signatures)? = file["signatures"] else {
            return
        }
        file["signatures"] = .array(signatures + signatures)
        let bytes = CanonicalJSON.object(file).bytes
        #expect(throws: TUFError.self) { try SignedMetadata<TimestampMetadata>(bytes, file: "f") }
    }

    @Test(arguments: [
        ("\"version\": 1", "\"version\": 0"), ("\"version\": 1", "\"version\": \"1\""),
        ("\"version\": 1", "\"version\": 1.0"), ("\"version\": 1", "\"version\": 99999999999999999999"),
        ("\"spec_version\": \"1.", "\"spec_version\": \"2."),
        ("\"_type\": \"root\"", "\"_type\": \"targets\""),
        ("Z\"", "+00:00\""), ("T", " "), ("\"threshold\": 1", "\"threshold\": 0"),
        ("\"timestamp\": {", "\"timestomp\": {"), ("\"keyids\"", "\"keyid\""), ("\"keytype\"", "\"keytyp\""),
        ("\"signatures\"", "\"signature\""), ("\"signed\"", "\"sign\""), ("\"sig\"", "\"sg\""),
    ])
    func `malformed root metadata is refused`(before: String, after: String) throws {
        let text = Self.text(try #require(try TestRepository().files["1.root.json"]))
        #expect(text.contains(before))
        let error = #expect(throws: TUFError.self) {
            try SignedMetadata<RootMetadata>(Array(text.replacing(before, with: after).utf8), file: "f")
        }
        #expect(error?.reason == .malformed)
    }

    @Test func `malformed delegations are refused`() throws {
        let start = """
            {"signatures":[],"signed":{"_type":"targets","spec_version":"1.0.0","version":1,
            "expires":"2030-01-01T00:00:00Z","targets":{},"delegations":{"keys":{},
            """
        let role = #"{"name":"a","keyids":[],"threshold":1,"paths":[]}"#
        func read(_ rest: String) throws -> SignedMetadata<TargetsMetadata> {
            try SignedMetadata(Array("\(start)\(rest)}}}".utf8), file: "f")
        }
        #expect(try read("\"roles\":[\(role)]").role.delegations?.roleNames == ["a"])
        let withBoth = role.replacing("\"paths\":[]", with: "\"paths\":[],\"path_hash_prefixes\":[]")
        let named = { (name: String) in role.replacing("\"a\"", with: "\"\(name)\"") }
        for rest in [
            "\"roles\":[\(role),\(role)]", "\"roles\":[\(withBoth)]", "\"roles\":[\(named("root"))]",
            "\"roles\":[\(named("snapshot"))]", "\"roles\":[\(named(""))]", "\"x\":1",
            "\"roles\":[],\"succinct_roles\":{}",
            #""succinct_roles":{"keyids":[],"threshold":1,"bit_length":33,"name_prefix":"a"}"#,
            #""succinct_roles":{"keyids":[],"threshold":1,"bit_length":0,"name_prefix":"a"}"#,
        ] {
            #expect(throws: TUFError.self, "\(rest)") { try read(rest) }
        }
    }

    @Test func `bins of hashed paths have the names of TAP 15`() {
        let keys = RoleKeys(keyIDs: [], threshold: 1)
        // The SHA-256 of "app.js" starts with e07d531a.
        for (bits, name, count) in [(1, "bin-1", 2), (4, "bin-e", 16), (5, "bin-1c", 32), (8, "bin-e0", 256)]
        {
            let roles = SuccinctRoles(keys: keys, bitLength: bits, namePrefix: "bin")
            #expect(roles.name(for: "app.js") == name)
            #expect(roles.count == count)
            #expect(roles.names.count == count)
            #expect(roles.names.allSatisfy(roles.contains))
        }
        let roles = SuccinctRoles(keys: keys, bitLength: 5, namePrefix: "bin")
        for name in ["bin-20", "bin-1C", "bin-0", "bin-001", "bin-", "bin", "bon-00", "bin-+1"] {
            #expect(!roles.contains(name), "\(name)")
        }
    }

    @Test func `hash prefixes cover the paths whose hash begins with them`() {
        let keys = RoleKeys(keyIDs: [], threshold: 1)
        for (prefixes, covers) in [
            (["e0"], true), (["e07d5"], true), (["e1", "e"], true), (["e1"], false), ([], false),
        ] {
            let role = DelegatedRole(name: "a", keys: keys, scope: .pathHashPrefixes(prefixes))
            #expect(role.covers("app.js") == covers)
        }
    }

    @Test(arguments: [
        ("a.js", "a.js", "HASH.a.js"), ("d/e/a.js", "d/e/a.js", "d/e/HASH.a.js"),
        ("d e/ü?#.js", "d%20e/%C3%BC%3F%23.js", "d%20e/HASH.%C3%BC%3F%23.js"),
        ("a%20b", "a%20b", "HASH.a%20b"),
        ("100%", "100%25", "HASH.100%25"),
    ])
    func `a target has a URL with and without its digest`(path: String, plain: String, prefixed: String) {
        let digest = DigestStream.digest(.sha256, of: Array("x".utf8).span)
        let file = TargetFile(byteCount: 1, hashes: FileHashes([digest]))
        let target = TUFTarget(path: path, file: file, role: "targets")
        #expect(target.reference(hasDigest: false) == plain)
        #expect(target.reference(hasDigest: true) == prefixed.replacing("HASH", with: digest.hex))
    }

    @Test(arguments: ["../a", "a/../b", "/a", "a//b", "a/", ".", "a/./b", "a\0b", "a/%2e%2E/b", ""])
    func `a target outside the folder of the targets has no URL`(path: String) {
        let file = TargetFile(
            byteCount: 1, hashes: FileHashes([DigestStream.digest(.sha256, of: Array("x".utf8).span)]))
        #expect(TUFTarget(path: path, file: file, role: "targets").reference(hasDigest: false) == nil)
    }

    @Test func `a file must match all known digests, of which one is strong`() throws {
        let bytes = Array("x".utf8)
        let (strong, weak) = (
            DigestStream.digest(.sha512, of: bytes.span), DigestStream.digest(.md5, of: bytes.span)
        )
        try FileHashes([weak, strong]).require(bytes, file: "f")
        #expect(throws: TUFError.self) { try FileHashes([weak, strong]).require([1], file: "f") }
        #expect(throws: TUFError.self) { try FileHashes([weak]).require(bytes, file: "f") }
        let unknown = try FileHashes(MetadataNode(.object(["blake9": .string("00")]), file: "f"))
        #expect(unknown.strongest == nil)
        #expect(throws: TUFError.self) { try unknown.require(bytes, file: "f") }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
