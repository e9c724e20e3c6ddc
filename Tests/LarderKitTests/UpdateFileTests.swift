import Check
import Crawl
import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Update files, from the build of a release to the store of a machine without a network.
@Suite struct UpdateFileTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let key: ManifestKey
    private let otherKey: ManifestKey

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        key = try ManifestKey.new()
        otherKey = try ManifestKey.new()
        origin.on("/robots.txt", .failure(404))
    }

    // MARK: Releases

    /// The files of a release of an app, whose bundle has a hash in its name.
    private static func files(_ release: Int) -> [String: String] {
        [
            "index.html":
                "<!doctype html><title>App \(release)</title><script src=app.\(release)a\(release)b\(release)c.js></script>",
            "app.\(release)a\(release)b\(release)c.js": script(release),
            "img/logo.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
        ]
    }

    private static func script(_ release: Int) -> String {
        (0..<500).map { "export const value\($0) = \($0 == 250 ? release : $0 * 37);\n" }.joined()
    }

    private func writeRelease(_ release: Int, _ files: [String: String]? = nil) throws -> String {
        let folder = "dist-\(release)"
        _ = mkdir(scratch.file(folder), 0o755)
        _ = mkdir(scratch.file(folder + "/img"), 0o755)
        for (name, text) in files ?? Self.files(release) { try scratch.write(text, to: folder + "/" + name) }
        return scratch.file(folder)
    }

    private static let base = "https://app.example/"

    /// Writes an update file between two releases; 0 is an empty folder.
    private func writeUpdate(
        _ from: Int, _ to: Int, key: ManifestKey? = nil, base: String? = base, created: Int64? = nil
    ) async throws -> String {
        let old = from == 0 ? scratch.file("dist-0") : try writeRelease(from)
        if from == 0 { _ = mkdir(old, 0o755) }
        var options = UpdateFileOptions()
        (options.key, options.base, options.version) = (key, base, "1.\(to)")
        options.created = Timestamp(secondsSinceEpoch: created ?? Int64(1_700_000_000 + to))
        options.replacesFile = true
        let file = scratch.file("update-\(from)-\(to).tar")
        let report = try await larder.writeUpdate(
            fromFolder: old, toFolder: try writeRelease(to), file: file, options: options)
        #expect(report.files == 3 && report.signer == key?.publicKey)
        return file
    }

    private func apply(
        _ file: String, in store: Larder? = nil, trusting keys: [String] = [], base: String? = nil,
        allowsRollback: Bool = false
    ) async throws -> PreloadReport {
        var options = PreloadOptions()
        (options.trustedKeys, options.base, options.allowsRollback) = (keys, base, allowsRollback)
        return try await (store ?? larder).preload(file, options: options)
    }

    /// The body that a URL shows; nil if there is none.
    private func body(_ target: String, in store: Larder? = nil, base: String = base) throws -> String? {
        let folder = (store ?? larder).folder
        guard folder.exists else { return nil }
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: base + target)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    /// The release that is live: 0 if there is none, -1 for a mixture.
    private func liveRelease(in store: Larder? = nil) throws -> Int {
        guard let page = try body("index.html", in: store) else { return 0 }
        for release in 1...4 where page == Self.files(release)["index.html"] {
            for (name, text) in Self.files(release) where try body(name, in: store) != text { return -1 }
            return release
        }
        return -1
    }

    /// Everything that the store has about its sites.
    private func state(of store: Larder? = nil) throws -> [String] {
        let folder = (store ?? larder).folder
        guard folder.exists else { return [] }
        let reader = try StoreReader(folder)
        return try reader.sites().map { site in
            "\(site.name) \(site.published ?? 0) \(site.snapshots.map { "\($0.id) \($0.finished ?? 0)" }) \(site.settings)"
        }
    }

    // MARK: Folders

    @Test func `a machine without a network gets the first release and then the changes`() async throws {
        let first = try await apply(writeUpdate(0, 1))
        #expect(first.outcome == .changed && first.requests == 0 && first.isFromUpdate)
        #expect((first.bundles, first.reused, first.fetched) == (3, 0, 3))
        #expect(try liveRelease() == 1)

        let file = try await writeUpdate(1, 2)
        let second = try await apply(file)
        #expect(second.outcome == .changed && second.site == first.site)
        #expect((second.bundles, second.reused, second.fetched) == (3, 1, 2))
        #expect(second.snapshot != first.snapshot)
        #expect(try liveRelease() == 2)
        // A differing line in a script of 20 kB.
        #expect(BodyContent.file(path: file).byteCount ?? .max < 9000)

        let again = try await apply(file)
        #expect(again.outcome == .current && again.snapshot == second.snapshot)
        #expect(try await larder.rollBack(Self.base) == first.snapshot)
        #expect(scratch.names(in: "store").filter { $0.hasSuffix(".part") } == [])
    }

    @Test func `the stored responses have the types of the files, and are scanned for links`() async throws {
        _ = try await apply(writeUpdate(0, 1))
        let reader = try StoreReader(larder.folder)
        let page = try #require(try reader.response(for: Self.base + "index.html"))
        #expect(page.type == "text/html" && !page.isImported && page.body?.title == "App 1")
        #expect(try reader.response(for: Self.base + "app.1a1b1c.js")?.type == "text/javascript")
        #expect(try reader.response(for: Self.base + "img/logo.svg")?.type == "image/svg+xml")
    }

    @Test func `an update applies to the site that has its base, when neither names the URL`() async throws {
        for (name, text) in Self.files(1) { origin.on("/" + name, .file(text, type: "text/plain")) }
        let folder = try writeRelease(1)
        let manifest = try await larder.manifest(of: folder)
        let path = try scratch.write(manifest.text, to: "manifest.json")
        var options = PreloadOptions()
        options.base = origin.url("/")
        #expect(try await larder.preload(path, options: options).outcome == .changed)
        origin.forgetRequests()
        let report = try await apply(writeUpdate(1, 2, base: nil))
        #expect(report.outcome == .changed)
        #expect(try body("app.2a2b2c.js", base: origin.url("/")) == Self.script(2))
        #expect(origin.requests.isEmpty)
        // Another site has the same files now, so that both may be meant.
        options.base = "http://127.0.0.1:\(origin.port)/copy/"
        for (name, text) in Self.files(2) { origin.on("/copy/" + name, .file(text, type: "text/plain")) }
        let second = try await larder.manifest(of: scratch.file("dist-2"))
        let other = try scratch.write(second.text, to: "other.json")
        #expect(try await larder.preload(other, options: options).outcome == .changed)
        let error = await #expect(throws: LarderError.self) { try await apply(writeUpdate(2, 3, base: nil)) }
        #expect(error?.kind == .input && error?.remedy == .base)
    }

    // MARK: Refusals

    @Test func `a store that lacks a file of the base refuses the update as a whole`() async throws {
        _ = try await apply(writeUpdate(0, 1))
        let before = try state()
        let report = try await apply(writeUpdate(2, 3))
        #expect(report.outcome == .refused && report.refused.map(\.isRequired) == [true, true])
        #expect(report.manifestFailure?.contains("apply the earlier updates first") == true, "\(report)")
        #expect(try state() == before && liveRelease() == 1)
    }

    @Test func `an unchanged file that is not stored makes the update refused`() async throws {
        var files = Self.files(1)
        files["img/logo.svg"] = nil
        let first = scratch.file("first.tar")
        var options = UpdateFileOptions()
        (options.base, options.created) = (Self.base, Timestamp(secondsSinceEpoch: 1_700_000_000))
        _ = mkdir(scratch.file("empty"), 0o755)
        _ = try await larder.writeUpdate(
            fromFolder: scratch.file("empty"), toFolder: try writeRelease(1, files), file: first,
            options: options)
        #expect(try await apply(first).outcome == .changed)
        let report = try await apply(writeUpdate(1, 2))
        #expect(report.outcome == .refused)
        #expect(report.refused.map(\.reason) == ["it is neither stored nor in the update"])
        #expect(try body("app.2a2b2c.js") == nil)
    }

    @Test func `an update is refused by the store of another site, which it leaves unchanged`() async throws {
        let other = Larder(at: scratch.file("other"))
        var options = UpdateFileOptions()
        options.base = "https://other.example/"
        _ = mkdir(scratch.file("empty"), 0o755)
        let file = scratch.file("other.tar")
        _ = try await larder.writeUpdate(
            fromFolder: scratch.file("empty"), toFolder: try writeRelease(1), file: file, options: options)
        #expect(try await apply(file, in: other).outcome == .changed)
        let before = try state(of: other)
        // The bodies are stored, but belong to the other site.
        let report = try await apply(writeUpdate(1, 2), in: other)
        #expect(report.outcome == .refused && report.snapshot == nil)
        #expect(try state(of: other) == before)
    }

    @Test func `an update cannot bring files of a site that it does not name`() async throws {
        origin.on("/docs/", .page("Documents"))
        #expect(try await larder.prefetch([origin.url("/docs/")]).isPublished)
        let before = try state()
        let report = try await apply(writeUpdate(0, 1, base: origin.url("/other/")))
        #expect(report.outcome == .refused && report.snapshot == nil)
        let reason = report.refused.first?.reason ?? ""
        #expect(reason == "it belongs to the stored site \(origin.url("/docs/"))")
        #expect(try state() == before)
    }

    @Test func `an update does not replace the pages of a mirrored site that it does not name`() async throws
    {
        origin.on("/", .page("Home"))
        #expect(try await larder.prefetch([origin.url("/")]).isPublished)
        let before = try state()
        let update = try await apply(writeUpdate(0, 1, base: origin.url("/")))
        #expect(update.outcome == .refused)
        #expect(update.manifestFailure?.contains("has pages of its own") == true)
        #expect(try state() == before)
    }

    @Test func `a site that trusts a key accepts only updates that the key signed`() async throws {
        let trusted = key.publicKey.text
        #expect(try await apply(writeUpdate(0, 1, key: key), trusting: [trusted]).signer == trusted)
        for (number, signer) in [nil, otherKey].enumerated() {
            let before = try state()
            let report = try await apply(writeUpdate(1, 2, key: signer))
            #expect(report.outcome == .refused, "\(number)")
            #expect(
                report.manifestFailure?.contains(number == 0 ? "not signed" : "another key") == true,
                "\(report)")
            #expect(try state() == before && liveRelease() == 1)
        }
        #expect(try await apply(writeUpdate(1, 2, key: key)).signer == trusted)
        #expect(try liveRelease() == 2)
    }

    @Test func `a key is trusted on first use, and then required`() async throws {
        let report = try await apply(writeUpdate(0, 1, key: key), trusting: ["first-use"])
        #expect(report.signer == key.publicKey.text && report.hasNewKeys)
        #expect(try await apply(writeUpdate(1, 2, key: otherKey)).outcome == .refused)
        #expect(try await apply(writeUpdate(1, 2, key: key)).outcome == .changed)
    }

    @Test func `a changed byte anywhere leaves the store as it was`() async throws {
        let trusted = key.publicKey.text
        _ = try await apply(writeUpdate(0, 1, key: key), trusting: [trusted])
        let before = try state()
        let bytes = try WholeFile.read(await writeUpdate(1, 2, key: key), atMost: 1 << 20)
        // All bytes are tested with the reader alone (UpdatesTests).
        for index in stride(from: 0, to: bytes.count, by: 97) {
            var changed = bytes
            changed[index] ^= 0x20
            let file = try scratch.write(changed, to: "changed.tar")
            do {
                let report = try await apply(file)
                #expect(report.outcome == .refused, "byte \(index)")
            } catch let error as LarderError {
                #expect(error.kind == .refused || error.kind == .input, "byte \(index): \(error)")
            }
        }
        #expect(try state() == before && liveRelease() == 1)
    }

    @Test func `an older update is refused after a newer one, unless it is allowed`() async throws {
        for release in 0...2 { _ = try await apply(writeUpdate(release, release + 1)) }
        #expect(try liveRelease() == 3)
        let before = try state()
        let old = try await writeUpdate(1, 2)
        let report = try await apply(old)
        #expect(report.outcome == .refused && report.refusalRemedy == .allowRollback, "\(report)")
        #expect(try state() == before && liveRelease() == 3)
        let allowed = try await apply(old, allowsRollback: true)
        #expect(allowed.outcome == .changed)
        #expect(try liveRelease() == 2)
    }

    // MARK: Snapshots

    @Test func `a site is updated between two snapshots, with its redirects and gone pages`() async throws {
        func publish(_ release: Int) {
            let links = "<a href=/moved>m</a><a href=/news>n</a><a href=/old>o</a>"
            origin.on("/", .page("<title>Home \(release)</title><script src=/app.js></script>\(links)"))
            origin.on("/app.js", .file(Self.script(release), type: "text/javascript"))
            origin.on("/news", .page("<title>News \(release)</title>"))
            origin.on("/moved", release == 1 ? .page("<title>Page</title>") : .redirect(to: "/news"))
            origin.on("/old", release == 1 ? .page("<title>Old</title>") : .failure(410))
        }
        publish(1)
        let site = origin.url("/")
        var options = PrefetchOptions()
        options.indexes = false
        options.allowsShrinking = true
        #expect(try await larder.prefetch([site], options: options).isPublished)
        // The other machine has the site from a copy of the store.
        let copied = try ChildProcess("/bin/cp", ["-a", larder.path, scratch.file("copy")]).wait()
        #expect(copied.status == 0, "\(copied)")
        let copy = Larder(at: scratch.file("copy"))
        publish(2)
        #expect(try await larder.prefetch([site], options: options).isPublished)
        var update = UpdateFileOptions()
        (update.key, update.created) = (key, Timestamp(secondsSinceEpoch: 1_800_000_000))
        let file = scratch.file("site.tar")
        let report = try await larder.writeUpdate(ofSite: site, file: file, options: update)
        #expect(report.from?.number == 1 && report.to?.number == 2 && report.site == site)
        // The front page, the script, the news, the redirect and the page that is gone.
        #expect(report.changed == 5 && report.patched == 3, "\(report)")

        origin.forgetRequests()
        let applied = try await apply(file, in: copy, trusting: [key.publicKey.text])
        #expect(applied.outcome == .changed && applied.site == site, "\(applied)")
        #expect(origin.requests.isEmpty)
        let reader = try StoreReader(copy.folder)
        for target in ["", "app.js", "news"] {
            #expect(try body(target, in: copy, base: site) == body(target, base: site), "\(target)")
        }
        let moved = try #require(try reader.response(for: site + "moved"))
        #expect(moved.status == 302 && HTTPFields(block: moved.fields.utf8.span)["Location"] == "/news")
        #expect(try reader.response(for: site + "old")?.status == 410)
        #expect(try reader.response(for: site)?.role == 0)

        // The key stays with the site.
        publish(3)
        #expect(try await larder.prefetch([site], options: options).isPublished)
        (update.key, update.replacesFile) = (nil, true)
        update.created = Timestamp(secondsSinceEpoch: 1_800_000_001)
        _ = try await larder.writeUpdate(ofSite: site, file: file, options: update)
        #expect(try await apply(file, in: copy).outcome == .refused)
        update.key = key
        _ = try await larder.writeUpdate(ofSite: site, file: file, options: update)
        #expect(try await apply(file, in: copy).outcome == .changed)
        #expect(try body("app.js", in: copy, base: site) == Self.script(3))
    }

    @Test func `responses with a login are left out of an update`() async throws {
        let host = try #require(WebURL(origin.url("/"))?.host)
        var options = PrefetchOptions()
        options.indexes = false
        options.network.headers = ["\(host) Authorization: Bearer secret"]
        for release in 1...2 {
            origin.on("/", .page("<title>Home \(release)</title>"))
            #expect(try await larder.prefetch([origin.url("/")], options: options).isPublished)
        }
        let error = await #expect(throws: LarderError.self) {
            try await larder.writeUpdate(ofSite: origin.url("/"), file: scratch.file("u.tar"))
        }
        #expect(error?.kind == .input)
        #expect(!scratch.names().contains("u.tar"))
    }

    // MARK: Writing

    @Test func `an existing file is only replaced if that is asked for, and a folder must have files`()
        async throws
    {
        let (old, new) = (try writeRelease(1), try writeRelease(2))
        let file = try scratch.write("mine", to: "mine.tar")
        let exists = await #expect(throws: LarderError.self) {
            try await larder.writeUpdate(fromFolder: old, toFolder: new, file: file)
        }
        #expect(exists?.remedy == .replaceFile)
        #expect(try WholeFile.read(file, atMost: 100) == Array("mine".utf8))
        _ = mkdir(scratch.file("empty"), 0o755)
        let empty = await #expect(throws: LarderError.self) {
            try await larder.writeUpdate(
                fromFolder: old, toFolder: scratch.file("empty"), file: scratch.file("u.tar"))
        }
        #expect(empty?.kind == .input && empty?.description.contains("has no files") == true)
        let missing = await #expect(throws: LarderError.self) {
            try await larder.writeUpdate(
                fromFolder: scratch.file("none"), toFolder: new, file: scratch.file("u.tar"))
        }
        #expect(missing?.kind == .input)
    }
}
