internal import Bundles
internal import Digest
internal import Store
internal import Web

/// Compares held bodies with bundles. What was hashed before is not hashed again: the SHA-256 of a body is its key, and its
/// MD5 is computed once and kept. Bytes that changed on the disk since are what an inspection is for.
struct HeldBundles {
    private let reader: StoreReader
    private var md5s: KnownMD5s

    init(_ reader: StoreReader) {
        self.reader = reader
        md5s = KnownMD5s(reader)
    }

    mutating func verdict(on bundle: Bundle, at url: WebURL) throws(StoreError) -> Verdict {
        guard let body = try reader.body(at: url) else { return .missing("the larder does not hold it") }
        // What is gone or cut short is not what its digests say.
        guard let content = try reader.content(of: body) else { return Self.isGone }
        guard !bundle.digests.isEmpty, bundle.digests.allSatisfy({ Self.known.contains($0.algorithm) }),
            let sha256 = Digest(.sha256, bytes: body.sha256)
        else { return content.verdict(on: bundle) }
        guard bundle.digests.contains(where: { $0.algorithm == .md5 }) else {
            return bundle.verdict(byteCount: body.byteCount, known: [sha256])
        }
        do throws(StoreError) {
            guard let md5 = try md5s.md5(of: body) else { return Self.isGone }
            return bundle.verdict(byteCount: body.byteCount, known: [sha256, md5])
        } catch {
            return .unverifiable(error.description)
        }
    }

    /// Keeps the MD5s that were computed.
    func keep(in folder: StoreFolder) throws(StoreError) {
        try md5s.keep(in: folder)
    }

    private static let isGone = Verdict.unverifiable("its bytes are gone or cut short; see: larder fsck")

    private static let known: Set<DigestAlgorithm> = [.md5, .sha256]
}

extension Bundle {
    /// What digests prove that were measured before.
    fileprivate func verdict(byteCount: Int, known: [Digest]) -> Verdict {
        if let expected = self.byteCount, expected != byteCount {
            return .mismatch(expected: "\(expected) bytes", found: "\(byteCount) bytes")
        }
        for expected in digests where !known.contains(expected) {
            let found = known.first { $0.algorithm == expected.algorithm }
            return .mismatch(expected: expected.description, found: found?.description ?? "nothing")
        }
        return .verified
    }
}

extension StoreReader {
    /// The body that a URL leads to, by way of stored redirects.
    func body(at url: WebURL) throws(StoreError) -> StoredBody? {
        var url = url
        for _ in 0...20 {
            guard let response = try response(for: url.href) else { return nil }
            if let body = response.body { return body }
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            guard response.isRedirect, let location, let target = WebURL(location, base: url) else { return nil }
            url = target.withoutFragment
        }
        return nil
    }
}
