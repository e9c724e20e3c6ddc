internal import Digest

/// The form of an update file: an uncompressed tar archive with these entries, in this order, so that `tar` and
/// `zstd --patch-from` can unpack it without Larder.
///
/// 1. `update.json`: the list (`UpdateList`)
/// 2. `update.json.minisig`: its signature, if it is signed
/// 3. `SHA256SUMS`: the digests of the entries before, against damage of unsigned files and of the signature's comment
/// 4. `manifest.json`: the manifest of the later release
/// 5. `files/000001.zst` and so on: the frames, in the order of the list
///
/// Names, sizes and order follow from the list, and all other fields of the headers are constant. So a reader compares each
/// header with the only right one, and need not interpret any.
package enum UpdateArchive {
    package static let listName = "update.json"
    package static let signatureName = "update.json.minisig"
    package static let sumsName = "SHA256SUMS"
    package static let manifestName = "manifest.json"

    static let blockBytes = 512
    /// The two blocks of zeros at the end.
    package static let endBytes = 2 * blockBytes

    /// The number of zeros after an entry's content.
    package static func padding(after byteCount: Int) -> Int {
        (blockBytes - byteCount % blockBytes) % blockBytes
    }

    /// Returns the header of an entry (POSIX.1-2017, ustar). The checksum is the sum of all bytes, with spaces in its own field.
    ///
    /// - Precondition: The name has at most 100 bytes and the size at most 11 octal digits.
    package static func header(_ name: String, _ byteCount: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: blockBytes)
        func put(_ text: String, at offset: Int) {
            block.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            precondition(text.utf8.count <= digits, "an entry is too large for its header")
            return String(repeating: "0", count: digits - text.utf8.count) + text
        }
        precondition(name.utf8.count <= 100, "an entry has a long name")
        put(name, at: 0)
        put("0000644", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(byteCount, 11), at: 124)
        put(octal(0, 11), at: 136)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put(octal(block.reduce(0) { $0 + Int($1) }, 6), at: 148)
        block[154] = 0
        return block
    }

    /// Returns the size of an entry whose header is right for this name; nil for every other block.
    static func byteCount(in block: [UInt8], of name: String) -> Int? {
        guard block.count == blockBytes,
            let count = Int(String(decoding: block[124..<135], as: UTF8.self), radix: 8), count >= 0,
            header(name, count) == block
        else { return nil }
        return count
    }

    /// The content of `SHA256SUMS`, in the format of `sha256sum`.
    package static func sums(_ list: [UInt8], signature: String?) -> [UInt8] {
        func line(_ bytes: [UInt8], _ name: String) -> String {
            "\(DigestStream.digest(.sha256, of: bytes.span).hex)  \(name)\n"
        }
        let ofSignature = signature.map { line(Array($0.utf8), signatureName) } ?? ""
        return Array((line(list, listName) + ofSignature).utf8)
    }
}
