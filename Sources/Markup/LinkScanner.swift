package import Web

/// The format of a body and the links in it, found in one scan before the body is stored.
package struct BodyReading: Sendable {
    /// The maximum length of a body in bytes that is scanned. Larger bodies are stored without a scan.
    package static let maxBytes = 64 * 1024 * 1024

    package var format = BodyFormat.opaque
    package var table = LinkTable()

    package init() {}

    init(format: BodyFormat, table: LinkTable) {
        self.format = format
        self.table = table
    }

    /// The form that is stored with the body: the name of its format, a semicolon, and its character set, such as
    /// `html;UTF-8`.
    package var form: String { "\(format.name);\(table.encoding.name)" }
}

/// The entry point of this module: finds the links of bodies, one body after the other. Use one scanner per thread,
/// since it reuses its libxml2 parser and its buffers.
///
/// A scan works in three steps:
/// 1. `BodyFormat` chooses the scanner of the format, such as ``HTMLScanner``. It reads the body as a ``SourceText`` and
///    adds the ranges of links to the ``LinkSink`` in ascending order.
/// 2. The sink decodes the references and passes each one to the caller.
/// 3. The result is a ``LinkTable``, which is stored with the body. A ``Patch`` uses it later to replace links.
package final class LinkScanner {
    private let sink = LinkSink(decoder: AttributeDecoder())

    package init() {}

    /// Finds all links of a body.
    ///
    /// - Parameters:
    ///   - charset: The character set in the HTTP header.
    ///   - onLink: Receives each occurrence with its reference as a browser reads it, in the order of the
    ///     body, before this function returns.
    package func scan(
        _ body: Span<UInt8>, as format: BodyFormat, charset: String?,
        onLink: (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        let encoding = body.withUnsafeBufferPointer { format.encoding(of: $0, charset: charset) }
        let isTranscoded = !encoding.isASCIICompatible
        let source = isTranscoded ? encoding.decode(body) : nil
        var table = withoutActuallyEscaping(onLink) { onLink in
            if let source {
                return source.withUnsafeBufferPointer { fillSink($0, format, .utf8, onLink) }
            }
            return body.withUnsafeBufferPointer { fillSink($0, format, encoding, onLink) }
        }
        table.encoding = encoding
        table.isTranscoded = isTranscoded
        return table
    }

    /// Decodes a stored table, or scans the body if the table is damaged or of another version.
    ///
    /// - Parameters:
    ///   - form: The body's form; see ``BodyReading/form``.
    ///   - load: Returns the body, or nil if its bytes are no longer stored.
    /// - Returns: The table, or nil if the body cannot be loaded or its form is unknown.
    package func table<Failure: Error>(
        stored: [UInt8], form: String, _ load: () throws(Failure) -> [UInt8]?
    ) throws(Failure) -> LinkTable? {
        if let table = try? LinkTable(decoding: stored.span) { return table }
        guard let format = BodyFormat(form: form) else { return nil }
        // Opaque bodies are never scanned.
        if format == .opaque { return LinkTable() }
        return try load().flatMap { table(of: $0.span, form: form) }
    }

    /// Returns the table of a body that is stored with this form; nil if the form is unknown.
    package func table(of body: Span<UInt8>, form: String) -> LinkTable? {
        guard let format = BodyFormat(form: form) else { return nil }
        if format == .opaque { return LinkTable() }
        let charset = form.utf8.firstIndex(of: UInt8(ascii: ";")).map {
            String(form[form.index(after: $0)...])
        }
        return scan(body, as: format, charset: charset) { _, _ in }
    }

    /// Determines the format of a new body and scans it.
    ///
    /// - Parameters:
    ///   - mediaType: The media type in the HTTP header.
    ///   - onLink: Receives each occurrence with its reference as a browser reads it, in the order of the
    ///     body, before this function returns.
    package func read(
        _ body: Span<UInt8>, of url: WebURL, as mediaType: MediaType?,
        onLink: (LinkOccurrence, Span<UInt8>) -> Void = { _, _ in }
    ) -> BodyReading {
        guard body.count <= BodyReading.maxBytes else { return BodyReading() }
        let format = BodyFormat(mediaType: mediaType, url: url, body: body)
        return BodyReading(
            format: format, table: scan(body, as: format, charset: mediaType?.charset, onLink: onLink))
    }

    private func fillSink(
        _ body: Bytes, _ format: BodyFormat, _ encoding: TextEncoding,
        _ onLink: @escaping (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        sink.begin(body, format, encoding, onLink: onLink)
        if let maskedText = encoding.maskingTrailBytes(body) {
            maskedText.withUnsafeBufferPointer { scanText($0, format) }
        } else {
            scanText(body, format)
        }
        return sink.end()
    }

    private func scanText(_ text: Bytes, _ format: BodyFormat) {
        format.scan(SourceText(text), sink)
        // `javascript:` URLs run scripts, and only reading the pending references finds them.
        sink.flush()
        guard sink.runsScript else { return }
        if let mark = FirstScriptOffset.mark(in: text, format) { sink.addMark(mark) }
        guard format == .html, sink.loadsScript, !PageText.isSufficient(in: text) else { return }
        // A page that only redirects needs no text, and many links to pages are content, too.
        var linkCount = 0
        for occurrence in sink.table.occurrences {
            if occurrence.kind == .refresh { return }
            if occurrence.role == .page { linkCount += 1 }
        }
        if linkCount < Self.minContentLinks { sink.table.renderReasons.insert(.littleText) }
    }

    /// A document with at least this number of links to pages counts as having content. A page that its scripts build
    /// rarely has more than a start link and legal notices.
    private static let minContentLinks = 8
}

/// A receiver that collects the links from the scanners in the order of the body, and decodes each reference.
///
/// References that ``AttributeDecoder`` must decode are pending until ``flush()``, and so are all links after them,
/// since it decodes many values at once. The cycle is ``begin(_:_:_:onLink:)``, any number of additions,
/// ``end()``.
final class LinkSink {
    /// A link whose reference is still to be emitted.
    private struct PendingLink {
        var range: Range<Int>
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
        var source: AttributeDecoder.ValueSource
    }

    /// When this many links are pending, they are read and emitted.
    private static let maxPendingLinks = 4096
    /// The maximum number of implied links. Further ones are ignored.
    static let maxImplied = 131_072
    private static let maxMarks = 131_072

    private let decoder: AttributeDecoder
    private var reader = ReferenceReader(encoding: .utf8)
    private var body = Bytes(start: nil, count: 0)
    private var pending: [PendingLink] = []
    private var onLink: ((LinkOccurrence, Span<UInt8>) -> Void)?
    var table = LinkTable()
    /// The marks so far, with the ranges of the tags around those that refer to a link.
    private var marks: [(mark: DocumentMark, tag: Range<Int>)] = []
    private var isDocument = false
    /// Whether the body contains a script, or something else that runs as one.
    var runsScript = false
    /// Whether the body contains a `<script>` element with JavaScript, inline or loaded.
    var loadsScript = false
    /// The names in the inline scripts of the body, if it is a document.
    var inlineNames = InlineScriptNames()
    /// The implied links of the table, to avoid duplicates.
    private var impliedLinks: Set<ImpliedLink> = []

    init(decoder: AttributeDecoder) {
        self.decoder = decoder
    }

    /// Starts a body. `onLink` is called from here until ``end()``.
    func begin(
        _ body: Bytes, _ format: BodyFormat, _ encoding: TextEncoding,
        onLink: @escaping (LinkOccurrence, Span<UInt8>) -> Void
    ) {
        self.body = body
        isDocument = format.isDocument
        runsScript = false
        loadsScript = false
        inlineNames = InlineScriptNames()
        marks.removeAll(keepingCapacity: true)
        self.onLink = onLink
        reader = ReferenceReader(encoding: encoding)
        table = LinkTable()
        impliedLinks.removeAll()
        pending.removeAll(keepingCapacity: true)
    }

    func end() -> LinkTable {
        flush()
        table.marks = resolvedMarks()
        table.inlineScripts = inlineNames.hash
        onLink = nil
        body = Bytes(start: nil, count: 0)
        defer { table = LinkTable() }
        return table
    }

    /// Adds a link in `text`, written in the syntax `inner`.
    func add(
        _ range: Range<Int>, in text: SourceText, _ kind: LinkKind, _ inner: LinkContext.Inner = .plain,
        _ flags: LinkFlags = []
    ) {
        let context = text.context.with(inner)
        let rangeInBody = text.map(range)
        enqueue(rangeInBody, kind, context, flags.union(text.flags), .unsupported)
    }

    /// Adds a link that is the whole value of an attribute of the document itself.
    func addAttribute(
        _ range: Range<Int>, name: Bytes, of element: Bytes, isUnquoted: Bool, _ kind: LinkKind,
        _ flags: LinkFlags
    ) {
        let source = decoder.add(LinkAttribute(element: element, name: name, value: body.part(range)))
        enqueue(range, kind, LinkContext(levels: 1, isUnquoted: isUnquoted, .plain), flags, source)
    }

    private func enqueue(
        _ range: Range<Int>, _ kind: LinkKind, _ context: LinkContext, _ flags: LinkFlags,
        _ source: AttributeDecoder.ValueSource
    ) {
        // Scanners report ascending places. The check keeps a hostile body from producing a table that cannot
        // be decoded.
        let last = pending.last?.range ?? table.occurrences.last?.range
        guard !range.isEmpty, range.lowerBound >= last?.upperBound ?? 0 else { return }
        let link = PendingLink(range: range, kind: kind, context: context, flags: flags, source: source)
        if pending.isEmpty, emit(link) { return }
        pending.append(link)
        if pending.count >= Self.maxPendingLinks { flush() }
    }

    /// Adds links that the body creates without containing their URLs in one piece.
    func addImplied(_ links: [ImpliedLink]) {
        for link in links
        where table.implied.count < Self.maxImplied && impliedLinks.insert(link).inserted {
            table.implied.append(link)
        }
    }

    /// Adds the body's settings for module loaders and its requests to them.
    func addNotes(_ notes: [LoaderNote]) {
        table.notes.append(contentsOf: notes.prefix(LoaderNote.maxCount - table.notes.count))
    }

    /// Returns the decoded reference at `place` of the body.
    func read(_ range: Range<Int>, _ context: LinkContext) -> String {
        reader.withReference(body.part(range), context) { String(decoding: $0, as: UTF8.self) }
    }

    /// Emits the pending links. Lets libxml2 read their references, all in one call.
    func flush() {
        guard !pending.isEmpty else { return }
        decoder.parse()
        for link in pending where !emit(link) {
            guard case .queued(let number) = link.source else { continue }
            if !decoder.withValue(number, { emit(link, $0) }) { emitDecoding(link) }
        }
        pending.removeAll(keepingCapacity: true)
        decoder.reset()
    }

    /// Emits a link. Returns false if its reference must still be read.
    private func emit(_ link: PendingLink) -> Bool {
        switch link.source {
        case .asWritten: emit(link, body.part(link.range))
        case .unsupported: emitDecoding(link)
        case .queued: return false
        }
        return true
    }

    /// Emits a link whose reference ``ReferenceReader`` decodes.
    private func emitDecoding(_ link: PendingLink) {
        reader.withReference(body.part(link.range), link.context) { emit(link, $0) }
    }

    /// Adds a link with its decoded reference to the table and passes it to the caller. Drops references that cannot be
    /// fetched, such as `data:` URLs.
    private func emit(_ link: PendingLink, _ reference: Bytes) {
        let origin = ReferenceShape(reference)
        if origin == .inlined {
            let start = reference.trimmed(0..<reference.count).lowerBound
            runsScript = runsScript || reference.starts(with: "javascript:", at: start)
            return
        }
        var flags = link.flags
        if origin == .namesOrigin { flags.insert(.namesOrigin) }
        if origin == .fragment { flags.insert(.isFragment) }
        let occurrence = LinkOccurrence(
            range: link.range, kind: link.kind, context: link.context, flags: flags)
        table.occurrences.append(occurrence)
        onLink?(occurrence, Span(_unsafeElements: reference))
    }

    // MARK: - Marks

    /// Marks a name or a word that is written in the document without escapes.
    ///
    /// - Parameter tag: The range of the tag around it, for a mark that refers to a link.
    func addMark(_ kind: DocumentMark.Kind, _ range: Range<Int>, in text: SourceText, tag: Range<Int>? = nil)
    {
        guard isDocument, marks.count < Self.maxMarks else { return }
        let place = text.map(range)
        guard place.count == range.count else { return }
        marks.append((DocumentMark(kind, at: place.lowerBound), tag.map(text.map.callAsFunction) ?? place))
    }

    func addMark(_ mark: DocumentMark) {
        marks.append((mark, mark.offset..<mark.offset))
    }

    /// Marks a policy in the value of an `http-equiv`.
    func markPolicy(in value: Range<Int>, of text: SourceText) {
        let word: StaticString = "content-security-policy"
        guard let start = text.bytes.part(value).firstIndex(of: word) else { return }
        let place = value.lowerBound + start
        addMark(.policy, place..<place + word.utf8CodeUnitCount, in: text)
    }

    /// Marks the name of a `<meta>` that sets the referrer policy.
    func markReferrer(in value: Range<Int>, of text: SourceText) {
        if text.bytes.part(value).equals("referrer") { addMark(.referrer, value, in: text) }
    }

    /// Returns the marks in ascending order. Those that refer to a link get the index of the first asset in
    /// their tag.
    private func resolvedMarks() -> [DocumentMark] {
        guard !marks.isEmpty else { return [] }
        marks.sort { $0.mark.offset < $1.mark.offset }
        var resolved: [DocumentMark] = []
        var next = 0
        for (mark, tag) in marks
        where mark.offset != resolved.last?.offset || mark.kind != resolved.last?.kind {
            guard mark.kind == .integrity else {
                resolved.append(mark)
                continue
            }
            while next < table.occurrences.count, table.occurrences[next].range.lowerBound < tag.lowerBound {
                next += 1
            }
            let rest = table.occurrences[next...].prefix { $0.range.lowerBound < tag.upperBound }
            guard let link = rest.firstIndex(where: { $0.role == .asset }) else { continue }
            resolved.append(DocumentMark(.integrity, at: mark.offset, occurrence: link))
        }
        return resolved
    }
}
