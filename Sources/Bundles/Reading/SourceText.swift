internal import Web

/// The bytes of a manifest, and the name under which errors tell of them.
struct SourceText {
    let bytes: [UInt8]
    let file: String

    /// - Parameter key: the way to what is wrong, `bundles[3].md5`; nil for the text as a whole.
    func refuse(at offset: Int, key: String? = nil, _ detail: String) -> ManifestError {
        ManifestError(file: file, position: TextPosition(of: offset, in: bytes.span), key: key, detail: detail)
    }

    func json() throws(ManifestError) -> Node {
        let limits = JSONLimits(
            depth: ManifestLimits.depth, byteCount: ManifestLimits.byteCount, valueCount: ManifestLimits.valueCount)
        do throws(JSONError) {
            return Node(try JSONValue.parse(bytes.span, limits: limits), key: "", in: self)
        } catch {
            throw ManifestError(
                file: file, position: error.position, detail: "expected \(error.expected), found \(error.found)")
        }
    }

    /// Without the file's own name; empty for a file that is named alone.
    var folderOfFile: Substring { file.lastIndex(of: "/").map { file[..<$0] } ?? "" }
}
