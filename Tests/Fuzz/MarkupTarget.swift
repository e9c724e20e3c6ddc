internal import Markup
internal import Web

/// The link scanners, the stored form of link tables, and the replacement of links.
struct MarkupTarget: Target {
    let name: String
    let suffixes: [String]
    let pieces: [String]
    /// The formats that each input is scanned as.
    let formats: [BodyFormat]
    var isXML = false
    private let scanner = LinkScanner()

    static var all: [MarkupTarget] {
        [
            MarkupTarget(name: "html", suffixes: [".html"], pieces: htmlPieces, formats: [.html]),
            MarkupTarget(name: "css", suffixes: [".css"], pieces: cssPieces, formats: [.css]),
            MarkupTarget(name: "script", suffixes: [".js"], pieces: scriptPieces, formats: [.javaScript]),
            MarkupTarget(
                name: "xml", suffixes: [".svg", ".xml", ".mpd"], pieces: xmlPieces,
                formats: [.svg, .xhtml, .xml, .sitemap, .feed, .dash], isXML: true),
            MarkupTarget(
                name: "manifest", suffixes: [".json", ".webmanifest"], pieces: manifestPieces,
                formats: [.json, .webManifest, .importMap, .speculationRules, .jsonLD]),
            MarkupTarget(
                name: "playlist", suffixes: [".m3u8", ".vtt"], pieces: playlistPieces,
                formats: [.hls, .webVTT]),
        ]
    }

    func fault(_ input: [UInt8]) -> String? {
        for format in formats {
            if let fault = fault(input, format) { return fault + " (\(format))" }
        }
        return nil
    }

    private func fault(_ input: [UInt8], _ format: BodyFormat) -> String? {
        var found: [[UInt8]] = []
        let table = scanner.scan(input.span, as: format, charset: nil) { _, reference in
            found.append(reference.withUnsafeBufferPointer { Array($0) })
        }
        let source = table.source(of: input.span) ?? input
        return placeFault(table, found, source) ?? TableTarget.codingFault(table) ?? identityFault(
            input, table, source)
            ?? replacementFault(input, format, table, source)
    }

    /// Ranges must ascend, lie inside the body, and contain the reported references.
    private func placeFault(_ table: LinkTable, _ found: [[UInt8]], _ source: [UInt8]) -> String? {
        guard found.count == table.occurrences.count else {
            return "reported and kept: \(found.count) and \(table.occurrences.count)"
        }
        var end = 0
        for (occurrence, reference) in zip(table.occurrences, found) {
            let range = occurrence.range
            guard range.lowerBound >= end, !range.isEmpty, range.upperBound <= source.count else {
                return "a place: \(range) after \(end) of \(source.count)"
            }
            end = range.upperBound
            let read = table.reference(occurrence, in: source.span)
            guard read == reference else {
                return "a reference: \(text(reference)) reads \(text(read)), \(occurrence)"
            }
        }
        // The marked word must be at the position of its mark.
        for mark in table.marks {
            let word: String
            switch mark.kind {
            case .policy: word = "content-security-policy"
            case .referrer: word = "referrer"
            case .referrerPolicy: word = "referrerpolicy"
            case .integrity: word = "integrity"
            case .start, .startOfFragment: word = ""
            }
            let text = source.dropFirst(mark.offset).prefix(word.utf8.count).map {
                $0 &- 0x41 < 26 ? $0 | 0x20 : $0
            }
            guard mark.offset <= source.count, text.elementsEqual(word.utf8) else {
                return "a mark: \(mark) in \(self.text(Array(source)))"
            }
        }
        // Implied links have no position. They are resolved against folders in the URL of the body.
        for link in table.implied where link.reference(fromBodyAt: "/a/static/js/b.js").isEmpty {
            return "an implied link: \(link)"
        }
        return nil
    }

    private func identityFault(_ input: [UInt8], _ table: LinkTable, _ source: [UInt8]) -> String? {
        let output = patched(input, table) { _, _ in nil }
        return output == source ? nil : "replacing nothing changes the body: \(text(output))"
    }

    /// The replacement of references.
    private enum Change {
        case none
        /// The reference with a slash appended, with all its unusual characters.
        case longer
        case other

        func callAsFunction(_ reference: [UInt8]) -> String {
            let text = String(decoding: reference, as: UTF8.self)
            return switch self {
            case .none: text
            case .longer: text + "/"
            case .other: "https://a.localhost:8/b/c.html?d=e&f#g"
            }
        }
    }

    /// A scan after the replacement must find exactly the replaced references.
    private func replacementFault(
        _ input: [UInt8], _ format: BodyFormat, _ table: LinkTable, _ source: [UInt8]
    ) -> String? {
        guard table.encoding == .utf8 || table.isTranscoded else { return nil }
        for change in [Change.none, .longer, .other] {
            var expected: [[UInt8]] = []
            let output = patched(input, table) { occurrence, reference in
                let reference = reference.withUnsafeBufferPointer { Array($0) }
                let text = Self.dependsOnText(occurrence) ? nil : change(reference)
                expected.append(text.map { Array($0.utf8) } ?? reference)
                return text
            }
            if change == .none {
                guard output == source else {
                    return "replacing by the same changes the body: \(text(output))"
                }
                // Most inputs are malformed XML, for which a second scan may give another result.
                if isXML { return nil }
                continue
            }
            var again: [[UInt8]] = []
            _ = scanner.scan(output.span, as: format, charset: "utf-8") { _, reference in
                again.append(reference.withUnsafeBufferPointer { Array($0) })
            }
            guard again.count == expected.count else {
                return "links after replacing: \(expected.count) became \(again.count) in \(text(output))"
            }
            for (before, after) in zip(expected, again) where !Self.isSame(before, after) {
                return "a link after replacing: \(text(before)) became \(text(after)) in \(text(output))"
            }
        }
        return nil
    }

    /// Whether the occurrence is a link only because of its text, such as a string in a script.
    private static func dependsOnText(_ occurrence: LinkOccurrence) -> Bool {
        switch occurrence.context.inner {
        case .scriptString, .scriptTemplate, .scriptMarkup, .json, .line: true
        case .plain, .cssString, .cssURL, .srcset, .spaceList, .commaList, .refresh:
            !occurrence.flags.isDisjoint(with: [.isGuess, .isLazy])
        }
    }

    /// Whether the references are equal, except for white space at the ends and characters that were percent-encoded.
    private static func isSame(_ before: [UInt8], _ after: [UInt8]) -> Bool {
        after.contains(UInt8(ascii: "%")) || trimmed(before) == trimmed(after)
    }

    private static func trimmed(_ reference: [UInt8]) -> ArraySlice<UInt8> {
        var reference = reference[...]
        while let first = reference.first, first <= 0x20 { reference.removeFirst() }
        while let last = reference.last, last <= 0x20 { reference.removeLast() }
        return reference
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).debugDescription }
}
