import CICU

/// Folds characters for searching: without case, accents and width. Each character maps to the UTF-8 of its
/// folded form.
///
/// It must be used by one thread. It computes a block of 256 characters when the first of them occurs.
struct FoldedCharacters {
    /// The role of a character in a word.
    enum Kind: UInt8 {
        /// A character between words.
        case gap
        /// A letter or a digit.
        case letter
        /// A character that belongs to the one before it. If it does not matter in a search, as an accent, it
        /// has no bytes.
        case mark
        /// A letter of a script without spaces between words.
        case unspaced
    }

    /// The folded forms of 256 consecutive characters.
    private struct Block {
        var kinds: [UInt8] = []
        /// The end of each character's bytes in `bytes`.
        var ends: [UInt16] = []
        var bytes: [UInt8] = []
    }

    private var blocks = [Block?](repeating: nil, count: 0x110000 >> 8)

    /// Appends the folded bytes of a character and returns its kind.
    mutating func fold(_ character: UInt32, into bytes: inout [UInt8]) -> Kind {
        let number = Int(character >> 8)
        let place = Int(character & 0xFF)
        if blocks[number] == nil { blocks[number] = Self.block(number) }
        guard let kind = blocks[number]?.kinds[place], let kind = Kind(rawValue: kind), kind != .gap else {
            return .gap
        }
        if let block = blocks[number] {
            let start = place == 0 ? 0 : Int(block.ends[place - 1])
            for index in start..<Int(block.ends[place]) { bytes.append(block.bytes[index]) }
        }
        return kind
    }

    private static func block(_ number: Int) -> Block {
        var block = Block()
        for place in 0..<256 {
            let (kind, bytes) = folded(UInt32(number << 8 | place))
            block.kinds.append(kind.rawValue)
            block.bytes += bytes
            block.ends.append(UInt16(clamping: block.bytes.count))
        }
        return block
    }

    private static func folded(_ character: UInt32) -> (Kind, [UInt8]) {
        guard let scalar = Unicode.Scalar(character) else { return (.gap, []) }
        if let plain = plainLetters[character] { return (.letter, Array(plain.utf8)) }
        // Hangul is not decomposed, since two syllables are a better search term than two letters.
        if isHangul(character) { return (.unspaced, Array(String(scalar).utf8)) }
        var status = U_ZERO_ERROR
        var units = [UInt16](repeating: 0, count: 64)
        let length = larder_fold(Int32(character), &units, 64, &status)
        guard status.rawValue <= U_ZERO_ERROR.rawValue, (0...64).contains(length) else { return (.gap, []) }
        let scalars = Array(String(decoding: units[..<Int(length)], as: UTF16.self).unicodeScalars)
        // An ignorable character, such as a soft hyphen.
        guard let first = scalars.first else { return (.mark, []) }
        let kind: Kind =
            switch type(of: first.value) {
            case .gap: .gap
            case .mark: .mark
            case .letter, .unspaced: isUnspaced(first.value) ? .unspaced : .letter
            }
        guard kind != .gap else { return (.gap, []) }
        var bytes: [UInt8] = []
        // A character that folds to several words, such as the telephone sign, still counts as one.
        for scalar in scalars where !isAccent(scalar.value) && type(of: scalar.value) != .gap {
            bytes.append(utf8: scalar.value)
        }
        return (kind, bytes)
    }

    private static func type(of character: UInt32) -> Kind {
        // A tatweel only stretches a word.
        if character == 0x640 { return .mark }
        switch UCharCategory(rawValue: UInt32(larder_character_type(Int32(character)))) {
        case U_UPPERCASE_LETTER, U_LOWERCASE_LETTER, U_TITLECASE_LETTER, U_MODIFIER_LETTER, U_OTHER_LETTER,
            U_DECIMAL_DIGIT_NUMBER, U_LETTER_NUMBER, U_OTHER_NUMBER:
            return .letter
        case U_NON_SPACING_MARK, U_COMBINING_SPACING_MARK, U_ENCLOSING_MARK: return .mark
        default: return .gap
        }
    }

    /// Letters that Unicode does not decompose to a base letter, although people treat them as variants of
    /// it.
    private static let plainLetters: [UInt32: String] = [
        0x131: "i", 0x142: "l", 0x141: "l", 0xF8: "o", 0xD8: "o", 0x111: "d", 0x110: "d", 0xE6: "ae",
        0xC6: "ae",
        0x153: "oe", 0x152: "oe", 0xF0: "d", 0xD0: "d", 0xFE: "th", 0xDE: "th", 0x127: "h", 0x126: "h",
    ]

    private static func isHangul(_ character: UInt32) -> Bool { (0xAC00...0xD7A3).contains(character) }

    /// Whether a character is from Han, Kana or a script of South East Asia.
    private static func isUnspaced(_ character: UInt32) -> Bool {
        switch character {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3005...0x3007, 0x3021...0x3029,
            0x3031...0x3035,
            0x3040...0x30FF, 0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF,
            0x1B000...0x1B16F,
            0x20000...0x3FFFF:
            true
        default: false
        }
    }

    /// Whether a mark may be omitted in writing: accents, and the points of Hebrew and Arabic. The marks of
    /// Indic scripts and of Kana are as significant as letters.
    private static func isAccent(_ character: UInt32) -> Bool {
        switch character {
        case 0x0300...0x036F, 0x0483...0x0487, 0x0591...0x05BD, 0x05BF, 0x05C1...0x05C2, 0x05C4...0x05C5,
            0x05C7,
            0x0610...0x061A, 0x0640, 0x064B...0x065F, 0x0670, 0x06D6...0x06DC, 0x06DF...0x06E4,
            0x06E7...0x06E8,
            0x06EA...0x06ED, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF:
            true
        default: false
        }
    }
}
