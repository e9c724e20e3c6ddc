import Bundles
import Check
import Crawl
import Digest
import Prefetch
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Store

/// Older and expired manifests.
@Suite struct ManifestRollbackTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    /// 2026-11-28T12:00:00Z.
    private static let now: Int64 = 1_795_867_200

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on("/robots.txt", .failure(404))
    }

    private var manifest: String { origin.url("/m.json") }

    /// Publishes a release: a bundle with this text, and its manifest. With a key, also its signature.
    ///
    /// - Parameters:
    ///   - signed: the time in the trusted comment of the signature.
    ///   - comment: another trusted comment.
    ///   - namesSite: whether the manifest says that it is that of the origin.
    private func publish(
        _ text: String, version: String? = nil, created: Int64? = nil, expires: Int64? = nil,
        at path: String = "/m.json", by key: MinisignPrivateKey? = nil, signed: Int64 = now,
        comment: String? = nil, namesSite: Bool = false
    ) {
        origin.on("/a.js", .file(text, type: "text/javascript"))
        let md5 = DigestStream.digest(.md5, of: Array(text.utf8).span).hex
        var members = namesSite ? "\"site\": \"\(origin.url("/"))\", " : ""
        if let version { members += "\"version\": \"\(version)\", " }
        for (key, time) in [("created", created), ("expires", expires)] {
            guard let time else { continue }
            members += "\"\(key)\": \"\(HTTPDate(secondsSinceEpoch: time).iso8601)\", "
        }
        let manifest = "{\(members)\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"\(md5)\"}]}"
        origin.on(path, .file(manifest, type: "application/json"))
        guard let key else { return }
        let comment = comment ?? MinisignSignature.trustedComment(timestamp: signed, file: "m.json")
        let signature = key.sign(Array(manifest.utf8), trustedComment: comment)
        origin.on(path + ".minisig", .file(signature.text, type: "text/plain"))
    }

    private func preload(
        allowsRollback: Bool = false, at time: Int64 = now, trusting keys: [MinisignPrivateKey] = []
    ) async throws -> PreloadReport {
        var options = PreloadOptions()
        options.trustedKeys = keys.map(\.publicKey.text)
        options.allowsRollback = allowsRollback
        options.secondsSinceEpoch = { time }
        return try await larder.preload(manifest, options: options)
    }

    private func servedText() throws -> String {
        let reader = try StoreReader(StoreFolder(larder.path))
        let body = try reader.response(for: origin.url("/a.js"))?.body
        let bytes = try body.flatMap { try reader.content(of: $0) }?.load()
        return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    }

    /// The age that is stored with the site.
    private func accepted() throws -> ManifestAge? {
        let site = try StoreReader(StoreFolder(larder.path)).sites().first
        return site.flatMap { SitePlan(text: $0.settings).manifest?.accepted }
    }

    @Test func `an older manifest is refused unless that is allowed, and then lowers what is stored`()
        async throws
    {
        publish("two", version: "2.0.0")
        #expect(try await preload().outcome == .changed)
        #expect(try accepted()?.version == "2.0.0")

        publish("one", version: "1.9.0")
        origin.forgetRequests()
        let refused = try await preload()
        #expect(refused.outcome == .refused && refused.snapshot == 1)
        let reason = try #require(refused.manifestFailure)
        #expect(reason.contains("version 1.9.0") && reason.contains("version 2.0.0"), "\(reason)")
        #expect(refused.refusalRemedy == .allowRollback)
        #expect(origin.requests.map(\.target) == ["/m.json"])
        #expect(try servedText() == "two" && accepted()?.version == "2.0.0")
        await #expect(throws: LarderError.self) { try await larder.update() }
        await #expect(throws: LarderError.self) { try await larder.prefetch(manifest: manifest) }
        #expect(try servedText() == "two" && accepted()?.version == "2.0.0")

        #expect(try await preload(allowsRollback: true).outcome == .changed)
        #expect(try servedText() == "one" && accepted()?.version == "1.9.0")
        #expect(try await preload().outcome == .current)
        publish("three", version: "1.9.1")
        #expect(try await preload().outcome == .changed)
        #expect(try servedText() == "three")
    }

    @Test func `an older manifest is refused with another base, and however its URL is written`() async throws
    {
        publish("two", version: "2")
        #expect(try await preload().outcome == .changed)
        publish("one", version: "1")
        for (name, base) in [
            (manifest, origin.url("/")), (manifest + "#part", nil), (origin.url("/x/../m.json"), nil),
            (manifest.replacing("http://", with: "HTTP://"), nil),
        ] {
            var options = PreloadOptions()
            options.base = base
            #expect(try await larder.preload(name, options: options).outcome == .refused, "\(name)")
        }
        #expect(try servedText() == "two")
    }

    @Test(arguments: [false, true])
    func `an older manifest is refused when it comes from another place than the one before`(isSigned: Bool)
        async throws
    {
        let newKey = try #require(MinisignPrivateKey())
        let key = isSigned ? newKey : nil
        let keys = key.map { [$0] } ?? []
        publish("two", version: "2", by: key, namesSite: true)
        #expect(try await preload(trusting: keys).outcome == .changed)
        publish("one", version: "1", at: "/old.json", by: key, comment: "timestamp:1", namesSite: true)
        origin.forgetRequests()
        var options = PreloadOptions()
        options.trustedKeys = keys.map(\.publicKey.text)
        let report = try await larder.preload(origin.url("/old.json"), options: options)
        #expect(report.outcome == .refused && report.refusalRemedy == .allowRollback, "\(report)")
        #expect(report.site == origin.url("/") && report.snapshot == 1)
        #expect(report.manifestFailure?.contains("older than version 2") == true)
        var prefetching = PrefetchOptions()
        prefetching.trustedKeys = options.trustedKeys
        let error = await #expect(throws: LarderError.self) {
            try await larder.prefetch(manifest: origin.url("/old.json"), options: prefetching)
        }
        #expect(error?.remedy == .allowRollback)
        #expect(error?.description.contains("snapshot 1 of ") == true, "\(error?.description ?? "")")
        #expect(origin.requests(to: "/a.js").isEmpty)
        #expect(try servedText() == "two" && accepted()?.version == "2")

        options.allowsRollback = true
        #expect(
            try await larder.preload(origin.url("/old.json"), options: options).outcome == .changed)
        #expect(try servedText() == "one" && accepted()?.version == "1")
    }

    @Test func `an unsigned manifest does not replace the bundles of a signed one`() async throws {
        let key = try #require(MinisignPrivateKey())
        publish("good", by: key)
        #expect(try await preload(trusting: [key]).outcome == .changed)
        let url = try #require(WebURL(origin.url("/a.js")))
        let good = try CurrentRequirements.all(in: StoreFolder(larder.path))[url]
        #expect(good != nil)
        publish("evil", at: "/other.json")
        _ = try await larder.preload(origin.url("/other.json"))
        #expect(try CurrentRequirements.all(in: StoreFolder(larder.path))[url] == good)
    }

    @Test func `updates and prefetches accept an older manifest if that is allowed`() async throws {
        publish("two", version: "2")
        #expect(try await larder.prefetch(manifest: manifest).isPublished)
        var options = PrefetchOptions()
        options.allowsRollback = true
        publish("one", version: "1")
        #expect(try await larder.prefetch(manifest: manifest, options: options).isPublished)
        #expect(try servedText() == "one" && accepted()?.version == "1")
        publish("zero", version: "0")
        let error = await #expect(throws: LarderError.self) { try await larder.update() }
        #expect(error?.kind == .refused && error?.remedy == .allowRollback)
        #expect(error?.description.contains("snapshot 2 of ") == true, "\(error?.description ?? "")")
        #expect(try await larder.update(options: options).first?.isPublished == true)
        #expect(try servedText() == "zero" && accepted()?.version == "0")
    }

    @Test func `a set that did not go live does not count`() async throws {
        publish("one", version: "1")
        #expect(try await preload().outcome == .changed)
        publish("three", version: "3")
        origin.on("/a.js", .file("other", type: "text/javascript"))
        #expect(try await preload().outcome == .refused)
        origin.on("/a.js", .failure(500))
        #expect(try await preload().outcome == .unreachable)
        #expect(try accepted()?.version == "1")
        publish("two", version: "2")
        #expect(try await preload().outcome == .changed)
        #expect(try servedText() == "two" && accepted()?.version == "2")
    }

    @Test func `a new version with the same bundles counts, although no snapshot is made`() async throws {
        publish("one", version: "1")
        let first = try await preload()
        publish("one", version: "3")
        let second = try await preload()
        #expect(second.outcome == .current && second.snapshot == first.snapshot)
        #expect(try accepted()?.version == "3")
        publish("two", version: "2")
        #expect(try await preload().outcome == .refused)
        #expect(try servedText() == "one")
    }

    @Test func `the accepted version survives removed snapshots, and the user can still roll back`()
        async throws
    {
        for version in 1...3 {
            publish("text \(version)", version: "\(version)")
            #expect(try await preload().outcome == .changed)
        }
        let site = try #require(try StoreReader(StoreFolder(larder.path)).sites().first?.name)
        #expect(try await larder.rollBack(site, to: 1) == 1)
        #expect(try servedText() == "text 1" && accepted()?.version == "3")
        try await larder.removeSnapshots([SnapshotName(2), SnapshotName(3)], of: site)
        #expect(try accepted()?.version == "3")
        publish("text 2", version: "2")
        #expect(try await preload().outcome == .refused)
        #expect(try servedText() == "text 1")
        // A check of what is stored reads the manifest of the live snapshot, which is an older one now.
        var options = CheckOptions()
        options.places = [.stored]
        let report = try await larder.check(manifest, options: options)
        #expect(report.isClean)
        #expect(report.notes.first?.contains("is version 1; version 3 was accepted later") == true)
        publish("text 3", version: "3")
        #expect(try await preload().outcome == .changed)
        #expect(try servedText() == "text 3")
    }

    @Test func `another manifest has another version`() async throws {
        publish("two", version: "2")
        #expect(try await preload().outcome == .changed)
        publish("one", version: "1", at: "/other.json")
        #expect(try await larder.preload(origin.url("/other.json")).outcome == .changed)
    }

    @Test func `the time of a signature counts for a manifest that gives neither version nor time`()
        async throws
    {
        let key = try #require(MinisignPrivateKey())
        publish("one", by: key, signed: Self.now - 100)
        #expect(try await preload(trusting: [key]).outcome == .changed)
        publish("two", by: key, signed: Self.now - 50)
        #expect(try await preload().outcome == .changed)
        publish("one", by: key, signed: Self.now - 100)
        let report = try await preload()
        #expect(report.outcome == .refused && report.refusalRemedy == .allowRollback)
        #expect(report.manifestFailure?.contains("2026-11-28T11:58:20Z") == true)
        #expect(report.manifestFailure?.contains("2026-11-28T11:59:10Z") == true)
        #expect(try servedText() == "two")
    }

    @Test func `a first signature accepts any version, and later versions are compared with it`() async throws
    {
        let key = try #require(MinisignPrivateKey())
        publish("nine", version: "9")
        #expect(try await preload().outcome == .changed)
        publish("two", version: "2", by: key)
        #expect(try await preload(trusting: [key]).outcome == .changed)
        #expect(try servedText() == "two")
        let age = try accepted()
        #expect(age?.version == "2" && age?.signer == key.publicKey.text)
        publish("one", version: "1", by: key)
        #expect(try await preload().outcome == .refused)
        #expect(try servedText() == "two")
    }

    @Test func `a version that a key signed does not count when the key is no longer trusted`() async throws {
        let old = try #require(MinisignPrivateKey())
        let new = try #require(MinisignPrivateKey())
        publish("nine", version: "9", by: old)
        #expect(try await preload(trusting: [old]).outcome == .changed)
        publish("two", version: "2", by: new)
        // While both keys are trusted, versions are compared.
        #expect(try await preload(trusting: [old, new]).outcome == .refused)
        #expect(try await preload(trusting: [new]).outcome == .changed)
        #expect(try servedText() == "two")
        publish("one", version: "1", by: old)
        #expect(try await preload(trusting: [old, new]).outcome == .refused)
        #expect(try servedText() == "two")
    }

    @Test func `an expired manifest is not used, and the last good set stays live`() async throws {
        publish("one", expires: Self.now + 10)
        #expect(try await preload(at: Self.now).outcome == .changed)
        publish("two", expires: Self.now + 20)
        origin.forgetRequests()
        let late = try await preload(at: Self.now + 20)
        #expect(late.outcome == .expired && late.snapshot == 1 && late.isServed)
        #expect(late.manifestFailure?.contains("expired at 2026-11-28T12:00:20Z") == true)
        #expect(origin.requests.map(\.target) == ["/m.json"])
        #expect(try servedText() == "one")
        // Permission for an older manifest is none for an expired one.
        #expect(try await preload(allowsRollback: true, at: Self.now + 20).outcome == .expired)

        // The same manifest again is not current either.
        publish("one", expires: Self.now + 10)
        #expect(try await preload(at: Self.now + 30).outcome == .expired)
        var options = PrefetchOptions()
        let time = Self.now + 30
        options.secondsSinceEpoch = { time }
        let update = try await larder.update(options: options)
        #expect(update.first?.isManifestExpired == true && update.first?.manifestFailure != nil)
        #expect(try servedText() == "one")

        publish("two", expires: Self.now + 20)
        #expect(try await preload(at: Self.now + 19).outcome == .changed)
        #expect(try servedText() == "two")
    }

    @Test func `an expired manifest is never the first one`() async throws {
        publish("one", expires: Self.now - 1)
        let report = try await preload()
        #expect(report.outcome == .expired && !report.isServed)
        var options = PrefetchOptions()
        options.secondsSinceEpoch = { Self.now }
        let error = await #expect(throws: LarderError.self) {
            try await larder.prefetch(manifest: manifest, options: options)
        }
        #expect(error?.kind == .refused)
        #expect(origin.requests(to: "/a.js").isEmpty)
    }

    @Test(arguments: [-1, 1] as [Int64])
    func `a clock that is wrong by a year is mentioned`(years: Int64) async throws {
        let clock = Self.now + years * 365 * 86_400
        publish("one", created: Self.now - 60, expires: Self.now + 30 * 86_400)
        let report = try await preload(at: clock)
        if years < 0 {
            #expect(report.outcome == .changed)
            #expect(report.manifestWarning?.contains("364 days ahead of this machine's clock") == true)
            var options = PrefetchOptions()
            options.secondsSinceEpoch = { clock }
            let update = try await larder.update(options: options)
            #expect(update.first?.manifestWarning == report.manifestWarning)
        } else {
            #expect(report.outcome == .expired)
            let reason = try #require(report.manifestFailure)
            #expect(
                reason.contains("335 days ago by this machine's clock (2027-11-28T12:00:00Z)"), "\(reason)")
            #expect(reason.contains("set the clock if it is wrong"), "\(reason)")
        }
    }

    @Test
    func
        `a check of what is stored reads the manifest of the live snapshot, with its expiry and its signature`()
        async throws
    {
        let key = try #require(MinisignPrivateKey())
        publish("one", version: "1", expires: Self.now + 10, by: key)
        #expect(try await preload(trusting: [key]).outcome == .changed)
        // A page of another site stores a copy of the next manifest, but not its bundle.
        publish("two", version: "2")
        origin.on("/a.js", .failure(404))
        origin.on("/other/", .page("<img src=/m.json>"))
        _ = try await larder.prefetch([origin.url("/other/")])
        func check(_ keys: [String] = [], at time: Int64 = Self.now) async throws -> CheckReport {
            var options = CheckOptions()
            options.places = [.stored]
            options.trustedKeys = keys
            options.secondsSinceEpoch = { time }
            return try await larder.check(manifest, options: options)
        }
        let report = try await check()
        #expect(report.isClean && report.count(.verified) == 1, "\(report)")
        #expect(report.signer == key.publicKey.text)
        #expect(try await check([key.publicKey.text]).isClean)
        let other = try #require(MinisignPrivateKey())
        let refused = try await check([other.publicKey.text])
        #expect(!refused.isClean && refused.items.map(\.verdict) == [.mismatch])
        let expired = try await check(at: Self.now + 10)
        #expect(expired.count(.verified) == 1 && expired.count(.unverifiable) == 1)
    }

    @Test func `a stored manifest without a signature is refused by a check with a key`() async throws {
        publish("one", version: "1")
        #expect(try await preload().outcome == .changed)
        let key = try #require(MinisignPrivateKey())
        var options = CheckOptions()
        options.places = [.stored]
        options.trustedKeys = [key.publicKey.text]
        let report = try await larder.check(manifest, options: options)
        #expect(report.items.map(\.verdict) == [.mismatch])
        #expect(report.items.first?.detail?.contains("it was stored when no signature was required") == true)
    }

    /// Releases before and after each other: version and time of the manifest, and the time of its signature.
    private static let omissions:
        [(before: (String?, Int64?, Int64), after: (String?, Int64?, Int64), isOlder: Bool)] = [
            // The time of the signature decides if the manifest gives no version or time any more.
            (("2.0", nil, 20), (nil, nil, 10), true), (("2.0", nil, 20), (nil, nil, 30), false),
            ((nil, 20, 20), (nil, nil, 10), true), ((nil, 20, 20), (nil, nil, 30), false),
            (("3f2a9c8", nil, 20), (nil, nil, 10), true), (("3f2a9c8", 20, 20), ("a0b1c2d", nil, 10), true),
            (("3f2a9c8", 20, 20), ("a0b1c2d", nil, 30), false),
        ]

    @Test(arguments: omissions)
    func `a signed manifest that leaves out its version or time is compared by the time of its signature`(
        before: (String?, Int64?, Int64), after: (String?, Int64?, Int64), isOlder: Bool
    ) async throws {
        let key = try #require(MinisignPrivateKey())
        publish("before", version: before.0, created: before.1, by: key, signed: before.2)
        #expect(try await preload(trusting: [key]).outcome == .changed)
        publish("after", version: after.0, created: after.1, by: key, signed: after.2)
        let report = try await preload()
        #expect(report.outcome == (isOlder ? .refused : .changed), "\(report)")
        #expect(report.refusalRemedy == (isOlder ? .allowRollback : nil))
    }

    @Test func `a signed manifest without version and any time is refused after one with a version`()
        async throws
    {
        let key = try #require(MinisignPrivateKey())
        publish("two", version: "2.0", by: key, comment: "no time")
        #expect(try await preload(trusting: [key]).outcome == .changed)
        for comment in ["no time", "timestamp:\(Self.now)"] {
            publish("one", by: key, comment: comment)
            let report = try await preload()
            #expect(
                report.outcome == .refused && report.refusalRemedy == .allowRollback, "\(comment): \(report)")
            #expect(report.manifestFailure?.contains("it gives no version") == true)
        }
        #expect(try await preload(allowsRollback: true).outcome == .changed)
    }

    @Test func `a check refuses an older manifest, and reports an expired one`() async throws {
        publish("two", version: "2", expires: Self.now + 10)
        #expect(try await preload().outcome == .changed)
        func check(allowsRollback: Bool = false, strict: Bool = false, at time: Int64 = Self.now) async throws
            -> CheckReport
        {
            var options = CheckOptions()
            options.allowsRollback = allowsRollback
            options.secondsSinceEpoch = { time }
            if strict { options.failsOn.insert(.unverifiable) }
            return try await larder.check(manifest, options: options)
        }
        #expect(try await check(strict: true).isClean)
        let expired = try await check(at: Self.now + 10)
        #expect(expired.isClean && expired.count(.verified) == 1 && expired.count(.unverifiable) == 1)
        #expect(expired.items.last?.detail?.contains("expired at 2026-11-28T12:00:10Z") == true)
        #expect(try await !check(strict: true, at: Self.now + 10).isClean)

        publish("one", version: "1")
        let older = try await check()
        #expect(!older.isClean && older.items.map(\.verdict) == [.mismatch])
        #expect(older.items.first?.detail?.contains("older than version 2") == true)
        #expect(try await check(allowsRollback: true).isClean)
        publish("three", version: "3", created: Self.now + 3 * 86_400)
        let ahead = try await check()
        #expect(ahead.isClean && ahead.notes.first?.contains("3 days ahead of this machine's clock") == true)
    }
}
