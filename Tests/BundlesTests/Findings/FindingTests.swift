import Bundles
import Digest
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

    @Test func `bytes that agree with every digest are verified`() {
        let finding = finding([
            Claim(Sample.digest(.md5)), Claim(Sample.digest(.sha256)), Claim(byteCount: 23),
            Claim(Integrity(Sample.sri)),
        ])
        #expect(finding == Finding(.verified))
    }

    @Test func `all that did not hold is named, with both sides and both sizes`() throws {
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
        #expect(finding.verdict.detail?.contains("size: expected 23 bytes, found 24 bytes") == true)
    }

    @Test func `what is said of nothing but presence and size proves nothing`() {
        #expect(finding([]).verdict == .unverifiable("the manifest gives no digest"))
        #expect(finding([Claim(byteCount: 23)]).verdict.detail?.contains("only a size, which is right") == true)
        #expect(finding([Claim(byteCount: 22)]).verdict.name == "mismatch")
        #expect(finding([Claim(Integrity("foo666-AAAA"))]).verdict.name == "unverifiable")
    }

    @Test func `weak evidence neither fails nor proves, and is told`() throws {
        let tags = [Sample.md5, Sample.hex(.md5, of: [])].compactMap { EntityTag("\"\($0)\"") }
        let right = try #require(Claim(tags[0]))
        let wrong = try #require(Claim(tags[1]))
        #expect(finding([right]).verdict.name == "unverifiable")
        #expect(finding([wrong]).verdict.name == "unverifiable")
        #expect(finding([wrong]).remarks.first?.hasPrefix("ETag does not agree, which fails nothing") == true)
        let proven = finding([Claim(Sample.digest(.md5)), wrong])
        #expect(proven.verdict == .verified && proven.remarks.count == 1)
    }

    @Test func `what was measured earlier is enough`() {
        let bundle = bundle([Claim(Sample.digest(.md5)), Claim(Sample.digest(.sha256))])
        let known = Measurement.Body(byteCount: 23, digests: [Sample.digest(.md5), Sample.digest(.sha256)])
        #expect(bundle.finding(on: Measurement(uncoded: known)).verdict == .verified)
        let part = Measurement.Body(byteCount: 23, digests: [Sample.digest(.md5)])
        #expect(bundle.finding(on: Measurement(uncoded: part)).verdict == .unverifiable("its SHA-256 was not measured"))
    }

    @Test func `what speaks of the encoded body is held against that`() {
        let encoded: [UInt8] = [0x1F, 0x8B, 1, 2, 3]
        let bundle = bundle([
            Claim(Sample.digest(.md5)),
            Claim(.digest(Sample.digest(.sha256, of: encoded)), of: .encoded, source: "Repr-Digest"),
        ])
        func finding(_ pieces: [[UInt8]], isCoded: Bool = true) -> Finding {
            let meter = BundleMeter(bundle, isCoded: isCoded)
            meter.update(Self.body.span)
            for piece in pieces { meter.updateEncoded(piece.span) }
            return meter.finding()
        }
        #expect(finding([[0x1F, 0x8B], [1, 2, 3]]) == Finding(.verified))
        #expect(finding([[0x1F]]).verdict.name == "mismatch")
        #expect(finding([]).verdict == .verified)
        #expect(finding([]).remarks.first?.contains("not at hand") == true)
        // Without a content coding both are the same body.
        #expect(finding([], isCoded: false).verdict.name == "mismatch")
    }

    @Test func `a digest of the decoded body where the encoded one is meant is explained`() throws {
        let bundle = bundle([Claim(.digest(Sample.digest(.md5)), of: .encoded, source: "Content-MD5")])
        let meter = BundleMeter(bundle, isCoded: true)
        meter.update(Self.body.span)
        meter.updateEncoded([1, 2, 3].span)
        let verdict = meter.verdict()
        #expect(verdict.name == "mismatch")
        #expect(verdict.detail?.contains("it is that of the decoded body") == true)
    }

    @Test func `a mismatch tells where the bodies differ, for whoever has both`() throws {
        guard case .mismatch(var mismatch) = finding([Claim(Sample.digest(.md5))], Sample.altered).verdict else {
            Issue.record("no mismatch")
            return
        }
        let difference = try #require(Difference.first(expected: Sample.body, found: Sample.altered))
        mismatch.add(difference, from: 23)
        #expect(mismatch.expectedByteCount == 23)
        #expect(mismatch.description.hasSuffix("; it first differs at line 1, column 14, byte 13"))
    }
}
