/// Finds what a page says of the content of its scripts, style sheets and preloads: the `integrity` attributes of Subresource
/// Integrity. One per thread.
package final class IntegrityScanner {
    /// One attribute, with what `src` or `href` of the same tag leads to.
    package struct Found: Hashable, Sendable {
        /// As a browser reads it, before any URL parsing.
        package var reference: [UInt8]
        package var integrity: [UInt8]
    }

    private let links = LinkScanner()

    package init() {}

    /// In the order of the page, with the page's own `<base href>`, read but not resolved.
    package func scan(_ body: Span<UInt8>) -> (base: String?, found: [Found]) {
        var references: [(place: Int, text: [UInt8])] = []
        let table = links.scan(body, as: .html, charset: nil) { occurrence, reference in
            guard occurrence.role == .requisite else { return }
            references.append((occurrence.range.lowerBound, reference.withUnsafeBufferPointer { Array($0) }))
        }
        let tags = table.source(of: body).map { Self.tags($0.span) } ?? Self.tags(body)
        var rest = references[...]
        var found: [Found] = []
        for (range, integrity) in tags {
            rest = rest.drop { $0.place < range.lowerBound }
            guard let first = rest.first, first.place < range.upperBound else { continue }
            found.append(Found(reference: first.text, integrity: integrity))
        }
        return (table.base, found)
    }

    private static func tags(_ source: Span<UInt8>) -> [(range: Range<Int>, integrity: [UInt8])] {
        source.withUnsafeBufferPointer { bytes in
            let tags = IntegrityTags(bytes)
            guard var skimmer = HTMLSkimmer(bytes, isThorough: true, tags) else { return [] }
            skimmer.skim()
            return tags.found
        }
    }
}

/// The tags of scripts and links with an `integrity`.
private final class IntegrityTags: HTMLSkimmerDelegate {
    private let text: Bytes
    private(set) var found: [(range: Range<Int>, integrity: [UInt8])] = []

    init(_ text: Bytes) {
        self.text = text
    }

    func skimmed(_ tag: HTMLTag) {
        guard says("script", at: tag.nameRange) || says("link", at: tag.nameRange),
            let attribute = tag.attributes.first(where: { says("integrity", at: $0.nameRange) })
        else { return }
        var value: [UInt8] = []
        CharacterReferences.decode(text.part(attribute.valueRange), into: &value)
        found.append((tag.range, value))
    }

    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}

    func skimmed(comment: Range<Int>) {}

    private func says(_ word: StaticString, at range: Range<Int>) -> Bool {
        range.count == word.utf8CodeUnitCount
            && text.part(range).elementsEqual(
                UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount), by: { $0.lowercased == $1 })
    }
}
