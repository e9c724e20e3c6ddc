internal import Glibc
internal import Web

/// The replacements in a body: those of its links, and other changes. All other bytes stay unchanged.
///
/// A patch is applied to a whole body, or to the parts of a file while they are sent, so that a large body is
/// never in memory as a whole. It is immutable after initialization, so any number of threads can share it.
package struct Patch: Sendable {
    /// A replacement of bytes that are not a link, or an insertion if the range is empty.
    package struct Change: Sendable {
        package var range: Range<Int>
        package var text: [UInt8]

        package init(_ range: Range<Int>, _ text: [UInt8]) {
            self.range = range
            self.text = text
        }

        /// Overwrites as many bytes as the text has.
        package init(at offset: Int, _ text: StaticString) {
            range = offset..<offset + text.utf8CodeUnitCount
            self.text = text.withUTF8Buffer { Array($0) }
        }
    }

    /// One replacement, in the order of the body. The texts of all edits are in `texts`.
    private struct Edit: Sendable {
        /// The range of the body that is replaced.
        let source: Range<Int>
        /// The offset of the new text in the patched body, and the range of the text in `texts`.
        let offset: Int
        let text: Range<Int>
    }

    /// The length of the body, and that of the patched body.
    package let sourceByteCount: Int
    package private(set) var byteCount: Int
    private var edits: [Edit] = []
    private var texts: [UInt8] = []
    /// The end of the last edit in the body. Edits before it are rejected, so that none overlap.
    private var lastEditEnd = 0

    /// Creates a patch of changes in ascending order.
    ///
    /// - Parameter changes: The changes in ascending order. A change that overlaps the one before it, or
    ///   exceeds the body, is ignored.
    package init(_ changes: [Change], of sourceByteCount: Int) {
        self.init(of: sourceByteCount)
        for change in changes { add(change) }
    }

    private init(of sourceByteCount: Int) {
        self.sourceByteCount = sourceByteCount
        byteCount = sourceByteCount
    }

    /// Replaces each of a body's references by the result of `replacement`.
    ///
    /// - Parameters:
    ///   - body: The bytes that the table's ranges count in; see ``LinkTable/source(of:)``.
    ///   - only: Skips occurrences that do not have all these flags, so that a page costs only as much as its
    ///     few links to other origins.
    ///   - changes: Further changes, in ascending order.
    ///   - replacement: A function of the occurrence and its reference as a browser reads it. If it returns
    ///     nil, an empty string or the same reference, the bytes stay unchanged. Otherwise its result is
    ///     escaped for the occurrence's context.
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
                // The table of another body must not damage this one.
                guard range.lowerBound >= lastEditEnd, range.upperBound <= body.count else { continue }
                let replaced = reader.withReference(body.part(range), occurrence.context) { reference in
                    let text = replacement(occurrence, Span(_unsafeElements: reference))
                    // A reference can be written in several ways, so an unchanged one keeps its spelling.
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
        guard change.range.lowerBound >= lastEditEnd, change.range.upperBound <= sourceByteCount else {
            return
        }
        let start = texts.count
        texts += change.text
        add(change.range, textFrom: start)
    }

    private mutating func add(_ source: Range<Int>, textFrom start: Int) {
        let text = start..<texts.count
        edits.append(
            Edit(source: source, offset: source.lowerBound + byteCount - sourceByteCount, text: text))
        byteCount += text.count - source.count
        lastEditEnd = source.upperBound
    }

    /// Whether the patch leaves the body unchanged.
    package var isEmpty: Bool { edits.isEmpty }

    /// The memory that the patch uses, in bytes.
    package var memoryByteCount: Int { edits.capacity * MemoryLayout<Edit>.stride + texts.capacity }

    /// Returns an equal patch that uses less memory, for caching. It stores equal texts once, since many
    /// links of a page have the same target.
    package func compactCopy() -> Patch {
        var patch = Patch(of: sourceByteCount)
        patch.byteCount = byteCount
        patch.lastEditEnd = lastEditEnd
        patch.edits.reserveCapacity(edits.count)
        var known: [ArraySlice<UInt8>: Range<Int>] = [:]
        for edit in edits {
            let text = texts[edit.text]
            let range = known[text] ?? patch.texts.count..<patch.texts.count + text.count
            if known.updateValue(range, forKey: text) == nil { patch.texts += text }
            patch.edits.append(Edit(source: edit.source, offset: edit.offset, text: range))
        }
        return patch
    }

    // MARK: - Applying the patch

    /// Returns the patched body.
    ///
    /// - Parameter body: The body that the patch was created for.
    package func apply(to body: [UInt8]) -> [UInt8] {
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

    /// Returns a range of the patched body.
    ///
    /// `read` returns a range of the body. Returns nil if `read` fails or returns fewer bytes.
    package func part(_ range: Range<Int>, read: (Range<Int>) -> [UInt8]?) -> [UInt8]? {
        let first = lastEdit(before: range.lowerBound)
        let start = source(of: range.lowerBound, after: first)
        let end = min(
            source(of: range.upperBound, after: lastEdit(before: range.upperBound)), sourceByteCount)
        // One read covers all copied ranges.
        guard let bytes = read(start..<max(start, end)), bytes.count == max(0, end - start) else {
            return nil
        }
        var next = max(0, first)
        return [UInt8](unsafeUninitializedCapacity: range.count) { output, count in
            bytes.withUnsafeBufferPointer { bytes in
                texts.withUnsafeBufferPointer { texts in
                    var offset = range.lowerBound
                    while offset < range.upperBound {
                        guard next < edits.count, offset >= edits[next].offset else {
                            let from = source(of: offset, after: next - 1) - start
                            let end = next < edits.count ? edits[next].offset : byteCount
                            let size = min(end, range.upperBound) - offset
                            Self.copy(bytes, from..<from + size, to: output, &count)
                            offset += size
                            continue
                        }
                        let text = edits[next].text.dropFirst(offset - edits[next].offset)
                        let size = min(text.count, range.upperBound - offset)
                        Self.copy(texts, text.lowerBound..<text.lowerBound + size, to: output, &count)
                        offset += size
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

    /// Returns the index of the last edit whose text starts at or before an offset in the patched body; -1 if
    /// there is none.
    private func lastEdit(before offset: Int) -> Int {
        var (low, high) = (0, edits.count)
        while low < high {
            let middle = (low + high) / 2
            if edits[middle].offset <= offset { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// Returns the offset in the body of an offset in the patched body. In the text of an edit, returns the
    /// end of the replaced range.
    private func source(of offset: Int, after number: Int) -> Int {
        guard edits.indices.contains(number), edits[number].offset <= offset else { return offset }
        let edit = edits[number]
        return edit.source.upperBound + max(0, offset - edit.offset - edit.text.count)
    }
}
