internal import CStemmer

/// Reduces words of one language to their stems, by the rules of the Snowball project (libstemmer). Words with the same stem
/// are usually inflected forms of one word.
///
///     hauser, hauses → haus
///
/// It belongs to one thread, because libstemmer keeps each result until the next call.
final class Stemmer {
    /// A language whose stemmer was tested with folded words.
    ///
    /// English is missing. Its stemmer gives words of different meanings the same stem, such as "information" and "informal"
    /// or "execution" and "executive". `Inflections` does not.
    enum Language: String, CaseIterable, Sendable {
        case danish, dutch, finnish, french, german, hungarian, italian, norwegian, portuguese, romanian,
            russian, spanish
        case swedish, turkish

        /// Returns nil for other languages.
        ///
        /// - Parameter tag: the language tag of a text, such as `de` or `pt-BR`.
        init?(tag: String) {
            switch tag.prefix(while: { $0 != "-" && $0 != "_" }).lowercased() {
            case "da": self = .danish
            case "de": self = .german
            case "es": self = .spanish
            case "fi": self = .finnish
            case "fr": self = .french
            case "hu": self = .hungarian
            case "it": self = .italian
            case "nb", "nn", "no": self = .norwegian
            case "nl": self = .dutch
            case "pt": self = .portuguese
            case "ro": self = .romanian
            case "ru": self = .russian
            case "sv": self = .swedish
            case "tr": self = .turkish
            default: return nil
            }
        }
    }

    private let language: Language
    private let handle: OpaquePointer

    /// Returns nil if libstemmer does not have the language, or if there is no memory.
    init?(_ language: Language) {
        guard let handle = sb_stemmer_new(language.rawValue, "UTF_8") else { return nil }
        (self.language, self.handle) = (language, handle)
    }

    deinit { sb_stemmer_delete(handle) }

    /// The minimum number of letters of a stem. Words with shorter ones are not compared, since they have little in common.
    private static let minStemLetters = 3

    /// Returns the stem of a folded word (`FoldedCharacters`). Returns nil if the stem is shorter than three letters.
    func stem(of word: String) -> String? {
        let bytes = Array(String(restoringAccents(in: word)).utf8)
        guard let stem = sb_stemmer_stem(handle, bytes, Int32(bytes.count)) else { return nil }
        let text = String(
            decoding: UnsafeBufferPointer(start: stem, count: Int(sb_stemmer_length(handle))), as: UTF8.self)
        return text.unicodeScalars.count < Self.minStemLetters ? nil : text
    }

    /// Returns the letters with which all other forms of a folded word begin. Returns nil if these are too few to look for.
    ///
    /// - Parameter stem: the stem of the word.
    func commonBeginning(of word: String, stem: String) -> String? {
        let letters = word.unicodeScalars
        var count = zip(restoringAccents(in: word), stem.unicodeScalars).prefix { $0 == $1 }.count
        // "cheval" has the plural "chevaux".
        if language == .french, count == stem.unicodeScalars.count, stem.hasSuffix("al") { count -= 1 }
        guard count >= Self.minStemLetters else { return nil }
        return String(String.UnicodeScalarView(letters.prefix(count)))
    }

    /// Returns a folded word with the accents that the rules of the language need, as far as the letters around them show
    /// where they were. The number of letters stays the same.
    private func restoringAccents(in word: String) -> String.UnicodeScalarView {
        var letters = Array(word.unicodeScalars)
        func replace(_ ending: String, with accented: String) {
            let ending = ending.unicodeScalars
            if letters.count > ending.count, letters.suffix(ending.count).elementsEqual(ending) {
                letters.replaceSubrange((letters.count - ending.count)..., with: accented.unicodeScalars)
            }
        }
        switch language {
        case .french:
            replace("ee", with: "ée")
            replace("ees", with: "ées")
        case .portuguese:
            replace("cao", with: "ção")
            replace("coes", with: "ções")
        case .spanish:
            replace("ion", with: "ión")
        case .russian:
            // Folding makes й from и. It is й behind a vowel, except in a few words such as "наивный".
            for index in letters.indices.dropFirst()
            where letters[index] == "и" && "аеиоуыэюя".unicodeScalars.contains(letters[index - 1]) {
                letters[index] = "й"
            }
        case .danish, .dutch, .finnish, .german, .hungarian, .italian, .norwegian, .romanian, .swedish,
            .turkish:
            break
        }
        return String.UnicodeScalarView(letters)
    }
}
