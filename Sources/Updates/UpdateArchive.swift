internal import Digest
internal import System

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
    static let signatureName = "update.json.minisig"
    package static let sumsName = "SHA256SUMS"
    package static let manifestName = "manifest.json"

    /// The two blocks of zeros at the end.
    package static let endBytes = 2 * TarHeader.blockBytes

    /// Returns the header of an entry.
    package static func header(_ name: String, _ byteCount: Int) -> [UInt8] {
        TarHeader.block(name.utf8, byteCount: Int64(byteCount))
    }

    /// Returns the size of an entry whose header is right for this name; nil for every other block.
    static func byteCount(in block: [UInt8], of name: String) -> Int? {
        guard block.count == TarHeader.blockBytes,
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
