package import Web

/// The format of a body and the links in it, from one scan when the body arrived.
package struct BodyReading: Sendable {
    /// The maximum length of a body in bytes that is scanned. Larger bodies are stored without a scan.
    package static let byteLimit = 64 * 1024 * 1024

    package var format = BodyFormat.opaque
    package var table = LinkTable()

    package init() {}

    init(format: BodyFormat, table: LinkTable) {
        self.format = format
        self.table = table
    }

    /// The form that a store keeps with the body: its format, a semicolon, and its character set.
    package var form: String { "\(format.name);\(table.encoding.name)" }
}

/// A scanner of bodies, one after the other. Use one per thread: it reuses its libxml2 parser and its
/// buffers.
package final class LinkScanner {
    private let sink = LinkSink(tags: TagReader())

    package init() {}

    /// Finds all links of a body.
    ///
    /// - Parameters:
    ///   - charset: The character set in the HTTP header.
    ///   - found: Receives each occurrence with its reference as a browser reads it, in the order of the
    ///     body, before this function returns.
    package func scan(
        _ body: Span<UInt8>, as format: BodyFormat, charset: String?,
        found: (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        let encoding = body.withUnsafeBufferPointer { format.encoding(of: $0, charset: charset) }
        let isTranscoded = !encoding.isASCIICompatible
        let source = isTranscoded ? encoding.decode(body) : nil
        var table = withoutActuallyEscaping(found) { found in
            if let source {
                return source.withUnsafeBufferPointer { scan($0, format, .utf8, found) }
            }
            return body.withUnsafeBufferPointer { scan($0, format, encoding, found) }
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
    ///   - found: Receives each occurrence with its reference as a browser reads it, in the order of the
    ///     body, before this function returns.
    package func read(
        _ body: Span<UInt8>, of url: WebURL, as mediaType: MediaType?,
        found: (LinkOccurrence, Span<UInt8>) -> Void = { _, _ in }
    ) -> BodyReading {
        guard body.count <= BodyReading.byteLimit else { return BodyReading() }
        let format = BodyFormat(mediaType: mediaType, url: url, body: body)
        return BodyReading(
            format: format, table: scan(body, as: format, charset: mediaType?.charset, found: found))
    }

    private func scan(
        _ body: Bytes, _ format: BodyFormat, _ encoding: TextEncoding,
        _ found: @escaping (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        sink.begin(body, format, encoding, found: found)
        if let masked = encoding.masked(body) {
            masked.withUnsafeBufferPointer { scan($0, format) }
        } else {
            scan(body, format)
        }
        return sink.end()
    }

    private func scan(_ text: Bytes, _ format: BodyFormat) {
        format.scan(SourceText(text), sink)
        // `javascript:` URLs run scripts, and only reading the pending references finds them.
        sink.flush()
        guard sink.runsScript else { return }
        if let mark = ScriptPlace.mark(in: text, format) { sink.mark(mark) }
        guard format == .html, sink.loadsScript, !PageText.isMuch(in: text) else { return }
        // A page that only redirects needs no text, and many links to pages are content, too.
        var linkCount = 0
        for occurrence in sink.table.occurrences {
            if occurrence.kind == .refresh { return }
            if occurrence.role == .page { linkCount += 1 }
        }
        if linkCount < Self.fewLinks { sink.table.renderReasons.insert(.hardlyAnyText) }
    }

    /// The minimum number of links to pages with which a document counts as having content. A page that its
    /// scripts build has hardly more than a start link and legal notices.
    private static let fewLinks = 8
}

/// A receiver that collects the links from the scanners in the order of the body, and decodes each reference.
///
/// References that ``TagReader`` must read are pending until ``flush()``, and so are all links after them,
/// since it reads many tags at once. The cycle is ``begin(_:_:_:found:)``, any number of additions,
/// ``end()``.
final class LinkSink {
    /// A link whose reference is still to be emitted.
    private struct Pending {
        var range: Range<Int>
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
        var reading: TagReader.Reading
    }

    /// The number of pending links at which they are read.
    private static let batch = 4096
    /// The maximum number of implied links. Further ones are ignored.
    static let maximalImplied = 131_072
    private static let maximalMarks = 131_072

    private let tags: TagReader
    private var reader = ReferenceReader(encoding: .utf8)
    private var body = Bytes(start: nil, count: 0)
    private var pending: [Pending] = []
    private var found: ((LinkOccurrence, Span<UInt8>) -> Void)?
    var table = LinkTable()
    /// The marks so far, with the ranges of the tags around those that refer to a link.
    private var marks: [(mark: DocumentMark, tag: Range<Int>)] = []
    private var isDocument = false
    /// Whether the body contains a script, or something else that runs as one.
    var runsScript = false
    /// Whether the body contains a `<script>` element with JavaScript, inline or loaded.
    var loadsScript = false
    /// The implied links of the table, to avoid duplicates.
    private var impliedLinks: Set<ImpliedLink> = []

    init(tags: TagReader) {
        self.tags = tags
    }

    /// Starts a body. `found` is called from here until ``end()``.
    func begin(
        _ body: Bytes, _ format: BodyFormat, _ encoding: TextEncoding,
        found: @escaping (LinkOccurrence, Span<UInt8>) -> Void
    ) {
        self.body = body
        isDocument = format.isDocument
        runsScript = false
        loadsScript = false
        marks.removeAll(keepingCapacity: true)
        self.found = found
        reader = ReferenceReader(encoding: encoding)
        table = LinkTable()
        impliedLinks.removeAll()
        pending.removeAll(keepingCapacity: true)
    }

    func end() -> LinkTable {
        flush()
        table.marks = settledMarks()
        found = nil
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
        let place = text.map(range)
        add(place, kind, context, flags.union(text.flags), .refused)
    }

    /// Adds a link that is the whole value of an attribute of the document itself.
    func add(
        attribute place: Range<Int>, name: Bytes, of element: Bytes, isUnquoted: Bool, _ kind: LinkKind,
        _ flags: LinkFlags
    ) {
        let reading = tags.add(TagMemory.Tag(element: element, attribute: name, value: body.part(place)))
        add(place, kind, LinkContext(levels: 1, isUnquoted: isUnquoted, .plain), flags, reading)
    }

    private func add(
        _ place: Range<Int>, _ kind: LinkKind, _ context: LinkContext, _ flags: LinkFlags,
        _ reading: TagReader.Reading
    ) {
        // Scanners report ascending places. The check keeps a hostile body from producing a table that cannot
        // be decoded.
        let last = pending.last?.range ?? table.occurrences.last?.range
        guard !place.isEmpty, place.lowerBound >= last?.upperBound ?? 0 else { return }
        let link = Pending(range: place, kind: kind, context: context, flags: flags, reading: reading)
        if pending.isEmpty, emit(link) { return }
        pending.append(link)
        if pending.count >= Self.batch { flush() }
    }

    /// Adds links that the body creates without containing their URLs in one piece.
    func imply(_ links: [ImpliedLink]) {
        for link in links
        where table.implied.count < Self.maximalImplied && impliedLinks.insert(link).inserted {
            table.implied.append(link)
        }
    }

    /// Adds the body's settings for module loaders and its requests to them.
    func note(_ notes: [LoaderNote]) {
        table.notes.append(contentsOf: notes.prefix(LoaderNote.maximalCount - table.notes.count))
    }

    /// Returns the decoded reference at `place` of the body.
    func read(_ place: Range<Int>, _ context: LinkContext) -> String {
        reader.withReference(body.part(place), context) { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads the pending references.
    func flush() {
        guard !pending.isEmpty else { return }
        tags.read()
        for link in pending where !emit(link) {
            guard case .queued(let number) = link.reading else { continue }
            if !tags.withValue(number, { emit(link, $0) }) { emitByOurselves(link) }
        }
        pending.removeAll(keepingCapacity: true)
        tags.forget()
    }

    /// Emits a link. Returns false if its reference must still be read.
    private func emit(_ link: Pending) -> Bool {
        switch link.reading {
        case .asWritten: emit(link, body.part(link.range))
        case .refused: emitByOurselves(link)
        case .queued: return false
        }
        return true
    }

    private func emitByOurselves(_ link: Pending) {
        reader.withReference(body.part(link.range), link.context) { emit(link, $0) }
    }

    private func emit(_ link: Pending, _ reference: Bytes) {
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
        found?(occurrence, Span(_unsafeElements: reference))
    }

    // MARK: - Marks

    /// Marks a name or a word that is written in the document without escapes.
    ///
    /// - Parameter tag: The range of the tag around it, for a mark that refers to a link.
    func mark(_ kind: DocumentMark.Kind, _ range: Range<Int>, in text: SourceText, tag: Range<Int>? = nil) {
        guard isDocument, marks.count < Self.maximalMarks else { return }
        let place = text.map(range)
        guard place.count == range.count else { return }
        marks.append((DocumentMark(kind, at: place.lowerBound), tag.map(text.map.callAsFunction) ?? place))
    }

    func mark(_ mark: DocumentMark) {
        marks.append((mark, mark.place..<mark.place))
    }

    /// Marks a policy in the value of an `http-equiv`.
    func mark(policyIn value: Range<Int>, of text: SourceText) {
        let word: StaticString = "content-security-policy"
        guard let start = text.bytes.part(value).firstIndex(of: word) else { return }
        let place = value.lowerBound + start
        mark(.policy, place..<place + word.utf8CodeUnitCount, in: text)
    }

    /// Marks the name of a `<meta>` that sets the referrer policy.
    func mark(referrerIn value: Range<Int>, of text: SourceText) {
        if text.bytes.part(value).equals("referrer") { mark(.referrer, value, in: text) }
    }

    /// Returns the marks in ascending order. Those that refer to a link get the index of the first asset in
    /// their tag.
    private func settledMarks() -> [DocumentMark] {
        guard !marks.isEmpty else { return [] }
        marks.sort { $0.mark.place < $1.mark.place }
        var settled: [DocumentMark] = []
        var next = 0
        for (mark, tag) in marks where mark.place != settled.last?.place || mark.kind != settled.last?.kind {
            guard mark.kind == .integrity else {
                settled.append(mark)
                continue
            }
            while next < table.occurrences.count, table.occurrences[next].range.lowerBound < tag.lowerBound {
                next += 1
            }
            let rest = table.occurrences[next...].prefix { $0.range.lowerBound < tag.upperBound }
            guard let link = rest.firstIndex(where: { $0.role == .asset }) else { continue }
            settled.append(DocumentMark(.integrity, at: mark.place, link: link))
        }
        return settled
    }
}
