internal import Codings
internal import Markup
internal import Web

/// A document whose links are checked: a file, or a stored response.
struct LinkDocument: Sendable, Equatable {
    /// The name in reports: the path of the file as the user gave it, or the URL.
    let name: String
    /// The URL that relative links are resolved against, unless the document has a `<base>`.
    let url: WebURL
    /// The media type and the character set, if a server declared them.
    var type: MediaType?
    /// The name of a content coding that Larder cannot decode, so that the body may be unreadable.
    var unknownCoding: String?
    /// Whether the document is Markdown that is rendered by Python-Markdown (see `PageAnchors`).
    var collapsesHyphens = false

    /// Whether the document is read as Markdown. A server may send a page with such a name as HTML.
    var isMarkdown: Bool { type?.isHTML != true && LinkDocumentReader.isMarkdown(url.path) }

    /// Whether a browser offers to save a body of this type. Then fragments have no meaning, whatever the bytes are.
    static func isDownload(_ type: MediaType?) -> Bool { type?.essence == "application/octet-stream" }

    /// The first content coding that Larder does not know; nil if there is none. Browsers ignore unknown names, since most
    /// are misplaced names of character sets.
    static func unknownCoding(in fields: HTTPFields) -> String? {
        guard fields.isCoded else { return nil }
        return fields.elements("Content-Encoding").map { $0.lowercased() }.first {
            $0 != "identity" && ContentCoding(named: $0) == nil
        }
    }

    /// The detail of a link whose fragment was not found, because the body has a content coding that Larder does not know.
    static func unknownCodingText(_ coding: String) -> String {
        "could not tell: the server sent the page with the content coding \"\(coding)\", which is not known"
    }
}

/// The links and fragments of one document.
struct LinkDocumentReading: Sendable {
    /// A link at one place in the document.
    struct Occurrence: Sendable, Equatable {
        /// The link's number in the `LinkTargets`.
        let target: Int32
        /// The offset of the reference in the document's text.
        let offset: Int32
        /// The length of the reference as written.
        let byteCount: Int32
        let kind: LinkKind

        init(target: Int32, range: Range<Int>, kind: LinkKind) {
            (self.target, self.kind) = (target, kind)
            (offset, byteCount) = (Int32(clamping: range.lowerBound), Int32(clamping: range.count))
        }

        var range: Range<Int> { Int(offset)..<Int(offset) + Int(byteCount) }
    }

    var occurrences: [Occurrence] = []
    /// The fragments; nil for a document without any, such as a style sheet.
    var anchors: PageAnchors?
    /// The number of links with the attribute `data-larder-ignore`.
    var ignoredCount = 0
    /// The URL that the document redirects to by `<meta http-equiv=refresh>`; nil if it does not.
    var refreshTarget: String?
    /// Whether the document exceeds the maximum size, so that it was not read.
    var isTooLarge = false
    /// Whether offsets count in the UTF-8 form of the document, because its encoding does not contain ASCII.
    var isTranscoded = false
}

/// Reads the links of documents, one after the other. Use one reader per thread.
struct LinkDocumentReader {
    private let scanner = LinkScanner()

    /// The target of a link: a URL, or the reference if it is not one.
    enum Target: Hashable, Sendable {
        case url(String)
        /// Not a valid URL.
        case invalid(String)
        /// A placeholder that a template engine or script replaces.
        case template(String)

        /// The target in reports: without the invalid host that stands for a folder.
        var shownText: String {
            switch self {
            case .url(let href):
                let base = FileLinkSource.unnamedBase
                guard href.hasPrefix(base) else { return href }
                let path = href.dropFirst(base.count)
                // A link to a fragment of the document itself, which is in no file and therefore has no path.
                guard path.hasPrefix(FileLinkSource.textName), let fragment = path.firstIndex(of: "#") else {
                    return "/" + path
                }
                return String(path[fragment...])
            case .invalid(let reference), .template(let reference): return reference
            }
        }
    }

    /// The references of a document, which can be resolved only when its base is known. All are in one array, since a million
    /// small arrays would take half a gigabyte.
    private struct References {
        var bytes: [UInt8] = []
        /// The end of each reference in `bytes`.
        var ends: [Int] = []
        var occurrences: [LinkOccurrence] = []

        mutating func append(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) {
            reference.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
            ends.append(bytes.count)
            occurrences.append(occurrence)
        }

        /// The range of a reference in `bytes`.
        func range(_ number: Int) -> Range<Int> { (number > 0 ? ends[number - 1] : 0)..<ends[number] }
    }

    /// The number of links whose targets are numbered at once, under one lock.
    private static let batchCount = 1024

    /// Reads a document.
    ///
    /// - Parameter numbers: returns the numbers of targets. Equal targets have the same number.
    func read(_ document: LinkDocument, _ body: Span<UInt8>, numbers: ([Target]) -> [Int32])
        -> LinkDocumentReading
    {
        guard body.count <= BodyReading.maxBytes else {
            var reading = LinkDocumentReading()
            reading.isTooLarge = true
            reading.anchors = .incomplete
            return reading
        }
        if document.isMarkdown { return readMarkdown(document, body, numbers: numbers) }
        var reading = LinkDocumentReading()
        var references = References()
        let format = BodyFormat(mediaType: document.type, url: document.url, body: body)
        let charset = Self.charset(of: document, body, format)
        let table = scanner.scan(body, as: format, charset: charset) { occurrence, reference in
            if Self.isChecked(occurrence) { references.append(occurrence, reference) }
        }
        if format.isHTML || format == .svg {
            reading.anchors = PageAnchors(of: body, as: format, charset: charset)
        }
        reading.isTranscoded = table.isTranscoded
        resolve(references, table, document, &reading, numbers: numbers)
        return reading
    }

    /// Adds the links of a document to its reading, except those of tags with `data-larder-ignore`.
    private func resolve(
        _ references: References, _ table: LinkTable, _ document: LinkDocument,
        _ reading: inout LinkDocumentReading, numbers: ([Target]) -> [Int32]
    ) {
        let base = Self.base(of: table, document) ?? document.url
        var ignored = (reading.anchors?.ignoredTags ?? [])[...]
        var targets: [Target] = []
        var places: [(range: Range<Int>, kind: LinkKind)] = []
        func flush() {
            reading.occurrences += zip(numbers(targets), places).map {
                .init(target: $0, range: $1.range, kind: $1.kind)
            }
            targets.removeAll(keepingCapacity: true)
            places.removeAll(keepingCapacity: true)
        }
        for (index, occurrence) in references.occurrences.enumerated() {
            while let first = ignored.first, first.upperBound <= occurrence.range.lowerBound {
                ignored.removeFirst()
            }
            if let first = ignored.first, first.contains(occurrence.range.lowerBound) {
                reading.ignoredCount += 1
                continue
            }
            let text = references.bytes.span.extracting(references.range(index))
            places.append((occurrence.range, occurrence.kind))
            if Self.isTemplate(text) {
                targets.append(.template(Self.string(text)))
            } else {
                let base = occurrence.flags.contains(.ignoresBase) ? document.url : base
                var url = WebURL(utf8: text, base: base, queryEncoding: table.encoding)
                // The password of a login is not needed to check that the target exists, and must not get into reports.
                if url?.hasCredentials == true { url = url?.withoutCredentials }
                // Style sheets write fragments such as `?#iefix` behind the URLs of fonts only for old browsers.
                if occurrence.kind == .font { url = url?.withoutFragment }
                if occurrence.kind == .refresh { reading.refreshTarget = url?.href }
                targets.append(url.map { .url($0.href) } ?? .invalid(Self.string(text)))
            }
            if targets.count == Self.batchCount { flush() }
        }
        flush()
    }

    private static func string(_ text: Span<UInt8>) -> String {
        text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether a reference has a placeholder of a template engine: `{{ url }}`, `{% url %}` or `<%= url %>`. Not used for
    /// Markdown: `MarkdownLinks` leaves such links out.
    private static func isTemplate(_ reference: Span<UInt8>) -> Bool {
        let pairs: [(StaticString, StaticString)] = [("{{", "}}"), ("{%", "%}"), ("<%", "%>")]
        return pairs.contains { open, close in
            guard let start = offset(of: open, in: reference, from: 0) else { return false }
            return offset(of: close, in: reference, from: start + 2) != nil
        }
    }

    /// The offset of a mark of two bytes; nil if there is none.
    private static func offset(of mark: StaticString, in text: Span<UInt8>, from start: Int) -> Int? {
        let (first, second) = (mark.utf8Start[0], mark.utf8Start[1])
        var index = start
        while index + 1 < text.count {
            if text[index] == first, text[index + 1] == second { return index }
            index += 1
        }
        return nil
    }

    /// The base URL that a document declares; nil if there is none, or if it is a `data:` or `javascript:` URL, which browsers
    /// ignore (HTML standard, "set the frozen base URL").
    private static func base(of table: LinkTable, _ document: LinkDocument) -> WebURL? {
        table.base.flatMap { WebURL($0, base: document.url) }.flatMap {
            $0.scheme == "data" || $0.scheme == "javascript" ? nil : $0
        }
    }

    /// The character set to read a document with. A file has no header that declares one; without a declaration of its own, it
    /// counts as UTF-8 if its bytes are valid, since servers of files declare that. A browser would take windows-1252.
    private static func charset(of document: LinkDocument, _ body: Span<UInt8>, _ format: BodyFormat)
        -> String?
    {
        guard document.type == nil, format.declaredEncoding(of: body) == nil else {
            return document.type?.charset
        }
        return body.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) } == nil ? nil : "utf-8"
    }

    private func readMarkdown(
        _ document: LinkDocument, _ body: Span<UInt8>, numbers: ([Target]) -> [Int32]
    ) -> LinkDocumentReading {
        var reading = LinkDocumentReading()
        let decoded = Self.decodedMarkdown(body)
        reading.isTranscoded = decoded != nil
        let markdown = decoded.map { MarkdownLinks($0.span) } ?? MarkdownLinks(body)
        reading.anchors = PageAnchors(
            ofMarkdown: markdown.anchors, collapsesHyphens: document.collapsesHyphens)
        let targets = markdown.links.map { link -> Target in
            // Markdown renders a backslash as `%5C`, while a URL parser reads it as a slash.
            let reference = link.reference.replacing("\\", with: "%5C")
            return WebURL(reference, base: document.url).map { .url($0.withoutCredentials.href) }
                ?? .invalid(link.reference)
        }
        reading.occurrences = zip(numbers(targets), markdown.links).map { number, link in
            .init(target: number, range: link.range, kind: link.isImage ? .image : .page)
        }
        return reading
    }

    /// The UTF-8 form of a Markdown document in UTF-16, which begins with a byte order mark; nil for UTF-8.
    private static func decodedMarkdown(_ body: Span<UInt8>) -> [UInt8]? {
        guard let mark = TextEncoding.byteOrderMark(of: body), !mark.encoding.isASCIICompatible else {
            return nil
        }
        return mark.encoding.decode(body)
    }

    /// The text in which the offsets of a document's links count: its UTF-8 form if its encoding does not contain ASCII, else
    /// the body itself.
    func decodedText(of document: LinkDocument, _ body: [UInt8]) -> [UInt8] {
        if document.isMarkdown { return Self.decodedMarkdown(body.span) ?? body }
        let format = BodyFormat(mediaType: document.type, url: document.url, body: body.span)
        let charset = Self.charset(of: document, body.span, format)
        return scanner.scan(body.span, as: format, charset: charset) { _, _ in }.source(of: body.span) ?? body
    }

    /// Whether a path has one of the extensions of Markdown.
    static func isMarkdown(_ path: String) -> Bool {
        let path = path.lowercased()
        return [".md", ".markdown", ".mdown", ".mkd", ".mdx"].contains { path.hasSuffix($0) }
    }

    /// Whether a link is checked. Strings in scripts are only guesses.
    private static func isChecked(_ occurrence: LinkOccurrence) -> Bool {
        occurrence.flags.isDisjoint(with: [.isGuess, .isConditional, .hasCodebase])
            && occurrence.kind.isFollowed
    }
}

/// The different targets of all documents, each with a number. Used under a lock by the threads that read documents.
struct LinkTargets: Sendable {
    private(set) var all: [LinkDocumentReader.Target] = []
    private var numbers: [LinkDocumentReader.Target: Int32] = [:]

    /// The numbers of targets; new targets get the next ones.
    mutating func numbers(of targets: [LinkDocumentReader.Target]) -> [Int32] {
        targets.map { target in
            if let known = numbers[target] { return known }
            let number = Int32(clamping: all.count)
            numbers[target] = number
            all.append(target)
            return number
        }
    }
}

/// Finds the lines and columns of offsets in a text. Both count from 1; columns count characters of UTF-8.
struct TextPosition {
    /// The lines and columns of offsets in ascending order.
    static func positions(of offsets: [Int], in text: Span<UInt8>) -> [(line: Int, column: Int)] {
        var positions: [(line: Int, column: Int)] = []
        // Editors do not show a byte order mark.
        var (index, line, column) = (hasByteOrderMark(text) ? 3 : 0, 1, 1)
        for offset in offsets {
            while index < min(offset, text.count) {
                if text[index] == UInt8(ascii: "\n") {
                    (line, column) = (line + 1, 1)
                } else if text[index] & 0xC0 != 0x80 {
                    column += 1
                }
                index += 1
            }
            positions.append((line, column))
        }
        return positions
    }

    private static func hasByteOrderMark(_ text: Span<UInt8>) -> Bool {
        text.count >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF
    }

    /// The reference in a range, shortened if it is too long to print.
    static func reference(_ range: Range<Int>, in text: [UInt8]) -> String {
        let range = range.clamped(to: text.indices)
        let reference = String(decoding: text[range].prefix(maxReferenceBytes), as: UTF8.self)
        return range.count > maxReferenceBytes ? reference + "…" : reference
    }

    private static let maxReferenceBytes = 200
}
