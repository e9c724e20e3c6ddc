internal import Digest
internal import Store
internal import Web

/// The description of an export in the archive's own metadata.
package struct ArchiveInfo: Sendable {
    /// The name and version of the program that writes the archive.
    package var software: String
    /// The name of the site.
    package var site: String
    /// The number of the snapshot; nil if the site has none.
    package var snapshot: Int64?
    /// The time at which the snapshot began, in seconds since 1970. Not the time of the export, so that exporting a
    /// snapshot again gives the same file, byte for byte.
    package var date: Int64

    package init(software: String, site: String, snapshot: Int64?, date: Int64) {
        self.software = software
        self.site = site
        self.snapshot = snapshot
        self.date = date
    }
}

/// Builds the uncompressed records of one WARC file, in the form of ISO 28500 (WARC 1.1).
///
/// A record is a header of named fields, an empty line, a block of bytes, and `recordEnd`. The caller appends
/// `recordEnd`, and also the body of a response, because large bodies are not loaded into memory.
struct WARCRecordBuilder: Sendable {
    let info: ArchiveInfo
    /// The ID of the `warcinfo` record, to which the other records refer.
    let infoID: String
    private let filename: String

    /// The first response in the file with a certain body. The revisit records of later responses refer to it.
    struct Original: Sendable {
        let url: String
        /// The time of the response, as `date(of:)` formats it.
        let date: String
        /// The ID of the response record.
        let id: String
    }

    init(_ info: ArchiveInfo, filename: String) {
        self.info = info
        self.filename = filename
        infoID = Self.recordID(["warcinfo", info.site, "\(info.snapshot ?? 0)", "\(info.date)", filename])
    }

    /// The header and the block of the `warcinfo` record, which is the first one in the file.
    var infoRecord: (head: [UInt8], block: [UInt8]) {
        var fields = HTTPFields()
        fields.append("software", info.software)
        fields.append("format", "WARC File Format 1.1")
        fields.append("conformsTo", WARC.standard)
        fields.append("isPartOf", info.site)
        if let snapshot = info.snapshot { fields.append("larder-snapshot", "\(snapshot)") }
        fields.append(
            "description",
            "Bodies are stored without their content codings; the original headers about these are in "
                + "X-Archive-Orig-* fields. Request records contain what is known of the requests.")
        let block = Array(fields.block.utf8)
        var header = commonFields(
            type: "warcinfo", id: infoID, date: HTTPDate(secondsSinceEpoch: info.date).iso8601)
        header.append(WARC.filename, filename)
        header.append(WARC.blockDigest, Self.digest(of: [block]))
        return (headBytes(header, "application/warc-fields", blockByteCount: block.count), block)
    }

    /// The bytes after the block of each record.
    static let recordEnd = Array("\r\n\r\n".utf8)

    /// Returns the header fields that all types of records have.
    private func commonFields(type: String, id: String, date: String, url: String? = nil) -> HTTPFields {
        var header = HTTPFields()
        header.append(WARC.type, type)
        header.append(WARC.recordID, id)
        header.append(WARC.date, date)
        if let url { header.append(WARC.target, url) }
        if type != "warcinfo" { header.append(WARC.infoID, infoID) }
        return header
    }

    private func commonFields(type: String, id: String, of response: ArchivedResponse) -> HTTPFields {
        commonFields(type: type, id: id, date: date(of: response), url: response.url)
    }

    /// Returns the header as bytes, from the version line to the empty line, with the type and size of the block added.
    private func headBytes(_ header: HTTPFields, _ contentType: String, blockByteCount: Int) -> [UInt8] {
        var header = header
        header.append(WARC.contentType, contentType)
        header.append(WARC.contentLength, String(blockByteCount))
        return Array("\(WARC.version)\r\n\(header.block)\r\n".utf8)
    }

    // MARK: - A response with its request

    /// Returns the ID of a record for the response. It depends only on the response and the file, so that exporting a
    /// snapshot again gives the same file.
    ///
    /// - Parameter type: `response`, also for a revisit, or `request`. The request record refers to either by the same ID.
    func id(of response: ArchivedResponse, type: String) -> String {
        Self.recordID([
            type, infoID, response.url, response.request.text, response.notes?.variant ?? "",
            "\(response.fetched)",
        ])
    }

    /// Returns the head of the HTTP message, from the status line to the empty line before the body.
    func messageHead(of response: ArchivedResponse) -> [UInt8] {
        let keepsCoding = response.notes?.flags.contains(.isCoded) ?? false
        let fields = OriginalHeaders.encode(
            response.fields, byteCount: response.body?.byteCount ?? 0, keepsCoding: keepsCoding)
        var bytes = Array("HTTP/1.1 \(response.status) \(StatusPhrase.of(response.status))\r\n".utf8)
        bytes += HTTPGrammar.bytes(of: fields.block)
        bytes += [0x0D, 0x0A]
        return bytes
    }

    /// Returns the response record up to the body: its header, and the head of the HTTP message.
    ///
    /// - Parameters:
    ///   - messageHead: The result of `messageHead(of:)`.
    ///   - blockDigest: The digest of the record's block, which is the head of the message and the body.
    func responseHead(
        of response: ArchivedResponse, messageHead: [UInt8], blockDigest: Digest
    ) -> [UInt8] {
        var header = commonFields(type: "response", id: id(of: response, type: "response"), of: response)
        if let body = response.body { header.append(WARC.payloadDigest, ArchiveDigest.text(body.sha256)) }
        header.append(WARC.blockDigest, ArchiveDigest.text(blockDigest))
        if let notes = response.notes { header.append(WARC.notes, notes.members.text(.compact)) }
        return headBytes(
            header, "application/http; msgtype=response",
            blockByteCount: messageHead.count + (response.body?.byteCount ?? 0)) + messageHead
    }

    /// Returns the revisit record of a response. It has no body, and refers to an earlier response with the same body.
    ///
    /// - Parameter body: The body of the response.
    func revisitRecord(of response: ArchivedResponse, _ body: ArchivedBody, as original: Original) -> [UInt8]
    {
        let message = messageHead(of: response)
        var header = commonFields(type: "revisit", id: id(of: response, type: "response"), of: response)
        header.append(WARC.profile, WARC.identicalPayload)
        header.append(WARC.refersTo, original.id)
        header.append(WARC.refersToTarget, original.url)
        header.append(WARC.refersToDate, original.date)
        header.append(WARC.payloadDigest, ArchiveDigest.text(body.sha256))
        header.append(WARC.blockDigest, Self.digest(of: [message]))
        if let notes = response.notes { header.append(WARC.notes, notes.members.text(.compact)) }
        return headBytes(header, "application/http; msgtype=response", blockByteCount: message.count)
            + message
    }

    func requestRecord(for response: ArchivedResponse) -> [UInt8] {
        let block = Self.requestBlock(for: response)
        var header = commonFields(type: "request", id: id(of: response, type: "request"), of: response)
        header.append(WARC.concurrent, id(of: response, type: "response"))
        header.append(WARC.blockDigest, Self.digest(of: [block]))
        return headBytes(header, "application/http; msgtype=request", blockByteCount: block.count) + block
    }

    /// Returns the time of the response as WARC headers contain it.
    func date(of response: ArchivedResponse) -> String {
        HTTPDate(secondsSinceEpoch: response.fetched).iso8601
    }

    /// Returns the known parts of the request: the method, the URL and the headers that the response varies
    /// by.
    private static func requestBlock(for response: ArchivedResponse) -> [UInt8] {
        // `ArchivedResponse.url` may be invalid.
        guard let url = WebURL(response.url) else {
            return Array("\(response.method) / HTTP/1.1\r\n\r\n".utf8)
        }
        var fields = HTTPFields()
        fields.append("Host", url.port.map { "\(url.host):\($0)" } ?? url.host)
        for field in response.requestFields.list { fields.append(field.name, field.value) }
        var bytes = Array("\(response.method) \(url.target) HTTP/1.1\r\n".utf8)
        bytes += HTTPGrammar.bytes(of: fields.block)
        bytes += [0x0D, 0x0A]
        return bytes
    }

    // MARK: - Digests and IDs

    /// Returns the SHA-256 of the parts together, as WARC headers contain it.
    private static func digest(of parts: [[UInt8]]) -> String {
        var stream = DigestStream(.sha256)
        for part in parts { stream.update(part.span) }
        return ArchiveDigest.text(stream.finish())
    }

    /// Returns a record ID: the URN of a UUID that is equal for equal names (RFC 9562, version 8).
    private static func recordID(_ names: [String]) -> String {
        let text = Array(names.joined(separator: "\n").utf8)
        var bytes = Array(DigestStream.digest(.sha256, of: text.span).bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Hex.encode(bytes).utf8
        var uuid: [UInt8] = []
        for (index, digit) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { uuid.append(UInt8(ascii: "-")) }
            uuid.append(digit)
        }
        return "<urn:uuid:\(String(decoding: uuid, as: UTF8.self))>"
    }
}
