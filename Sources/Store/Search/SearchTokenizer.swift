internal import CSQLite
internal import Web

/// The tokenizer for FTS5, which splits texts and queries into words with `WordSplitter`.
enum SearchTokenizer {
    static let name = "larder"

    /// Registers the tokenizer with the FTS5 of a connection. Returns whether that succeeded.
    static func register(with api: UnsafeMutablePointer<fts5_api>) -> Bool {
        var tokenizer = fts5_tokenizer()
        tokenizer.xCreate = { _, _, _, result in
            result?.pointee = OpaquePointer(Unmanaged.passRetained(WordSplitter()).toOpaque())
            return SQLITE_OK
        }
        tokenizer.xDelete = { tokenizer in
            if let tokenizer { Unmanaged<WordSplitter>.fromOpaque(UnsafeRawPointer(tokenizer)).release() }
        }
        tokenizer.xTokenize = { tokenizer, context, flags, text, count, emit in
            guard let tokenizer, let emit, count > 0, let text else { return SQLITE_OK }
            let splitter = Unmanaged<WordSplitter>.fromOpaque(UnsafeRawPointer(tokenizer))
                .takeUnretainedValue()
            return SearchTokenizer.split(
                UnsafeRawBufferPointer(start: text, count: Int(count)), by: splitter,
                isQuery: flags & FTS5_TOKENIZE_QUERY != 0
            ) { word, range, isColocated in
                word.withUnsafeBytes { bytes in
                    emit(
                        context, isColocated ? FTS5_TOKEN_COLOCATED : 0,
                        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count),
                        Int32(range.lowerBound), Int32(range.upperBound))
                }
            }
        }
        return api.pointee.xCreateTokenizer(api, name, nil, &tokenizer, nil) == SQLITE_OK
    }

    /// A mark within a phrase: after the words before it, any one of the words after it matches.
    ///
    /// It is a private-use character within the text, because FTS5 passes the tokenizer only the text of a phrase, and no
    /// options.
    static let alternativesMark = "\u{F8FE}"

    /// Passes the words of a text to `emit` until that returns an error. Returns the last result code.
    ///
    /// FTS5 treats words at the same position of a phrase as alternatives. So all words after `alternativesMark` get the
    /// position of the first of them.
    ///
    /// - Parameter emit: receives a word, its range in the bytes, and whether it has the position of the previous
    ///   word.
    private static func split(
        _ bytes: UnsafeRawBufferPointer, by splitter: WordSplitter, isQuery: Bool,
        _ emit: (Span<UInt8>, Range<Int>, Bool) -> Int32
    ) -> Int32 {
        let alternativesStart = isQuery ? offset(of: alternativesMark, in: bytes) : nil
        var isFirstAlternative = true
        var code = SQLITE_OK
        bytes.withMemoryRebound(to: UInt8.self) { text in
            splitter.split(Span(_unsafeElements: text), for: isQuery ? .query : .index) {
                word, range, isColocated in
                let isAlternative = alternativesStart.map { range.lowerBound > $0 } ?? false
                code = emit(word, range, isColocated || isAlternative && !isFirstAlternative)
                if isAlternative { isFirstAlternative = false }
                return code == SQLITE_OK
            }
        }
        return code
    }

    /// Returns the offset of the first occurrence of a mark, or nil.
    private static func offset(of mark: String, in bytes: UnsafeRawBufferPointer) -> Int? {
        let count = mark.utf8.count
        guard bytes.count >= count, let first = mark.utf8.first else { return nil }
        return (0...bytes.count - count).first { start in
            bytes[start] == first && bytes[start..<start + count].elementsEqual(mark.utf8)
        }
    }
}
