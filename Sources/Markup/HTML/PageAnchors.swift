internal import Web

/// The fragments that a document has: the names that a link may contain after its `#`.
///
/// ```swift
/// let anchors = PageAnchors(of: body.span, as: .html, charset: nil)
/// anchors.contains("installation")    // <h2 id=installation>
/// ```
package struct PageAnchors: Sendable, Equatable {
    /// The values of `id` attributes, and those of `name` attributes of links, as a browser reads them.
    package private(set) var names: Set<String> = []
    /// Whether the document has scripts, which may add elements with other ids.
    package private(set) var hasScripts = false
    /// The ranges of tags with the attribute `data-larder-ignore`, in ascending order. They count in the same text as the
    /// ranges of a ``LinkTable``.
    package private(set) var ignoredTags: [Range<Int>] = []

    private var isMarkdown = false
    /// Whether the document has more names than are kept, or was not read, so that it may have any fragment.
    private var isIncomplete = false

    /// The anchors of a document that was not read.
    package static var incomplete: PageAnchors {
        var anchors = PageAnchors()
        anchors.isIncomplete = true
        return anchors
    }

    /// Creates the anchors of a document that has none.
    package init() {}

    /// Creates the anchors of a Markdown document, from its headings and the ids in its HTML.
    ///
    /// - Parameter collapsesHyphens: Whether the document is rendered by Python-Markdown, which makes one hyphen of several:
    ///   the heading `Text & images` has the fragment `text-images`, and on GitHub `text--images`.
    package init(ofMarkdown names: Set<String>, collapsesHyphens: Bool = false) {
        isMarkdown = true
        isIncomplete = names.count >= AnchorCollector.maxNames
        self.names = names.union(names.map { $0.lowercased() })
        if collapsesHyphens { self.names.formUnion(self.names.map(Self.collapseHyphens)) }
    }

    /// Replaces each series of hyphens by one.
    private static func collapseHyphens(in name: String) -> String {
        var last: UInt8 = 0
        let bytes = name.utf8.filter { byte in
            defer { last = byte }
            return byte != UInt8(ascii: "-") || last != byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the anchors of an HTML, XHTML or SVG document.
    ///
    /// - Parameter charset: The character set in the HTTP header.
    package init(of body: Span<UInt8>, as format: BodyFormat, charset: String?) {
        let encoding = body.withUnsafeBufferPointer { format.encoding(of: $0, charset: charset) }
        guard encoding.isASCIICompatible else {
            encoding.decode(body).withUnsafeBufferPointer { read($0, format, .utf8) }
            return
        }
        body.withUnsafeBufferPointer { read($0, format, encoding) }
    }

    private mutating func read(_ text: Bytes, _ format: BodyFormat, _ encoding: TextEncoding) {
        let collector = AnchorCollector(text, encoding)
        var skimmer = HTMLSkimmer(
            text, format == .html ? .html : .xml, vocabulary: .shared, reportsAllTags: true, collector)
        skimmer?.skim()
        (names, ignoredTags) = (collector.names, collector.ignoredTags)
        isIncomplete = names.count >= AnchorCollector.maxNames
        hasScripts = collector.hasScripts || skimmer?.hasEventHandlers == true
    }

    /// Whether a browser finds the part of the document that a URL's fragment names (HTML standard, "select the indicated
    /// part"). It first looks for an id that is equal to the fragment, and then for one that is equal to the decoded fragment.
    /// The fragments `top` and the empty one name the beginning of every document.
    package func contains(_ fragment: String) -> Bool {
        if fragment.isEmpty || isIncomplete || names.contains(fragment) { return true }
        let decoded = String(decoding: [UInt8](percentDecoding: fragment.utf8.span), as: UTF8.self)
        let lowercased = decoded.lowercased()
        if names.contains(decoded) || lowercased == "top" { return true }
        guard isMarkdown else { return false }
        // GitHub finds a heading whatever the case of the fragment, adds this prefix to all ids, and shows lines of the source.
        let name =
            lowercased.hasPrefix("user-content-")
            ? lowercased.dropFirst("user-content-".count) : lowercased[...]
        if names.contains(String(name)) || Self.isLines(name) { return true }
        // MkDocs and other users of Python-Markdown number repeated headings with an underscore.
        guard let mark = name.lastIndex(of: "_"), name[mark...].count > 1,
            name[mark...].dropFirst().allSatisfy(\.isNumber)
        else { return false }
        return names.contains(name[..<mark] + "-" + name[mark...].dropFirst())
    }
}

extension PageAnchors {
    /// Whether a fragment names lines on GitHub, such as `l3` or `l3-l10`, in lower case.
    private static func isLines(_ name: Substring) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        return (1...2).contains(parts.count)
            && parts.allSatisfy { $0.hasPrefix("l") && $0.count > 1 && $0.dropFirst().allSatisfy(\.isNumber) }
    }
}

/// Collects the ids and names of a document's tags, and notices its scripts.
private final class AnchorCollector: HTMLSkimmerDelegate {
    private let text: Bytes
    private let encoding: TextEncoding
    private(set) var names: Set<String> = []
    private(set) var hasScripts = false
    private(set) var ignoredTags: [Range<Int>] = []

    /// Further names of a document are ignored. No document that people wrote has so many.
    static let maxNames = 200_000

    init(_ text: Bytes, _ encoding: TextEncoding) {
        self.text = text
        self.encoding = encoding
    }

    func didFindTag(_ tag: HTMLTag) {
        if tag.name == HTMLVocabulary.shared.element.script { hasScripts = true }
        // Of several attributes with the same name, the first one counts.
        var hasID = false
        for attribute in tag.attributes {
            let name = text.part(attribute.nameRange)
            switch name.count {
            case 2 where name.equals("id") && !hasID:
                hasID = true
                add(attribute)
            case 4 where name.equals("name") && text.part(tag.nameRange).equals("a"): add(attribute)
            case 18 where name.equals("data-larder-ignore"): ignoredTags.append(tag.range)
            default: break
            }
        }
    }

    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}

    func didFindComment(_ range: Range<Int>) {}

    private func add(_ attribute: HTMLAttribute) {
        guard names.count < Self.maxNames else { return }
        var value: [UInt8] = []
        let written = encoding.decode(Span(_unsafeElements: text.part(attribute.valueRange)))
        written.withUnsafeBufferPointer { CharacterReferences.decode($0, into: &value) }
        if !value.isEmpty { names.insert(String(decoding: value, as: UTF8.self)) }
    }
}
