internal import Digest
internal import Store
internal import Web

/// The metadata of a WARC file, which is written to its first record.
package struct ArchiveInfo: Sendable {
    package var software: String
    /// The name of the site.
    package var site: String
    package var snapshot: Int64?
    /// The time at which the snapshot began. The same snapshot gives the same file, byte for byte.
    package var date: Int64

    package init(software: String, site: String, snapshot: Int64?, date: Int64) {
        self.software = software
        self.site = site
        self.snapshot = snapshot
        self.date = date
    }
}

/// Builds the bytes of WARC records, uncompressed.
struct WARCRecords: Sendable {
    let info: ArchiveInfo
    /// The identifier of the `warcinfo` record, which the other records refer to.
    let infoID: String
    private let filename: String

    /// A response that was written earlier to the same file, for revisits of its body.
    struct Original: Sendable {
        let url: String
        let date: String
        let id: String
    }

    init(_ info: ArchiveInfo, filename: String) {
        self.info = info
        self.filename = filename
        infoID = Self.identifier(["warcinfo", info.site, "\(info.snapshot ?? 0)", "\(info.date)", filename])
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
        var head = self.head("warcinfo", infoID, HTTPDate(secondsSinceEpoch: info.date).iso8601)
        head.append(WARC.filename, filename)
        head.append(WARC.blockDigest, Self.digest(of: [block]))
        return (text(head, "application/warc-fields", block.count), block)
    }

    /// The bytes after the block of each record.
    static let recordEnd = Array("\r\n\r\n".utf8)

    /// Returns the fields that the headers of all records have.
    private func head(_ type: String, _ id: String, _ date: String, _ url: String? = nil) -> HTTPFields {
        var head = HTTPFields()
        head.append(WARC.type, type)
        head.append(WARC.recordID, id)
        head.append(WARC.date, date)
        if let url { head.append(WARC.target, url) }
        if type != "warcinfo" { head.append(WARC.infoID, infoID) }
        return head
    }

    /// Returns the bytes of a record's header, with the type and length of the block.
    private func text(_ head: HTTPFields, _ type: String, _ byteCount: Int) -> [UInt8] {
        var head = head
        head.append(WARC.contentType, type)
        head.append(WARC.contentLength, String(byteCount))
        return Array("\(WARC.version)\r\n\(head.block)\r\n".utf8)
    }

    // MARK: - A response with its request

    /// Returns the identifier of a record for the response. It depends only on the response and the file, so that the
    /// same snapshot gives the same file.
    func id(of response: ArchivedResponse, _ type: String) -> String {
        Self.identifier([
            type, infoID, response.url, response.request.text, response.notes?.variant ?? "",
            "\(response.fetched)",
        ])
    }

    /// Returns the status line and headers of the response.
    func messageHead(of response: ArchivedResponse) -> [UInt8] {
        let keepsCoding = response.notes?.flags.contains(.isCoded) ?? false
        let fields = OriginalHeaders.encode(
            response.fields, byteCount: response.body?.byteCount ?? 0, keepsCoding: keepsCoding)
        var bytes = Array("HTTP/1.1 \(response.status) \(StatusPhrase.of(response.status))\r\n".utf8)
        bytes += HTTPGrammar.bytes(of: fields.block)
        bytes += [0x0D, 0x0A]
        return bytes
    }

    /// Returns the header of the response record, followed by the header of the HTTP message in it.
    ///
    /// - Parameter block: The digest of the whole block of the record.
    func responseHead(
        of response: ArchivedResponse, _ message: [UInt8], block: Digest
    ) -> [UInt8] {
        var head = head("response", id(of: response, "response"), date(of: response), response.url)
        if let body = response.body { head.append(WARC.payloadDigest, ArchiveDigest.text(body.sha256)) }
        head.append(WARC.blockDigest, ArchiveDigest.text(block))
        if let notes = response.notes { head.append(WARC.notes, notes.members.text(.compact)) }
        return text(
            head, "application/http; msgtype=response", message.count + (response.body?.byteCount ?? 0))
            + message
    }

    /// Returns the record of a response that has the same body as an earlier one.
    func revisit(of response: ArchivedResponse, _ body: ArchivedBody, _ original: Original) -> [UInt8] {
        let message = messageHead(of: response)
        var head = head("revisit", id(of: response, "response"), date(of: response), response.url)
        head.append(WARC.profile, WARC.identicalPayload)
        head.append(WARC.refersTo, original.id)
        head.append(WARC.refersToTarget, original.url)
        head.append(WARC.refersToDate, original.date)
        head.append(WARC.payloadDigest, ArchiveDigest.text(body.sha256))
        head.append(WARC.blockDigest, Self.digest(of: [message]))
        if let notes = response.notes { head.append(WARC.notes, notes.members.text(.compact)) }
        return text(head, "application/http; msgtype=response", message.count) + message
    }

    /// Returns the request record of a response.
    func request(for response: ArchivedResponse) -> [UInt8] {
        let block = Self.requestBlock(for: response)
        var head = head("request", id(of: response, "request"), date(of: response), response.url)
        head.append(WARC.concurrent, id(of: response, "response"))
        head.append(WARC.blockDigest, Self.digest(of: [block]))
        return text(head, "application/http; msgtype=request", block.count) + block
    }

    /// Returns the time of the response as WARC headers contain it.
    func date(of response: ArchivedResponse) -> String {
        HTTPDate(secondsSinceEpoch: response.fetched).iso8601
    }

    /// Returns the known parts of the request: the method, the URL and the headers that the response varies
    /// by.
    private static func requestBlock(for response: ArchivedResponse) -> [UInt8] {
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

    // MARK: - Names

    private static func digest(of parts: [[UInt8]]) -> String {
        var stream = DigestStream(.sha256)
        for part in parts { stream.update(part.span) }
        return ArchiveDigest.text(stream.finish())
    }

    /// Returns a UUID (RFC 9562, version 8) that is equal for equal names.
    private static func identifier(_ names: [String]) -> String {
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
