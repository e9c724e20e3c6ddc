/// A character encoding of the Encoding Standard. The raw value never changes its meaning, so it may be stored.
package enum TextEncoding: UInt8, CaseIterable, Hashable, Sendable {
    case utf8 = 0
    case utf16le, utf16be
    case windows1252
    case ibm866
    case isoLatin2, isoLatin3, isoLatin4, isoCyrillic, isoArabic, isoGreek, isoHebrewVisual, isoHebrewLogical
    case isoLatin6, isoLatin7, isoLatin8, isoLatin9, isoLatin10
    case koi8r, koi8u
    case macintosh, macCyrillic
    case windows874, windows1250, windows1251, windows1253, windows1254, windows1255
    case windows1256, windows1257, windows1258
    case gbk, gb18030, big5
    case eucJP, iso2022JP, shiftJIS
    case eucKR
    case replacement, userDefined

    /// Whether bytes below 0x80 are ASCII wherever they stand between characters, so that a scanner of ASCII
    /// delimiters may read the bytes as they are.
    package var isASCIICompatible: Bool {
        switch self {
        case .utf16le, .utf16be, .iso2022JP, .replacement: false
        default: true
        }
    }

    /// The encoding in which a document of this encoding writes queries and forms.
    package var outputEncoding: TextEncoding {
        switch self {
        case .utf16le, .utf16be, .replacement: .utf8
        default: self
        }
    }

    /// The encoding that a byte order mark at the beginning tells, and the mark's length.
    package static func byteOrderMark(of bytes: Span<UInt8>) -> (encoding: TextEncoding, byteCount: Int)? {
        guard bytes.count >= 2 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0xFE, 0xFF): return (.utf16be, 2)
        case (0xFF, 0xFE): return (.utf16le, 2)
        case (0xEF, 0xBB) where bytes.count >= 3 && bytes[2] == 0xBF: return (.utf8, 3)
        default: return nil
        }
    }
}
