internal import Glibc

/// What is replaced of a file while it goes out, so that a large body is neither held nor put together anew. Immutable:
/// any number of sockets share it.
final class SpliceList: Sendable {
    /// Of the body with its replacements.
    let byteCount: Int
    let sourceByteCount: Int
    private let edits: [Edit]
    private let texts: [UInt8]

    private struct Edit: Sendable {
        /// What it replaces, of the file.
        let source: Range<Int>
        /// Where its text begins in the body, and among the texts; how long that is.
        let place: Int
        let text: Range<Int>
    }

    /// - Parameter edits: what is replaced by what. None may reach into another.
    init(_ edits: [(range: Range<Int>, text: [UInt8])], of sourceByteCount: Int) {
        var (list, texts): ([Edit], [UInt8]) = ([], [])
        var known: [[UInt8]: Range<Int>] = [:]
        var (read, written) = (0, 0)
        let ordered = edits.sorted {
            ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
        }
        for (range, text) in ordered where range.lowerBound >= read && range.upperBound <= sourceByteCount {
            written += range.lowerBound - read
            // Most links of a page lead to few places.
            let place = known[text] ?? texts.count..<texts.count + text.count
            if known.updateValue(place, forKey: text) == nil { texts += text }
            list.append(Edit(source: range, place: written, text: place))
            written += text.count
            read = range.upperBound
        }
        self.edits = list
        self.texts = texts
        self.sourceByteCount = sourceByteCount
        byteCount = written + sourceByteCount - read
    }

    /// What it takes of memory.
    var heldByteCount: Int { edits.count * MemoryLayout<Edit>.stride + texts.count }

    /// A part of the body, put together of the file. Nil when the file does not have its bytes any more.
    func part(_ range: Range<Int>, of file: Int32) -> [UInt8]? {
        let first = lastEdit(before: range.lowerBound)
        var next = max(0, first)
        let start = source(of: range.lowerBound, after: first)
        let end = min(source(of: range.upperBound, after: lastEdit(before: range.upperBound)), sourceByteCount)
        // One read for all that is copied.
        guard let bytes = Self.read(file, start, count: max(0, end - start)) else { return nil }
        var isWhole = true
        let part = [UInt8](unsafeUninitializedCapacity: range.count) { output, count in
            func copy(_ from: UnsafePointer<UInt8>?, _ size: Int) {
                if size > 0, let from, let base = output.baseAddress { memcpy(base + count, from, size) }
                count += size
            }
            bytes.withUnsafeBufferPointer { bytes in
                texts.withUnsafeBufferPointer { texts in
                    var position = range.lowerBound
                    while position < range.upperBound {
                        let edit = next < edits.count ? edits[next] : nil
                        if let edit, position >= edit.place {
                            let skipped = position - edit.place
                            if skipped < edit.text.count {
                                let size = min(edit.text.count - skipped, range.upperBound - position)
                                copy(texts.baseAddress.map { $0 + edit.text.lowerBound + skipped }, size)
                                position += size
                            }
                            if position < range.upperBound || position >= edit.place + edit.text.count { next += 1 }
                            continue
                        }
                        let from = source(of: position, after: next - 1) - start
                        let size = min((edit?.place ?? byteCount), range.upperBound) - position
                        guard from >= 0, from + size <= bytes.count else {
                            isWhole = false
                            return
                        }
                        copy(bytes.baseAddress.map { $0 + from }, size)
                        position += size
                    }
                }
            }
        }
        return isWhole && part.count == range.count ? part : nil
    }

    /// The last one whose text begins at or before a place of the body; -1 when there is none.
    private func lastEdit(before place: Int) -> Int {
        var (low, high) = (0, edits.count)
        while low < high {
            let middle = (low + high) / 2
            if edits[middle].place <= place { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    /// Where in the file a place of the body is; in the text of an edit, what follows it.
    private func source(of place: Int, after number: Int) -> Int {
        guard edits.indices.contains(number), edits[number].place <= place else { return place }
        let edit = edits[number]
        return edit.source.upperBound + max(0, place - edit.place - edit.text.count)
    }

    private static func read(_ file: Int32, _ start: Int, count: Int) -> [UInt8]? {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = pread(file, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(start + filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                filled += got
            }
        }
        return isWhole ? bytes : nil
    }
}
