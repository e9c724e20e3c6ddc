import TestOrigin
import Testing

@testable import Web

struct FieldDigestTests {
    private static let hello: [UInt8] = [0x68, 0x69]

    @Test(
        arguments: [
            ("sha-256=:aGk=:", ["sha-256"]), ("sha-256=:aGk=:, md5=:aGk=:;x=1", ["sha-256", "md5"]),
            ("sha-256=aGk=", []),
            ("sha-256=:aGk=:, x", ["sha-256"]), ("sha-256=:aGk=:, X=1", []), ("", []),
        ] as [(String, [String])]) func `a malformed digest dictionary is ignored as a whole`(
            text: String, algorithms: [String]
        )
    {
        let found = FieldDigest.parseStructured(text)
        #expect(found == algorithms.map { FieldDigest(algorithm: $0, bytes: Self.hello) })
    }

    @Test(
        arguments: [
            ("SHA-256=aGk=", ["sha-256"]), ("md5=aGk= , SHA=aGk=", ["md5", "sha"]), ("sha-256=:aGk=:", []),
            ("sha-256", []), ("=aGk=", []),
            ("sha-256=", []), ("unixsum=30637, sha=aGk", ["sha"]),
        ] as [(String, [String])]) func `malformed elements of a Digest field are skipped`(
            text: String, algorithms: [String]
        )
    {
        let found = FieldDigest.parseLegacy(text).filter { $0.algorithm != "unixsum" }
        #expect(found == algorithms.map { FieldDigest(algorithm: $0, bytes: Self.hello) })
    }

    @Test func `Content-MD5 must have sixteen bytes`() {
        #expect(
            FieldDigest.parseContentMD5("Q2hlY2sgSW50ZWdyaXR5IQ==")?.bytes == Array("Check Integrity!".utf8))
        #expect(FieldDigest.parseContentMD5("aGk=") == nil)
    }

    @Test func `a digest survives a round trip`() {
        #expect(FieldDigest(algorithm: "sha-256", bytes: Self.hello).text == "sha-256=:aGk=:")
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: ConformanceData.cases("bundles/rfc9530-examples.json"))
    func `digests in the examples of RFC 9530 have the length of their algorithm`(row: JSONValue) {
        let structured = ["Repr-Digest", "Content-Digest"].compactMap { row[$0]?.string }
        let known = ["sha-256": 32, "sha-512": 64]
        let found =
            (structured.flatMap(FieldDigest.parseStructured)
            + (row["Digest"]?.string.map(FieldDigest.parseLegacy) ?? []))
            .filter { known[$0.algorithm] != nil }
        #expect(found.isEmpty == (row["valid"]?.isNull == true))
        #expect(found.allSatisfy { known[$0.algorithm] == $0.bytes.count })
    }
}
