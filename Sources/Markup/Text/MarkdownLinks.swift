/// The links and fragments of a Markdown document: CommonMark 0.31, with GitHub's tables, footnotes and autolinks, and with the
/// front matter and the attributes of headings that site generators read.
///
/// Written by hand, since libcmark-gfm reports no byte positions of destinations. Debian also changes its soname with every
/// release, so that a package built on one distribution would not run on the next.
///
/// Destinations with braces are left out, because a template engine replaces them, and so are those that cannot be fetched, such
/// as `data:` URLs.
package struct MarkdownLinks: Sendable {
    /// A link or image.
    package struct Link: Sendable, Equatable {
        /// The bytes of the destination in the document.
        package let range: Range<Int>
        /// The destination, without escapes and character references.
        package let reference: String
        package let isImage: Bool
    }

    /// In the order of the document. Links that refer to a definition count once, as the definition.
    package private(set) var links: [Link] = []
    /// The fragments of headings, and the ids in inline HTML.
    package private(set) var anchors: Set<String> = []

    /// Further fragments of a document are ignored. No document that people wrote has so many.
    private static let maxAnchors = 200_000

    package init(_ body: Span<UInt8>) {
        guard body.count <= BodyReading.maxBytes else { return }
        body.withUnsafeBufferPointer { read($0) }
    }

    private mutating func read(_ document: Bytes) {
        let structure = MarkdownBlocks(document)
        let labels = Set(structure.definitions.map(\.label))
        var uses: [String: (asLink: Bool, asImage: Bool)] = [:]
        var fragments = HeadingFragments()
        var markup = MarkdownMarkup(document)
        for block in structure.blocks {
            let lines = structure.lines[block.lines]
            if block.kind == .html {
                for line in lines { markup.add(line) }
                continue
            }
            let text = MarkdownText(document, lines)
            let isHeading = block.kind == .heading
            let inlines = text.bytes.withUnsafeBufferPointer {
                MarkdownInlines($0, isHeading: isHeading, isDefined: labels.contains)
            }
            for link in inlines.links {
                add(text.range(of: link.range), link.reference, isImage: link.isImage)
            }
            for (label, isImage) in inlines.labels {
                let use = uses[label, default: (false, false)]
                uses[label] = (use.asLink || !isImage, use.asImage || isImage)
            }
            for tag in inlines.tags { for range in text.ranges(of: tag) { markup.add(range) } }
            for id in inlines.ids { addAnchor(String(decoding: text.bytes[id], as: UTF8.self)) }
            if let heading = inlines.headingText { addAnchor(fragments.add(Self.string(ofHeading: heading))) }
        }
        for definition in structure.definitions {
            let use = uses[definition.label, default: (false, false)]
            add(definition.range, definition.destination.reference, isImage: use.asImage && !use.asLink)
        }
        markup.read { add($0, $1, isImage: $2) }
        for name in markup.anchors { addAnchor(name) }
        links.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private mutating func add(_ range: Range<Int>, _ reference: String, isImage: Bool) {
        let shape = Array(reference.utf8).withUnsafeBufferPointer { ReferenceShape($0) }
        guard shape != .empty, shape != .inlined, !Self.isTemplate(reference) else { return }
        links.append(Link(range: range, reference: reference, isImage: isImage))
    }

    private mutating func addAnchor(_ name: String) {
        if !name.isEmpty, anchors.count < Self.maxAnchors { anchors.insert(name) }
    }

    /// The text without the marks that were removed, and without the space before a list of attributes at its end.
    private static func string(ofHeading text: [UInt8]) -> String {
        let end = text.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? 0
        return String(decoding: text[..<end].filter { $0 != 0 }, as: UTF8.self)
    }

    /// Whether a destination has a placeholder, such as `{{ site.url }}`, `{id}` or `<%= url %>`.
    private static func isTemplate(_ reference: String) -> Bool {
        // The parser takes the angle brackets of `<% url %>` for those of a destination.
        if reference.utf8.count > 1, reference.hasPrefix("%"), reference.hasSuffix("%") { return true }
        guard let open = reference.utf8.firstIndex(of: UInt8(ascii: "{")) else {
            return reference.contains("<%")
        }
        return reference.utf8[open...].contains(UInt8(ascii: "}"))
    }
}

/// The HTML of a Markdown document: a copy of the document in which everything else is blank, so that offsets stay the same.
private struct MarkdownMarkup {
    private let document: Bytes
    private var copy: [UInt8] = []
    private(set) var anchors: Set<String> = []

    init(_ document: Bytes) { self.document = document }

    mutating func add(_ range: Range<Int>) {
        // Line ends end comments in scripts.
        if copy.isEmpty { copy = document.map { $0 == 0x0A ? $0 : 0x20 } }
        for index in range { copy[index] = document[index] }
    }

    /// Reads the links and anchors, except those of tags with `data-larder-ignore`.
    mutating func read(_ onLink: (_ range: Range<Int>, _ reference: String, _ isImage: Bool) -> Void) {
        guard !copy.isEmpty else { return }
        let found = PageAnchors(of: copy.span, as: .html, charset: "utf-8")
        anchors = found.names
        var ignored = found.ignoredTags[...]
        _ = LinkScanner().scan(copy.span, as: .html, charset: "utf-8") { occurrence, reference in
            let start = occurrence.range.lowerBound
            while let first = ignored.first, first.upperBound <= start { ignored.removeFirst() }
            let isIgnored = ignored.first?.contains(start) ?? false
            guard !isIgnored, occurrence.isFollowed else { return }
            onLink(
                occurrence.range,
                String(decoding: reference.withUnsafeBufferPointer { Array($0) }, as: UTF8.self),
                occurrence.kind == .image)
        }
    }
}

extension LinkOccurrence {
    /// Whether a browser may request the reference as it is, without submitting a form.
    fileprivate var isFollowed: Bool {
        flags.isDisjoint(with: [.isGuess, .isConditional, .hasCodebase]) && kind.isFollowed
            && kind != .sharing
    }
}
