internal import Bundles
internal import Fetch
internal import Store

/// What looking at a body says of it, before it is known at which URL.
struct Examination: Sendable {
    var finding: Finding
    /// Of a body that does not match: what other releases are held against.
    private(set) var measured: Measurement?

    static func missing(_ reason: String) -> Examination { Examination(Finding(.missing(reason))) }

    init(_ finding: Finding, measured: Measurement? = nil) {
        self.finding = finding
        if case .mismatch = finding.verdict { self.measured = measured }
    }

    /// Reads the body and compares it with what the bundle says. One that cannot be read could not be had.
    ///
    /// - Parameter isCoded: it had a content coding when it was sent.
    init(of content: BodyContent, as bundle: Bundle, isCoded: Bool = false) {
        let meter = BundleMeter(bundle, isCoded: isCoded)
        do throws(StoreError) {
            try content.eachPiece { meter.update($0) }
            let measured = meter.measurement()
            self.init(bundle.finding(on: measured), measured: measured)
        } catch {
            self = .missing("cannot \(error.doing) it: \(error.detail)")
        }
    }

    /// Adds where a body that does not match first differs from one that does.
    mutating func compare(_ content: BodyContent, with good: GoodBody) {
        guard case .mismatch = finding.verdict, let found = BodyPieces(content),
            let expected = BodyPieces(good.content),
            let difference = Difference.first(expected: expected.next, found: found.next)
        else { return }
        add(difference, from: good)
    }

    mutating func add(_ difference: Difference, from good: GoodBody) {
        add(difference, from: good.place, byteCount: good.content.byteCount)
    }

    mutating func add(_ difference: Difference, from place: String, byteCount: Int?) {
        guard case .mismatch(var mismatch) = finding.verdict else { return }
        mismatch.add(difference, from: byteCount)
        finding.verdict = .mismatch(mismatch)
        finding.remarks.append("compared with what is in \(place)")
    }

    /// Nobody has said yet where it differs.
    var lacksDifference: Bool {
        if case .mismatch(let mismatch) = finding.verdict { mismatch.difference == nil } else { false }
    }

    /// A body that was found to match, and where.
    struct GoodBody: Sendable {
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
        guard !mismatch.isOfSizes else { return detail }
        let sizes =
            switch mismatch.expectedByteCount {
            case nil: "it has \(found) bytes"
            case found: "both have \(found) bytes"
            case let expected?: "it has \(found) bytes, and the right one \(expected)"
            }
        return "\(mismatch.description); \(sizes)"
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
