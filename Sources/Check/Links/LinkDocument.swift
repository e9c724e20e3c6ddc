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

    /// A link of a document: the target as a URL, or the reference if it is not a valid URL.
    enum Target: Hashable, Sendable {
        case url(String)
        case invalid(String)
    }

    /// Reads a document.
    ///
    /// - Parameter number: returns the number of a target, which is the same for equal targets.
    func read(_ document: LinkDocument, _ body: Span<UInt8>, number: ([Target]) -> [Int32])
        -> LinkDocumentReading
    {
        guard body.count <= BodyReading.maxBytes else {
            var reading = LinkDocumentReading()
            reading.isTooLarge = true
            reading.anchors = .incomplete
            return reading
        }
        if Self.isMarkdown(document.url.path) { return readMarkdown(document, body, number: number) }
        var reading = LinkDocumentReading()
        var targets: [Target] = []
        var places: [(range: Range<Int>, kind: LinkKind)] = []
        var references: [(occurrence: LinkOccurrence, text: [UInt8])] = []
        let format = BodyFormat(mediaType: document.type, url: document.url, body: body)
        let charset = Self.charset(of: document, body, format)
        let table = scanner.scan(body, as: format, charset: charset) { occurrence, reference in
            guard Self.isChecked(occurrence) else { return }
            references.append((occurrence, reference.withUnsafeBufferPointer { Array($0) }))
        }
        if format == .html || format == .xhtml || format == .svg {
            reading.anchors = PageAnchors(of: body, as: format, charset: charset)
        }
        reading.isTranscoded = table.isTranscoded
        let base = Self.base(of: table, document) ?? document.url
        var ignored = (reading.anchors?.ignoredTags ?? [])[...]
        for (occurrence, text) in references {
            while let first = ignored.first, first.upperBound <= occurrence.range.lowerBound {
                ignored.removeFirst()
            }
            if let first = ignored.first, first.contains(occurrence.range.lowerBound) {
                reading.ignoredCount += 1
                continue
            }
            let base = occurrence.flags.contains(.ignoresBase) ? document.url : base
            var url = WebURL(utf8: text.span, base: base, queryEncoding: table.encoding)
            // The password of a login is not needed to check that the target exists, and must not get into reports.
            if url?.hasCredentials == true { url = url?.withoutCredentials }
            // Style sheets write fragments such as `?#iefix` behind the URLs of fonts only for old browsers.
            if occurrence.kind == .font { url = url?.withoutFragment }
            if occurrence.kind == .refresh { reading.refreshTarget = url?.href }
            targets.append(url.map { .url($0.href) } ?? .invalid(String(decoding: text, as: UTF8.self)))
            places.append((occurrence.range, occurrence.kind))
        }
        reading.occurrences = zip(number(targets), places).map {
            .init(target: $0, range: $1.range, kind: $1.kind)
        }
        return reading
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
        _ document: LinkDocument, _ body: Span<UInt8>, number: ([Target]) -> [Int32]
    ) -> LinkDocumentReading {
        var reading = LinkDocumentReading()
        let markdown = MarkdownLinks(body)
        reading.anchors = PageAnchors(ofMarkdown: markdown.anchors)
        let targets = markdown.links.map { link -> Target in
            // Markdown renders a backslash as `%5C`, while a URL parser reads it as a slash.
            let reference = link.reference.replacing("\\", with: "%5C")
            return WebURL(reference, base: document.url).map { .url($0.withoutCredentials.href) }
                ?? .invalid(link.reference)
        }
        reading.occurrences = zip(number(targets), markdown.links).map { number, link in
            .init(target: number, range: link.range, kind: link.isImage ? .image : .page)
        }
        return reading
    }

    /// The UTF-8 form of a document whose encoding does not contain ASCII.
    func decodedText(of document: LinkDocument, _ body: [UInt8]) -> [UInt8] {
        let format = BodyFormat(mediaType: document.type, url: document.url, body: body.span)
        let charset = Self.charset(of: document, body.span, format)
        return scanner.scan(body.span, as: format, charset: charset) { _, _ in }.source(of: body.span) ?? body
    }

    /// Whether a path has one of the extensions of Markdown.
    static func isMarkdown(_ path: String) -> Bool {
        let path = path.lowercased()
        return [".md", ".markdown", ".mdown", ".mkd", ".mdx"].contains { path.hasSuffix($0) }
    }

    /// Whether a link is checked. Strings in scripts are only guesses, and names, policies, beacons and forms with POST are
    /// not requested by following a link.
    private static func isChecked(_ occurrence: LinkOccurrence) -> Bool {
        guard occurrence.flags.isDisjoint(with: [.isGuess, .isConditional, .hasCodebase]) else {
            return false
        }
        switch occurrence.kind {
        case .page, .frame, .refresh, .alternate, .canonical, .navigation, .prefetch, .about, .feedEntry,
            .sitemapEntry,
            .script, .module, .worker, .style, .image, .icon, .font, .media, .track, .embed, .manifest,
            .search, .data,
            .preload, .htmlImport, .drawing, .transform, .playlist, .enclosure, .model, .citation, .imageMap,
            .sharing:
            return true
        case .form, .speculation, .applet, .entity, .base, .codebase, .ping, .profile, .item, .metadata,
            .submission,
            .origin, .parameter, .policy, .sourceMap, .name, .part:
            return false
        }
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
