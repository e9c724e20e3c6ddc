/// Splits text into words for searching, in the same way for the index and for queries. It must be used by
/// one thread.
///
/// A word is a run of letters and digits, folded (`FoldedCharacters`). The parts of an identifier such as
/// `XMLHttpRequest` are indexed as words too, at the same position. In scripts without spaces, every two
/// adjacent characters are a word: the breaks of a dictionary depend on the context, so a query could be
/// split differently than the text.
///
///     "Straße of XMLHttp"  →  "strasse", "of", "xmlhttp" with "xml" and "http" at the same position
///     "虚拟主机"            →  "虚拟", "拟主", "主机", "机"
package final class WordSplitter {
    /// Increases when the same text is split differently. An index of another version cannot be used.
    package static let version = 1

    /// The use of the words.
    package enum Purpose: Sendable {
        /// The text is indexed.
        case index
        /// The text is a query, for which no words for parts of an identifier are added.
        case query
    }

    private var state = SplitterState()

    package init() {}

    /// Passes each word with its range in the text to `take`. The text should be UTF-8; malformed bytes
    /// separate words.
    ///
    /// - Parameter take: receives a word, its range in the text, and whether it is at the same position as the word
    ///   before it. It returns false to stop. It must not use this splitter.
    package func split(
        _ text: Span<UInt8>, for purpose: Purpose, _ take: (Span<UInt8>, Range<Int>, Bool) -> Bool
    ) {
        text.withUnsafeBufferPointer { state.split($0, purpose, take) }
    }
}

/// The work of a `WordSplitter`, as a value, so that its properties are accessed without run-time checks.
private struct SplitterState {
    typealias Purpose = WordSplitter.Purpose

    /// The maximum length of a word in bytes. The rest of a longer word is ignored.
    private static let maxWordBytes = 64
    /// A word with this many boundaries between parts is not split into parts: it is probably a key or encoded data.
    private static let maxParts = 8

    private var characters = FoldedCharacters()
    /// The current word, or the current character of a run without spaces.
    private var word: [UInt8] = []
    /// The character before the current one in a run without spaces.
    private var previous: [UInt8] = []
    /// The offsets in `word` at which parts of an identifier begin, except the first part.
    private var parts: [Int] = []

    fileprivate typealias Consumer = (Span<UInt8>, Range<Int>, Bool) -> Bool

    fileprivate mutating func split(_ text: UnsafeBufferPointer<UInt8>, _ purpose: Purpose, _ take: Consumer)
    {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                guard byte.isWordLetter else {
                    index += 1
                    continue
                }
                guard passWord(text, &index, purpose, take) else { return }
                continue
            }
            let (character, length) = Self.character(text, at: index)
            word.removeAll(keepingCapacity: true)
            switch characters.fold(character, into: &word) {
            case .gap, .mark: index += length
            case .letter: guard passWord(text, &index, purpose, take) else { return }
            case .unspaced: guard passUnspacedRun(text, &index, purpose, take) else { return }
            }
        }
    }

    // MARK: - Words between spaces

    /// Reads the word at `index`, and passes it and its parts to `take`. Returns false to stop.
    private mutating func passWord(
        _ text: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ purpose: Purpose, _ take: Consumer
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
                if word.count < Self.maxWordBytes { word.append(isCapital ? byte | 0x20 : byte) }
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
            if word.count > Self.maxWordBytes { word.removeLast(word.count - count) }
            (isUpper, wasUpper, isLower) = (false, false, false)
            index += length
        }
        var letter: [UInt8]?
        if word.count == 1 { letter = readSuffixSign(text, &index) }
        guard take(word.span, start..<index, false) else { return false }
        guard purpose == .index else { return true }
        if let letter { return take(letter.span, start..<index, true) }
        return parts.isEmpty || parts.count >= Self.maxParts || passParts(start..<index, take)
    }

    /// Passes the parts of the identifier in `word`, if they have at least two bytes.
    private mutating func passParts(_ place: Range<Int>, _ take: Consumer) -> Bool {
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
    private mutating func readSuffixSign(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> [UInt8]? {
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

    /// The maximum length of a character with its marks. Further marks are ignored.
    private static let maxCharacterBytes = 32

    /// Reads a run of characters of a script without spaces, and passes each pair of adjacent characters.
    private mutating func passUnspacedRun(
        _ text: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ purpose: Purpose, _ take: Consumer
    ) -> Bool {
        previous.removeAll(keepingCapacity: true)
        var start = index
        var isAlone = true
        while let next = readUnspacedCharacter(text, &index) {
            if !previous.isEmpty {
                previous.append(contentsOf: word)
                guard take(previous.span, start..<index, false) else { return false }
                isAlone = false
            }
            swap(&previous, &word)
            start = next
        }
        // The index also gets the last character alone, so that queries of one character find it. Longer queries do
        // not get it.
        guard purpose == .index || isAlone, !previous.isEmpty else { return true }
        let last = previous
        return take(last.span, start..<index, false)
    }

    /// Reads the next character of a run, with its marks, into `word`. Returns its offset; nil at the end of
    /// the run.
    private mutating func readUnspacedCharacter(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int)
        -> Int?
    {
        let start = index
        word.removeAll(keepingCapacity: true)
        while index < text.count, text[index] >= 0x80 {
            let (character, length) = Self.character(text, at: index)
            let count = word.count
            let kind = characters.fold(character, into: &word)
            let belongsToRun = index == start ? kind == .unspaced : kind == .mark
            if !belongsToRun || word.count > Self.maxCharacterBytes { word.removeLast(word.count - count) }
            guard belongsToRun else { break }
            index += length
        }
        return index > start ? start : nil
    }

    /// Decodes the character at an offset. Returns it with its length in bytes; U+FFFD and 1 for a malformed
    /// byte.
    private static func character(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> (UInt32, Int) {
        let lead = text[index]
        let (count, minValue): (Int, UInt32) =
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
        guard character >= minValue, character <= 0x10FFFF, character & 0xFFFF_F800 != 0xD800 else {
            return (0xFFFD, 1)
        }
        return (character, count)
    }
}

extension WordSplitter {
    /// The words of a query, or of a part of one.
    package func words(of text: String) -> [String] {
        var words: [String] = []
        var text = text
        text.withUTF8 { bytes in
            split(Span(_unsafeElements: bytes), for: .query) { word, _, _ in
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
