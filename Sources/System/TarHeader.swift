/// The header of an entry in a tar archive (POSIX.1-2017, ustar). The mode and the owner are the same for all entries.
package enum TarHeader {
    /// The size of a header, and the unit to which the content of an entry is padded.
    package static let blockBytes = 512
    /// The maximum length of a name in a header.
    package static let maxNameBytes = 100
    /// The maximum size of an entry, and the latest date: eleven octal digits.
    package static let maxNumber: Int64 = 1 << 33 - 1

    /// Returns a header.
    ///
    /// - Parameters:
    ///   - date: seconds since 1970.
    ///   - kind: `0` for a file.
    /// - Precondition: The name and the numbers are within the limits.
    package static func block(
        _ name: some Collection<UInt8>, byteCount: Int64, date: Int64 = 0, kind: Unicode.Scalar = "0"
    ) -> [UInt8] {
        precondition(name.count <= maxNameBytes, "the name of an entry is too long for its header")
        let numbers = 0...maxNumber
        precondition(
            numbers.contains(byteCount) && numbers.contains(date), "an entry is too large for its header")
        var block = [UInt8](repeating: 0, count: blockBytes)
        func put(_ text: some Collection<UInt8>, at offset: Int) {
            block.replaceSubrange(offset..<offset + text.count, with: text)
        }
        func octal(_ number: Int64, _ digits: Int) -> String.UTF8View {
            let text = String(number, radix: 8)
            return (String(repeating: "0", count: digits - text.utf8.count) + text).utf8
        }
        put(name, at: 0)
        put("0000644".utf8, at: 100)
        put("0000000".utf8, at: 108)
        put("0000000".utf8, at: 116)
        put(octal(byteCount, 11), at: 124)
        put(octal(date, 11), at: 136)
        put([UInt8(ascii: kind)], at: 156)
        put("ustar".utf8, at: 257)
        put("00".utf8, at: 263)
        // The checksum is the sum of all bytes, with spaces in its own field.
        put("        ".utf8, at: 148)
        put(octal(block.reduce(0) { $0 + Int64($1) }, 6), at: 148)
        block[154] = 0
        return block
    }

    /// The number of zeros after the content of an entry.
    package static func padding(after byteCount: Int) -> Int {
        (blockBytes - byteCount % blockBytes) % blockBytes
    }
}
