import Glibc
import System
import TestOrigin
import Testing

@testable import LarderKit
@testable import Store

@Suite struct TUFPreloadTests {
    private let scratch: TemporaryFolder
    private let repository: ServedRepository
    private let larder: Larder
    private var options = PreloadOptions()

    init() throws {
        scratch = try TemporaryFolder()
        repository = try ServedRepository(try TestOrigin())
        larder = Larder(at: scratch.file("store"))
        try scratch.write(repository.rootText, to: "root.json")
        options.trustedKeys = [scratch.file("root.json")]
        repository.publish(["a.js": "a", "lib/b.js": "bb"])
    }

    private var origin: TestOrigin { repository.origin }

    /// The stored bodies of the site's live snapshot by the last part of their paths, without digests in names.
    private func stored() throws -> [String: String] {
        let reader = try StoreReader(StoreFolder(larder.path))
        var bodies: [String: String] = [:]
        for request in origin.requests.map(\.target) where request.hasPrefix("/targets/") {
            guard let body = try reader.response(for: origin.url(request))?.body,
                let bytes = try reader.content(of: body)?.load()
            else { continue }
            bodies[
                String(request.split(separator: "/").last ?? "").split(separator: ".").suffix(2).joined(
                    separator: ".")] =
                String(decoding: bytes, as: UTF8.self)
        }
        return bodies
    }

    @Test func `the targets of a repository are fetched, verified and live`() async throws {
        let report = try await larder.preload(repository.location, options: options)
        #expect(report.outcome == .changed, "\(report)")
        #expect((report.bundles, report.fetched) == (2, 2))
        #expect(report.algorithms == ["sha256": 2])
        #expect(try stored() == ["a.js": "a", "b.js": "bb"])
    }

    @Test func `a file under the plain name of a target must be that target`() async throws {
        repository.publish(["app.js": "import './b.js'", "b.js": "b"])
        origin.on("/targets/b.js", .file("evil()", type: "text/javascript"))
        let report = try await larder.preload(repository.location, options: options)
        #expect(report.refused.map(\.url) == [origin.url("/targets/b.js")])
        let reader = try StoreReader(StoreFolder(larder.path))
        #expect(try reader.response(for: origin.url("/targets/b.js"))?.body == nil)
    }

    @Test func `the site is named after the metadata, however its URL is written`() async throws {
        let before = repository.timestampText
        _ = try await larder.preload(repository.location, options: options)
        repository.publish(["a.js": "new"])
        let spelling = String(repository.location.dropLast())
        #expect(try await larder.preload(spelling, options: options).outcome == .changed)
        repository.serveTimestamp(before)
        #expect(try await larder.preload(repository.location, options: options).outcome == .refused)
        let sites = try StoreReader(StoreFolder(larder.path)).sites()
        #expect(sites.map(\.name) == [origin.url("/metadata/")])
    }

    @Test func `a second preload needs no trusted root, and fetches nothing`() async throws {
        let first = try await larder.preload(repository.location, options: options)
        origin.forgetRequests()
        let second = try await larder.preload(repository.location)
        #expect(second.outcome == .current, "\(second)")
        #expect(second.snapshot == first.snapshot)
        #expect(origin.requests.map(\.target) == ["/metadata/2.root.json", "/metadata/timestamp.json"])
    }

    @Test func `without a trusted root a repository is not used`() async throws {
        let error = await #expect(throws: LarderError.self) {
            try await larder.preload(repository.location)
        }
        #expect(error?.kind == .input)
        #expect(origin.requests.isEmpty)
    }

    @Test func `a key of minisign is not a trusted root`() async throws {
        try scratch.write("untrusted comment: key\nRWQ\n", to: "key.pub")
        var options = options
        options.trustedKeys = [scratch.file("key.pub")]
        let wrong = options
        let error = await #expect(throws: LarderError.self) {
            try await larder.preload(repository.location, options: wrong)
        }
        #expect(error?.kind == .input)
        #expect(error?.description.contains("minisign") == true)
    }

    @Test func `changed targets go live together, and the trust stays when snapshots are removed`()
        async throws
    {
        _ = try await larder.preload(repository.location, options: options)
        repository.publish(["a.js": "new", "lib/b.js": "bb"])
        let changed = try await larder.preload(repository.location)
        #expect(changed.outcome == .changed)
        #expect((changed.reused, changed.fetched) == (1, 1))
        #expect(try stored()["a.js"] == "new")
    }

    @Test func `an older timestamp is refused, and the last good set stays live`() async throws {
        let before = repository.timestampText
        let first = try await larder.preload(repository.location, options: options)
        repository.publish(["a.js": "new"])
        _ = try await larder.preload(repository.location)
        repository.serveTimestamp(before)
        let refused = try await larder.preload(repository.location)
        #expect(refused.outcome == .refused)
        #expect(refused.snapshot == first.snapshot.map { $0 + 1 })
        #expect(refused.manifestFailure?.contains("version") == true)
    }

    @Test func `a root by other keys is refused`() async throws {
        _ = try await larder.preload(repository.location, options: options)
        repository.publishNextRoot(signedBy: 1)
        let refused = try await larder.preload(repository.location)
        #expect(refused.outcome == .refused)
        #expect(refused.isServed)
    }

    @Test func `accepted metadata stays stored although a bundle is refused`() async throws {
        _ = try await larder.preload(repository.location, options: options)
        let before = repository.timestampText
        repository.publish(["a.js": "new"])
        repository.spoil("a.js")
        #expect(try await larder.preload(repository.location).outcome == .refused)
        repository.serveTimestamp(before)
        let refused = try await larder.preload(repository.location)
        #expect(refused.outcome == .refused)
        #expect(refused.manifestFailure?.contains("timestamp") == true, "\(refused)")
    }

    @Test func `if the timestamp has expired, the last good set stays live`() async throws {
        _ = try await larder.preload(repository.location, options: options)
        repository.publish(["a.js": "new"], expires: SystemClock.secondsSinceEpoch() - 1)
        let refused = try await larder.preload(repository.location)
        #expect(refused.outcome == .expired)
        #expect(refused.isServed)
    }

    @Test func `a clock that is a year ahead changes nothing that is stored`() async throws {
        let first = try await larder.preload(repository.location, options: options)
        var ahead = PreloadOptions()
        ahead.secondsSinceEpoch = { SystemClock.secondsSinceEpoch() + 31_536_000 }
        let expired = try await larder.preload(repository.location, options: ahead)
        #expect(expired.outcome == .expired)
        #expect(expired.snapshot == first.snapshot)
        #expect(try await larder.preload(repository.location).outcome == .current)
    }

    @Test func `another manifest does not take the place of a repository unless its key is named`()
        async throws
    {
        _ = try await larder.preload(repository.location, options: options)
        let site = try StoreReader(StoreFolder(larder.path)).sites()[0].name
        try scratch.write(
            """
            {"site": "\(site)", "bundles": [
              {"url": "\(origin.url("/a.js"))", "md5": "0cc175b9c0f1b6a831c399e269772661"}]}
            """,
            to: "m.json")
        let refused = try await larder.preload(scratch.file("m.json"))
        #expect(refused.outcome == .refused)
        #expect(refused.manifestFailure?.contains("TUF repository") == true, "\(refused)")
    }

    @Test func `if the repository cannot be reached, the last good set stays live`() async throws {
        let first = try await larder.preload(repository.location, options: options)
        origin.on("/metadata/timestamp.json", .failure(503))
        let unreachable = try await larder.preload(repository.location)
        #expect(unreachable.outcome == .unreachable)
        #expect(unreachable.snapshot == first.snapshot)
    }

    @Test func `plain names are used if the server has them`() async throws {
        repository.servesPlainNames = true
        repository.publish(["a.js": "a", "lib/b.js": "bb"])
        let report = try await larder.preload(repository.location, options: options)
        #expect(report.outcome == .changed)
        let reader = try StoreReader(StoreFolder(larder.path))
        #expect(try reader.response(for: origin.url("/targets/lib/b.js")) != nil)
    }

    @Test func `a check compares the targets with the trusted metadata`() async throws {
        var check = CheckOptions()
        check.trustedKeys = options.trustedKeys
        #expect(try await larder.check(repository.location, options: check).isClean)
        repository.spoil("a.js")
        #expect(try await !larder.check(repository.location, options: check).isClean)
        // After a preload the stored root suffices.
        repository.publish(["a.js": "a"])
        _ = try await larder.preload(repository.location, options: options)
        #expect(try await larder.check(repository.location).isClean)
    }

    @Test(arguments: ["metadata", "./metadata/", "x/../metadata/#part"])
    func `an equal location in another spelling is current`(path: String) async throws {
        _ = try await larder.preload(repository.location, options: options)
        let host = origin.url("/").replacing("http://", with: "HTTP://")
        let second = try await larder.preload("tuf+\(host)\(path)")
        #expect(second.outcome == .current, "\(second)")
    }

    @Test func `older metadata of a repository cannot be allowed`() async throws {
        _ = try await larder.preload(repository.location, options: options)
        origin.forgetRequests()
        var options = options
        options.allowsRollback = true
        let wrong = options
        let error = await #expect(throws: LarderError.self) {
            try await larder.preload(repository.location, options: wrong)
        }
        #expect(error?.kind == .input && error?.description.contains("TUF") == true)
        var check = CheckOptions()
        check.allowsRollback = true
        let wrongCheck = check
        await #expect(throws: LarderError.self) {
            try await larder.check(repository.location, options: wrongCheck)
        }
        #expect(origin.requests.isEmpty)
    }

    @Test func `a long page for a missing root counts as missing, and one for an error as failed`()
        async throws
    {
        let page = String(repeating: "not found ", count: 100_000)
        origin.on("/metadata/2.root.json", .page(page, status: 404))
        #expect(try await larder.preload(repository.location, options: options).outcome == .changed)
        origin.on("/metadata/timestamp.json", .page(page, status: 503))
        #expect(try await larder.preload(repository.location).outcome == .unreachable)
    }

    @Test(arguments: [
        ("tuf", "root.json"), (".", "tuf/root.json"), ("link", "root.json"), ("new/../tuf", "a.js"),
    ])
    func `a target is not written into the folder of the trusted metadata`(
        folder: String, target: String
    ) async throws {
        repository.publish([target: "evil"])
        symlink(scratch.file("tuf"), scratch.file("link"))
        var download = TUFDownload(from: origin.url("/metadata"), metadataFolder: scratch.file("tuf"))
        download.trustedRoot = scratch.file("root.json")
        download.targets = [target]
        download.targetFolder = scratch.file(folder)
        let wanted = download
        let error = await #expect(throws: LarderError.self) { try await wanted.run() }
        #expect(error?.kind == .refused && error?.description.contains(scratch.file("tuf")) == true)
        #expect(
            try WholeFile.read(scratch.file("tuf/root.json"), atMost: 100_000)
                == Array(repository.rootText.utf8))
        download.targetFolder = scratch.file("elsewhere")
        #expect(try await download.run().files.count == 1)
    }

    @Test func `a download keeps its trust in a folder, and does not download twice`() async throws {
        var download = TUFDownload(
            from: origin.url("/metadata"), metadataFolder: scratch.file("tuf"))
        download.targetFolder = scratch.file("dist")
        download.targets = ["lib/b.js"]
        let untrusted = download
        await #expect(throws: LarderError.self) { try await untrusted.run() }
        download.trustedRoot = scratch.file("root.json")
        let first = try await download.run()
        #expect(first.files.map(\.isReused) == [false])
        #expect(first.rootVersion == 1)
        #expect(
            try String(decoding: WholeFile.read(scratch.file("dist/lib/b.js"), atMost: 10), as: UTF8.self)
                == "bb")
        download.trustedRoot = nil
        #expect(try await download.run().files.map(\.isReused) == [true])
        download.targets = ["missing.js"]
        let missing = download
        let error = await #expect(throws: LarderError.self) { try await missing.run() }
        #expect(error?.kind == .refused)
        repository.publish(["lib/b.js": "new"])
        repository.spoil("lib/b.js")
        download.targets = ["lib/b.js"]
        let spoiled = download
        await #expect(throws: LarderError.self) { try await spoiled.run() }
        #expect(
            try String(decoding: WholeFile.read(scratch.file("dist/lib/b.js"), atMost: 10), as: UTF8.self)
                == "bb")
    }
}
