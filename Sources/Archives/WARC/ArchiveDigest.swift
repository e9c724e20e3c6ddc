internal import Digest
internal import Web

/// Formats and parses digests as WARC files contain them: `sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ`.
enum ArchiveDigest {
    static func text(_ digest: Digest) -> String {
        "\(digest.algorithm.rawValue):\(Base32.encode(digest.bytes))"
    }

    /// Parses a digest in base 32, base 16 or base 64, which differ in length. Returns nil if the algorithm
    /// is not supported or the text is not a digest.
    static func digest(_ text: String) -> Digest? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let name = text[..<colon].lowercased().filter { $0 != "-" && $0 != "_" }
        guard let algorithm = DigestAlgorithm(rawValue: name) else { return nil }
        let value = String(text[text.index(after: colon)...])
        if let digest = Digest(algorithm, hex: value) { return digest }
        if value.utf8.count <= (algorithm.byteCount + 2) / 3 * 4, let bytes = Base64.decodeForgiving(value),
            let digest = Digest(algorithm, bytes: bytes)
        {
            return digest
        }
        return Base32.decode(value).flatMap { Digest(algorithm, bytes: $0) }
    }
}

/// The base 32 encoding of RFC 4648, section 6.
enum Base32 {
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 5 * 8 + 8)
        // `buffer` has the last bits that were read, and `count` is the number of those that are not written yet.
        var (buffer, count) = (UInt32(0), UInt32(0))
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(digit(UInt8(buffer >> count & 31)))
            }
        }
        if count > 0 { text.append(digit(UInt8(buffer << (5 - count) & 31))) }
        while !text.count.isMultiple(of: 8) { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes text in any case. Returns nil if it has other characters.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (buffer, count) = (UInt32(0), UInt32(0))
        for byte in text.utf8 {
            let value: UInt8
            switch byte {
            case 0x41...0x5A: value = byte - 0x41
            case 0x61...0x7A: value = byte - 0x61
            case 0x32...0x37: value = byte - 0x32 + 26
            case UInt8(ascii: "="): continue
            default: return nil
            }
            buffer = buffer << 5 | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(buffer >> count & 255))
            }
        }
        return bytes
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 26 ? value + 0x41 : value - 26 + 0x32 }
}
