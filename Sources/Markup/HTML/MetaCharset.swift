internal import Web

/// Finds the first `<meta>` of a document that names an encoding, wherever it stands.
final class MetaCharset: HTMLSkimmerDelegate {
    private let text: Bytes
    private let vocabulary = HTMLVocabulary.shared
    private var encoding: TextEncoding?

    private init(_ text: Bytes) {
        self.text = text
    }

    static func find(in text: Bytes) -> TextEncoding? {
        let finder = MetaCharset(text)
        var skimmer = HTMLSkimmer(text, vocabulary: finder.vocabulary, finder)
        skimmer?.skim()
        return finder.encoding
    }

    func skimmed(_ tag: HTMLTag) {
        guard tag.name == vocabulary.element.meta, encoding == nil else { return }
        if let charset = value(vocabulary.attribute.charset, of: tag) {
            encoding = HTMLPrescan.declared(charset)
        } else if let pragma = value(vocabulary.attribute.httpEquiv, of: tag), pragma.equals("content-type"),
            let content = value(vocabulary.attribute.content, of: tag)
        {
            encoding = HTMLPrescan.charset(inContent: content)
        }
    }

    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}

    func skimmed(comment: Range<Int>) {}

    private func value(_ name: UInt8, of tag: HTMLTag) -> Bytes? {
        tag.attributes.first { $0.name == name }.map { text.part($0.valueRange) }
    }
}
