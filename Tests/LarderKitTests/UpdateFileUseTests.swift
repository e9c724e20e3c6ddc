import Check
import Crawl
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// A site whose releases come in update files: applying several, its start page, updating, scheduling and checking it.
@Suite struct UpdateFileUseTests {
    private let scratch: TemporaryFolder
    private let larder: Larder
    private let key: ManifestKey
    private static let base = "https://app.example/"

    init() throws {
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("store"))
        key = try ManifestKey.new()
    }

    private static func files(_ release: Int) -> [String: String] {
        [
            "index.html":
                "<title>App \(release)</title><script src=app.js></script><a href=about.html>About</a>",
            "about.html": "<title>About</title><a href=https://other.example/>Other</a>",
            "app.js": (0..<200).map { "export const v\($0) = \($0 == 7 ? release : $0);\n" }.joined(),
        ]
    }

    private func writeRelease(_ release: Int, _ files: [String: String]) throws -> String {
        let folder = "dist-\(release)"
        _ = mkdir(scratch.file(folder), 0o755)
        for (name, text) in files { try scratch.write(text, to: folder + "/" + name) }
        return scratch.file(folder)
    }

    /// Writes the update file to a release from the one before; release 0 is empty.
    private func writeUpdate(
        _ to: Int, base: String? = base, isSigned: Bool = true, files: ((Int) -> [String: String])? = nil
    ) async throws -> String {
        let files = files ?? Self.files
        let old = try writeRelease(to - 1, to == 1 ? [:] : files(to - 1))
        var options = UpdateFileOptions()
        (options.key, options.base, options.replacesFile) = (isSigned ? key : nil, base, true)
        options.version = "1.\(to)"
        options.created = Timestamp(secondsSinceEpoch: Int64(1_700_000_000 + to))
        if to > 1 { options.fromVersion = "1.\(to - 1)" }
        let file = scratch.file("\(to).tar")
        _ = try await larder.writeUpdate(
            fromFolder: old, toFolder: try writeRelease(to, files(to)), file: file, options: options)
        return file
    }

    private func apply(_ file: String, trusting keys: [String] = []) async throws -> PreloadReport {
        var options = PreloadOptions()
        options.trustedKeys = keys
        return try await larder.preload(file, options: options)
    }

    private func body(_ href: String) throws -> String? {
        let reader = try StoreReader(larder.folder)
        guard let body = try reader.response(for: href)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    // MARK: Applying

    @Test func `updates are applied in order although each command names the key`() async throws {
        for release in 1...3 {
            let report = try await apply(writeUpdate(release), trusting: [key.publicKey.text])
            #expect(report.outcome == .changed && report.site == Self.base, "\(report)")
        }
        #expect(try body(Self.base + "index.html") == Self.files(3)["index.html"])
        #expect(try await larder.snapshots().sites.map(\.name) == [Self.base])
    }

    @Test func `two apps on one origin are two sites`() async throws {
        let bases = [Self.base + "one/", Self.base + "two/"]
        for base in bases { #expect(try await apply(writeUpdate(1, base: base)).site == base) }
        #expect(try await larder.snapshots().sites.map(\.name).sorted() == bases)
    }

    @Test func `a missing release is named in the refusal, with the release that is stored`() async throws {
        _ = try await apply(writeUpdate(1))
        let report = try await apply(writeUpdate(3))
        #expect(report.outcome == .refused)
        let text = report.manifestFailure ?? ""
        #expect(
            text.contains(
                "it needs release 1.2 of \(Self.base), and this machine has 1.1: apply the earlier"),
            "\(text)")
        let other = try await apply(writeUpdate(2, base: "https://new.example/"))
        #expect(other.manifestFailure?.contains("this machine does not have it") == true, "\(other)")
    }

    @Test func `an error names the update file that was just given`() async throws {
        _ = try await apply(writeUpdate(1))
        let second = try await apply(writeUpdate(2))
        #expect(second.outcome == .changed)
        let report = try await apply(scratch.file("1.tar"))
        #expect(report.outcome == .refused && report.site == Self.base)
        let text = report.manifestFailure ?? ""
        #expect(text.contains("1.tar is refused") && !text.contains("2.tar"), "\(text)")
        #expect(report.snapshot == second.snapshot)
    }

    @Test func `a site gives up its key only for a caller who names the site`() async throws {
        _ = try await apply(writeUpdate(1), trusting: [key.publicKey.text])
        // The path is that of the last update.
        let file = scratch.file("1.tar")
        #expect(rename(try await writeUpdate(2, isSigned: false), file) == 0)
        var options = PreloadOptions()
        options.trustedKeys = ["none"]
        let refused = try await larder.preload(file, options: options)
        #expect(
            refused.outcome == .refused && refused.refusalRemedy == .newManifest(of: Self.base), "\(refused)")
        options.base = Self.base
        let accepted = try await larder.preload(file, options: options)
        #expect(accepted.outcome == .changed && accepted.signer == nil && accepted.hasNewKeys, "\(accepted)")
    }

    // MARK: Start page

    @Test func `the start page is the index file of the base, also after an update`() async throws {
        for release in 1...2 {
            _ = try await apply(writeUpdate(release))
            #expect(try body(Self.base) == Self.files(release)["index.html"])
        }
        // The link to another site is not missing.
        #expect(try await larder.status().sites[0].figures?.missing?.notFetched == 0)
        let site = try #require(try await larder.snapshots().sites.first)
        #expect(site.start == [Self.base])
        #expect(try StoreReader(larder.folder).response(for: Self.base)?.role == 0)
        _ = try await larder.rollBack(Self.base)
        #expect(try body(Self.base) == Self.files(1)["index.html"])
    }

    @Test func `without an index file, the start page is the first page`() async throws {
        _ = try await apply(writeUpdate(1) { _ in ["main.html": "<title>Main</title>", "a.js": "1"] })
        let response = try #require(try StoreReader(larder.folder).response(for: Self.base))
        #expect(response.status == 302)
        #expect(HTTPFields(block: response.fields.utf8.span)["Location"] == Self.base + "main.html")
    }

    @Test func `a release without pages has no start page`() async throws {
        #expect(try await apply(writeUpdate(1) { _ in ["a.js": "1"] }).outcome == .changed)
        #expect(try StoreReader(larder.folder).response(for: Self.base) == nil)
    }

    // MARK: Updating and scheduling

    @Test func `an update of all sites skips the site with a notice, and one of the site says what to do`()
        async throws
    {
        _ = try await apply(writeUpdate(1))
        let notices = Collected()
        var options = PrefetchOptions()
        options.notice = { notices.add($0) }
        #expect(try await larder.updateEach(options: options).isEmpty)
        let text = "\(Self.base) is updated by update files: apply the next one with: larder preload FILE"
        #expect(notices.all == [text])
        let error = await #expect(throws: LarderError.self) { try await larder.update([Self.base]) }
        #expect(error?.kind == .input && error?.description == text)
        let scheduled = await #expect(throws: LarderError.self) {
            try await larder.schedule(Self.base, .daily)
        }
        #expect(scheduled?.kind == .input && scheduled?.description.contains("update files") == true)
        try await larder.schedule(Self.base, nil)
    }

    // MARK: Checking

    @Test func `a check of the site compares its bundles with the stored manifest`() async throws {
        let applied = try await apply(writeUpdate(1), trusting: [key.publicKey.text])
        #expect(applied.unlisted == 0)
        unlink(scratch.file("1.tar"))
        let report = try await larder.checkOffline(Self.base)
        #expect(report.isClean && report.items.allSatisfy { $0.verdict == .verified }, "\(report.items)")
        let note = "3 of 3 bundles match the stored manifest of version 1.1, signed by \(key.publicKey.text)"
        #expect(report.notes.contains(note), "\(report.notes)")

        var options = CheckOptions()
        options.places = [.stored]
        let stored = try await larder.check(Self.base, options: options)
        #expect(stored.isClean && stored.count(.verified) == 3 && stored.signer == key.publicKey.text)
    }

    @Test func `a check of an update file verifies its digests and its signature`() async throws {
        let file = try await writeUpdate(1)
        let unknown = try await larder.check(file)
        #expect(unknown.isClean && unknown.count(.verified) == 3)
        #expect(unknown.notes.first?.contains("was not verified") == true, "\(unknown.notes)")
        _ = try await apply(file, trusting: [key.publicKey.text])
        #expect(try await larder.check(file).signer == key.publicKey.text)

        let unsigned = try await larder.check(writeUpdate(2, isSigned: false))
        #expect(!unsigned.isClean && unsigned.items[0].detail?.contains("not signed") == true)
        var bytes = try WholeFile.read(await writeUpdate(2), atMost: 1 << 20)
        // In the last frame, before the end of the archive.
        let last = try #require(bytes.lastIndex { $0 != 0 })
        bytes[last] ^= 1
        let damaged = try await larder.check(scratch.write(bytes, to: "damaged.tar"))
        #expect(!damaged.isClean && damaged.items[0].detail?.contains("does not match") == true)
    }
}

/// Texts that a callback received.
private final class Collected: Sendable {
    private let texts = Monitor<[String]>([])

    var all: [String] { texts.change { $0 } }

    func add(_ text: String) { texts.change { $0.append(text) } }
}
