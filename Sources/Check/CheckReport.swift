internal import Bundles
internal import Digest
internal import Web

/// What a check found, item by item, in an order that stays.
public struct CheckReport: Sendable, Equatable {
    public enum Subject: Sendable, Equatable {
        /// The bundles of a manifest, named as it was asked for.
        case manifest(String)
        /// Everything that the pages of a site need offline.
        case site(String)
    }

    public let subject: Subject
    /// Where was looked: the name of each place, in the order of every item's findings.
    public let places: [String]
    public let items: [Item]
    /// What makes the check fail, where the item is required.
    public let failsOn: Set<Verdict>
    /// What the manifest says that cannot be checked.
    public var notes: [String] = []

    public struct Item: Sendable, Equatable {
        /// As the manifest writes it; of a site the URL.
        public let name: String
        /// Where the manifest has it, counted from 1; nil where that is not known.
        public let line: Int?
        public let isRequired: Bool
        /// From the start to the page that needs it; empty where everything is fine, and for bundles.
        public let chain: [String]
        /// One for each place.
        public let findings: [Finding]

        /// What was seen at the one place where a site is looked for.
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

        /// The worst of the findings, the first of several.
        public var finding: Finding {
            findings.dropFirst().reduce(findings[0]) { $1.verdict.severity > $0.verdict.severity ? $1 : $0 }
        }

        public var url: String { finding.url }
        public var verdict: Verdict { finding.verdict }
        public var detail: String? { finding.detail }
    }

    /// What was found of an item at one place.
    public struct Finding: Sendable, Equatable {
        public let url: String
        public let verdict: Verdict
        /// What differs, or why nothing can be said; of a verified one how it was found, where that is worth
        /// a word.
        public let detail: String?
        /// What else was noticed, and changes nothing about the verdict.
        public var remarks: [String] = []
        /// By which digest a bundle is verified: `md5`, `sha1`, `sha256`, `sha384` or `sha512`, the strongest of
        /// several. Nil for what is not verified, or has no digest of a manifest.
        public package(set) var algorithm: String?
    }

    /// What makes a check fail where nobody says otherwise.
    public static let usualFailures: Set<Verdict> = [.mismatch, .missing, .skew]

    /// From the best to the worst.
    public enum Verdict: String, Sendable, Equatable, CaseIterable {
        case verified
        /// The site itself says that there is no such thing.
        case gone
        /// The user's own settings kept it out of the visit: a limit, robots.txt, what was taken for a trap.
        case leftOut = "left-out"
        /// It was had, and nothing can be said of it.
        case unverifiable
        /// It is of another release than what it belongs to.
        case skew
        /// It could not be had.
        case missing
        /// It is not what it should be.
        case mismatch

        var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// With what else was found.
    package func adding(_ further: [Item], _ notes: [String]) -> CheckReport {
        var report = CheckReport(subject: subject, places: places, items: items + further, failsOn: failsOn)
        report.notes = self.notes + notes
        return report
    }

    /// Nothing that was asked to fail does.
    public var isClean: Bool {
        items.allSatisfy { item in item.findings.allSatisfy { !fails($0, of: item) } }
    }

    public func fails(_ finding: Finding, of item: Item) -> Bool {
        item.isRequired && failsOn.contains(finding.verdict)
    }

    public func count(_ verdict: Verdict) -> Int { items.count { $0.verdict == verdict } }

    /// What was checked, by its name.
    public var name: String {
        switch subject {
        case .manifest(let name), .site(let name): name
        }
    }
}

/// Which weak evidence was asked for. It is told, and neither fails nor proves anything.
struct Evidence: Sendable, Equatable {
    var hasEntityTags = false
    /// What hashed file names are prefixes of.
    var names: Set<DigestAlgorithm> = []

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
    /// With what its own name says of it, where that was asked for.
    func adding(_ evidence: Evidence) -> Bundle {
        guard !evidence.names.isEmpty, let name = HashedName(reference) else { return self }
        var bundle = self
        for algorithm in evidence.names.sorted(by: { $0.byteCount < $1.byteCount }) {
            if let claim = name.claim(algorithm) { bundle.claims.append(claim) }
        }
        return bundle
    }

    /// With what its response says of it.
    func adding(_ fields: HTTPFields, _ evidence: Evidence) -> Bundle {
        var bundle = self
        bundle.claims += Claim.list(from: fields)
        if evidence.hasEntityTags, let tag = fields.entityTag, let claim = Claim(tag) {
            bundle.claims.append(claim)
        }
        return bundle
    }
}

/// Where a manifest has what it lists, whatever its format: for reports that point into it.
struct ManifestLines {
    private let source: [UInt8]

    /// A manifest that writes its names in another way is not searched through for each of them.
    private static let mostMisses = 16

    init(_ source: [UInt8]) {
        self.source = source
    }

    /// The line of each, counted from 1; nil where it does not stand there as such. In a manifest's own order
    /// this takes time linear in it.
    func lines(of references: [String]) -> [Int?] {
        var lines: [Int?] = []
        lines.reserveCapacity(references.count)
        var start = 0
        var counted = (offset: 0, line: 1)
        var misses = 0
        for reference in references {
            var found: Int?
            if misses < Self.mostMisses {
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

    /// Between what is no part of a name.
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
