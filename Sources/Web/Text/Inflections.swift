/// Generates the other inflected forms of an English word, so that a search finds them too: forms of nouns and verbs.
///
/// The rules need no dictionary. They apply only to queries: a form that does not exist costs one lookup and finds
/// nothing.
///
///     stopped → stop, stops, stopping
package enum Inflections {
    // Shorter and longer words have no other forms.
    private static let minWordBytes = 3
    private static let maxWordBytes = 24

    /// Returns the other forms of a word; none for words with other letters than a to z.
    ///
    /// - Parameter word: the folded word (`FoldedCharacters`).
    package static func of(_ word: Span<UInt8>) -> [[UInt8]] {
        guard (minWordBytes...maxWordBytes).contains(word.count) else { return [] }
        var bytes: [UInt8] = []
        for index in word.indices {
            guard word[index] &- 0x61 < 26 else { return [] }
            bytes.append(word[index])
        }
        let own = bytes
        return forms(of: stem(bytes)).filter { $0 != own }
    }

    /// The beginning that all forms share, and the class of their endings.
    private struct Stem {
        var bytes: [UInt8]
        /// The ending that was removed: `e`, `y`, none, or `?` if it is unknown whether there was an `e`.
        var ending: String
    }

    /// Removes the ending of a word. The first rule that applies counts.
    private static func stem(_ word: [UInt8]) -> Stem {
        func has(_ ending: String) -> Bool {
            word.count >= ending.utf8.count + 3 && word.reversed().starts(with: ending.utf8.reversed())
        }
        func cut(_ count: Int) -> [UInt8] { Array(word.dropLast(count)) }
        if has("ies") || has("ied") { return Stem(bytes: cut(3), ending: "y") }
        if has("sses") || has("ches") || has("shes") || has("xes") { return Stem(bytes: cut(2), ending: "") }
        if has("ing") { return removeDoubledConsonant(cut(3)) }
        if has("ed") { return removeDoubledConsonant(cut(2)) }
        if has("ss") || has("us") || has("is") { return Stem(bytes: word, ending: "") }
        if has("es") { return Stem(bytes: cut(2), ending: "e") }
        if has("s") { return Stem(bytes: cut(1), ending: "") }
        if has("e") { return Stem(bytes: cut(1), ending: "e") }
        if has("y"), let before = word.dropLast().last, !isVowel(before) {
            return Stem(bytes: cut(1), ending: "y")
        }
        return Stem(bytes: word, ending: "")
    }

    /// Removes a doubled consonant: `stopp` becomes `stop`. Other stems, such as `pars`, may have lost an
    /// `e`.
    private static func removeDoubledConsonant(_ bytes: [UInt8]) -> Stem {
        if bytes.count >= 4, bytes[bytes.count - 1] == bytes[bytes.count - 2],
            !isVowel(bytes[bytes.count - 1]),
            !"lsz".utf8.contains(bytes[bytes.count - 1])
        {
            return Stem(bytes: Array(bytes.dropLast()), ending: "")
        }
        return Stem(bytes: bytes, ending: "?")
    }

    private static func forms(of stem: Stem) -> [[UInt8]] {
        let endings: [String]
        switch stem.ending {
        case "y": endings = ["y", "ies", "ied", "ying"]
        case "e": endings = ["e", "es", "ed", "ing", "s"]
        case "?": endings = ["", "e", "s", "es", "ed", "ing"]
        default:
            let last = stem.bytes.last ?? 0
            endings =
                last == UInt8(ascii: "s") || last == UInt8(ascii: "x") || last == UInt8(ascii: "h")
                ? ["", "es", "ed", "ing"] : ["", "s", "ed", "ing"]
        }
        var forms = endings.map { stem.bytes + Array($0.utf8) }
        // Short words double their last letter, as in "running".
        if stem.ending.isEmpty, (3...5).contains(stem.bytes.count), let last = stem.bytes.last,
            !isVowel(last),
            !"wxyshk".utf8.contains(last), let before = stem.bytes.dropLast().last, isVowel(before)
        {
            forms.append(stem.bytes + [last] + Array("ing".utf8))
            forms.append(stem.bytes + [last] + Array("ed".utf8))
        }
        return forms
    }

    private static func isVowel(_ byte: UInt8) -> Bool { "aeiou".utf8.contains(byte) }
}
