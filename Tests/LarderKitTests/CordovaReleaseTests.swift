import Check
import Crawl
import Digest
import Prefetch
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Store

/// Cordova's releases have two files: `chcp.json` with the release, and `chcp.manifest` with the digests. A server must not
/// combine those of two releases.
@Suite struct CordovaReleaseTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let key: MinisignPrivateKey

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        key = try #require(MinisignPrivateKey())
        origin.on("/robots.txt", .failure(404))
    }

    /// The proof that `chcp.manifest` belongs to `chcp.json`.
    enum Binding: CaseIterable {
        /// The digest in `chcp.json`.
        case digest
        /// Only the times of the signatures are known, as with minisign.
        case time
    }

    /// The two files of a release, with their signatures.
    private struct Release {
        let configuration: String
        let list: String
        let text: String
        let time: Int
    }

    private func release(_ number: Int, _ text: String, _ binding: Binding, time: Int? = nil) -> Release {
        let md5 = DigestStream.digest(.md5, of: Array(text.utf8).span).hex
        let list = "[{\"file\": \"app.js\", \"hash\": \"\(md5)\"}]"
        let digest = DigestStream.digest(.sha256, of: Array(list.utf8).span).hex
        let member = binding == .digest ? ", \"manifest_sha256\": \"\(digest)\"" : ""
        return Release(
            configuration:
                "{\"content_url\": \"\(origin.url("/www"))\", \"release\": \"\(number)\"\(member)}",
            list: list, text: text, time: time ?? number)
    }

    /// Serves `chcp.json` of one release and `chcp.manifest` of another.
    private func serve(_ one: Release, _ two: Release, hasTime: Bool = true) {
        origin.on("/www/app.js", .file(two.text, type: "text/javascript"))
        for (path, text, time) in [
            ("/www/chcp.json", one.configuration, one.time), ("/www/chcp.manifest", two.list, two.time),
        ] {
            origin.on(path, .file(text, type: "application/json"))
            let comment = hasTime ? "timestamp:\(time)" : "release"
            let signature = key.sign(Array(text.utf8), trustedComment: comment).text
            origin.on(path + ".minisig", .file(signature, type: "text/plain"))
        }
    }

    private func preload(trusts: Bool = true, allowsRollback: Bool = false) async throws -> PreloadReport {
        var options = PreloadOptions()
        if trusts { options.trustedKeys = [key.publicKey.text] }
        options.allowsRollback = allowsRollback
        return try await larder.preload(origin.url("/www/chcp.json"), options: options)
    }

    private func servedText() throws -> String {
        let reader = try StoreReader(StoreFolder(larder.path))
        let body = try reader.response(for: origin.url("/www/app.js"))?.body
        let bytes = try body.flatMap { try reader.content(of: $0) }?.load()
        return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    }

    @Test func `both files must be signed`() async throws {
        let first = release(1, "one", .digest)
        serve(first, first)
        origin.on("/www/chcp.json.minisig", .failure(404))
        let unsigned = try await preload()
        #expect(unsigned.outcome == .refused)
        #expect(unsigned.manifestFailure?.contains("chcp.json.minisig") == true)
        serve(first, first)
        origin.on("/www/chcp.manifest.minisig", .failure(404))
        #expect(try await preload().manifestFailure?.contains("chcp.manifest.minisig") == true)
        serve(first, first)
        let signed = try await preload()
        #expect(signed.outcome == .changed && signed.signer == key.publicKey.text)
    }

    @Test(arguments: Binding.allCases)
    func `files of two releases are refused, and whole releases are accepted`(binding: Binding) async throws {
        let releases = [(1, "one"), (2, "two"), (3, "three")].map { release($0, $1, binding) }
        serve(releases[1], releases[1])
        #expect(try await preload().outcome == .changed)
        // A new release with an old list, an old release with the list in force, and an old release.
        for (one, two) in [(2, 0), (1, 0), (0, 1), (0, 0)] {
            serve(releases[one], releases[two])
            let report = try await preload()
            #expect(report.outcome == .refused && report.snapshot == 1, "\(one), \(two): \(report)")
            #expect(try servedText() == "two")
        }
        serve(releases[2], releases[2])
        #expect(try await preload().outcome == .changed)
        #expect(try servedText() == "three")
        serve(releases[0], releases[0])
        #expect(try await preload(allowsRollback: true).outcome == .changed)
        #expect(try servedText() == "one")
    }

    @Test func `a release that was changed is refused until it has another number`() async throws {
        let first = release(1, "one", .time)
        serve(first, first)
        #expect(try await preload().outcome == .changed)
        let changed = release(1, "changed", .time, time: 5)
        serve(changed, changed)
        let report = try await preload()
        #expect(report.outcome == .refused && report.refusalRemedy == .allowRollback)
        #expect(report.manifestFailure?.contains("although it has the same version") == true, "\(report)")
        let second = release(2, "changed", .time, time: 5)
        serve(second, second)
        #expect(try await preload().outcome == .changed)
    }

    @Test func `a release whose list is published a moment later is accepted then`() async throws {
        let (first, second) = (release(1, "one", .time), release(2, "two", .time))
        serve(first, first)
        #expect(try await preload().outcome == .changed)
        serve(second, first)
        #expect(try await preload().outcome == .current)
        serve(second, second)
        #expect(try await preload().outcome == .changed)
        #expect(try servedText() == "two")
    }

    @Test func `a digest in chcp.json counts without keys, too`() async throws {
        let (first, second) = (release(1, "one", .digest), release(2, "two", .digest))
        serve(second, first)
        let report = try await preload(trusts: false)
        #expect(report.outcome == .refused && !report.isServed)
        #expect(report.manifestFailure?.contains("it is not the one whose digest") == true, "\(report)")
        serve(second, second)
        #expect(try await preload(trusts: false).outcome == .changed)
        var options = CheckOptions()
        #expect(try await larder.check(origin.url("/www/chcp.json"), options: options).isClean)
        serve(second, first)
        #expect(try await !larder.check(origin.url("/www/chcp.json"), options: options).isClean)
        options.places = [.stored]
        #expect(try await larder.check(origin.url("/www/chcp.json"), options: options).isClean)
    }

    @Test func `signed files that nothing binds to each other are refused`() async throws {
        let bare = release(1, "one", .time)
        serve(bare, bare, hasTime: false)
        let report = try await preload()
        #expect(report.outcome == .refused)
        #expect(report.manifestFailure?.contains("nothing proves that it belongs to") == true, "\(report)")
        let bound = release(1, "one", .digest)
        serve(bound, bound, hasTime: false)
        #expect(try await preload().outcome == .changed)
    }
}
