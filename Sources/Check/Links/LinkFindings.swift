internal import Markup
internal import Reports
internal import System
internal import Web

/// The verdict on a target, without its places.
struct LinkJudgement {
    var verdict: LinkCheckReport.Verdict
    var detail = ""
    var isInternal = true
    /// Whether the target is a folder without an index file, to which Markdown may link.
    var isFolder = false
    /// The URL of the document that lacks the fragment, which may be the target of redirects.
    var page: String?

    static let loop = LinkJudgement(verdict: .dead, detail: "it redirects in a loop")
}

/// The links of all documents with the verdicts on their targets. Finds the places of the faulty ones.
struct LinkFindings {
    let source: any LinkSource
    let readings: [LinkDocumentReading]
    let targets: [LinkDocumentReader.Target]
    let judgements: [LinkJudgement?]
    /// The targets that are counted as another one, because they are the same page by another name.
    let representatives: [Int: Int]

    /// The places of a faulty target.
    private struct Collected {
        var places: [(document: Int, occurrence: LinkDocumentReading.Occurrence)] = []
        var count = 0
        var isMixed = false

        mutating func add(
            _ occurrence: LinkDocumentReading.Occurrence, in document: Int, isMixed: Bool
        ) {
            count += 1
            self.isMixed = self.isMixed || isMixed
            if places.count < LinkCheckReport.Finding.maxPlaces { places.append((document, occurrence)) }
        }
    }

    /// Adds the counts, the findings with their places, and the notes to the report.
    func add(to report: inout LinkCheckReport, _ filter: LinkFilter) throws(LarderError) {
        let documents = source.documents
        var filter = filter
        var collected: [Int: Collected] = [:]
        var ignoredTargets: [Int: String] = [:]
        var isVerified = [Bool](repeating: false, count: targets.count)
        for (number, reading) in readings.enumerated() {
            // Without a base, nothing is known about the scheme of a folder.
            let url = documents[number].url
            let isSecure = url.scheme == "https" && !url.href.hasPrefix(FileLinkSource.unnamedBase)
            for occurrence in reading.occurrences {
                let own = Int(occurrence.target)
                guard let judgement = judgements[own] else { continue }
                let target = representatives[own] ?? own
                let isMixed =
                    isSecure && occurrence.kind.role == .asset && Self.isInsecure(targets[own])
                    && judgement.verdict.severity < LinkCheckReport.Verdict.mixedContent.severity
                let isFolderOfMarkdown =
                    judgement.isFolder && LinkDocumentReader.isMarkdown(documents[number].url.path)
                if judgement.verdict == .verified && !isMixed || isFolderOfMarkdown {
                    isVerified[target] = true
                    continue
                }
                let verdict = isMixed ? .mixedContent : judgement.verdict
                if let reason = filter.reason(
                    toIgnore: targets[own].shownText, verdict, in: documents[number].name)
                {
                    ignoredTargets[target] = reason
                    continue
                }
                collected[target, default: Collected()].add(occurrence, in: number, isMixed: isMixed)
            }
        }
        let lines = try positions(
            of: collected.values.flatMap(\.places).map { ($0.document, $0.occurrence) })
        for (target, entry) in collected {
            guard let judgement = judgements[target] else { continue }
            let places = entry.places.map { place -> LinkCheckReport.Place in
                let position = lines[
                    PlaceKey(document: place.document, offset: Int(place.occurrence.offset))]
                return .init(
                    document: documents[place.document].name, line: position?.line ?? 1,
                    column: position?.column ?? 1,
                    kind: place.occurrence.kind.name, reference: position?.reference ?? "")
            }
            report.findings.append(
                .init(
                    target: targets[target].shownText, entry.isMixed ? .mixedContent : judgement.verdict,
                    entry.isMixed ? "a page that is sent by https loads it by http" : judgement.detail,
                    isInternal: judgement.isInternal, places: places, placeCount: entry.count))
        }
        for (target, reason) in ignoredTargets where collected[target] == nil {
            report.findings.append(
                .init(
                    target: targets[target].shownText, .ignored, reason,
                    isInternal: judgements[target]?.isInternal ?? false, places: [], placeCount: 0))
        }
        report.documentCount = readings.count
        report.linkCount = targets.count - representatives.count
        // A folder may be faulty for one document and fine for another.
        report.verifiedCount = isVerified.indices.count { isVerified[$0] && collected[$0] == nil }
        report.findings.sort { ($1.verdict.severity, $0.target) < ($0.verdict.severity, $1.target) }
        addNotes(to: &report)
        report.notes += try filter.finish()
    }

    private func addNotes(to report: inout LinkCheckReport) {
        let marked = readings.reduce(0) { $0 + $1.ignoredCount }
        if marked > 0 {
            report.notes.append("\(Wording.count(marked, "link")) with data-larder-ignore not checked")
        }
        report.notes += source.notes
        if readings.contains(where: \.isTooLarge) {
            report.notes.append(
                "documents of more than \(Wording.bytes(Int64(BodyReading.maxBytes))) were not read for links"
            )
        }
    }

    private static func isInsecure(_ target: LinkDocumentReader.Target) -> Bool {
        guard case .url(let href) = target else { return false }
        return href.utf8.starts(with: "http:".utf8)
    }

    // MARK: - Lines and columns

    /// A place in a document.
    private struct PlaceKey: Hashable {
        let document: Int
        let offset: Int
    }

    /// The lines and columns of places, and the references there, by reading the documents again.
    private func positions(
        of places: [(document: Int, occurrence: LinkDocumentReading.Occurrence)]
    ) throws(LarderError) -> [PlaceKey: (line: Int, column: Int, reference: String)] {
        var positions: [PlaceKey: (line: Int, column: Int, reference: String)] = [:]
        let bodies = try source.makeReader()
        let documents = source.documents
        for (number, places) in Dictionary(grouping: places, by: \.document) {
            guard let body = try bodies.body(of: documents[number]) else { continue }
            let ranges = Dictionary(
                places.map { (Int($0.occurrence.offset), $0.occurrence.range) },
                uniquingKeysWith: { first, _ in first })
            let offsets = ranges.keys.sorted()
            let text =
                readings[number].isTranscoded
                ? LinkDocumentReader().decodedText(of: documents[number], body) : body
            for (offset, found) in zip(offsets, TextPosition.positions(of: offsets, in: text.span)) {
                let written = ranges[offset].map { TextPosition.reference($0, in: text) } ?? ""
                // Reports are published, and must not contain passwords.
                let reference = written.contains("@") && written.contains("//") ? "" : written
                positions[PlaceKey(document: number, offset: offset)] = (found.line, found.column, reference)
            }
        }
        return positions
    }
}
