import TestOrigin
import Testing

@testable import Check
@testable import LarderKit

@Suite struct StoredBundleCheckTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/", .page("<script src=/a.js></script>"))
        origin.on("/a.js", .file([UInt8](repeating: 97, count: 100_000), type: "text/javascript"))
    }

    /// Returns the verdict on the stored bundle, whose manifest has this digest. The body is 100,000 times `a`.
    private func verdict(_ digest: String, isQuick: Bool = false) async throws -> CheckReport.Item {
        let manifest = try folder.write("{\"bundles\": [{\"url\": \"/a.js\", \(digest)}]}", to: "m.json")
        var options = CheckOptions()
        options.places = [.stored]
        options.isQuick = isQuick
        options.bases = [origin.url("/")]
        return try #require(try await larder.check(manifest, options: options).items.first)
    }

    private let md5 = "\"md5\": \"1af6d6f2f682f76f80e606aeaaee1680\""
    private let sha256 = "\"sha256\": \"6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee\""
    /// Overwrites the bytes of the body, which is alone in its pack.
    private func damage(_ bytes: [UInt8]) throws {
        let name = try #require(folder.names(in: "larder/packs").first)
        try folder.write(bytes, to: "larder/packs/" + name)
    }

    @Test func `bytes that changed on the disk do not verify, unless a quick check trusts stored digests`()
        async throws
    {
        _ = try await larder.prefetch([origin.url("/")])
        #expect(try await verdict(md5).verdict == .verified)
        try damage([UInt8](repeating: 98, count: 100_000))
        #expect(try await verdict(md5, isQuick: true).verdict == .verified)
        for digest in [md5, sha256] {
            let found = try await verdict(digest)
            #expect(found.verdict == .missing)
            #expect(found.detail?.contains("damaged on the disk") == true)
        }
        // The next prefetch repairs the body.
        #expect(try await larder.prefetch([origin.url("/a.js")]).isPublished)
        #expect(try await verdict(md5).verdict == .verified)
        #expect(try await larder.inspect().damaged.isEmpty)
        #expect(
            try await larder.describe(origin.url("/a.js")).responses.first?.body?.md5
                == "1af6d6f2f682f76f80e606aeaaee1680")
    }

    @Test func `a body that changed before its MD5 was computed is not verified`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        try damage([UInt8](repeating: 98, count: 100_000))
        let found = try await verdict(md5)
        #expect(found.verdict == .missing)
        #expect(found.detail?.contains("on the disk") == true)
    }

    @Test func `a truncated or missing body is not verified, whatever digests are stored`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        #expect(try await verdict(md5).verdict == .verified)
        try damage([UInt8](repeating: 97, count: 99_999))
        #expect(try await verdict(md5).verdict == .missing)
        folder.remove("larder/packs/" + (try #require(folder.names(in: "larder/packs").first)))
        #expect(try await verdict(sha256).verdict == .missing)
    }

    @Test func `a mismatch is reported with both digests`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        let item = try await verdict("\"md5\": \"0cc175b9c0f1b6a831c399e269772661\"")
        #expect(item.verdict == .mismatch)
        #expect(
            item.detail
                == "expected MD5 0cc175b9c0f1b6a831c399e269772661, found MD5 1af6d6f2f682f76f80e606aeaaee1680; "
                + "it has 100000 bytes")
        #expect(try await verdict(md5 + ", \"size\": 1").detail == "expected 1 bytes, found 100000 bytes")
    }
}
