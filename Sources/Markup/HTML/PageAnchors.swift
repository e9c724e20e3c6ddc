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

    /// Creates the anchors of a document that is not markup.
    package init(names: Set<String> = []) { self.names = names }

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
        hasScripts = collector.hasScripts || skimmer?.hasEventHandlers == true
    }

    /// Whether a browser finds the part of the document that a URL's fragment names (HTML standard, "select the indicated
    /// part"). It first looks for an id that is equal to the fragment, and then for one that is equal to the decoded fragment.
    /// The fragments `top` and the empty one name the beginning of every document.
    package func contains(_ fragment: String) -> Bool {
        if fragment.isEmpty || names.contains(fragment) { return true }
        let decoded = String(decoding: [UInt8](percentDecoding: fragment.utf8.span), as: UTF8.self)
        return names.contains(decoded) || decoded.lowercased() == "top"
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
    private static let maxNames = 200_000

    init(_ text: Bytes, _ encoding: TextEncoding) {
        self.text = text
        self.encoding = encoding
    }

    func didFindTag(_ tag: HTMLTag) {
        if tag.name == HTMLVocabulary.shared.element.script { hasScripts = true }
        for attribute in tag.attributes {
            let name = text.part(attribute.nameRange)
            switch name.count {
            case 2 where name.equals("id"): add(attribute)
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
