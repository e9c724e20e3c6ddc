import CICU

/// The word breaks of ICU's dictionaries. Use them only for queries: the breaks of a word depend on the text
/// around it, so they are not stable enough for an index.
package enum WordBreaks {
    /// The maximum length in UTF-16 code units. Longer texts count as one word.
    private static let maxTextUnits = 1024

    /// The words of a text, without spaces and punctuation. The whole text is one word if ICU lacks its data.
    package static func words(of text: String) -> [String] {
        let units = Array(text.utf16)
        guard !units.isEmpty, units.count <= maxTextUnits else { return [text] }
        var status = U_ZERO_ERROR
        return units.withUnsafeBufferPointer { units -> [String] in
            guard let breaks = larder_words_open(units.baseAddress, Int32(units.count), &status),
                status.rawValue <= U_ZERO_ERROR.rawValue
            else { return [text] }
            defer { larder_words_close(breaks) }
            var words: [String] = []
            var start = 0
            while case let end = Int(larder_words_next(breaks)), end > start, end <= units.count {
                // A status below 100 means spaces or punctuation.
                if larder_words_status(breaks) >= 100 {
                    words.append(String(decoding: units[start..<end], as: UTF16.self))
                }
                start = end
            }
            return words
        }
    }
}
