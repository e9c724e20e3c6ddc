internal import Web

/// Collects what the scanners find, in the order of the body, and reads each reference.
///
/// A reference that ``TagReader`` has yet to read waits, and so do those behind it: many tags are read at once.
final class LinkSink {
    private struct Pending {
        var range: Range<Int>
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
        var reading: TagReader.Reading
    }

    /// Pending links are read when there are so many of them.
    private static let batch = 4096
    /// More files than any build has.
    private static let maximalImplied = 131_072

    private let tags: TagReader
    private var reader = ReferenceReader(encoding: .utf8)
    private var body = Bytes(start: nil, count: 0)
    private var pending: [Pending] = []
    private var found: ((LinkOccurrence, Span<UInt8>) -> Void)?
    var table = LinkTable()
    /// Those of the table, so that none is in it twice.
    private var impliedLinks: Set<ImpliedLink> = []

    init(tags: TagReader) {
        self.tags = tags
    }

    /// Starts a body; `found` is called from here until ``end()``.
    func begin(_ body: Bytes, _ encoding: TextEncoding, found: @escaping (LinkOccurrence, Span<UInt8>) -> Void) {
        self.body = body
        self.found = found
        reader = ReferenceReader(encoding: encoding)
        table = LinkTable()
        impliedLinks.removeAll()
        pending.removeAll(keepingCapacity: true)
    }

    func end() -> LinkTable {
        flush()
        found = nil
        body = Bytes(start: nil, count: 0)
        defer { table = LinkTable() }
        return table
    }

    /// A link in `text`, written in `inner`.
    func add(
        _ range: Range<Int>, in text: SourceText, _ kind: LinkKind, _ inner: LinkContext.Inner = .plain,
        _ flags: LinkFlags = []
    ) {
        let context = text.context.with(inner)
        let place = text.map(range)
        add(place, kind, context, flags.union(text.flags), .refused)
    }

    /// A link that is the whole value of an attribute of the document itself.
    func add(
        attribute place: Range<Int>, name: Bytes, of element: Bytes, isUnquoted: Bool, _ kind: LinkKind,
        _ flags: LinkFlags
    ) {
        let reading = tags.add(TagMemory.Tag(element: element, attribute: name, value: body.part(place)))
        add(place, kind, LinkContext(levels: 1, isUnquoted: isUnquoted, .plain), flags, reading)
    }

    private func add(
        _ place: Range<Int>, _ kind: LinkKind, _ context: LinkContext, _ flags: LinkFlags, _ reading: TagReader.Reading
    ) {
        // Places ascend by construction; a body that fools us must not make a table that its reader refuses.
        let last = pending.last?.range ?? table.occurrences.last?.range
        guard !place.isEmpty, place.lowerBound >= last?.upperBound ?? 0 else { return }
        let link = Pending(range: place, kind: kind, context: context, flags: flags, reading: reading)
        if pending.isEmpty, emit(link) { return }
        pending.append(link)
        if pending.count >= Self.batch { flush() }
    }

    /// Links that the body makes without writing them in one piece.
    func imply(_ links: [ImpliedLink]) {
        for link in links where table.implied.count < Self.maximalImplied && impliedLinks.insert(link).inserted {
            table.implied.append(link)
        }
    }

    /// What the reference at `place` of the body says.
    func read(_ place: Range<Int>, _ context: LinkContext) -> String {
        reader.withReference(body.part(place), context) { String(decoding: $0, as: UTF8.self) }
    }

    private func flush() {
        guard !pending.isEmpty else { return }
        tags.read()
        for link in pending where !emit(link) {
            guard case .queued(let number) = link.reading else { continue }
            if !tags.withValue(number, { emit(link, $0) }) { emitByOurselves(link) }
        }
        pending.removeAll(keepingCapacity: true)
        tags.forget()
    }

    /// False when the reference is yet to be read.
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
        if origin == .inlined { return }
        var flags = link.flags
        if origin == .namesOrigin { flags.insert(.namesOrigin) }
        if origin == .fragment { flags.insert(.isFragment) }
        let occurrence = LinkOccurrence(range: link.range, kind: link.kind, context: link.context, flags: flags)
        table.occurrences.append(occurrence)
        found?(occurrence, Span(_unsafeElements: reference))
    }
}
