internal import Bundles
package import Digest
package import Reports
public import Store
internal import Web

/// The result of a check. The items are in a stable order.
public struct CheckReport: Sendable, Equatable {
    /// The subject of a check.
    public enum Subject: Sendable, Equatable {
        /// The bundles of a manifest, by the name that the caller gave.
        case manifest(String)
        /// Everything that the pages of a site need offline, by the name of the site.
        case site(String)
    }

    /// The manifest or site that was checked.
    public let subject: Subject
    /// The names of the places, in the order of every item's findings.
    public let places: [String]
    /// The bundles of the manifest, or the URLs of the site.
    public package(set) var items: [Item]
    /// The verdicts on required items that make the check fail.
    public let failsOn: Set<Verdict>
    /// Notes about content that cannot be checked.
    public var notes: [String] = []
    /// For a site, the numbers of missing URLs; nil for a manifest.
    public package(set) var missingURLs: MissingURLCounts?
    /// For a site, whether assets of its pages were not fetched because of a limit or its settings.
    package var lacksAssets = false
    /// For a site, the comparison of its pages offline and online; nil if there was none.
    public package(set) var rehearsal: Rehearsal?
    /// How much must be proved about a site for the check to succeed.
    public package(set) var requires = Rehearsal.Level.read
    /// The trusted key that signed the manifest, as minisign's text (`RW…`); nil if no signature was required, and for a site.
    public package(set) var signer: String?

    package init(
        subject: Subject, places: [String], items: [Item], failsOn: Set<Verdict>, notes: [String] = [],
        missingURLs: MissingURLCounts? = nil
    ) {
        (self.subject, self.places, self.items) = (subject, places, items)
        (self.failsOn, self.notes, self.missingURLs) = (failsOn, notes, missingURLs)
    }

    /// A bundle of a manifest, or a URL of a site.
    public struct Item: Sendable, Equatable {
        /// The name in the manifest; for a site, the URL.
        public let name: String
        /// The line in the manifest, counted from 1; nil if it is not known.
        public let line: Int?
        /// Whether the item can make the check fail.
        public let isRequired: Bool
        /// The URLs from the start page to the page that needs the item; empty for bundles and for verified
        /// items.
        public let chain: [String]
        /// The findings, one for each place.
        public let findings: [Finding]

        /// Creates an item of a site, which is checked at one place.
        package init(url: String, chain: [String] = [], _ verdict: Verdict, _ detail: String?) {
            (name, line, isRequired, self.chain) = (url, nil, true, chain)
            findings = [Finding(url: url, verdict: verdict, detail: detail)]
        }

        package init(
            name: String, line: Int?, isRequired: Bool, chain: [String], findings: [Finding]
        ) {
            (self.name, self.line, self.isRequired) = (name, line, isRequired)
            (self.chain, self.findings) = (chain, findings)
        }

        /// The worst of the findings; the first one of several.
        public var finding: Finding {
            findings.dropFirst().reduce(findings[0]) { $1.verdict.severity > $0.verdict.severity ? $1 : $0 }
        }

        /// The URL of the worst finding.
        public var url: String { finding.url }
        /// The worst verdict.
        public var verdict: Verdict { finding.verdict }
        /// The detail of the worst finding.
        public var detail: String? { finding.detail }
    }

    /// The result for an item at one place.
    public struct Finding: Sendable, Equatable {
        /// The URL or file that was checked.
        public let url: String
        /// The result of the comparison.
        public let verdict: Verdict
        /// The difference, or the reason of the verdict. For a verified item, how it was found, if that is
        /// unusual.
        public let detail: String?
        /// Observations that do not affect the verdict.
        public var remarks: [String] = []
        /// The strongest digest that verified a bundle: `md5`, `sha1`, `sha256`, `sha384` or `sha512`. Nil if
        /// it is not verified, or the manifest has no digest of it.
        public package(set) var algorithm: String?
        /// Weaker digests of the manifest that match a verified bundle too, the strongest first.
        package var otherAlgorithms: [String] = []
        /// The trusted key that signed the manifest of a verified bundle, as minisign's text (`RW…`). If the manifest need not
        /// be signed, the key that signed the response as the page or manifest demands, such as `ed25519-JrQL…`. Nil if
        /// neither is required.
        public var signer: String? { manifestSigner ?? responseSigner }
        package var manifestSigner: String?
        var responseSigner: String?
        /// A shorter detail for a printed report; nil if there is none.
        var briefDetail: String?

        package init(
            url: String, verdict: Verdict, detail: String?, remarks: [String] = [], algorithm: String? = nil,
            briefDetail: String? = nil
        ) {
            (self.url, self.verdict, self.detail) = (url, verdict, detail)
            (self.remarks, self.algorithm, self.briefDetail) = (remarks, algorithm, briefDetail)
        }

        /// The proof of a verified bundle; nil if the bundle is not verified, or the manifest has no digest of it.
        package var proof: BundleProof? {
            algorithm.flatMap(DigestAlgorithm.init(rawValue:)).map { BundleProof($0, signer: manifestSigner) }
        }
    }

    /// The verdicts that make a check fail by default.
    public static let usualFailures: Set<Verdict> = [.mismatch, .missing, .skew]

    /// A verdict, from the best to the worst.
    public enum Verdict: String, Sendable, Equatable, CaseIterable {
        /// The body has the expected digest.
        case verified
        /// The URL does not exist on the live site (`MissingURLCounts.broken`).
        case broken
        /// A prefetch skipped it because of the site's settings: a limit, robots.txt or a suspected trap.
        case notFetched = "not-fetched"
        /// The body exists, but nothing proves that it is right or wrong.
        case unverifiable
        /// The body belongs to another release.
        case skew
        /// The body could not be obtained.
        case missing
        /// The body does not match its expected digest or size, or a page shows something else offline than
        /// online.
        case mismatch

        var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The proofs of the verified bundles, with the number of each: `sha256 (12), md5 (1), signed by RWQf…`. Nil if no digest of
    /// the manifest verifies any.
    package var proofSummary: String? { BundleProof.summary(signer: signer) { count(verifiedBy: $0) } }

    /// The number of items that are verified by the algorithm in some place.
    func count(verifiedBy algorithm: DigestAlgorithm) -> Int {
        items.count { $0.findings.contains { $0.algorithm == algorithm.rawValue } }
    }

    /// The report with further items and notes, and what opening pages has shown.
    package func adding(_ further: [Item], _ notes: [String], _ rehearsal: Rehearsal) -> CheckReport {
        var report = CheckReport(subject: subject, places: places, items: items + further, failsOn: failsOn)
        report.notes = self.notes + notes
        report.missingURLs = missingURLs
        report.lacksAssets = lacksAssets
        report.rehearsal = rehearsal
        report.requires = requires
        report.signer = signer
        return report
    }

    /// Whether nothing makes the check fail: no finding, and no page that had to be opened and compared.
    public var isClean: Bool {
        if requires == .rehearsed, let rehearsal, !rehearsal.isProved { return false }
        return items.allSatisfy { item in item.findings.allSatisfy { !fails($0, of: item) } }
    }

    /// Whether a finding makes the check fail.
    public func fails(_ finding: Finding, of item: Item) -> Bool {
        item.isRequired && failsOn.contains(finding.verdict)
    }

    /// The number of items with a verdict.
    public func count(_ verdict: Verdict) -> Int { items.count { $0.verdict == verdict } }

    /// The name of the manifest or site.
    public var name: String {
        switch subject {
        case .manifest(let name), .site(let name): name
        }
    }
}

/// The weak evidence to report.
package struct Evidence: Sendable, Equatable {
    var hasEntityTags = false
    /// The digests of which hashed file names contain prefixes.
    package var names: Set<DigestAlgorithm> = []

    init(_ options: [CheckOptions.Evidence]) {
        for option in options {
            switch option {
            case .entityTags: hasEntityTags = true
            case .names(let algorithm): names.insert(DigestAlgorithm(algorithm))
            }
        }
    }
}

extension DigestAlgorithm {
    fileprivate init(_ algorithm: CheckOptions.Evidence.Algorithm) {
        switch algorithm {
        case .md5: self = .md5
        case .sha1: self = .sha1
        case .sha256: self = .sha256
        case .sha384: self = .sha384
        case .sha512: self = .sha512
        }
    }
}

extension Bundle {
    /// Adds the hash in the bundle's file name as weak evidence, if the options include it.
    func addingFileNameEvidence(_ evidence: Evidence) -> Bundle {
        guard !evidence.names.isEmpty, let name = HashedName(reference) else { return self }
        var bundle = self
        for algorithm in evidence.names.sorted(by: { $0.byteCount < $1.byteCount }) {
            if let claim = name.claim(algorithm) { bundle.claims.append(claim) }
        }
        return bundle
    }

    /// Adds the evidence of the response's header fields.
    func addingHeaderEvidence(of fields: HTTPFields, _ evidence: Evidence) -> Bundle {
        var bundle = self
        bundle.claims += Claim.list(from: fields)
        if evidence.hasEntityTags, let tag = fields.entityTag, let claim = Claim(tag) {
            bundle.claims.append(claim)
        }
        return bundle
    }
}

/// Finds the lines of a manifest's entries, whatever its format, for reports that point into it.
struct ManifestLines {
    private let source: [UInt8]

    /// The number of references that may be missing in the text. After that the search ends, and further items have no
    /// line: the manifest probably writes its names in another way, such as with escapes.
    private static let maxMisses = 16

    init(_ source: [UInt8]) {
        self.source = source
    }

    /// The line of each reference, counted from 1; nil if the text does not contain it. If the references are
    /// in the order of the manifest, this takes linear time.
    func lines(of references: [String]) -> [Int?] {
        var lines: [Int?] = []
        lines.reserveCapacity(references.count)
        var start = 0
        var counted = (offset: 0, line: 1)
        var misses = 0
        for reference in references {
            var found: Int?
            if misses < Self.maxMisses {
                found =
                    offset(of: reference, from: start) ?? (start > 0 ? offset(of: reference, from: 0) : nil)
            }
            guard let found else {
                misses += 1
                lines.append(nil)
                continue
            }
            if found < counted.offset { counted = (0, 1) }
            for index in counted.offset..<found where source[index] == UInt8(ascii: "\n") {
                counted.line += 1
            }
            counted.offset = found
            lines.append(counted.line)
            start = found + reference.utf8.count
        }
        return lines
    }

    /// The offset of a reference that has no name characters on either side.
    private func offset(of reference: String, from start: Int) -> Int? {
        let wanted = Array(reference.utf8)
        guard let first = wanted.first else { return nil }
        return source.withUnsafeBufferPointer { source in
            var index = start
            while index + wanted.count <= source.count {
                if source[index] == first, index == 0 || Self.isBorder(source[index - 1]),
                    index + wanted.count == source.count || Self.isBorder(source[index + wanted.count]),
                    source[index..<index + wanted.count].elementsEqual(wanted)
                {
                    return index
                }
                index += 1
            }
            return nil
        }
    }

    /// Whether a byte cannot be part of a reference, so that a reference may begin or end beside it.
    private static func isBorder(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "("),
            UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "<"):
            true
        default: false
        }
    }
}
