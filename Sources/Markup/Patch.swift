internal import Glibc
internal import Web

/// A body with some of its places replaced: what becomes of its links, and of other places. Every byte
/// outside of them stays as it was.
///
/// It is applied to the bytes at once, or to the parts of a file as they are sent, so that a large body is
/// neither held nor put together anew. Immutable once it is made: any number of threads share it.
package struct Patch: Sendable {
    /// What takes the place of some bytes that are no link, or is put between two bytes.
    package struct Change: Sendable {
        package var range: Range<Int>
        package var text: [UInt8]

        package init(_ range: Range<Int>, _ text: [UInt8]) {
            self.range = range
            self.text = text
        }

        /// Overwrites as many bytes as the text has.
        package init(at place: Int, _ text: StaticString) {
            range = place..<place + text.utf8CodeUnitCount
            self.text = text.withUTF8Buffer { Array($0) }
        }
    }

    private struct Edit: Sendable {
        /// What it replaces, of the body.
        let source: Range<Int>
        /// Where its text begins in what comes out, and among the texts; how long that is.
        let place: Int
        let text: Range<Int>
    }

    /// The length of the body, and of what comes out.
    package let sourceByteCount: Int
    package private(set) var byteCount: Int
    private var edits: [Edit] = []
    private var texts: [UInt8] = []
    /// Up to here the body is read.
    private var read = 0

    /// - Parameter changes: by their places. One that would reach into another, or beyond the body, is left
    ///   out.
    package init(_ changes: [Change], of sourceByteCount: Int) {
        self.init(of: sourceByteCount)
        for change in changes { add(change) }
    }

    private init(of sourceByteCount: Int) {
        self.sourceByteCount = sourceByteCount
        byteCount = sourceByteCount
    }

    /// Replaces each of a body's references by what `replacement` makes of it.
    ///
    /// - Parameters:
    ///   - body: what the table's ranges count in; see ``LinkTable/source(of:)``.
    ///   - only: occurrences without one of these flags are neither read nor asked about, so that a page
    ///     costs what its few links to other origins cost.
    ///   - changes: by their places.
    ///   - replacement: gets the occurrence and its reference as a browser reads it. Nil, nothing or that
    ///     same reference keeps the bytes as they stand; what it returns is escaped for the place.
    package init(
        _ body: Span<UInt8>, _ table: LinkTable, only: LinkFlags = [], changes: [Change] = [],
        replacement: (LinkOccurrence, Span<UInt8>) -> String?
    ) {
        self.init(of: body.count)
        var rest = changes[...]
        let encoding = table.isTranscoded ? .utf8 : table.encoding
        body.withUnsafeBufferPointer { body in
            var (reader, writer) = (ReferenceReader(encoding: encoding), ReferenceWriter(encoding: encoding))
            for occurrence in table.occurrences where occurrence.flags.isSuperset(of: only) {
                let range = occurrence.range
                while let change = rest.first, change.range.lowerBound <= range.lowerBound {
                    add(change)
                    rest.removeFirst()
                }
                // A table that belongs to another body must not make this one worse.
                guard range.lowerBound >= read, range.upperBound <= body.count else { continue }
                let replaced = reader.withReference(body.part(range), occurrence.context) { reference in
                    let text = replacement(occurrence, Span(_unsafeElements: reference))
                    // There are many ways to write a reference: the one that stands there is right.
                    return text.flatMap { $0.isEmpty || $0.utf8.elementsEqual(reference) ? nil : $0 }
                }
                guard let replaced else { continue }
                let start = texts.count
                let previous = range.lowerBound > 0 ? body[range.lowerBound - 1] : 0
                writer.write(replaced, occurrence.context, after: previous, into: &texts)
                add(range, textFrom: start)
            }
        }
        for change in rest { add(change) }
    }

    private mutating func add(_ change: Change) {
        guard change.range.lowerBound >= read, change.range.upperBound <= sourceByteCount else { return }
        let start = texts.count
        texts += change.text
        add(change.range, textFrom: start)
    }

    private mutating func add(_ source: Range<Int>, textFrom start: Int) {
        let text = start..<texts.count
        edits.append(Edit(source: source, place: source.lowerBound + byteCount - sourceByteCount, text: text))
        byteCount += text.count - source.count
        read = source.upperBound
    }

    /// What comes out is the body.
    package var isEmpty: Bool { edits.isEmpty }

    /// What it takes of memory.
    package var heldByteCount: Int { edits.capacity * MemoryLayout<Edit>.stride + texts.capacity }

    /// The same in less memory, for one that is kept: most links of a page lead to few places.
    package func compacted() -> Patch {
        var patch = Patch(of: sourceByteCount)
        patch.byteCount = byteCount
        patch.read = read
        patch.edits.reserveCapacity(edits.count)
        var known: [ArraySlice<UInt8>: Range<Int>] = [:]
        for edit in edits {
            let text = texts[edit.text]
            let place = known[text] ?? patch.texts.count..<patch.texts.count + text.count
            if known.updateValue(place, forKey: text) == nil { patch.texts += text }
            patch.edits.append(Edit(source: edit.source, place: edit.place, text: place))
        }
        return patch
    }

    // MARK: - What comes out

    /// All of it.
    ///
    /// - Parameter body: the one that this was made for.
    package func applied(to body: [UInt8]) -> [UInt8] {
        precondition(body.count == sourceByteCount)
        if edits.isEmpty { return body }
        return [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
            body.withUnsafeBufferPointer { body in
                texts.withUnsafeBufferPointer { texts in
                    var copied = 0
                    for edit in edits {
                        Self.copy(body, copied..<edit.source.lowerBound, to: output, &count)
                        Self.copy(texts, edit.text, to: output, &count)
                        copied = edit.source.upperBound
                    }
                    Self.copy(body, copied..<body.count, to: output, &count)
                }
            }
        }
    }

    /// A part of it, put together of what `read` gives of the body. Nil when the body does not have its bytes
    /// any more.
    package func part(_ range: Range<Int>, read: (Range<Int>) -> [UInt8]?) -> [UInt8]? {
        let first = lastEdit(before: range.lowerBound)
        let start = source(of: range.lowerBound, after: first)
        let end = min(
            source(of: range.upperBound, after: lastEdit(before: range.upperBound)), sourceByteCount)
        // One read for all that is copied.
        guard let bytes = read(start..<max(start, end)), bytes.count == max(0, end - start) else {
            return nil
        }
        var next = max(0, first)
        return [UInt8](unsafeUninitializedCapacity: range.count) { output, count in
            bytes.withUnsafeBufferPointer { bytes in
                texts.withUnsafeBufferPointer { texts in
                    var place = range.lowerBound
                    while place < range.upperBound {
                        guard next < edits.count, place >= edits[next].place else {
                            let from = source(of: place, after: next - 1) - start
                            let end = next < edits.count ? edits[next].place : byteCount
                            let size = min(end, range.upperBound) - place
                            Self.copy(bytes, from..<from + size, to: output, &count)
                            place += size
                            continue
                        }
                        let text = edits[next].text.dropFirst(place - edits[next].place)
                        let size = min(text.count, range.upperBound - place)
                        Self.copy(texts, text.lowerBound..<text.lowerBound + size, to: output, &count)
                        place += size
                        next += 1
                    }
                }
            }
        }
    }

    private static func copy(
        _ bytes: Bytes, _ range: Range<Int>, to output: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int
    ) {
        guard !range.isEmpty, let from = bytes.baseAddress, let to = output.baseAddress else { return }
        precondition(range.upperBound <= bytes.count && count + range.count <= output.count)
        memcpy(to + count, from + range.lowerBound, range.count)
        count += range.count
    }

    /// The last one whose text begins at or before a place of what comes out; -1 when there is none.
    private func lastEdit(before place: Int) -> Int {
        var (low, high) = (0, edits.count)
        while low < high {
            let middle = (low + high) / 2
            if edits[middle].place <= place { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// Where in the body a place of what comes out is; in the text of an edit, what follows it.
    private func source(of place: Int, after number: Int) -> Int {
        guard edits.indices.contains(number), edits[number].place <= place else { return place }
        let edit = edits[number]
        return edit.source.upperBound + max(0, place - edit.place - edit.text.count)
    }
}
