/// Finds the links of a document: what the skimmer shows it, judged by the table of link rules.
final class HTMLScanner: HTMLSkimmerDelegate {
    let sink: LinkSink
    let vocabulary = HTMLVocabulary.shared
    /// The text that is walked just now; another one inside a conditional comment or a `srcdoc`.
    var text: SourceText
    /// The document itself, not one inside it: its `<base>` and `<title>` count.
    let isOutermost: Bool
    /// What a script writes into its document: attributes that stand whole in one of its strings count, and nothing else.
    let writing: Writing?
    /// How the content of the last script is read.
    private var scriptFormat = BodyFormat.javaScript
    private var isStyle = true
    /// What the last film or sound said: its sources and tracks, which follow it, say nothing of their own.
    private(set) var isMediaCORS = false
    /// Whether the form that is open is sent with POST; nil where none is. One inside of it is none.
    private(set) var isInPost: Bool?

    enum Writing {
        /// The script stands in the document.
        case inside
        /// Nobody knows into which document it writes.
        case elsewhere
    }

    init(_ text: SourceText, _ sink: LinkSink, isOutermost: Bool, writing: Writing? = nil) {
        self.text = text
        self.sink = sink
        self.isOutermost = isOutermost
        self.writing = writing
    }

    /// Scans what a script writes into its document.
    static func scan(written text: SourceText, _ sink: LinkSink, _ writing: Writing) {
        HTMLScanner(text, sink, isOutermost: false, writing: writing).skim(text)
    }

    /// Scans a document, or the part of one.
    static func scan(_ text: SourceText, _ sink: LinkSink, isXML: Bool = false, isOutermost: Bool = true) {
        let scanner = HTMLScanner(text, sink, isOutermost: isOutermost)
        scanner.skim(text, isXML)
    }

    private func skim(_ text: SourceText, _ isXML: Bool = false) {
        let outer = self.text
        self.text = text
        var skimmer = HTMLSkimmer(text.bytes, isXML ? .xml : .html, vocabulary: vocabulary, self)
        skimmer?.skim()
        self.text = outer
    }

    func skimmed(_ tag: HTMLTag) {
        if tag.name == vocabulary.element.script {
            scriptFormat = Self.scriptFormat(value(vocabulary.attribute.type, of: tag))
        } else if tag.name == vocabulary.element.style {
            let type = value(vocabulary.attribute.type, of: tag)
            isStyle = type.map { $0.isEmpty || $0.starts(with: "text/css") } ?? true
        } else if tag.name == vocabulary.element.video || tag.name == vocabulary.element.audio {
            isMediaCORS = value(vocabulary.attribute.crossorigin, of: tag) != nil
        } else if tag.name == vocabulary.element.form, isInPost == nil {
            isInPost = isPost(tag)
        }
        var seen = NameSet()
        for attribute in tag.attributes {
            guard let rule = vocabulary.rule(tag.namespace, tag.name, attribute.name) else { continue }
            // Of two attributes with one name the first counts.
            if seen.insert(attribute.name) { apply(rule, attribute, tag) }
        }
    }

    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {
        guard writing == nil else { return }
        // Whoever shows no frames reads what stands there for them.
        if form == .raw, name == vocabulary.element.noframes || name == vocabulary.element.noembed {
            return skim(text.part(content))
        }
        if name == vocabulary.element.title {
            if isOutermost, sink.table.title == nil { sink.table.title = title(content) }
            return
        }
        let format: BodyFormat
        if name == vocabulary.element.script {
            format = scriptFormat
        } else if name == vocabulary.element.style, isStyle {
            format = .css
        } else {
            return
        }
        switch form {
        case .raw: format.scan(text.part(content), sink)
        case .text: text.withDecoded(content) { format.scan($0, sink) }
        }
    }

    func skimmed(comment: Range<Int>) {
        // Inside of one there is no other: what looks so is a comment without an end.
        guard writing == nil, !text.flags.contains(.isConditional) else { return }
        let bytes = text.bytes.part(comment)
        // `<!--[if lt IE 9]> … <![endif]-->` is markup to old browsers.
        guard bytes.starts(with: "[if"), let open = bytes.firstIndex(of: "]>") else { return }
        let end = bytes.firstIndex(of: "<![endif]", from: open) ?? bytes.count
        let inside = comment.lowerBound + open + 2..<comment.lowerBound + max(end, open + 2)
        skim(text.part(inside, adding: .isConditional))
    }

    func skimmedEndOfForm() { isInPost = nil }

    /// The value of another attribute of the same tag, as written.
    func value(_ name: UInt8, of tag: HTMLTag) -> Bytes? {
        guard let attribute = tag.attributes.first(where: { $0.name == name }) else { return nil }
        return text.bytes.part(text.bytes.trimmed(attribute.valueRange))
    }

    private static func scriptFormat(_ type: Bytes?) -> BodyFormat {
        guard let type, !type.isEmpty else { return .javaScript }
        if type.equals("module") { return .javaScript }
        if type.equals("importmap") { return .importMap }
        if type.equals("speculationrules") { return .speculationRules }
        if type.equals("application/ld+json") { return .jsonLD }
        let essence = type.part(0..<(type.firstIndex(of: UInt8(ascii: ";")) ?? type.count))
        return BodyFormat.isJavaScript(essence) ? .javaScript : .opaque
    }

    /// White space collapsed, references undone, at most 256 bytes of whole characters.
    private func title(_ content: Range<Int>) -> String? {
        let place = content.lowerBound..<min(content.upperBound, content.lowerBound + 4096)
        var title = ""
        for word in sink.read(text.map(place), .attribute).utf8.split(whereSeparator: \.isSpace) {
            if !title.isEmpty { title.append(" ") }
            title.append(contentsOf: String(Substring(word)))
            if title.utf8.count > 256 { break }
        }
        while title.utf8.count > 256 { title.unicodeScalars.removeLast() }
        return title.isEmpty ? nil : title
    }
}
