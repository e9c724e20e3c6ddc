import Bundles
import Digest
import TestOrigin
import Testing
import Web

@Suite struct IntegrityTests {
    private static let ok = Sample.integrity(.sha256)
    private static let bad = "sha256-deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdead"
    private static let bad512 = Sample.integrity(.sha512, of: [])

    private static func name(_ integrity: String) -> String {
        BundleMeter.verdict(
            on: Bundle(reference: "/a", claims: [Claim(Integrity(integrity))]), bytes: Sample.body
        ).name
    }

    @Test(arguments: [
        (ok, "verified"), (bad, "mismatch"), ("", "unverifiable"), ("\(bad) \(ok)", "verified"),
        ("\(ok) \(bad512)", "mismatch"), ("\(bad) \(Sample.integrity(.sha512))", "verified"),
        ("foo-\(ok)", "unverifiable"),
        ("md5-\(Sample.base64(.md5))", "unverifiable"), ("sha256-%", "mismatch"), ("sha256-% \(ok)", "verified"),
        ("\(ok)?a=b", "verified"), ("\t\(ok)\n", "verified"), ("SHA256-\(Sample.base64(.sha256))", "verified"),
        ("sha256", "unverifiable"), ("sha256-", "mismatch"), ("sha256-?", "mismatch"),
    ])
    func `the strongest algorithm counts, and any of its digests will do`(integrity: String, verdict: String) {
        #expect(Self.name(integrity) == verdict)
    }

    @Test func `the alphabet of URLs is taken as well`() {
        let plain = Sample.integrity(.sha512)
        let other = plain.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(Integrity(other).digests == Integrity(plain).digests)
    }

    @Test func `a digest can be written as integrity`() {
        #expect(Integrity(Sample.digest(.sha384)).text == Sample.sri)
        #expect(Integrity(Sample.digest(.sha384)).digests == [Sample.digest(.sha384)])
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "no conformance data"),
        arguments: ConformanceData.cases("bundles/wpt-sri-cases.json"))
    func `integrity is judged as in web platform tests`(row: JSONValue) throws {
        let text = try #require(row["integrity"]?.string)
            .replacing("{OK256}", with: Sample.base64(.sha256)).replacing("{OK384}", with: Sample.base64(.sha384))
            .replacing("{OK512}", with: Sample.base64(.sha512))
            .replacing("{BAD512}", with: Sample.base64(.sha512, of: []))
        // What says nothing is accepted by a browser, and here it is not verified either.
        #expect((Self.name(text) != "mismatch") == row["match"]?.bool, "\(row["title"]?.string ?? "")")
    }
}
