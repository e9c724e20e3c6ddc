extension TextEncoding {
    /// The encoding for a label in a document or header field, in any case and with ASCII whitespace around
    /// it; nil if it is unknown.
    package init?(label: String) {
        self.init(label: label.utf8.span)
    }

    package init?(label: Span<UInt8>) {
        var lower = 0
        var upper = label.count
        while lower < upper, Self.isWhitespace(label[lower]) { lower += 1 }
        while lower < upper, Self.isWhitespace(label[upper - 1]) { upper -= 1 }
        guard upper - lower <= Self.maxLabelBytes else { return nil }
        var key: [UInt8] = []
        for index in lower..<upper { key.append(label[index].lowercasedASCII) }
        guard let encoding = Self.byLabel[String(decoding: key, as: UTF8.self)] else { return nil }
        self = encoding
    }

    /// The name in the Encoding Standard.
    package var name: String { Self.names[Int(rawValue)] }

    /// glibc's name for the same encoding or the most similar one; nil if iconv is not used.
    var iconvName: String? {
        switch self {
        case .utf8, .utf16le, .utf16be, .replacement, .userDefined, .iso2022JP: nil
        case .isoHebrewLogical: "ISO-8859-8"
        case .macCyrillic: "MAC-CYRILLIC"
        case .windows874, .windows1250, .windows1251, .windows1252, .windows1253, .windows1254, .windows1255,
            .windows1256, .windows1257, .windows1258:
            "CP" + name.dropFirst("windows-".count)
        case .gbk: "GB18030"
        case .big5: "BIG5-HKSCS"
        case .eucJP: "EUC-JP-MS"
        case .shiftJIS: "CP932"
        case .eucKR: "UHC"
        default: name
        }
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
    }

    private static let maxLabelBytes = 32

    private static let names = allCases.map { $0.namesAndLabels.name }

    private static let byLabel: [String: TextEncoding] = {
        var table: [String: TextEncoding] = [:]
        for encoding in allCases {
            for label in encoding.namesAndLabels.labels.split(separator: " ") {
                table[String(label)] = encoding
            }
        }
        return table
    }()

    /// The name and labels from the table of the Encoding Standard, section 4.2.
    private var namesAndLabels: (name: String, labels: String) {
        switch self {
        case .utf8: ("UTF-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8")
        case .utf16le:
            ("UTF-16LE", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le")
        case .utf16be: ("UTF-16BE", "unicodefffe utf-16be")
        case .windows1252:
            (
                "windows-1252",
                """
                ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 \
                iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252
                """
            )
        case .ibm866: ("IBM866", "866 cp866 csibm866 ibm866")
        case .isoLatin2:
            (
                "ISO-8859-2",
                """
                csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
                """
            )
        case .isoLatin3:
            (
                "ISO-8859-3",
                "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"
            )
        case .isoLatin4:
            (
                "ISO-8859-4",
                "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"
            )
        case .isoCyrillic:
            (
                "ISO-8859-5",
                "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"
            )
        case .isoArabic:
            (
                "ISO-8859-6",
                """
                arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e \
                iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
                """
            )
        case .isoGreek:
            (
                "ISO-8859-7",
                """
                csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 \
                iso_8859-7 iso_8859-7:1987 sun_eu_greek
                """
            )
        case .isoHebrewVisual:
            (
                "ISO-8859-8",
                """
                csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 \
                iso_8859-8 iso_8859-8:1988 visual
                """
            )
        case .isoHebrewLogical: ("ISO-8859-8-I", "csiso88598i iso-8859-8-i logical")
        case .isoLatin6:
            ("ISO-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6")
        case .isoLatin7: ("ISO-8859-13", "iso-8859-13 iso8859-13 iso885913")
        case .isoLatin8: ("ISO-8859-14", "iso-8859-14 iso8859-14 iso885914")
        case .isoLatin9:
            ("ISO-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9")
        case .isoLatin10: ("ISO-8859-16", "iso-8859-16")
        case .koi8r: ("KOI8-R", "cskoi8r koi koi8 koi8-r koi8_r")
        case .koi8u: ("KOI8-U", "koi8-ru koi8-u")
        case .macintosh: ("macintosh", "csmacintosh mac macintosh x-mac-roman")
        case .macCyrillic: ("x-mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian")
        case .windows874: ("windows-874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874")
        case .windows1250: ("windows-1250", "cp1250 windows-1250 x-cp1250")
        case .windows1251: ("windows-1251", "cp1251 windows-1251 x-cp1251")
        case .windows1253: ("windows-1253", "cp1253 windows-1253 x-cp1253")
        case .windows1254:
            (
                "windows-1254",
                """
                cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 \
                windows-1254 x-cp1254
                """
            )
        case .windows1255: ("windows-1255", "cp1255 windows-1255 x-cp1255")
        case .windows1256: ("windows-1256", "cp1256 windows-1256 x-cp1256")
        case .windows1257: ("windows-1257", "cp1257 windows-1257 x-cp1257")
        case .windows1258: ("windows-1258", "cp1258 windows-1258 x-cp1258")
        case .gbk:
            (
                "GBK",
                "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk"
            )
        case .gb18030: ("gb18030", "gb18030")
        case .big5: ("Big5", "big5 big5-hkscs cn-big5 csbig5 x-x-big5")
        case .eucJP: ("EUC-JP", "cseucpkdfmtjapanese euc-jp x-euc-jp")
        case .iso2022JP: ("ISO-2022-JP", "csiso2022jp iso-2022-jp")
        case .shiftJIS:
            ("Shift_JIS", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis")
        case .eucKR:
            (
                "EUC-KR",
                """
                cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 \
                windows-949
                """
            )
        case .replacement:
            ("replacement", "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement")
        case .userDefined: ("x-user-defined", "x-user-defined")
        }
    }
}
