internal import CSQLite
internal import Web

/// The tokenizer for FTS5, which splits texts and queries into words with `WordSplitter`.
enum SearchTokenizer {
    static let name = "larder"

    /// Registers the tokenizer with a connection. Returns whether that succeeded.
    static func register(with api: UnsafeMutablePointer<fts5_api>) -> Bool {
        var tokenizer = fts5_tokenizer()
        tokenizer.xCreate = { _, _, _, result in
            result?.pointee = OpaquePointer(Unmanaged.passRetained(WordSplitter()).toOpaque())
            return SQLITE_OK
        }
        tokenizer.xDelete = { tokenizer in
            if let tokenizer { Unmanaged<WordSplitter>.fromOpaque(UnsafeRawPointer(tokenizer)).release() }
        }
        tokenizer.xTokenize = { tokenizer, context, flags, text, count, take in
            guard let tokenizer, let take, count > 0, let text else { return SQLITE_OK }
            let splitter = Unmanaged<WordSplitter>.fromOpaque(UnsafeRawPointer(tokenizer))
                .takeUnretainedValue()
            return SearchTokenizer.split(
                UnsafeRawBufferPointer(start: text, count: Int(count)), by: splitter,
                isQuery: flags & FTS5_TOKENIZE_QUERY != 0
            ) { word, place, isColocated in
                word.withUnsafeBytes { bytes in
                    take(
                        context, isColocated ? FTS5_TOKEN_COLOCATED : 0,
                        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count),
                        Int32(place.lowerBound), Int32(place.upperBound))
                }
            }
        }
        return api.pointee.xCreateTokenizer(api, name, nil, &tokenizer, nil) == SQLITE_OK
    }

    /// A mark before a word of a query whose inflections also match. It is a private-use character, because FTS5
    /// passes only the text of a phrase to the tokenizer, and no options.
    static let inflecting = "\u{F8FF}"
    /// A mark before words of a query any one of which matches.
    static let oneOf = "\u{F8FE}"

    /// Passes the words of a text to `take` until that returns an error. Returns the last result code.
    ///
    /// `take` receives the word, its range in bytes, and whether it is at the same position as the word
    /// before it. FTS5 treats words at the same position of a query as alternatives, which is how inflections
    /// and `oneOf` work.
    private static func split(
        _ bytes: UnsafeRawBufferPointer, by splitter: WordSplitter, isQuery: Bool,
        _ take: (Span<UInt8>, Range<Int>, Bool) -> Int32
    ) -> Int32 {
        let isInflecting = isQuery && bytes.starts(with: inflecting.utf8)
        let alternatives = isQuery ? offset(of: oneOf, in: bytes) : nil
        var isFirst = true
        var code = SQLITE_OK
        bytes.withMemoryRebound(to: UInt8.self) { text in
            splitter.split(Span(_unsafeElements: text), for: isQuery ? .query : .index) {
                word, place, isColocated in
                let isAlternative = alternatives.map { place.lowerBound > $0 } ?? false
                code = take(word, place, isColocated || isAlternative && !isFirst)
                if isAlternative { isFirst = false }
                guard code == SQLITE_OK, isInflecting else { return code == SQLITE_OK }
                for other in Inflections.of(word) where code == SQLITE_OK {
                    code = take(other.span, place, true)
                }
                return code == SQLITE_OK
            }
        }
        return code
    }

    /// Returns the offset of a mark, nil if the text does not have it.
    private static func offset(of mark: String, in bytes: UnsafeRawBufferPointer) -> Int? {
        let count = mark.utf8.count
        guard bytes.count >= count, let first = mark.utf8.first else { return nil }
        return (0...bytes.count - count).first { start in
            bytes[start] == first && bytes[start..<start + count].elementsEqual(mark.utf8)
        }
    }
}
