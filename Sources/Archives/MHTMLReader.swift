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
    private let name: String
    private let keeping: BodyKeeping
    private let date: Int64
    private let scanner = LinkScanner()
    /// The URLs of the parts that have both a URL and a `Content-ID`, by the latter.
    private let places: [String: String]
    private let origin: String?
    let start: String?

    private static let mostNames = 100_000

    init(_ path: String, _ keeping: BodyKeeping, _ limits: ArchiveLimits) throws(ArchiveError) {
        (name, self.keeping) = (path, keeping)
        // Parts may refer to later parts, so the names are collected first.
        let scout = try MessageParts(path, limits, .measured)
        var (places, origin, start): ([String: String], String?, String?) = ([:], nil, nil)
        start = scout.location
        while let part = try scout.next(), places.count < Self.mostNames {
            guard case .part(let fields, _) = part else { continue }
            let location = scout.address(fields)
            if let location, origin == nil { origin = location.origin }
            if start == nil, fields.contentType?.isHTML ?? false { start = location?.href }
            if let id = Self.identifier(fields), let location { places[id] = location.href }
        }
        (self.places, self.start) = (places, start)
        self.origin = start.flatMap { WebURL($0)?.origin } ?? origin
        parts = try MessageParts(path, limits, keeping)
        if let date = parts.date { self.date = date } else { date = try Self.modified(path) }
    }

    private static func modified(_ path: String) throws(ArchiveError) -> Int64 {
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { throw ArchiveError(SystemError(errno, doing: "read", path)) }
        return Int64(status.st_mtim.tv_sec)
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        guard let part = try parts.next() else { return nil }
        switch part {
        case .fault(let fault): return .fault(fault)
        case .part(let fields, let body):
            guard let url = address(of: fields) else {
                body.discard()
                return .fault(
                    ArchiveFault(
                        "it has no http or https URL", url: fields["Content-Location"],
                        at: parts.place))
            }
            var kept = HTTPFields()
            if let type = fields.contentType { kept.append("Content-Type", type.description) }
            let whole = try renamed(body, at: url, fields.contentType)
            return .response(
                ArchivedResponse(url: url.href, status: 200, fields: kept, body: whole, fetched: date))
        }
    }

    // MARK: - Names

    private func address(of fields: HTTPFields) -> WebURL? {
        if let url = parts.address(fields) { return url }
        let location = fields["Content-Location"].flatMap { Self.identifier(inAddress: $0) }
        return (location ?? Self.identifier(fields)).flatMap(place)
    }

    /// Returns the URL for a part that is named by an identifier.
    private func place(_ identifier: String) -> WebURL? {
        if let known = places[identifier] { return WebURL(known) }
        guard let origin else { return nil }
        let isPlain = { (byte: UInt8) in
            byte.isASCIIDigit || (0x61...0x7A).contains(byte | 0x20) || "-_@".utf8.contains(byte)
        }
        var name = ""
        for byte in identifier.utf8.prefix(200) {
            name += isPlain(byte) ? String(UnicodeScalar(byte)) : "%\(Hex.encode([byte]))"
        }
        return WebURL("\(origin)/~cid/\(name)")
    }

    private static func identifier(_ fields: HTTPFields) -> String? {
        guard var id = fields["Content-ID"] else { return nil }
        if id.hasPrefix("<"), id.hasSuffix(">") { id = String(id.dropFirst().dropLast()) }
        return id.isEmpty ? nil : id
    }

    private static func identifier(inAddress text: String) -> String? {
        guard text.lowercased().hasPrefix("cid:"), text.utf8.count > 4 else { return nil }
        return String(decoding: [UInt8](percentDecoding: Array(text.utf8.dropFirst(4)).span), as: UTF8.self)
    }

    /// Returns the body with `cid:` links replaced by URLs.
    private func renamed(
        _ body: ArchivedBody, at url: WebURL, _ type: MediaType?
    ) throws(ArchiveError) -> ArchivedBody {
        guard let content = body.content, body.byteCount <= BodyReading.byteLimit, !BodyFormat.isOpaque(type)
        else {
            return body
        }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        guard bytes.firstRange(of: Array("cid:".utf8)) != nil else { return body }
        let table = scanner.read(bytes.span, of: url, as: type).table
        let source = table.source(of: bytes.span) ?? bytes
        let patch = Patch(source.span, table) { _, reference in
            let text = reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return Self.identifier(inAddress: text).flatMap { self.place($0)?.href }
        }
        guard !patch.isEmpty, !table.isTranscoded else { return body }
        let changed = patch.applied(to: source)
        body.discard()
        return ArchivedBody(
            content: .bytes(changed), byteCount: changed.count,
            sha256: DigestStream.digest(.sha256, of: changed.span))
    }
}

/// Reads the parts of a message one after the other, and decodes them.
private final class MessageParts {
    enum Part {
        case part(HTTPFields, ArchivedBody)
        case fault(ArchiveFault)
    }

    private let input: ArchiveInput
    private let limits: ArchiveLimits
    private let keeping: BodyKeeping
    private var boundary: [UInt8] = []
    /// The URL of the page, if the header of the message contains it.
    private(set) var location: String?
    private(set) var date: Int64?
    private var state = State.before
    private var number = 0

    private enum State: Equatable {
        case before, inside, over
    }

    private static let largestHead = 64 << 10
    /// The maximum size of the piece of a line that is decoded at once.
    private static let longestLine = 1 << 20
    private static let longestBoundary = 250

    init(_ path: String, _ limits: ArchiveLimits, _ keeping: BodyKeeping) throws(ArchiveError) {
        (input, self.limits, self.keeping) = (try ArchiveInput(path), limits, keeping)
        input.limits = limits
        guard let head = try fields(), let type = head.contentType, type.type == "multipart",
            let boundary = type["boundary"], !boundary.isEmpty, boundary.utf8.count <= Self.longestBoundary
        else { return }
        self.boundary = Array("--\(boundary)".utf8)
        let location = head["Snapshot-Content-Location"] ?? head["Content-Location"] ?? head["Content-Base"]
        self.location = location.flatMap { WebURL($0) }.flatMap { $0.isHTTP ? $0.key.href : nil }
        date = head.date("Date")?.secondsSinceEpoch
    }

    var place: String { "\(input.name), part \(number)" }

    /// Returns the URL of a part if it has one with http or https.
    func address(_ fields: HTTPFields) -> WebURL? {
        let base = location.flatMap { WebURL($0) }
        guard let url = fields["Content-Location"].flatMap({ WebURL($0, base: base) }), url.isHTTP else {
            return nil
        }
        return url.key
    }

    func next() throws(ArchiveError) -> Part? {
        switch state {
        case .over: return nil
        case .before:
            guard !boundary.isEmpty else { return end("it is not MHTML: it has no parts") }
            guard try body(nil) else { return end("it is truncated: it has no part") }
            guard state == .inside else { return nil }
        case .inside: break
        }
        number += 1
        guard let fields = try fields() else { return end("it has no readable headers") }
        let decoder = PartDecoder(fields["Content-Transfer-Encoding"], BodySpool(keeping), limits.body)
        guard try body(decoder) else { return end("it is truncated", url: fields["Content-Location"]) }
        if fields.contentType?.type == "multipart" {
            return .fault(ArchiveFault("it has nested parts", url: fields["Content-Location"], at: place))
        }
        switch try decoder.finish() {
        case .success(let body): return .part(fields, body)
        case .failure(let why):
            return .fault(ArchiveFault(why.text, url: fields["Content-Location"], at: place))
        }
    }

    private func end(_ why: String, url: String? = nil) -> Part {
        state = .over
        return .fault(ArchiveFault(input.damage ?? why, url: url, at: number == 0 ? input.name : place))
    }

    /// Reads the header fields up to the empty line. Returns nil if they are too large or do not end.
    private func fields() throws(ArchiveError) -> HTTPFields? {
        var (fields, name, value, left) = (HTTPFields(), "", "", Self.largestHead)
        while true {
            guard case .line(let line) = try input.line(limit: left) else { return nil }
            left -= line.count + 1
            guard left > 0 else { return nil }
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
    private func body(_ decoder: PartDecoder?) throws(ArchiveError) -> Bool {
        var (isStart, ending): (Bool, [UInt8]) = (true, [])
        while try input.fill() {
            var line: [UInt8] = []
            var isEnded = false
            while !isEnded, line.count < Self.longestLine, try input.fill() {
                let bytes = input.available
                let end = bytes.firstIndex(of: 0x0A)
                let size = min(end.map { $0 + 1 } ?? bytes.count, Self.longestLine - line.count)
                line.append(contentsOf: bytes[..<size])
                input.skip(size)
                isEnded = line.last == 0x0A
            }
            var rest = line[...]
            if isEnded { rest.removeLast() }
            if isEnded, rest.last == 0x0D { rest.removeLast() }
            if isStart, let state = boundary(rest) {
                self.state = state
                return true
            }
            try decoder?.take(rest, after: isStart ? ending : [], isEnded: isEnded)
            ending = Array(line[rest.endIndex...])
            isStart = isEnded
        }
        return false
    }

    private func boundary(_ line: ArraySlice<UInt8>) -> State? {
        guard line.starts(with: boundary) else { return nil }
        var rest = line.dropFirst(boundary.count)
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest.isEmpty ? .inside : rest.elementsEqual("--".utf8) ? .over : nil
    }
}

/// Decodes the content of one part line by line.
private final class PartDecoder {
    struct Failure: Error {
        let text: String
    }

    private enum Coding {
        case identity, quoted, base64
    }

    private let coding: Coding
    private let spool: BodySpool
    private let limit: Int
    private var digits: [UInt8] = []
    private var goesOn = true
    private var isPadded = false
    private var failure: Failure?

    private static let batch = 64 << 10

    init(_ coding: String?, _ spool: BodySpool, _ limit: Int) {
        switch coding?.lowercased() {
        case "quoted-printable": self.coding = .quoted
        case "base64": self.coding = .base64
        default: self.coding = .identity
        }
        (self.spool, self.limit) = (spool, limit)
    }

    /// - Parameter ending: The terminator of the line before this one.
    func take(_ line: ArraySlice<UInt8>, after ending: [UInt8], isEnded: Bool) throws(ArchiveError) {
        guard failure == nil else { return }
        switch coding {
        case .identity: try give(ending + line)
        case .quoted:
            var bytes = goesOn ? [] : ending
            var text = line
            while isEnded, let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
            goesOn = text.last == 0x3D || !isEnded
            if text.last == 0x3D { text.removeLast() }
            bytes += [UInt8](percentDecoding: Array(text).span, mark: UInt8(ascii: "="))
            try give(bytes)
        case .base64:
            digits.append(contentsOf: line.lazy.filter { $0 > 0x20 })
            if digits.count >= Self.batch { try undo(digits.count / 4 * 4) }
        }
    }

    private func undo(_ count: Int) throws(ArchiveError) {
        guard count > 0 else { return }
        let text = String(decoding: digits[..<count], as: UTF8.self)
        digits.removeFirst(count)
        // No data may follow the padding.
        guard !isPadded, let bytes = Base64.decodeForgiving(text) else {
            failure = failure ?? Failure(text: "it is not base64")
            return
        }
        isPadded = text.hasSuffix("=")
        try give(bytes)
    }

    private func give(_ bytes: [UInt8]) throws(ArchiveError) {
        guard spool.byteCount + bytes.count <= limit else {
            failure = failure ?? Failure(text: "it is over \(limit) bytes")
            return
        }
        try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.take(bytes) }
    }

    func finish() throws(ArchiveError) -> Result<ArchivedBody, Failure> {
        if failure == nil { try undo(digits.count) }
        if let failure { return .failure(failure) }
        return .success(try spool.finish())
    }
}
