internal import CSQLite
internal import Web

/// Has SQLite's full-text search cut texts and questions as `WordCutter` does.
enum SearchTokenizer {
    static let name = "larder"

    /// Makes it known to a connection. Where SQLite has no full-text search, there is none.
    static func register(on connection: OpaquePointer) -> Bool {
        guard let api = larder_fts5_api(connection) else { return false }
        var tokenizer = fts5_tokenizer()
        tokenizer.xCreate = { _, _, _, made in
            made?.pointee = OpaquePointer(Unmanaged.passRetained(WordCutter()).toOpaque())
            return SQLITE_OK
        }
        tokenizer.xDelete = { tokenizer in
            if let tokenizer { Unmanaged<WordCutter>.fromOpaque(UnsafeRawPointer(tokenizer)).release() }
        }
        tokenizer.xTokenize = { tokenizer, context, flags, text, count, take in
            guard let tokenizer, let take, count > 0, let text else { return SQLITE_OK }
            let cutter = Unmanaged<WordCutter>.fromOpaque(UnsafeRawPointer(tokenizer)).takeUnretainedValue()
            return SearchTokenizer.cut(
                UnsafeRawBufferPointer(start: text, count: Int(count)), by: cutter,
                isQuestion: flags & FTS5_TOKENIZE_QUERY != 0
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

    /// Stands before a word of a question whose inflections are looked for as well. No text has it: it is for
    /// private use.
    static let inflecting = "\u{F8FF}"

    /// Gives SQLite's code of what `take` gave.
    private static func cut(
        _ bytes: UnsafeRawBufferPointer, by cutter: WordCutter, isQuestion: Bool,
        _ take: (Span<UInt8>, Range<Int>, Bool) -> Int32
    ) -> Int32 {
        let isInflecting = isQuestion && bytes.starts(with: inflecting.utf8)
        var code = SQLITE_OK
        bytes.withMemoryRebound(to: UInt8.self) { text in
            cutter.cut(Span(_unsafeElements: text), for: isQuestion ? .question : .index) {
                word, place, isColocated in
                code = take(word, place, isColocated)
                guard code == SQLITE_OK, isInflecting else { return code == SQLITE_OK }
                for other in Inflections.of(word) where code == SQLITE_OK {
                    code = take(other.span, place, true)
                }
                return code == SQLITE_OK
            }
        }
        return code
    }
}
