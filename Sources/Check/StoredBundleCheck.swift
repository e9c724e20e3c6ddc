package import Bundles
internal import Digest
package import Fetch
package import Store
package import Web

/// Compares stored bodies with bundles. Belongs to the thread of its reader.
///
/// Hashing all bodies of a large site takes minutes, so known digests are used where that is safe: the SHA-256 of a body is
/// its key in the store, and its MD5 is computed once and stored. Bytes are hashed again if `provesBytes` is set, if the
/// manifest needs another digest, or if the body was imported from an archive, whose digests are not trusted.
package struct StoredBundleCheck {
    private let reader: StoreReader
    private var md5s: KnownMD5s
    /// The snapshot to examine, published or not; nil for the live snapshots.
    private let snapshot: Int64?
    private let evidence: Evidence
    private let provesBytes: Bool
    private var damaged: [[UInt8]] = []

    package init(
        _ reader: StoreReader, snapshot: Int64? = nil, _ evidence: Evidence = Evidence([]), provesBytes: Bool
    ) {
        self.reader = reader
        self.snapshot = snapshot
        self.evidence = evidence
        self.provesBytes = provesBytes
        md5s = KnownMD5s(reader)
    }

    /// Compares the response at a URL with a bundle, after following stored redirects.
    package mutating func examination(of bundle: Bundle, at url: WebURL) throws(StoreError) -> Examination {
        guard let (response, body) = try reader.responseWithBody(at: url, snapshot: snapshot) else {
            return .missing("it is not stored")
        }
        // Known digests do not count if the bytes are gone or cut short.
        guard let content = try reader.content(of: body) else { return Self.bytesAreGone }
        let fields = HTTPFields(block: response.fields.utf8.span)
        let bundle = bundle.addingHeaderEvidence(of: fields, evidence)
        // A signature may expire after the response was received.
        let integrity = ResponseIntegrity(
            of: SignedMessage(url: WebURL(response.href) ?? url, status: response.status, fields: fields),
            at: response.fetched)
        // An imported body is always hashed: its stored digest is not trusted.
        if provesBytes || response.isImported {
            return try examineBytes(bundle, integrity, content, body, isCoded: fields.isCoded)
        }
        let wanted = bundle.algorithms(of: .decoded).union(bundle.algorithms(of: .encoded))
            .union(integrity.digestAlgorithms)
        guard wanted.isSubset(of: Self.storedAlgorithms), let sha256 = Digest(.sha256, bytes: body.sha256)
        else {
            return Examination(of: content, as: bundle, integrity, isCoded: fields.isCoded)
        }
        var digests = [sha256]
        if wanted.contains(.md5) {
            do throws(StoreError) {
                guard let md5 = try md5s.md5(of: body) else { return Self.bytesAreGone }
                digests.append(md5)
            } catch {
                return .missing(error.description)
            }
        }
        let decoded = Measurement.Body(byteCount: body.byteCount, digests: digests)
        let measured = Measurement(decoded: decoded, encoded: fields.isCoded ? nil : decoded, integrity)
        return Examination(bundle.finding(on: measured), measured: measured)
    }

    /// Examines the body by hashing its bytes, whatever digests are known.
    private mutating func examineBytes(
        _ bundle: Bundle, _ integrity: ResponseIntegrity, _ content: BodyContent, _ body: StoredBody,
        isCoded: Bool
    ) throws(StoreError) -> Examination {
        let meter = BundleMeter(bundle, integrity, isCoded: isCoded, and: [.sha256, .md5])
        do throws(StoreError) {
            try content.eachPiece { meter.update($0) }
        } catch {
            return .missing(error.description)
        }
        let measured = meter.measurement()
        guard measured.decoded.digest(.sha256)?.bytes == body.sha256 else {
            damaged.append(body.sha256)
            return Self.bytesAreGone
        }
        if let md5 = measured.decoded.digest(.md5) { md5s.record(md5, of: body) }
        return Examination(bundle.finding(on: measured), measured: measured)
    }

    /// Stores the MD5 digests that were computed, and marks damaged bodies.
    func storeResults(in folder: StoreFolder) throws(StoreError) {
        try md5s.store(in: folder)
        try ActivityDatabase.markDamagedIfWritable(damaged, in: folder)
    }

    private static let bytesAreGone = Examination.missing(
        "its bytes are gone, or damaged on the disk; see: larder fsck")

    /// The algorithms whose digests the store keeps.
    private static let storedAlgorithms: Set<DigestAlgorithm> = [.md5, .sha256]
}

extension StoreReader {
    /// Returns the response with a body for a URL, after following up to 20 stored redirects. With a
    /// snapshot, the response that would be served if that snapshot were live.
    package func responseWithBody(at url: WebURL, snapshot: Int64? = nil) throws(StoreError) -> (
        StoredResponse, StoredBody
    )? {
        var url = url
        for _ in 0...20 {
            let found =
                if let snapshot { try previewResponse(for: url.href, ifPublished: snapshot) } else {
                    try response(for: url.href)
                }
            guard let response = found else { return nil }
            if let body = response.body { return (response, body) }
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            guard response.isRedirect, let location, let target = WebURL(location, base: url) else {
                return nil
            }
            url = target.withoutFragment
        }
        return nil
    }

    /// The body that is served for a URL, after following stored redirects; nil if there is none.
    package func body(at url: WebURL) throws(StoreError) -> StoredBody? { try responseWithBody(at: url)?.1 }
}

/// The result of comparing a body with a bundle.
package struct Examination: Sendable {
    package var finding: Finding
    /// The measured digests of a body that does not match. They are compared with other releases.
    private(set) var measured: Measurement?

    package static func missing(_ reason: String) -> Examination { Examination(Finding(.missing(reason))) }

    init(_ finding: Finding, measured: Measurement? = nil) {
        self.finding = finding
        if case .mismatch = finding.verdict { self.measured = measured }
    }

    /// Reads the body and compares it with the bundle. A body that cannot be read counts as missing.
    ///
    /// - Parameters:
    ///   - integrity: the digests and signatures in its header fields; nil if there are none.
    ///   - isCoded: whether the body had a content coding when it was sent.
    init(
        of content: BodyContent, as bundle: Bundle, _ integrity: ResponseIntegrity? = nil,
        isCoded: Bool = false
    ) {
        let meter = BundleMeter(bundle, integrity, isCoded: isCoded)
        do throws(StoreError) {
            try content.eachPiece { meter.update($0) }
            let measured = meter.measurement()
            self.init(bundle.finding(on: measured), measured: measured)
        } catch {
            self = .missing("cannot \(error.doing) it: \(error.detail)")
        }
    }

    /// Adds the first difference between a body that does not match and one that does.
    mutating func compare(_ content: BodyContent, with matching: MatchingBody) {
        guard case .mismatch = finding.verdict, let found = BodyPieces(content),
            let expected = BodyPieces(matching.content),
            let difference = Difference.first(expected: expected.next, found: found.next)
        else { return }
        add(difference, from: matching)
    }

    package mutating func add(_ difference: Difference, from matching: MatchingBody) {
        add(difference, from: matching.place, byteCount: matching.content.byteCount)
    }

    package mutating func add(_ difference: Difference, from place: String, byteCount: Int?) {
        guard case .mismatch(var mismatch) = finding.verdict else { return }
        mismatch.add(difference, from: byteCount)
        finding.verdict = .mismatch(mismatch)
        finding.remarks.append("compared with the copy in \(place)")
    }

    /// Whether the body does not match, and its first difference is not known yet.
    var lacksDifference: Bool {
        if case .mismatch(let mismatch) = finding.verdict { mismatch.difference == nil } else { false }
    }

    /// A body that matches, and the place where it was found.
    package struct MatchingBody: Sendable {
        let place: String
        let content: BodyContent
    }
}

extension CheckReport.Finding {
    /// - Parameter bundle: the bundle that was examined; nil if there was no examination.
    package init(url: String, _ examination: Examination, of bundle: Bundle? = nil) {
        let finding = examination.finding
        self.init(
            url: url, verdict: CheckReport.Verdict(finding.verdict),
            detail: finding.verdict.fullDetail ?? finding.signer.map { "signed by \($0.integrityText)" },
            remarks: finding.remarks)
        if finding.verdict == .verified {
            algorithm = (bundle?.strongestAlgorithm ?? finding.signedAlgorithm)?.rawValue
            otherAlgorithms = bundle?.provingAlgorithms.dropFirst().map(\.rawValue) ?? []
            responseSigner = finding.signer?.integrityText
            // A signature covers the digests and keys in the manifest, not digests in header fields alone.
            manifestSigner = bundle?.canBeVerified == true ? bundle?.signer : nil
        }
        if case .mismatch(let mismatch) = finding.verdict { briefDetail = mismatch.brief }
    }
}

extension Verdict {
    /// The detail of the verdict. A mismatch that is not about sizes also gives both sizes.
    fileprivate var fullDetail: String? {
        guard case .mismatch(let mismatch) = self, let found = mismatch.foundByteCount else { return detail }
        guard !mismatch.hasSizeDifference else { return detail }
        let sizes =
            switch mismatch.expectedByteCount {
            case nil: "it has \(found) bytes"
            case found: "both have \(found) bytes"
            case let expected?: "it has \(found) bytes, the expected one \(expected)"
            }
        return "\(mismatch.description); \(sizes)"
    }
}

extension BodyContent {
    package init(_ body: FetchedBody) {
        switch body {
        case .bytes(let bytes): self = .bytes(bytes)
        case .file(let path, _): self = .file(path: path)
        }
    }
}

extension CheckReport.Verdict {
    package init(_ verdict: Verdict) {
        switch verdict {
        case .verified: self = .verified
        case .mismatch: self = .mismatch
        case .missing: self = .missing
        case .unverifiable: self = .unverifiable
        case .skew: self = .skew
        }
    }
}
