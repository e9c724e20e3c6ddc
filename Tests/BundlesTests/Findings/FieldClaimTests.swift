import Bundles
import Digest
import TestOrigin
import Testing
import Web

@Suite struct FieldClaimTests {
    private static let sha256 = Sample.base64(.sha256)
    private static let md5 = Sample.base64(.md5)

    @Test(arguments: [
        ("Repr-Digest", "sha-256=:\(sha256):", ["Repr-Digest encoded"]),
        ("Content-Digest", "md5=:\(md5):, sha-256=:\(sha256):", ["Content-Digest encoded", "Content-Digest encoded"]),
        ("Digest", "SHA-256=\(sha256),id-sha-256=\(sha256),UNIXsum=30637", ["Digest encoded", "Digest decoded"]),
        ("Content-MD5", "\(md5)", ["Content-MD5 encoded"]),
        ("Content-MD5", "AAAA", []), ("Repr-Digest", "sha-256=\(sha256)", []), ("Repr-Digest", "sha-256=:AAAA:", []),
        ("Repr-Digest", "unknown=:AAAA:", []),
    ])
    func `each field knows which body it speaks of`(name: String, value: String, found: [String]) {
        let list = Claim.list(from: [name: value].fields)
        #expect(list.map { "\($0.source) \($0.subject.rawValue)" } == found)
        #expect(list.allSatisfy { $0.strength == .strong })
        let bundle = Bundle(reference: "/a", claims: list)
        #expect(
            BundleMeter.verdict(on: bundle, bytes: Sample.body).name == (found.isEmpty ? "unverifiable" : "verified"))
    }

    @Test func `of a part only what speaks of the whole is taken`() {
        let fields: HTTPFields = [
            "Content-Digest": "sha-256=:\(Self.sha256):", "Content-MD5": Self.md5, "Repr-Digest": "md5=:\(Self.md5):",
        ]
        #expect(Claim.list(from: fields, isPartial: true).map(\.source) == ["Repr-Digest"])
    }

    @Test(arguments: [
        ("\"\(Sample.md5)\"", "encoded"), ("W/\"\(Sample.md5)\"", "decoded"), (Sample.md5.uppercased(), "encoded"),
        ("\"\(Sample.md5)-12\"", nil), ("\"\(Sample.sha1)\"", nil), ("\"5f1-5a\"", nil),
        ("\"\(Sample.md5.dropLast())x\"", nil),
    ])
    func `an ETag of 32 hexadecimal digits is weak evidence`(tag: String, subject: String?) throws {
        let claim = Claim(try #require(EntityTag(tag)))
        #expect(claim?.subject.rawValue == subject)
        #expect(claim.map { $0.strength == .weak } ?? true)
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "no conformance data"),
        arguments: ConformanceData.cases("bundles/rfc9530-examples.json"))
    func `fields are judged as in RFC 9530's examples`(row: JSONValue) throws {
        let names = ["Repr-Digest", "Content-Digest", "Digest", "Content-MD5"]
        let fields = HTTPFields(names.compactMap { name in row[name]?.string.map { .init(name: name, value: $0) } })
        // The whole is not at hand of a part: what the part says of itself is.
        let isPart = row["Content-Range"] != nil
        let list = Claim.list(from: fields).filter { !isPart || $0.source == "Content-Digest" }
        let body = Array(try #require(row["body"]?.string).utf8)
        let name = BundleMeter.verdict(on: Bundle(reference: "/a", claims: list), bytes: body).name
        let expected = row["valid"]?.bool.map { $0 ? "verified" : "mismatch" } ?? "unverifiable"
        #expect(name == expected)
    }
}

extension [String: String] {
    fileprivate var fields: HTTPFields { HTTPFields(map { .init(name: $0, value: $1) }) }
}
