package import Digest
internal import Web

/// A file name with a hash in it, as bundlers write them: `app.3f2a9c81.js`, `index-BRBmoGS9.js`, `main.js?id=4d1c…`.
package struct HashedName: Sendable, Equatable {
    /// The hash as it stands there.
    package let hash: String
    /// The name with a star for the hash: what it has in common with the same file of another release.
    package let family: String

    /// Looks at the last segment of a path, and at its query for Laravel Mix's `id`. Nil when no hash is found.
    package init?(_ reference: String) {
        let bytes = Array(reference.utf8)
        let fragment = bytes.firstIndex(of: 0x23) ?? bytes.endIndex
        let query = bytes[..<fragment].firstIndex(of: 0x3F) ?? fragment
        let nameStart = bytes[..<query].lastIndex(of: 0x2F).map { $0 + 1 } ?? 0
        let range =
            Self.hexRange(bytes, nameStart..<query) ?? Self.base64Range(bytes, nameStart..<query)
            ?? Self.mixRange(bytes, query..<fragment)
        guard let range else { return nil }
        hash = String(decoding: bytes[range], as: UTF8.self)
        // A query says nothing of the family, but where it is the hash itself that stands there.
        let end = range.lowerBound > query ? fragment : query
        family = String(decoding: bytes[..<range.lowerBound] + [0x2A] + bytes[range.upperBound..<end], as: UTF8.self)
    }

    /// What the name says of the body, where it is known that it begins with hexadecimal digits of such a digest.
    /// Weak: many tools hash something else, and none says so in the name.
    package func claim(_ algorithm: DigestAlgorithm) -> Claim? {
        let digits = hash.utf8.map(\.lowercasedASCII)
        guard digits.allSatisfy({ $0.hexDigitValue != nil }), digits.count <= algorithm.byteCount * 2 else {
            return nil
        }
        return Claim(
            .prefix(algorithm, String(decoding: digits, as: UTF8.self)), .weak, source: "file name")
    }

    /// The last run of eight digits or more between dots, dashes and underscores. Digits alone may be a date, letters
    /// alone a word.
    private static func hexRange(_ bytes: [UInt8], _ name: Range<Int>) -> Range<Int>? {
        var found: Range<Int>?
        var start = name.lowerBound
        for at in name.lowerBound...name.upperBound {
            let isEnd = at == name.upperBound || bytes[at] == 0x2E || bytes[at] == 0x2D || bytes[at] == 0x5F
            guard isEnd else { continue }
            let part = bytes[start..<at]
            let isHex = part.count >= 8 && part.count <= 128 && part.allSatisfy { $0.hexDigitValue != nil }
            if isHex, part.contains(where: \.isASCIIDigit), part.count >= 20 || part.contains(where: \.isASCIIAlpha) {
                found = start..<at
            }
            start = at + 1
        }
        return found
    }

    /// Rollup's and esbuild's eight characters before the extension.
    private static func base64Range(_ bytes: [UInt8], _ name: Range<Int>) -> Range<Int>? {
        guard let dot = bytes[name].lastIndex(of: 0x2E), dot - name.lowerBound > 9 else { return nil }
        let range = dot - 8..<dot
        let part = bytes[range]
        guard bytes[dot - 9] == 0x2D || bytes[dot - 9] == 0x2E,
            part.allSatisfy({ $0.isASCIIAlphanumeric || $0 == 0x2D || $0 == 0x5F })
        else { return nil }
        // "Settings" and "overview" are words, and "20240131" is a day; a capital or a digit among letters is in none.
        guard part.contains(where: \.isASCIIAlpha) else { return nil }
        let hasDigit = part.contains(where: \.isASCIIDigit)
        let hasCapitalInside = part.dropFirst().contains(where: \.isASCIIUppercase)
        return hasDigit || hasCapitalInside ? range : nil
    }

    private static func mixRange(_ bytes: [UInt8], _ query: Range<Int>) -> Range<Int>? {
        guard query.count > 11, bytes[query].starts(with: "?id=".utf8) else { return nil }
        let value = query.lowerBound + 4..<query.upperBound
        return bytes[value].allSatisfy { $0.hexDigitValue != nil } ? value : nil
    }
}
