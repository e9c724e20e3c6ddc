internal import Digest
internal import Store
internal import Web

/// The words of WARC 1.1 (ISO 28500) that reader and writer share.
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
    /// What a larder knows beside a response, in JSON. The standard has readers pass over fields that they do
    /// not know.
    static let notes = "Larder-Notes"
}

/// What an archive's HTTP head says in place of what its server said, where the body stands there without its
/// codings; the server's own words stand beside it.
enum OriginalField {
    private static let prefix = "X-Archive-Orig-"
    private static let names = ["Content-Encoding", "Content-Length", "Transfer-Encoding"]

    /// The fields for a body of so many bytes as it stands in an archive.
    static func written(_ fields: HTTPFields, byteCount: Int, keepsCoding: Bool) -> HTTPFields {
        let length = String(byteCount)
        let isRight = fields.all("Content-Length") == [length]
        var written = HTTPFields()
        for field in fields.list {
            let name = names.first { HTTPGrammar.matches($0, field.name) }
            if name == nil || name == "Content-Length" && isRight || name == "Content-Encoding" && keepsCoding
            {
                written.append(field.name, field.value)
                continue
            }
            if name == "Content-Length", !written.contains("Content-Length") {
                written.append(field.name, length)
            }
            written.append(prefix + field.name, field.value)
        }
        return written
    }

    /// As the server said it.
    static func read(_ fields: HTTPFields) -> HTTPFields {
        let originals = Set(
            fields.list.compactMap { original($0.name).map { HTTPGrammar.lowercased($0.utf8) } })
        guard !originals.isEmpty else { return fields }
        return HTTPFields(
            fields.list.compactMap { field in
                if let name = original(field.name) { return HTTPFields.Field(name: name, value: field.value) }
                return originals.contains(HTTPGrammar.lowercased(field.name.utf8)) ? nil : field
            })
    }

    private static func original(_ name: String) -> String? {
        guard name.utf8.count > prefix.utf8.count,
            HTTPGrammar.matches(String(name.prefix(prefix.count)), prefix)
        else { return nil }
        return String(name.dropFirst(prefix.count))
    }
}
