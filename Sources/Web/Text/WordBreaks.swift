import CICU

/// Where ICU's dictionaries end words. For questions alone: what stands around a word changes where they cut.
package enum WordBreaks {
    /// What is longer is not cut.
    private static let longestText = 1024

    /// The words of a text, without what stands between them. All of it as one where ICU has no data.
    package static func words(of text: String) -> [String] {
        let units = Array(text.utf16)
        guard !units.isEmpty, units.count <= longestText else { return [text] }
        var status = U_ZERO_ERROR
        return units.withUnsafeBufferPointer { units -> [String] in
            guard let breaks = larder_words_open(units.baseAddress, Int32(units.count), &status),
                status.rawValue <= U_ZERO_ERROR.rawValue
            else { return [text] }
            defer { larder_words_close(breaks) }
            var words: [String] = []
            var start = 0
            while case let end = Int(larder_words_next(breaks)), end > start, end <= units.count {
                // Below 100 it is space or punctuation.
                if larder_words_status(breaks) >= 100 {
                    words.append(String(decoding: units[start..<end], as: UTF16.self))
                }
                start = end
            }
            return words
        }
    }
}
