internal import Bundles
internal import Fetch
internal import Store
internal import Web

/// What looking at a body says of it, before it is known at which URL.
struct Examination: Sendable {
    var finding: Finding

    static func missing(_ reason: String) -> Examination { Examination(Finding(.missing(reason))) }

    init(_ finding: Finding) {
        self.finding = finding
    }

    /// Reads the body and compares it with what the bundle says. One that cannot be read could not be had.
    ///
    /// - Parameter isCoded: it had a content coding when it was sent.
    init(of content: BodyContent, as bundle: Bundle, isCoded: Bool = false) {
        let meter = BundleMeter(bundle, isCoded: isCoded)
        do throws(StoreError) {
            try content.eachPiece { meter.update($0) }
            finding = meter.finding()
        } catch {
            finding = Finding(.missing(error.description))
        }
    }

    /// Adds where a body that does not match first differs from one that does.
    mutating func compare(_ content: BodyContent, with good: GoodBody) {
        guard case .mismatch(var mismatch) = finding.verdict, let found = BodyPieces(content),
            let expected = BodyPieces(good.content)
        else { return }
        mismatch.difference = Difference.first(expected: { expected.next() }, found: { found.next() })
        finding.verdict = .mismatch(mismatch)
        finding.remarks.append("compared with what is in \(good.place)")
    }

    /// A body that was found to match, and where.
    struct GoodBody {
        let place: String
        let content: BodyContent
    }
}

extension CheckReport.Finding {
    init(url: String, _ examination: Examination) {
        let finding = examination.finding
        self.init(
            url: url, verdict: CheckReport.Verdict(finding.verdict), detail: finding.verdict.fullDetail,
            remarks: finding.remarks)
    }
}

extension Verdict {
    /// With the sizes of a mismatch, where those are not what differs.
    fileprivate var fullDetail: String? {
        guard case .mismatch(let mismatch) = self, let found = mismatch.foundByteCount else { return detail }
        let expected = mismatch.expectedByteCount
        if let expected, expected != found { return detail }
        return mismatch.description + (expected == nil ? "; it has \(found) bytes" : "; both have \(found) bytes")
    }
}

extension Bundle {
    /// With what its response says of it.
    func adding(_ fields: HTTPFields) -> Bundle {
        var bundle = self
        bundle.claims += Claim.list(from: fields)
        return bundle
    }
}

extension HTTPFields {
    /// The body had a content coding when it was sent.
    var isCoded: Bool {
        self["Content-Encoding"].map { !$0.isEmpty && $0.lowercased() != "identity" } ?? false
    }
}

extension BodyContent {
    init(_ body: FetchedBody) {
        switch body {
        case .bytes(let bytes): self = .bytes(bytes)
        case .file(let path, _): self = .file(path: path)
        }
    }
}

extension CheckReport.Verdict {
    init(_ verdict: Verdict) {
        switch verdict {
        case .verified: self = .verified
        case .mismatch: self = .mismatch
        case .missing: self = .missing
        case .unverifiable: self = .unverifiable
        case .skew: self = .skew
        }
    }
}
