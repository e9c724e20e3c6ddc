internal import Digest
internal import Store
internal import Web

/// The names and values of WARC 1.1 (ISO 28500) that the reader and the writer share.
enum WARC {
    static let version = "WARC/1.1"
    static let identicalPayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    static let standard = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

    static let contentType = "Content-Type"
    static let contentLength = "Content-Length"
    static let type = "WARC-Type"
    static let recordID = "WARC-Record-ID"
    static let date = "WARC-Date"
    static let target = "WARC-Target-URI"
    static let concurrent = "WARC-Concurrent-To"
    static let blockDigest = "WARC-Block-Digest"
    static let payloadDigest = "WARC-Payload-Digest"
    static let profile = "WARC-Profile"
    static let refersTo = "WARC-Refers-To"
    static let refersToTarget = "WARC-Refers-To-Target-URI"
    static let refersToDate = "WARC-Refers-To-Date"
    static let truncated = "WARC-Truncated"
    static let infoID = "WARC-Warcinfo-ID"
    static let filename = "WARC-Filename"
    /// The field with ``ArchiveNotes`` in JSON. The standard requires readers to ignore unknown fields.
    static let notes = "Larder-Notes"
}

/// Headers that describe the codings of a body. Most bodies in archives are decoded, so these headers are changed
/// to match the decoded body, and the original ones get the prefix `X-Archive-Orig-`.
///
/// For example, `Content-Encoding: br` and `Content-Length: 100` of a body that expands to 400 bytes are written as
/// `X-Archive-Orig-Content-Encoding: br`, `Content-Length: 400` and `X-Archive-Orig-Content-Length: 100`.
enum OriginalHeaders {
    private static let prefix = "X-Archive-Orig-"
    private static let names = ["Content-Encoding", "Content-Length", "Transfer-Encoding"]

    /// Returns the headers to write for a body of `byteCount` bytes in the archive.
    ///
    /// - Parameter keepsCoding: Whether the body is written in its content coding, as it is if it could not be decoded.
    static func encode(_ fields: HTTPFields, byteCount: Int, keepsCoding: Bool) -> HTTPFields {
        let length = String(byteCount)
        let isLengthCorrect = fields.all("Content-Length") == [length]
        var encoded = HTTPFields()
        for field in fields.list {
            let name = names.first { HTTPGrammar.matches($0, field.name) }
            if name == nil || name == "Content-Length" && isLengthCorrect
                || name == "Content-Encoding" && keepsCoding
            {
                encoded.append(field.name, field.value)
                continue
            }
            if name == "Content-Length", !encoded.contains("Content-Length") {
                encoded.append(field.name, length)
            }
            encoded.append(prefix + field.name, field.value)
        }
        return encoded
    }

    /// Returns the original headers of the response. Reverses ``encode(_:byteCount:keepsCoding:)``.
    static func restore(_ fields: HTTPFields) -> HTTPFields {
        let originals = Set(
            fields.list.compactMap { originalName($0.name).map { HTTPGrammar.lowercased($0.utf8) } })
        guard !originals.isEmpty else { return fields }
        return HTTPFields(
            fields.list.compactMap { field in
                if let name = originalName(field.name) {
                    return HTTPFields.Field(name: name, value: field.value)
                }
                return originals.contains(HTTPGrammar.lowercased(field.name.utf8)) ? nil : field
            })
    }

    /// Returns the name without the prefix, or nil if it has none.
    private static func originalName(_ name: String) -> String? {
        guard name.utf8.count > prefix.utf8.count,
            HTTPGrammar.matches(String(name.prefix(prefix.count)), prefix)
        else { return nil }
        return String(name.dropFirst(prefix.count))
    }
}
