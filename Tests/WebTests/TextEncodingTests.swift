import Testing
import Web

@Suite("TextEncoding")
struct TextEncodingTests {
    @Test(
        "a label names its encoding in any case and with whitespace around it",
        arguments: [
            ("utf-8", TextEncoding.utf8), (" UTF8\n", .utf8), ("latin1", .windows1252),
            ("ISO-8859-1", .windows1252),
            ("us-ascii", .windows1252), ("gb2312", .gbk), ("GB18030", .gb18030), ("ks_c_5601-1987", .eucKR),
            ("Shift_JIS", .shiftJIS), ("windows-31j", .shiftJIS), ("iso-8859-9", .windows1254),
            ("utf-16", .utf16le),
            ("unicodefffe", .utf16be), ("x-mac-ukrainian", .macCyrillic), ("logical", .isoHebrewLogical),
            ("hz-gb-2312", .replacement), ("x-user-defined", .userDefined), ("tis-620", .windows874),
        ])
    func labels(label: String, encoding: TextEncoding) {
        #expect(TextEncoding(label: label) == encoding)
    }

    @Test(
        "unknown labels have no encoding",
        arguments: ["", "utf-7", "ebcdic", "utf 8", "utf-8\u{A0}", "latin-1-but-longer-than-any"])
    func noLabels(label: String) {
        #expect(TextEncoding(label: label) == nil)
    }

    @Test("the name of an encoding is one of its labels", arguments: TextEncoding.allCases)
    func nameIsLabel(encoding: TextEncoding) {
        #expect(TextEncoding(label: encoding.name) == encoding)
    }

    @Test(
        "bytes decode to their text, and malformed ones to U+FFFD",
        arguments: [
            (TextEncoding.utf8, [0xEF, 0xBB, 0xBF, 0x61], "a"),
            (.utf8, [0x61, 0xFF, 0x62], "a\u{FFFD}b"),
            (.utf8, [0xE2, 0x82, 0x41], "\u{FFFD}A"),
            (.utf8, [0xF0, 0x80, 0x80, 0x41], "\u{FFFD}\u{FFFD}\u{FFFD}A"),
            (.utf8, [0xF1, 0x80, 0x80, 0xC2], "\u{FFFD}\u{FFFD}"),
            (.utf8, [0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            (.utf16le, [0xFF, 0xFE, 0x61, 0x00, 0x3D, 0xD8, 0x00, 0xDE], "a😀"),
            (.utf16be, [0x00, 0x61, 0xD8, 0x3D, 0x00, 0x62, 0x00], "a\u{FFFD}b\u{FFFD}"),
            (.windows1252, [0x80, 0x81, 0xE9], "€\u{81}é"),
            (.windows1253, [0x81, 0xAA, 0xE1], "\u{81}\u{FFFD}α"),
            (.windows1255, [0xE0, 0xC7], "א\u{5B7}"),
            (.windows1258, [0x61, 0xCC], "a\u{300}"),
            (.windows874, [0xA1, 0xDB], "ก\u{FFFD}"),
            (.koi8u, [0xAE, 0xC1], "ўа"),
            (.macintosh, [0xF0, 0xC6], "\u{F8FF}∆"),
            (.macCyrillic, [0xFF, 0x80], "€А"),
            (.userDefined, [0x41, 0x80, 0xFF], "A\u{F780}\u{F7FF}"),
            (.replacement, [0x41, 0x42], "\u{FFFD}"),
            (.gbk, [0xC4, 0xE3, 0x80, 0x41], "你€A"),
            (.gb18030, [0x81, 0x30, 0x81, 0x30], "\u{80}"),
            (.gbk, [0xC4, 0x22, 0x3E], "\u{FFFD}\">"),
            (.gbk, [0xC4], "\u{FFFD}"),
            (.big5, [0xA7, 0x41, 0xA7], "你\u{FFFD}"),
            (.shiftJIS, [0x93, 0xFA, 0xB1, 0x80, 0xA0, 0x41], "日ｱ\u{80}\u{FFFD}A"),
            (.eucJP, [0xC6, 0xFC, 0xAD, 0xA1, 0x8E, 0xB1], "日①ｱ"),
            (.shiftJIS, [0xFD, 0xC0, 0x0A], "\u{FFFD}ﾀ\n"),
            (.gb18030, [0x81, 0x30, 0x0A], "\u{FFFD}0\n"),
            (.gb18030, [0x81, 0x30, 0x81], "\u{FFFD}"),
            (
                .eucJP, [0xFC, 0xE2, 0x8F, 0xB0, 0xA1, 0x85, 0xA1, 0x22, 0xA1, 0x80],
                "髙丂\u{FFFD}\u{FFFD}\"\u{FFFD}"
            ),
            (.eucKR, [0xC7, 0xD1, 0x81, 0x41], "한갂"),
            (.iso2022JP, [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x41], "日A"),
            (.iso2022JP, [0x1B, 0x28, 0x4A, 0x5C, 0x7E], "¥‾"),
            (.iso2022JP, [0x1B, 0x28, 0x49, 0x31, 0x61], "ｱ\u{FFFD}"),
            (.iso2022JP, [0x41, 0x1B, 0x42, 0x80], "A\u{FFFD}B\u{FFFD}"),
        ] as [(TextEncoding, [UInt8], String)])
    func decoding(encoding: TextEncoding, bytes: [UInt8], text: String) {
        let decoded = String(decoding: encoding.decode(bytes.span), as: UTF8.self)
        #expect(Array(decoded.unicodeScalars) == Array(text.unicodeScalars))
    }

    @Test(
        "text encodes to its bytes, and unencodable characters to references",
        arguments: [
            (TextEncoding.windows1252, "é€", [0xE9, 0x80]),
            (.utf16le, "é", [0xC3, 0xA9]),
            (.shiftJIS, "日ｱ¥", [0x93, 0xFA, 0xB1, 0x5C]),
            (.eucJP, "日①", [0xC6, 0xFC, 0xAD, 0xA1]),
            (.iso2022JP, "a日~", [0x61, 0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x7E]),
            (.gbk, "€你", [0x80, 0xC4, 0xE3]),
            (.eucKR, "한", [0xC7, 0xD1]),
            (.big5, "†", Array("&#8224;".utf8)),
            (.gbk, "😀", Array("&#128512;".utf8)),
            (.gb18030, "\u{80}", [0x81, 0x30, 0x81, 0x30]),
        ] as [(TextEncoding, String, [UInt8])])
    func encoding(encoding: TextEncoding, text: String, bytes: [UInt8]) {
        #expect(encoding.encode(text.utf8.span) == bytes)
    }

    @Test(
        "every pair of bytes decodes to well-formed UTF-8, and ASCII after it survives",
        arguments: TextEncoding.allCases)
    func neverStops(encoding: TextEncoding) {
        var bytes: [UInt8] = []
        for pair in UInt16.min...UInt16.max { bytes += [UInt8(pair >> 8), UInt8(pair & 0xFF), 0x0A, 0x0A] }
        let decoded = encoding.decode(bytes.span)
        #expect(TextEncoding.repairedUTF8(decoded.span) == decoded)
        if encoding.isASCIICompatible {
            #expect(decoded.count { $0 == 0x0A } >= 2 * 65536)
        }
    }

    @Test(
        "a byte order mark determines the encoding",
        arguments: [
            ([0xEF, 0xBB, 0xBF], TextEncoding.utf8, 3), ([0xFE, 0xFF], .utf16be, 2),
            ([0xFF, 0xFE, 0x41], .utf16le, 2),
        ] as [([UInt8], TextEncoding, Int)])
    func byteOrderMarks(bytes: [UInt8], encoding: TextEncoding, byteCount: Int) {
        let mark = TextEncoding.byteOrderMark(of: bytes.span)
        #expect(mark?.encoding == encoding)
        #expect(mark?.byteCount == byteCount)
    }
}
