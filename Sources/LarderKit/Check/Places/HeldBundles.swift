internal import Bundles
internal import Digest
internal import Fetch
internal import Store
internal import Web

/// Compares held bodies with bundles. What was hashed before is not hashed again: the SHA-256 of a body is its key, and its
/// MD5 is computed once and kept. Bytes that changed on the disk since are what an inspection is for.
struct HeldBundles {
    private let reader: StoreReader
    private var md5s: KnownMD5s
    /// The visit that is looked at, published or not; nil for what the larder shows.
    private let visit: Int64?
    private let evidence: Evidence

    init(_ reader: StoreReader, visit: Int64? = nil, _ evidence: Evidence = Evidence([])) {
        self.reader = reader
        self.visit = visit
        self.evidence = evidence
        md5s = KnownMD5s(reader)
    }

    mutating func examination(of bundle: Bundle, at url: WebURL) throws(StoreError) -> Examination {
        guard let (response, body) = try reader.answer(at: url, visit: visit) else {
            return .missing("the larder does not hold it")
        }
        // What is gone or cut short is not there, whatever is known of it.
        guard let content = try reader.content(of: body) else { return Self.isGone }
        let fields = HTTPFields(block: response.fields.utf8.span)
        let bundle = bundle.adding(fields, evidence)
        let wanted = bundle.algorithms(of: .decoded).union(bundle.algorithms(of: .encoded))
        guard wanted.isSubset(of: Self.known), let sha256 = Digest(.sha256, bytes: body.sha256) else {
            return Examination(of: content, as: bundle, isCoded: fields.isCoded)
        }
        var digests = [sha256]
        if wanted.contains(.md5) {
            do throws(StoreError) {
                guard let md5 = try md5s.md5(of: body) else { return Self.isGone }
                digests.append(md5)
            } catch {
                return .missing(error.description)
            }
        }
        let decoded = Measurement.Body(byteCount: body.byteCount, digests: digests)
        let measured = Measurement(decoded: decoded, encoded: fields.isCoded ? nil : decoded)
        return Examination(bundle.finding(on: measured), measured: measured)
    }

    /// Keeps the MD5s that were computed.
    func keep(in folder: StoreFolder) throws(StoreError) {
        try md5s.keep(in: folder)
    }

    private static let isGone = Examination.missing("its bytes are gone, or damaged on the disk; see: larder fsck")

    private static let known: Set<DigestAlgorithm> = [.md5, .sha256]
}

extension StoreReader {
    /// The answer with a body that a URL leads to, by way of stored redirects; of a visit, as it is shown once that is published.
    func answer(at url: WebURL, visit: Int64? = nil) throws(StoreError) -> (StoredResponse, StoredBody)? {
        var url = url
        for _ in 0...20 {
            let found =
                if let visit { try response(for: url.href, shownBy: visit) } else { try response(for: url.href) }
            guard let response = found else { return nil }
            if let body = response.body { return (response, body) }
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            guard response.isRedirect, let location, let target = WebURL(location, base: url) else { return nil }
            url = target.withoutFragment
        }
        return nil
    }

    func body(at url: WebURL) throws(StoreError) -> StoredBody? { try answer(at: url)?.1 }
}
