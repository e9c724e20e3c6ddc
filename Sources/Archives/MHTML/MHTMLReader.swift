internal import Digest
internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// Reads pages that browsers saved in MHTML, a multipart message (RFC 2557). A part that is only named by
/// `cid:` gets a URL below the page's origin, and links to it are changed to that URL. A reader is used by
/// one thread.
final class MHTMLReader: ArchiveReader {
    private let parts: MessageParts
    private let date: Int64
    private let scanner = LinkScanner()
    /// The URLs of the parts that have a `Content-ID` and a URL, by their `Content-ID`.
    private let urlsByContentID: [String: String]
    /// The origin of the page, below which parts without a URL get one.
    private let origin: String?
    let start: String?

    /// The maximum number of entries in `urlsByContentID`. The first pass ends there, so that links to later parts by
    /// `cid:` may break.
    private static let maxNamedParts = 100_000
    /// The maximum number of bytes of a `Content-ID` that a URL contains. Longer ones are cut off, to keep URLs short.
    private static let maxContentIDBytes = 200

    init(_ path: String, _ storage: BodyStorage, _ limits: ArchiveLimits) throws(ArchiveError) {
        // The file is read twice: parts may refer to later parts, so the first pass collects the names.
        let probe = try MessageParts(path, limits, .measuredOnly)
        var (urlsByContentID, origin, start): ([String: String], String?, String?) = ([:], nil, nil)
        start = probe.pageURL
        while let part = try probe.next(), urlsByContentID.count < Self.maxNamedParts {
            guard case .part(let fields, _) = part else { continue }
            let location = probe.location(of: fields)
            if let location, origin == nil { origin = location.origin }
            if start == nil, fields.contentType?.isHTML ?? false { start = location?.href }
            if let id = Self.contentID(fields), let location { urlsByContentID[id] = location.href }
        }
        (self.urlsByContentID, self.start) = (urlsByContentID, start)
        self.origin = start.flatMap { WebURL($0)?.origin } ?? origin
        parts = try MessageParts(path, limits, storage)
        if let date = parts.date { self.date = date } else { date = try Self.modificationTime(path) }
    }

    /// Returns the modification time of the file, for a message without a date.
    private static func modificationTime(_ path: String) throws(ArchiveError) -> Int64 {
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { throw ArchiveError(SystemError(errno, doing: "read", path)) }
        return Int64(status.st_mtim.tv_sec)
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        guard let part = try parts.next() else { return nil }
        switch part {
        case .fault(let fault): return .fault(fault)
        case .part(let fields, let body):
            guard let url = url(of: fields) else {
                body.discard()
                return .fault(
                    ArchiveFault(
                        "it has no http or https URL", url: fields["Content-Location"],
                        at: parts.place))
            }
            var responseFields = HTTPFields()
            if let type = fields.contentType { responseFields.append("Content-Type", type.description) }
            let responseBody = try replacingCIDLinks(body, at: url, fields.contentType)
            return .response(
                ArchivedResponse(
                    url: url.href, status: 200, fields: responseFields, body: responseBody, fetched: date))
        }
    }

    // MARK: - Names

    private func url(of fields: HTTPFields) -> WebURL? {
        if let url = parts.location(of: fields) { return url }
        let location = fields["Content-Location"].flatMap { Self.contentID(inURL: $0) }
        return (location ?? Self.contentID(fields)).flatMap(url(forContentID:))
    }

    /// Returns the URL for a part that is named by an identifier.
    private func url(forContentID identifier: String) -> WebURL? {
        if let known = urlsByContentID[identifier] { return WebURL(known) }
        guard let origin else { return nil }
        // Most identifiers are `NAME@DOMAIN`.
        let isPlain = { (byte: UInt8) in
            byte.isASCIIDigit || (0x61...0x7A).contains(byte | 0x20) || "-_@".utf8.contains(byte)
        }
        var name = ""
        for byte in identifier.utf8.prefix(Self.maxContentIDBytes) {
            name += isPlain(byte) ? String(UnicodeScalar(byte)) : "%\(Hex.encode([byte]))"
        }
        return WebURL("\(origin)/~cid/\(name)")
    }

    /// Returns the `Content-ID` without its angle brackets.
    private static func contentID(_ fields: HTTPFields) -> String? {
        guard var id = fields["Content-ID"] else { return nil }
        if id.hasPrefix("<"), id.hasSuffix(">") { id = String(id.dropFirst().dropLast()) }
        return id.isEmpty ? nil : id
    }

    /// Returns the content ID in a `cid:` URL, or nil if it is not one (RFC 2392).
    private static func contentID(inURL text: String) -> String? {
        guard text.lowercased().hasPrefix("cid:"), text.utf8.count > 4 else { return nil }
        return String(decoding: [UInt8](percentDecoding: Array(text.utf8.dropFirst(4)).span), as: UTF8.self)
    }

    /// Returns the body with `cid:` links replaced by URLs.
    private func replacingCIDLinks(
        _ body: ArchivedBody, at url: WebURL, _ type: MediaType?
    ) throws(ArchiveError) -> ArchivedBody {
        guard let content = body.content, body.byteCount <= BodyReading.maxBytes, !BodyFormat.isOpaque(type)
        else {
            return body
        }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        guard bytes.firstRange(of: Array("cid:".utf8)) != nil else { return body }
        let table = scanner.read(bytes.span, of: url, as: type).table
        // The ranges of a transcoded body count in its UTF-8 form, but its header fields name the other encoding.
        guard !table.isTranscoded else { return body }
        let patch = Patch(bytes.span, table) { _, reference in
            let text = reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return Self.contentID(inURL: text).flatMap { self.url(forContentID: $0)?.href }
        }
        guard !patch.isEmpty else { return body }
        let changed = patch.apply(to: bytes)
        body.discard()
        return ArchivedBody(
            content: .bytes(changed), byteCount: changed.count,
            sha256: DigestStream.digest(.sha256, of: changed.span))
    }
}

/// Reads the parts of a message one after the other, and decodes them. The state is `beforeFirstPart` until the first
/// boundary, `inParts` until the closing boundary or an error, and then `atEnd`.
private final class MessageParts {
    enum Part {
        case part(HTTPFields, ArchivedBody)
        case fault(ArchiveFault)
    }

    private let input: ArchiveInput
    private let limits: ArchiveLimits
    private let storage: BodyStorage
    /// The boundary with its two leading dashes; empty if the file is not a multipart message.
    private var boundary: [UInt8] = []
    /// The URL of the page, if the header of the message contains it.
    private(set) var pageURL: String?
    private(set) var date: Int64?
    private var state = State.beforeFirstPart
    /// The number of the current part, from 1.
    private var number = 0

    private enum State: Equatable {
        case beforeFirstPart, inParts, atEnd
    }

    /// The maximum size of the header of the message or of a part. Reading ends at a larger one.
    private static let maxHeadBytes = 64 << 10
    /// The maximum size of the piece of a line that is decoded at once.
    private static let maxLinePieceBytes = 1 << 20
    /// A message with a longer boundary is not read. RFC 2046 allows 70 bytes.
    private static let maxBoundaryBytes = 250

    init(_ path: String, _ limits: ArchiveLimits, _ storage: BodyStorage) throws(ArchiveError) {
        (input, self.limits, self.storage) = (try ArchiveInput(path), limits, storage)
        input.limits = limits
        guard let head = try readHeader(), let type = head.contentType, type.type == "multipart",
            let boundary = type["boundary"], !boundary.isEmpty, boundary.utf8.count <= Self.maxBoundaryBytes
        else { return }
        self.boundary = Array("--\(boundary)".utf8)
        let location = head["Snapshot-Content-Location"] ?? head["Content-Location"] ?? head["Content-Base"]
        pageURL = location.flatMap { WebURL($0) }.flatMap { $0.isHTTP ? $0.key.href : nil }
        date = head.date("Date")?.secondsSinceEpoch
    }

    var place: String { "\(input.name), part \(number)" }

    /// Returns the URL of a part if it has one with http or https.
    func location(of fields: HTTPFields) -> WebURL? {
        let base = pageURL.flatMap { WebURL($0) }
        guard let url = fields["Content-Location"].flatMap({ WebURL($0, base: base) }), url.isHTTP else {
            return nil
        }
        return url.key
    }

    func next() throws(ArchiveError) -> Part? {
        switch state {
        case .atEnd: return nil
        case .beforeFirstPart:
            guard !boundary.isEmpty else { return end("it is not MHTML: it has no parts") }
            guard try readBody(nil) else { return end("it is truncated: it has no part") }
            guard state == .inParts else { return nil }
        case .inParts: break
        }
        number += 1
        guard let fields = try readHeader() else { return end("it has no readable headers") }
        let decoder = PartDecoder(
            fields["Content-Transfer-Encoding"], BodySpool(storage), limits.maxBodyBytes)
        guard try readBody(decoder) else { return end("it is truncated", url: fields["Content-Location"]) }
        if fields.contentType?.type == "multipart" {
            return .fault(ArchiveFault("it has nested parts", url: fields["Content-Location"], at: place))
        }
        switch try decoder.finish() {
        case .success(let body): return .part(fields, body)
        case .failure(let failure):
            return .fault(ArchiveFault(failure.reason, url: fields["Content-Location"], at: place))
        }
    }

    /// Ends reading with a fault.
    private func end(_ reason: String, url: String? = nil) -> Part {
        state = .atEnd
        return .fault(ArchiveFault(input.damage ?? reason, url: url, at: number == 0 ? input.name : place))
    }

    /// Reads the header fields up to the empty line. Returns nil if they are too large or do not end.
    private func readHeader() throws(ArchiveError) -> HTTPFields? {
        var (fields, name, value, remainingBytes) = (HTTPFields(), "", "", Self.maxHeadBytes)
        while true {
            guard case .line(let line) = try input.line(limit: remainingBytes) else { return nil }
            remainingBytes -= line.count + 1
            guard remainingBytes > 0 else { return nil }
            // A line that begins with white space continues the field before it.
            if let first = line.first, first == 0x20 || first == 0x09 {
                value += " " + Self.trimmed(line[...])
                continue
            }
            if !name.isEmpty { fields.append(name, value) }
            if line.isEmpty { return fields }
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            (name, value) = (Self.trimmed(line[..<colon]), Self.trimmed(line[colon...].dropFirst()))
        }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: HTTPGrammar.trimmed(bytes), as: UTF8.self)
    }

    /// Reads up to the next boundary and passes the content before it to the decoder. The line break before a
    /// boundary belongs to the boundary. Returns false if there is no boundary.
    private func readBody(_ decoder: PartDecoder?) throws(ArchiveError) -> Bool {
        // `ending` is the line break of the last line, and empty after a piece of a line. It is passed on with the next
        // line, unless that is a boundary.
        var (isLineStart, ending): (Bool, [UInt8]) = (true, [])
        while try input.fill() {
            var line: [UInt8] = []
            var isEnded = false
            while !isEnded, line.count < Self.maxLinePieceBytes, try input.fill() {
                let bytes = input.available
                let end = bytes.firstIndex(of: 0x0A)
                let size = min(end.map { $0 + 1 } ?? bytes.count, Self.maxLinePieceBytes - line.count)
                line.append(contentsOf: bytes[..<size])
                input.skip(size)
                isEnded = line.last == 0x0A
            }
            var rest = line[...]
            if isEnded { rest.removeLast() }
            if isEnded, rest.last == 0x0D { rest.removeLast() }
            if isLineStart, let state = stateAfterBoundary(rest) {
                self.state = state
                return true
            }
            try decoder?.decodeLine(rest, after: ending, isEnded: isEnded)
            ending = Array(line[rest.endIndex...])
            isLineStart = isEnded
        }
        return false
    }

    /// Returns the state after a line that is a boundary. Returns nil for other lines.
    private func stateAfterBoundary(_ line: ArraySlice<UInt8>) -> State? {
        guard line.starts(with: boundary) else { return nil }
        var rest = line.dropFirst(boundary.count)
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest.isEmpty ? .inParts : rest.elementsEqual("--".utf8) ? .atEnd : nil
    }
}

/// Decodes the content of one part line by line. The first failure is remembered, and further lines are ignored.
private final class PartDecoder {
    struct Failure: Error {
        let reason: String
    }

    private enum TransferEncoding {
        case identity, quotedPrintable, base64
    }

    private let encoding: TransferEncoding
    private let spool: BodySpool
    private let maxBytes: Int
    /// Base64 digits that are not decoded yet.
    private var digits: [UInt8] = []
    /// Whether the next piece of quoted-printable text continues the line before it: at the start, after a soft line break,
    /// which is not part of the content, and after a piece of a very long line.
    private var isLineContinued = true
    /// Whether base64 padding was read.
    private var isPadded = false
    private var failure: Failure?

    /// Base64 is decoded when there are this many digits.
    private static let base64BatchBytes = 64 << 10

    init(_ encoding: String?, _ spool: BodySpool, _ maxBytes: Int) {
        switch encoding?.lowercased() {
        case "quoted-printable": self.encoding = .quotedPrintable
        case "base64": self.encoding = .base64
        default: self.encoding = .identity
        }
        (self.spool, self.maxBytes) = (spool, maxBytes)
    }

    /// Decodes a line without its terminator.
    ///
    /// - Parameters:
    ///   - ending: The terminator of the line before this one.
    ///   - isEnded: Whether the line is complete; false for a piece of a very long line.
    func decodeLine(
        _ line: ArraySlice<UInt8>, after ending: [UInt8], isEnded: Bool
    ) throws(ArchiveError) {
        guard failure == nil else { return }
        switch encoding {
        case .identity: try append(ending + line)
        case .quotedPrintable:
            var bytes = isLineContinued ? [] : ending
            var text = line
            while isEnded, let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
            isLineContinued = text.last == 0x3D || !isEnded
            if text.last == 0x3D { text.removeLast() }
            bytes += [UInt8](percentDecoding: Array(text).span, mark: UInt8(ascii: "="))
            try append(bytes)
        case .base64:
            digits.append(contentsOf: line.lazy.filter { $0 > 0x20 })
            if digits.count >= Self.base64BatchBytes { try decodeBase64(digits.count / 4 * 4) }
        }
    }

    /// Decodes the first `count` digits.
    private func decodeBase64(_ count: Int) throws(ArchiveError) {
        guard count > 0 else { return }
        let text = String(decoding: digits[..<count], as: UTF8.self)
        digits.removeFirst(count)
        // No data may follow the padding.
        guard !isPadded, let bytes = Base64.decodeForgiving(text) else {
            failure = failure ?? Failure(reason: "it is not base64")
            return
        }
        isPadded = text.hasSuffix("=")
        try append(bytes)
    }

    private func append(_ bytes: [UInt8]) throws(ArchiveError) {
        guard spool.byteCount + bytes.count <= maxBytes else {
            failure = failure ?? Failure(reason: "it is over \(maxBytes) bytes")
            return
        }
        try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.append(bytes) }
    }

    /// Returns the whole body, or the first failure.
    func finish() throws(ArchiveError) -> Result<ArchivedBody, Failure> {
        if failure == nil { try decodeBase64(digits.count) }
        if let failure { return .failure(failure) }
        return .success(try spool.finish())
    }
}
