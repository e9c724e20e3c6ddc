/// Splits text into words for searching, in the same way for the index and for queries. It must be used by
/// one thread.
///
/// A word is a run of letters and digits, folded (`FoldedCharacters`). The parts of an identifier such as
/// `XMLHttpRequest` are indexed as words too, at the same position. In scripts without spaces, every two
/// adjacent characters are a word: the breaks of a dictionary depend on the context, so a query could be
/// split differently than the text.
package final class WordCutter {
    /// Increases when the same text is split differently. An index of another version cannot be used.
    package static let version = 1

    /// The use of the words.
    package enum Purpose: Sendable {
        /// The text is indexed.
        case index
        /// The text is a query. It gets no additional words for parts of an identifier.
        case question
    }

    private var state = State()

    package init() {}

    /// Passes each word with its range in the text to `take`. The text should be UTF-8; malformed bytes
    /// separate words.
    ///
    /// - Parameter take: Its last argument tells whether the word is at the same position as the one before
    ///   it. It returns false to stop. It must not use the cutter.
    package func cut(
        _ text: Span<UInt8>, for purpose: Purpose, _ take: (Span<UInt8>, Range<Int>, Bool) -> Bool
    ) {
        text.withUnsafeBufferPointer { state.cut($0, purpose, take) }
    }
}

/// The work of a `WordCutter`, as a value, so that its properties are accessed without run-time checks.
private struct State {
    typealias Purpose = WordCutter.Purpose

    /// The maximum length of a word in bytes. The rest of a longer word is ignored.
    private static let wordLimit = 64
    private static let partLimit = 8

    private var characters = FoldedCharacters()
    private var word: [UInt8] = []
    private var previous: [UInt8] = []
    private var parts: [Int] = []

    fileprivate typealias Taker = (Span<UInt8>, Range<Int>, Bool) -> Bool

    fileprivate mutating func cut(_ text: UnsafeBufferPointer<UInt8>, _ purpose: Purpose, _ take: Taker) {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                guard byte.isWordLetter else {
                    index += 1
                    continue
                }
                guard takeWord(text, &index, purpose, take) else { return }
                continue
            }
            let (character, length) = Self.character(text, at: index)
            word.removeAll(keepingCapacity: true)
            switch characters.fold(character, into: &word) {
            case .gap, .mark: index += length
            case .letter: guard takeWord(text, &index, purpose, take) else { return }
            case .unspaced: guard takeRun(text, &index, purpose, take) else { return }
            }
        }
    }

    // MARK: - Words between spaces

    private mutating func takeWord(
        _ text: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ purpose: Purpose, _ take: Taker
    ) -> Bool {
        let start = index
        word.removeAll(keepingCapacity: true)
        parts.removeAll(keepingCapacity: true)
        // The case of the last character and of the one before it.
        var (isUpper, wasUpper, isLower) = (false, false, false)
        loop: while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                guard byte.isWordLetter else { break }
                let isCapital = byte &- 0x41 < 26
                if isCapital, isLower { parts.append(word.count) }
                // The last capital of several begins the next part, as in XMLHttp.
                if !isCapital, byte >= 0x61, isUpper, wasUpper { parts.append(word.count - 1) }
                (wasUpper, isUpper, isLower) = (isUpper, isCapital, byte >= 0x61)
                if word.count < Self.wordLimit { word.append(isCapital ? byte | 0x20 : byte) }
                index += 1
                continue
            }
            let (character, length) = Self.character(text, at: index)
            let count = word.count
            switch characters.fold(character, into: &word) {
            case .gap: break loop
            case .unspaced:
                word.removeLast(word.count - count)
                break loop
            case .letter, .mark: break
            }
            if word.count > Self.wordLimit { word.removeLast(word.count - count) }
            (isUpper, wasUpper, isLower) = (false, false, false)
            index += length
        }
        var letter: [UInt8]?
        if word.count == 1 { letter = takeSign(text, &index) }
        guard take(word.span, start..<index, false) else { return false }
        guard purpose == .index else { return true }
        if let letter { return take(letter.span, start..<index, true) }
        return parts.isEmpty || parts.count >= Self.partLimit || takeParts(start..<index, take)
    }

    private mutating func takeParts(_ place: Range<Int>, _ take: Taker) -> Bool {
        var start = 0
        for end in parts + [word.count] where end > start {
            defer { start = end }
            guard end - start > 1, end <= word.count else { continue }
            guard take(word.span.extracting(start..<end), place, true) else { return false }
        }
        return true
    }

    /// Appends the sign to the letter of C++ or C#, and returns the letter alone; nil if there is no such
    /// sign.
    private mutating func takeSign(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> [UInt8]? {
        let rest = text.count - index
        let isDouble = rest >= 2 && text[index] == UInt8(ascii: "+") && text[index + 1] == UInt8(ascii: "+")
        let isSharp = rest >= 1 && text[index] == UInt8(ascii: "#")
        guard isDouble || isSharp else { return nil }
        let length = isDouble ? 2 : 1
        guard rest == length || !text[index + length].isWordLetter && text[index + length] < 0x80 else {
            return nil
        }
        let letter = word
        for offset in 0..<length { word.append(text[index + offset]) }
        index += length
        return letter
    }

    // MARK: - Runs without spaces

    /// The maximum length in bytes of a character with its marks.
    private static let longestCharacter = 32

    private mutating func takeRun(
        _ text: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ purpose: Purpose, _ take: Taker
    ) -> Bool {
        previous.removeAll(keepingCapacity: true)
        var start = index
        var isAlone = true
        while let next = takeCharacter(text, &index) {
            if !previous.isEmpty {
                previous.append(contentsOf: word)
                guard take(previous.span, start..<index, false) else { return false }
                isAlone = false
            }
            swap(&previous, &word)
            start = next
        }
        // A query has the last character alone only if it is a single character. The index has it to find
        // such queries.
        guard purpose == .index || isAlone, !previous.isEmpty else { return true }
        let last = previous
        return take(last.span, start..<index, false)
    }

    /// Reads the next character of a run, with its marks, into `word`. Returns its offset; nil at the end of
    /// the run.
    private mutating func takeCharacter(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Int? {
        let start = index
        word.removeAll(keepingCapacity: true)
        while index < text.count, text[index] >= 0x80 {
            let (character, length) = Self.character(text, at: index)
            let count = word.count
            let kind = characters.fold(character, into: &word)
            let isTaken = index == start ? kind == .unspaced : kind == .mark
            if !isTaken || word.count > Self.longestCharacter { word.removeLast(word.count - count) }
            guard isTaken else { break }
            index += length
        }
        return index > start ? start : nil
    }

    /// Decodes the character at an offset. Returns it with its length in bytes; U+FFFD and 1 for a malformed
    /// byte.
    private static func character(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> (UInt32, Int) {
        let lead = text[index]
        let (count, least): (Int, UInt32) =
            switch lead {
            case 0xC2...0xDF: (2, 0x80)
            case 0xE0...0xEF: (3, 0x800)
            case 0xF0...0xF4: (4, 0x10000)
            default: (1, 0)
            }
        guard count > 1, index + count <= text.count else { return (0xFFFD, 1) }
        var character = UInt32(lead) & (0x7F >> UInt32(count))
        for offset in 1..<count {
            let byte = text[index + offset]
            guard byte & 0xC0 == 0x80 else { return (0xFFFD, 1) }
            character = character << 6 | UInt32(byte & 0x3F)
        }
        guard character >= least, character <= 0x10FFFF, character & 0xFFFF_F800 != 0xD800 else {
            return (0xFFFD, 1)
        }
        return (character, count)
    }
}

extension WordCutter {
    /// The words of a query, or of a part of one.
    package func words(of text: String) -> [String] {
        var words: [String] = []
        var text = text
        text.withUTF8 { bytes in
            cut(Span(_unsafeElements: bytes), for: .question) { word, _, _ in
                words.append(word.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
                return true
            }
        }
        return words
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter or digit.
    @inline(__always)
    fileprivate var isWordLetter: Bool {
        self &- 0x30 < 10 || (self | 0x20) &- 0x61 < 26
    }
}
