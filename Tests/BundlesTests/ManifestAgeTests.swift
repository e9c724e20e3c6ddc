import Testing
import Web

@testable import Bundles

@Suite struct ManifestAgeTests {
    /// Two different manifests, and the order of the second one after the first one.
    struct Pair: Sendable, CustomTestStringConvertible {
        let before: (version: String?, created: String?)
        let after: (version: String?, created: String?)
        let order: ManifestAge.Order

        init(
            _ before: (String?, String?), _ after: (String?, String?), _ order: ManifestAge.Order
        ) {
            (self.before, self.after, self.order) = (before, after, order)
        }

        var testDescription: String { "\(before) to \(after)" }

        func age(_ part: (version: String?, created: String?), _ digest: String) -> ManifestAge {
            ManifestAge(
                version: part.version, created: part.created.flatMap { HTTPDate(rfc3339: $0) }, digest: digest
            )
        }
    }

    /// Two versions, and the order of the second one after the first one.
    private static let versions: [(String, String, ManifestAge.Order)] = [
        // Semantic Versioning, clause 11.
        ("1.0.0", "2.0.0", .newer), ("2.0.0", "2.1.0", .newer), ("2.1.0", "2.1.1", .newer),
        ("1.9.0", "1.10.0", .newer), ("1.0.0-alpha", "1.0.0", .newer),
        ("1.0.0-alpha", "1.0.0-alpha.1", .newer), ("1.0.0-alpha.1", "1.0.0-alpha.beta", .newer),
        ("1.0.0-alpha.beta", "1.0.0-beta", .newer), ("1.0.0-beta", "1.0.0-beta.2", .newer),
        ("1.0.0-beta.2", "1.0.0-beta.11", .newer), ("1.0.0-beta.11", "1.0.0-rc.1", .newer),
        ("1.0.0+20130313", "1.0.0+exp.sha.5114f85", .same), ("1.0.0-a-b", "1.0.0-a-c", .newer),
        ("v1.2.3", "1.2.4", .newer), ("V1.2", "v1.3", .newer),
        // Fewer and more numbers.
        ("1.2", "1.2.0", .same), ("1.2", "1.2.0.1", .newer), ("5", "12", .newer), ("1.2-beta", "1.2", .newer),
        ("07", "7", .same), ("1", "1.0.1", .newer),
        (
            "1.\(String(repeating: "9", count: 40))", "1.1\(String(repeating: "0", count: 40))", .newer
        ),
        // The output of git describe.
        ("v1.2.3", "v1.2.3-14-gabc1234", .newer), ("v1.2.3-9-gabc1234", "v1.2.3-14-gfed4321-dirty", .newer),
        ("1.2.3", "1.2.3-0-gabc1234", .same), ("v1.2.3-14-gabc1234", "v1.2.4", .newer),
        ("1.2.3-rc.1", "1.2.3-rc.1-2-gabc1234", .newer),
        ("1.2.3-rc.1-2-gabc1234", "1.2.3", .newer),
        // Dates and times.
        ("2026-11-28", "2026-11-29", .newer), ("2026-9-1", "2026-11-1", .newer),
        ("2026.11.28", "2026.11.28-1", .newer), ("2015.09.01-13.32.27", "2026.11.28-09.05.00", .newer),
        ("2026.11.28-13.32.27", "2026.11.28-13.05.59", .older), ("v2026.1.2", "v2026.1.2-1", .newer),
        ("2026-11-28T10:00:00+02:00", "2026-11-28T09:00:00Z", .newer),
        ("2026-11-28T10:00:00Z", "2026-11-28T10:00:00.5Z", .same),
        ("20261128", "20261129", .newer), ("1700000000", "1700000001", .newer),
        // No order.
        ("3f2a9c8", "a0b1c2d", .unknown), ("3f2a9c8", "1.0.0", .unknown), ("1.0.0", "main", .unknown),
        ("1234567-dirty", "1234568-dirty", .unknown), ("1700000000", "1700000000000", .unknown),
        ("1700000000", "1.0.0", .unknown), ("2026-11-28", "1.0.0", .unknown), ("1..2", "1.3", .unknown),
        ("1.0.0-", "1.0.1", .unknown), ("1.0.0-a..b", "1.0.1", .unknown), ("1.0.0-ä", "1.0.1", .unknown),
        ("v", "v1", .unknown), ("", "1", .unknown), ("-1", "1", .unknown), ("1.2.3-x_y", "1.2.4", .unknown),
        (String(repeating: "1.", count: 70) + "1", "1.2", .unknown),
        ("same words", "same words", .same),
    ]

    @Test(arguments: versions)
    func `versions are put in order`(before: String, after: String, order: ManifestAge.Order) {
        let one = ManifestAge(version: before, digest: "1")
        let two = ManifestAge(version: after, digest: "2")
        #expect(two.order(after: one) == order)
        let opposite: ManifestAge.Order =
            switch order {
            case .newer: .older
            case .older: .newer
            case .same, .unknown, .mixed: order
            }
        #expect(one.order(after: two) == opposite)
    }

    private static let (early, late) = ("2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z")

    static let pairs: [Pair] = [
        Pair((nil, early), (nil, late), .newer), Pair((nil, late), (nil, early), .older),
        Pair((nil, early), (nil, early), .unknown),
        // The version decides.
        Pair(("1.0", late), ("2.0", early), .newer), Pair(("2.0", early), ("1.0", late), .older),
        // The same version with other content: the time decides.
        Pair(("1.0", nil), ("1.0", nil), .same), Pair(("1.0", early), ("1.0", late), .newer),
        Pair(("1.0", late), ("1.0", early), .older), Pair(("1.0", early), ("1.0", nil), .older),
        // Versions without an order: the time decides.
        Pair(("3f2a9c8", early), ("a0b1c2d", late), .newer),
        Pair(("3f2a9c8", late), ("a0b1c2d", early), .older),
        Pair(("3f2a9c8", nil), ("a0b1c2d", nil), .unknown),
        // Only one of them gives something.
        Pair((nil, nil), ("1.0", early), .unknown), Pair((nil, nil), (nil, nil), .unknown),
        // What would decide must not be left out.
        Pair(("1.0", nil), (nil, early), .older), Pair(("3f2a9c8", nil), (nil, late), .older),
        Pair(("3f2a9c8", early), ("a0b1c2d", nil), .older), Pair(("1.0", early), ("2.0", nil), .newer),
        Pair(("1.0", early), (nil, late), .newer), Pair(("3f2a9c8", late), (nil, early), .older),
        Pair(("1.0", nil), (nil, nil), .older), Pair((nil, early), (nil, nil), .older),
    ]

    @Test(arguments: pairs)
    func `the version decides, then the time`(pair: Pair) {
        #expect(pair.age(pair.after, "2").order(after: pair.age(pair.before, "1")) == pair.order)
        // A manifest is never older than itself.
        #expect(pair.age(pair.after, "1").order(after: pair.age(pair.before, "1")) == .same)
    }

    /// Cordova's files, which are signed one by one: the release of `chcp.json`, and the time of the signature of
    /// `chcp.manifest`, of which the digest is the last part.
    private static let releases:
        [(before: (String?, Int64?, String), after: (String?, Int64?, String), order: ManifestAge.Order)] = [
            (("2", 20, "b"), ("3", 30, "c"), .newer), (("2", 20, "b"), ("2", 20, "b"), .same),
            // A new release with an old manifest, and an old release with a new manifest.
            (("2", 20, "b"), ("3", 10, "a"), .older), (("2", 20, "b"), ("1", 30, "c"), .older),
            (("2", 20, "b"), ("1", 20, "b"), .older),
            // Another manifest with the same release.
            (("2", 20, "b"), ("2", 30, "c"), .mixed), (("2", 20, "b"), ("2", 10, "a"), .older),
            // A new release whose manifest has not changed, or has not been published yet.
            (("2", 20, "b"), ("3", 20, "b"), .same),
            (("2", 20, "b"), ("3", nil, "c"), .older), (("2", 20, "b"), (nil, 30, "c"), .older),
            (("2f0a", 20, "b"), ("17ce", 30, "c"), .newer), (("2f0a", 20, "b"), ("17ce", 10, "a"), .older),
            (("2", nil, "b"), ("3", 30, "c"), .newer),
        ]

    @Test(arguments: releases)
    func `a file is refused if it is older than its last version, also beside a newer second file`(
        before: (String?, Int64?, String), after: (String?, Int64?, String), order: ManifestAge.Order
    ) throws {
        func age(_ part: (String?, Int64?, String), signer: String? = "A") -> ManifestAge {
            ManifestAge(
                version: part.0, created: part.1.map { HTTPDate(secondsSinceEpoch: $0) }, digest: part.2,
                signer: signer, isVersionSeparate: true)
        }
        let last = age(before)
        #expect(age(after).order(after: last) == order)
        let now = HTTPDate(secondsSinceEpoch: 40)
        let admission = ManifestAdmission(
            age(after), expires: nil, after: last, trustedSigners: ["A"], now: now)
        switch order {
        case .older: #expect(admission == .older(than: last))
        case .mixed: #expect(admission == .mixed(with: last))
        case .newer, .same, .unknown: #expect(admission == .admitted)
        }
        #expect(
            ManifestAdmission(
                age(after), expires: nil, after: last, trustedSigners: ["A"], allowsRollback: true, now: now)
                == .admitted)
    }

    @Test func `a release whose own manifest has not been published does not count`() {
        let last = ManifestAge(version: "2", digest: "b", signer: "A", isVersionSeparate: true)
        var early = last
        early.version = "3"
        #expect(early.accept(after: last) == last)
        let whole = ManifestAge(version: "3", digest: "c", signer: "A", isVersionSeparate: true)
        #expect(whole.order(after: early.accept(after: last)) == .newer)
        #expect(whole.accept(after: last) == whole)
    }

    /// The signers of the last and the new manifest, the trusted ones, and whether the last manifest counts.
    private static let signers: [(last: String?, signer: String?, trusted: Set<String>, isBound: Bool)] = [
        (nil, nil, [], true), ("A", nil, [], false), (nil, "A", ["A"], false), ("A", "A", ["A"], true),
        ("A", "B", ["A", "B"], true), ("A", "B", ["B"], false),
    ]

    @Test(arguments: signers)
    func `a signed manifest is only bound by those of trusted keys`(
        last: String?, signer: String?, trusted: Set<String>, isBound: Bool
    ) throws {
        let before = ManifestAge(version: "9", digest: "1", signer: last)
        let after = ManifestAge(version: "1", digest: "2", signer: signer)
        #expect(after.isBound(by: before, trustedSigners: trusted) == isBound)
        let now = try #require(HTTPDate(rfc3339: Self.late))
        let admission = ManifestAdmission(
            after, expires: nil, after: before, trustedSigners: trusted, now: now)
        #expect(admission == (isBound ? .older(than: before) : .admitted))
        #expect(
            ManifestAdmission(
                after, expires: nil, after: before, trustedSigners: trusted, allowsRollback: true, now: now)
                == .admitted)
    }

    @Test func `a manifest expires at its time`() throws {
        let now = try #require(HTTPDate(rfc3339: Self.late))
        let age = ManifestAge(version: "1", digest: "1")
        for (seconds, isExpired) in [(1, false), (0, true), (-1, true)] as [(Int64, Bool)] {
            let expires = now.adding(seconds: seconds)
            for last in [nil, age] {
                let admission = ManifestAdmission(
                    age, expires: expires, after: last, allowsRollback: true, now: now)
                #expect(admission == (isExpired ? .expired(expires) : .admitted))
            }
        }
        // Being older is the worse fault.
        let newer = ManifestAge(version: "2", digest: "2")
        #expect(
            ManifestAdmission(age, expires: now, after: newer, now: now) == .older(than: newer))
    }

    @Test func `accepting the same content again does not lower what is stored`() throws {
        let (early, late) = (HTTPDate(rfc3339: Self.early), HTTPDate(rfc3339: Self.late))
        let last = ManifestAge(version: "2", created: late, digest: "1", signer: "A")
        var same = ManifestAge(version: "1", created: early, digest: "1", signer: "A")
        #expect(same.accept(after: last) == last)
        same.version = nil
        #expect(same.accept(after: last) == last)
        same.version = "3"
        #expect(same.accept(after: last).version == "3")
        // A first signature replaces what anyone could have written.
        var unsigned = last
        unsigned.signer = nil
        #expect(same.accept(after: unsigned) == same)
        let other = ManifestAge(version: "1", created: early, digest: "2")
        #expect(other.accept(after: last) == other)
        #expect(other.accept(after: nil) == other)
    }

    @Test func `a stored age is read again`() throws {
        let created = HTTPDate(rfc3339: Self.early)
        for age in [
            ManifestAge(version: "1", created: created, digest: "ab", signer: "RW"),
            ManifestAge(digest: "ab"), ManifestAge(version: "1", digest: "ab", isVersionSeparate: true),
        ] {
            let text = age.members.text()
            #expect(try ManifestAge(JSONValue.parse(text.utf8.span)) == age)
        }
        #expect(try ManifestAge(JSONValue.parse("{\"version\": \"1\"}".utf8.span)) == nil)
    }

    @Test func `the time of a verified signature counts if the manifest gives none`() throws {
        let (early, late) = (HTTPDate(rfc3339: Self.early), HTTPDate(rfc3339: Self.late))
        var manifest = try Sample.manifest("{\"start\": [\"/\"]}")
        #expect(ManifestAge(manifest, [], signer: "A", signed: early).created == early)
        #expect(ManifestAge(manifest, [], signed: early).created == nil)
        manifest.created = late
        #expect(ManifestAge(manifest, [], signer: "A", signed: early).created == late)
    }

    @Test func `formats give version, time and expiry`() throws {
        let ours = try Sample.manifest(
            """
            {"version": "2.4.0", "created": "2026-01-01T01:00:00.25+01:00", "expires": "2026-06-01T00:00:00z",
             "start": ["/"]}
            """)
        #expect(ours.version == "2.4.0")
        #expect(ours.created?.iso8601 == Self.early && ours.expires?.iso8601 == Self.late)
        let again = try Sample.manifest(ours.json)
        #expect(again == ours)
        let angular = try Sample.manifest(
            "{\"timestamp\": 1700000000123, \"hashTable\": {\"/a.js\": \"\(Sample.sha1)\"}}")
        #expect(angular.created?.iso8601 == "2023-11-14T22:13:20Z" && angular.version == "1700000000123")
        let odd = try Sample.manifest(
            "{\"timestamp\": \"today\", \"hashTable\": {\"/a.js\": \"\(Sample.sha1)\"}}")
        #expect(odd.created == nil && odd.version == "today")
        let stats = try Sample.manifest(
            "{\"hash\": \"2f1c\", \"builtAt\": 1700000000123, \"assets\": [], \"children\": []}")
        #expect(stats.created == angular.created)
    }

    @Test func `messages name both manifests, the dates and the clock`() throws {
        let now = try #require(HTTPDate(rfc3339: "2026-11-28T12:00:00Z"))
        let old = ManifestAge(version: "1.0", created: HTTPDate(rfc3339: Self.early), digest: "1")
        let last = ManifestAge(version: "2.0", digest: "2")
        let older = ManifestAgeText.older(old, than: last, now: now)
        #expect(older.contains("version 1.0 of 2026-01-01T00:00:00Z") && older.contains("version 2.0"))
        #expect(!older.contains("clock"))
        let future = ManifestAge(created: now.adding(seconds: 366 * 86_400), digest: "3")
        #expect(ManifestAgeText.older(old, than: future, now: now).contains("this machine's clock"))
        #expect(
            ManifestAgeText.older(ManifestAge(digest: "4"), than: last, now: now)
                .hasPrefix("it gives no version and no time, but version 2.0 was accepted last"))
        let dated = ManifestAge(created: now, digest: "5")
        #expect(ManifestAgeText.older(dated, than: last, now: now).hasPrefix("it gives no version, but"))
        let undated = ManifestAge(version: "1.0", digest: "6")
        #expect(ManifestAgeText.older(undated, than: old, now: now).hasPrefix("it gives no time, but"))
        #expect(ManifestAgeText.sameVersionReason(last).contains("accepted last as version 2.0"))

        let expired = ManifestAgeText.expiryReason(now.adding(seconds: -366 * 86_400), now: now)
        #expect(expired.contains("366 days ago by this machine's clock (2026-11-28T12:00:00Z)"))
        #expect(!expired.contains("server's"))
        let server = ManifestAgeText.expiryReason(
            now.adding(seconds: -1), now: now, serverDate: now.adding(seconds: -366 * 86_400))
        #expect(server.contains("while the server's clock says 2025-11-27T12:00:00Z"))

        #expect(ManifestAgeText.clockWarning(old, now: now) == nil)
        #expect(ManifestAgeText.clockWarning(ManifestAge(digest: "1"), now: now) == nil)
        let warning = ManifestAgeText.clockWarning(future, now: now, serverDate: future.created)
        #expect(warning?.contains("366 days ahead of this machine's clock") == true)
        #expect(warning?.contains("the server's clock says 2027-11-29T12:00:00Z") == true)
    }
}
