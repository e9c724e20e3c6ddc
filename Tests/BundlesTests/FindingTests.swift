import Bundles
import Digest
import TestOrigin
import Testing
import Web

@Suite struct FindingTests {
    private static let body = Sample.body

    private func bundle(_ claims: [Claim]) -> Bundle {
        Bundle(reference: "/a", claims: claims)
    }

    private func finding(_ claims: [Claim], _ bytes: [UInt8] = body) -> Finding {
        BundleMeter.finding(on: bundle(claims), bytes: bytes)
    }

    @Test func `a body that matches every digest is verified`() {
        let finding = finding([
            Claim(Sample.digest(.md5)), Claim(Sample.digest(.sha256)), Claim(byteCount: 23),
            Claim(Integrity(Sample.sri)),
        ])
        #expect(finding == Finding(.verified))
    }

    @Test(
        arguments: [
            ([.md5], .md5, "its strongest digest is MD5, which is too weak"),
            ([.sha1], .sha1, "its strongest digest is SHA-1, which is too weak"),
            ([.md5, .sha1], .sha1, "its strongest digest is SHA-1, which is too weak"),
            ([.sha256], .sha256, nil),
            ([.sha512, .md5], .sha512, nil),
        ] as [([DigestAlgorithm], DigestAlgorithm, String?)])
    func `a bundle of which a strong digest is required is not verified by MD5 or SHA-1`(
        algorithms: [DigestAlgorithm], proof: DigestAlgorithm, reason: String?
    ) {
        let bundle = bundle(algorithms.map { Claim(Sample.digest($0)) })
        #expect(bundle.strongestAlgorithm == proof)
        #expect(BundleMeter.finding(on: bundle, bytes: Self.body).verdict == .verified)
        let strict = BundleMeter.finding(on: bundle.requiringStrongDigest, bytes: Self.body)
        #expect(strict.verdict == reason.map { .unverifiable($0) } ?? .verified)
        // A body that differs is a mismatch anyway.
        let other = BundleMeter.finding(on: bundle.requiringStrongDigest, bytes: Self.body + [1])
        #expect(other.verdict.name == "mismatch")
    }

    @Test func `every failed claim is reported with expected and actual value and both sizes`() throws {
        let finding = finding(
            [
                Claim(Sample.digest(.md5)), Claim(Sample.digest(.sha256, of: Self.body + [1])),
                Claim(byteCount: 23), Claim(Integrity(Sample.integrity(.sha384, of: [1]))),
            ], Self.body + [1])
        guard case .mismatch(let mismatch) = finding.verdict else {
            Issue.record("\(finding)")
            return
        }
        #expect(mismatch.failures.map(\.source) == ["md5", "size", "integrity"])
        #expect(mismatch.failures[0].expected == "MD5 \(Sample.md5)")
        #expect(mismatch.failures[0].found == "MD5 \(Sample.hex(.md5, of: Self.body + [1]))")
        #expect(mismatch.failures[1].expected == "23 bytes" && mismatch.failures[1].found == "24 bytes")
        #expect(mismatch.expectedByteCount == 23 && mismatch.foundByteCount == 24)
        #expect(finding.verdict.detail?.hasPrefix("expected MD5 \(Sample.md5), found MD5 ") == true)
        #expect(finding.verdict.detail?.contains("; size: expected 23 bytes, found 24 bytes; ") == true)
        let (found, expected) = (Sample.hex(.sha384, of: Self.body + [1]), Sample.hex(.sha384, of: [1]))
        #expect(
            mismatch.brief
                == "SHA-384 \(found.prefix(8))…, expected \(expected.prefix(8))…; MD5 differs too; "
                + "24 bytes, expected 23")
    }

    @Test(arguments: [
        ([Claim(byteCount: 22)], "23 bytes, expected 22"),
        (
            [Claim(Sample.digest(.sha1, of: [1])), Claim(Sample.digest(.md5, of: [1]))],
            "SHA-1 \(Sample.hex(.sha1, of: body).prefix(8))…, expected \(Sample.hex(.sha1, of: [1]).prefix(8))…; MD5 differs too"
        ),
        (
            [.md5, .sha256, .sha1].map { Claim(Sample.digest($0, of: [1])) },
            "SHA-256 \(Sample.hex(.sha256, of: body).prefix(8))…, "
                + "expected \(Sample.hex(.sha256, of: [1]).prefix(8))…; SHA-1 and MD5 differ too"
        ),
        // The manifest's MD5 is right, or there is none.
        (
            [Claim(Sample.digest(.sha256, of: [1])), Claim(Sample.digest(.md5))],
            "SHA-256 \(Sample.hex(.sha256, of: body).prefix(8))…, "
                + "expected \(Sample.hex(.sha256, of: [1]).prefix(8))…"
        ),
    ])
    func `the short form of a mismatch has its strongest digest, the names of the others, and its size`(
        claims: [Claim], brief: String
    ) throws {
        guard case .mismatch(let mismatch) = finding(claims).verdict else {
            Issue.record("the body matches")
            return
        }
        #expect(mismatch.brief == brief)
    }

    @Test func `a bundle with only a size is unverifiable`() {
        #expect(finding([]).verdict == .unverifiable("the manifest gives no digest"))
        #expect(
            finding([Claim(byteCount: 23)]).verdict.detail?.contains("only a size, which matches") == true)
        #expect(finding([Claim(byteCount: 22)]).verdict.name == "mismatch")
        #expect(finding([Claim(Integrity("foo666-AAAA"))]).verdict.name == "unverifiable")
    }

    @Test func `weak evidence is reported, and neither fails nor verifies`() throws {
        let tags = [Sample.md5, Sample.hex(.md5, of: [])].compactMap { EntityTag("\"\($0)\"") }
        let right = try #require(Claim(tags[0]))
        let wrong = try #require(Claim(tags[1]))
        #expect(finding([right]).verdict.name == "unverifiable")
        #expect(finding([wrong]).verdict.name == "unverifiable")
        #expect(
            finding([wrong]).remarks.first?.hasPrefix("ETag does not match, which is not an error") == true)
        let proven = finding([Claim(Sample.digest(.md5)), wrong])
        #expect(proven.verdict == .verified && proven.remarks.count == 1)
    }

    @Test func `known digests suffice for a finding`() {
        let bundle = bundle([Claim(Sample.digest(.md5)), Claim(Sample.digest(.sha256))])
        let known = Measurement.Body(byteCount: 23, digests: [Sample.digest(.md5), Sample.digest(.sha256)])
        #expect(bundle.finding(on: Measurement(uncoded: known)).verdict == .verified)
        let part = Measurement.Body(byteCount: 23, digests: [Sample.digest(.md5)])
        #expect(
            bundle.finding(on: Measurement(uncoded: part)).verdict
                == .unverifiable("its SHA-256 was not computed"))
    }

    @Test func `a claim about the encoded body is compared with the encoded body`() {
        let encoded: [UInt8] = [0x1F, 0x8B, 1, 2, 3]
        let bundle = bundle([
            Claim(Sample.digest(.md5)),
            Claim(.digest(Sample.digest(.sha256, of: encoded)), of: .encoded, source: "Repr-Digest"),
        ])
        func finding(encoded bytes: [UInt8]) -> Finding {
            bundle.finding(
                on: Measurement(decoded: Sample.measured(Self.body), encoded: Sample.measured(bytes)))
        }
        func finding(isCoded: Bool) -> Finding {
            let meter = BundleMeter(bundle, isCoded: isCoded)
            meter.update(Self.body.span)
            return meter.finding()
        }
        #expect(finding(encoded: encoded) == Finding(.verified))
        #expect(finding(encoded: [0x1F]).verdict.name == "mismatch")
        #expect(finding(isCoded: true).verdict == .verified)
        #expect(
            finding(isCoded: true).remarks.first?.contains("as they were sent, which are not available")
                == true)
        // Without a content coding, both are the same body.
        #expect(finding(isCoded: false).verdict.name == "mismatch")
    }

    @Test func `a digest of the decoded body in place of the encoded one is explained`() throws {
        let bundle = bundle([Claim(.digest(Sample.digest(.md5)), of: .encoded, source: "Content-MD5")])
        let measured = Measurement(decoded: Sample.measured(Self.body), encoded: Sample.measured([1, 2, 3]))
        let verdict = bundle.finding(on: measured).verdict
        #expect(verdict.name == "mismatch")
        #expect(verdict.detail?.contains("it matches the decoded body") == true)
    }

    @Test func `a mismatch has the first difference if both bodies are available`() throws {
        guard case .mismatch(var mismatch) = finding([Claim(Sample.digest(.md5))], Sample.altered).verdict
        else {
            Issue.record("no mismatch")
            return
        }
        let difference = try #require(Difference.first(expected: Sample.body, found: Sample.altered))
        mismatch.add(difference, from: 23)
        #expect(mismatch.expectedByteCount == 23)
        #expect(mismatch.description.hasSuffix("; it first differs at line 1, column 14, byte 13"))
    }
}

@Suite struct FieldClaimTests {
    private static let sha256 = Sample.base64(.sha256)
    private static let md5 = Sample.base64(.md5)

    @Test(arguments: [
        ("Repr-Digest", "sha-256=:\(sha256):", ["Repr-Digest encoded"]),
        (
            "Content-Digest", "md5=:\(md5):, sha-256=:\(sha256):",
            ["Content-Digest encoded", "Content-Digest encoded"]
        ),
        (
            "Digest", "SHA-256=\(sha256),id-sha-256=\(sha256),UNIXsum=30637",
            ["Digest encoded", "Digest decoded"]
        ),
        ("Content-MD5", "\(md5)", ["Content-MD5 encoded"]),
        ("Content-MD5", "AAAA", []), ("Repr-Digest", "sha-256=\(sha256)", []),
        ("Repr-Digest", "sha-256=:AAAA:", []),
        ("Repr-Digest", "unknown=:AAAA:", []),
    ])
    func `each digest field applies to the encoded or the decoded body`(
        name: String, value: String, found: [String]
    ) {
        let list = Claim.list(from: [name: value].fields)
        #expect(list.map { "\($0.source) \($0.subject.rawValue)" } == found)
        #expect(list.allSatisfy { $0.strength == .strong })
        let bundle = Bundle(reference: "/a", claims: list)
        #expect(
            BundleMeter.verdict(on: bundle, bytes: Sample.body).name
                == (found.isEmpty ? "unverifiable" : "verified"))
    }

    @Test func `for a partial response only fields about the whole representation count`() {
        let fields: HTTPFields = [
            "Content-Digest": "sha-256=:\(Self.sha256):", "Content-MD5": Self.md5,
            "Repr-Digest": "md5=:\(Self.md5):",
        ]
        #expect(Claim.list(from: fields, isPartial: true).map(\.source) == ["Repr-Digest"])
    }

    @Test(arguments: [
        ("\"\(Sample.md5)\"", "encoded"), ("W/\"\(Sample.md5)\"", "decoded"),
        (Sample.md5.uppercased(), "encoded"),
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
    func `digest fields match the examples of RFC 9530`(row: JSONValue) throws {
        let names = ["Repr-Digest", "Content-Digest", "Digest", "Content-MD5"]
        let fields = HTTPFields(
            names.compactMap { name in row[name]?.string.map { .init(name: name, value: $0) } })
        // The complete body of a partial response is not available, so the digest of its content is used.
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

@Suite struct IntegrityTests {
    private static let ok = Sample.integrity(.sha256)
    private static let bad = "sha256-deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdead"
    private static let bad512 = Sample.integrity(.sha512, of: [])

    /// The name of the verdict on the sample body by this integrity attribute.
    private static func name(_ integrity: String) -> String {
        BundleMeter.verdict(
            on: Bundle(reference: "/a", claims: [Claim(Integrity(integrity))]), bytes: Sample.body
        ).name
    }

    @Test(arguments: [
        (ok, "verified"), (bad, "mismatch"), ("", "unverifiable"), ("\(bad) \(ok)", "verified"),
        ("\(ok) \(bad512)", "mismatch"), ("\(bad) \(Sample.integrity(.sha512))", "verified"),
        ("foo-\(ok)", "unverifiable"),
        ("md5-\(Sample.base64(.md5))", "unverifiable"), ("sha256-%", "mismatch"),
        ("sha256-% \(ok)", "verified"),
        ("\(ok)?a=b", "verified"), ("\t\(ok)\n", "verified"),
        ("SHA256-\(Sample.base64(.sha256))", "verified"),
        ("sha256", "unverifiable"), ("sha256-", "mismatch"), ("sha256-?", "mismatch"),
    ])
    func `only the strongest algorithm counts, and any of its digests may match`(
        integrity: String, verdict: String
    ) {
        #expect(Self.name(integrity) == verdict)
    }

    @Test func `integrity digests may use base64url`() {
        let plain = Sample.integrity(.sha512)
        let other = plain.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(Integrity(other).digests == Integrity(plain).digests)
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "no conformance data"),
        arguments: ConformanceData.cases("bundles/wpt-sri-cases.json"))
    func `integrity passes the web platform tests`(row: JSONValue) throws {
        let text = try #require(row["integrity"]?.string)
            .replacing("{OK256}", with: Sample.base64(.sha256)).replacing(
                "{OK384}", with: Sample.base64(.sha384)
            )
            .replacing("{OK512}", with: Sample.base64(.sha512))
            .replacing("{BAD512}", with: Sample.base64(.sha512, of: []))
        // An attribute without a usable digest is accepted by browsers, and is not verified here.
        #expect((Self.name(text) != "mismatch") == row["match"]?.bool, "\(row["title"]?.string ?? "")")
    }
}
