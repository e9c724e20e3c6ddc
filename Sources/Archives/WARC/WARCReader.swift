internal import Digest
internal import Glibc
internal import Store
internal import Web

/// Reads WARC files of all versions and ARC files, plain or compressed with gzip, zstd or xz.
///
/// A record that is not valid is returned as a fault. If its end is unknown, `needsRecovery` is set and reading
/// continues at the next record that can be found.
///
/// A request and its response are separate records, in any order, and each may name the other's identifier
/// (`WARC-Concurrent-To`). So the last response stays in `pending` until its request or another response is read, and
/// the last requests stay in `requests`. The order of the returned items is that of the responses.
final class WARCReader: ArchiveReader {
    private let input: ArchiveInput
    private let storage: BodyStorage
    private let limits: ArchiveLimits
    private let growth: ArchiveGrowth
    /// The last response, until its request is found or another response follows.
    private var pending: PendingItem?
    /// Items that `next()` returns before it reads further records.
    private var items: [ArchivedItem] = []
    /// The last requests, with their own record identifiers and those of their responses.
    private var requests: [(ids: [String], request: Request)] = []
    /// Whether the end of the last record is unknown.
    private var needsRecovery = false
    private var hasReadRecord = false
    private var isARC = false
    private(set) var start: String?

    /// A response or revisit, its record identifier, and the identifiers of records that it names.
    private typealias PendingItem = (item: ArchivedItem, id: String, concurrent: [String])

    private struct Request {
        let method: String
        let fields: HTTPFields
        let key: RequestKey
    }

    /// The maximum size of `requests`. The oldest request is forgotten beyond it.
    private static let maxRequests = 64
    /// The maximum size of a request with its body. A larger request is ignored.
    private static let maxRequestBytes = 16 << 20
    /// The maximum number of empty lines before a record. Between two records there should be two. More are treated as
    /// damage.
    private static let maxEmptyLines = 64

    /// - Parameter growth: The sum for the archive that this file is a part of; nil if it is not a part.
    init(
        _ input: ArchiveInput, _ storage: BodyStorage, _ limits: ArchiveLimits = ArchiveLimits(),
        _ growth: ArchiveGrowth? = nil
    ) {
        self.input = input
        self.storage = storage
        self.limits = limits
        self.growth = growth ?? ArchiveGrowth(limits)
    }

    deinit {
        // Deletes the body files of items that were not returned.
        for case .response(let response) in items + [pending?.item].compactMap({ $0 }) {
            response.body?.discard()
        }
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        while items.isEmpty {
            guard try readRecord() else {
                emitPending()
                break
            }
        }
        return items.isEmpty ? nil : items.removeFirst()
    }

    /// Reads one record or fault. Returns false at the end.
    private func readRecord() throws(ArchiveError) -> Bool {
        guard !growth.hasTooManyRefusals else { return false }
        if needsRecovery {
            needsRecovery = false
            guard try input.recover(to: isARC ? Array("http".utf8) : Array("WARC/".utf8)) else {
                return false
            }
        }
        var emptyLines = 0
        while true {
            let place = input.place
            switch try input.line(limit: limits.maxHeadBytes) {
            case .end:
                guard let damage = input.damage ?? (hasReadRecord ? nil : "it is empty") else { return false }
                failAndRecover(damage, at: place)
                return true
            case .tooLong:
                failAndRecover("there is no record here", at: place)
                return true
            case .line(let line) where line.isEmpty:
                emptyLines += 1
                if emptyLines > Self.maxEmptyLines {
                    failAndRecover("there is no record here", at: place)
                    return true
                }
            case .line(let line):
                if line.starts(with: "WARC/".utf8) {
                    hasReadRecord = true
                    try readRecord(at: place)
                } else if let head = ARCHeader(line), isARC || !hasReadRecord {
                    (isARC, hasReadRecord) = (true, true)
                    try readARCRecord(head, at: place)
                } else {
                    failAndRecover(hasReadRecord ? "there is no record here" : Self.notWARCReason, at: place)
                }
                return true
            }
        }
    }

    /// The reason for refusing a file that does not begin with a WARC or ARC record.
    static let notWARCReason = "it is not a WARC"

    /// Adds a fault for a record whose end is unknown.
    private func failAndRecover(_ reason: String, url: String? = nil, at place: String) {
        emitPending()
        items.append(.fault(ArchiveFault(input.damage ?? reason, url: url, at: place)))
        needsRecovery = true
    }

    /// Adds a fault for a record whose end is known.
    private func addFault(
        _ reason: String, url: String? = nil, at place: String, _ severity: ArchiveFault.Severity = .refused
    ) {
        items.append(.fault(ArchiveFault(reason, url: url, at: place, severity)))
    }

    // MARK: - Records

    /// Reads a WARC record after its first line.
    private func readRecord(at place: String) throws(ArchiveError) {
        var block: [UInt8] = []
        lines: while true {
            switch try input.line(limit: limits.maxHeadBytes) {
            case .end:
                return failAndRecover("it ends in the headers of a record", at: place)
            case .tooLong:
                return failAndRecover(
                    "the headers of a record are over \(limits.maxHeadBytes) bytes", at: place)
            case .line(let line):
                if line.isEmpty { break lines }
                guard block.count + line.count < limits.maxHeadBytes else {
                    return failAndRecover(
                        "the headers of a record are over \(limits.maxHeadBytes) bytes", at: place)
                }
                block += line
                block.append(0x0A)
            }
        }
        let head = HTTPFields(block: block.span)
        let url = head[WARC.target].map(Self.withoutAngleBrackets)
        guard let byteCount = head.contentLength, byteCount >= 0 else {
            return failAndRecover("a record does not declare its length", url: url, at: place)
        }
        // Records of other types, such as metadata, are only counted.
        switch head[WARC.type]?.lowercased() {
        case "response": try readMessage(head, url, byteCount, at: place, isRevisit: false)
        case "revisit": try readMessage(head, url, byteCount, at: place, isRevisit: true)
        case "request": try readRequest(head, byteCount, url, at: place)
        case "resource": try readResource(head, url, byteCount, at: place)
        case "warcinfo": try readInfo(byteCount, at: place)
        default:
            if try readBytes(byteCount, url, at: place) { items.append(.other) }
        }
    }

    /// Passes a record's block to `consume`. Returns false, with a fault, if the block is truncated or expands
    /// too much.
    ///
    /// - Parameter consume: Returns the number of bytes to which the content codings of the piece expand.
    private func readBytes(
        _ byteCount: Int, _ url: String?, at place: String,
        _ consume: (UnsafeRawBufferPointer) throws(ArchiveError) -> Int = { (_) throws(ArchiveError) in 0 }
    ) throws(ArchiveError) -> Bool {
        let earlierByteCount = growth.expandedByteCount
        var isExceeded = false
        let taken = try input.take(byteCount) { (piece) throws(ArchiveError) in
            growth.add(max(piece.count, try consume(piece)))
            isExceeded = growth.isExceeded(input.rawOffset)
            return !isExceeded
        }
        guard !isExceeded else {
            growth.refuse(since: earlierByteCount)
            failAndRecover(
                growth.hasTooManyRefusals
                    ? "\(limits.excessMessage); nothing after it is read" : limits.excessMessage, url: url,
                at: place)
            return false
        }
        guard taken == byteCount else {
            failAndRecover("it ends in a record of \(byteCount) bytes", url: url, at: place)
            return false
        }
        return true
    }

    /// Reads the site that Larder writes to `isPartOf`. Other tools write names that are not URLs.
    private func readInfo(_ byteCount: Int, at place: String) throws(ArchiveError) {
        var bytes: [UInt8] = []
        let isComplete = try readBytes(byteCount, nil, at: place) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece.prefix(limits.maxLineBytes - bytes.count))
            return 0
        }
        guard isComplete else { return }
        let site = HTTPFields(block: bytes.span)["isPartOf"]
        if let site, WebURL(site)?.isHTTP == true { start = start ?? site }
        items.append(.other)
    }

    /// Returns the URL without the angle brackets that some tools write, as the drafts of the standard
    /// required.
    private static func withoutAngleBrackets(_ text: String) -> String {
        text.hasPrefix("<") && text.hasSuffix(">") ? String(text.dropFirst().dropLast()) : text
    }

    /// Reads a block through `message` and compares it with the digests in the record's header. Returns nil,
    /// with a fault, if the block is not valid.
    ///
    /// - Parameter hasPayload: Whether the block contains the payload, so that its digest can be compared. The payload
    ///   digest of a revisit is that of another record's payload.
    private func readBlock(
        _ head: HTTPFields, _ url: String?, _ byteCount: Int, at place: String, _ message: ArchivedMessage,
        hasPayload: Bool
    ) throws(ArchiveError) -> ArchivedMessage.ParsedMessage? {
        let declared = head[WARC.blockDigest].flatMap(ArchiveDigest.digest)
        var blockStream = declared.map { DigestStream($0.algorithm) }
        let isComplete = try readBytes(byteCount, url, at: place) { (piece) throws(ArchiveError) in
            blockStream?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
            let earlierByteCount = message.byteCount
            _ = try message.append(piece)
            return message.byteCount - earlierByteCount
        }
        guard isComplete else { return nil }
        let blockDigest = blockStream.take()?.finish()
        if let declared, blockDigest != declared {
            addFault("its bytes do not match its digest", url: url, at: place)
            return nil
        }
        guard let parsed = try message.finish() else {
            addFault(message.flaw ?? "it is not HTTP", url: url, at: place)
            return nil
        }
        guard hasPayload, let payload = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest),
            !message.matches(payload)
        else {
            return parsed
        }
        // If the block digest matches, the record is undamaged, and its writer has computed another payload digest.
        guard declared != nil else {
            parsed.body.discard()
            addFault("its body does not match its digest", url: url, at: place)
            return nil
        }
        addFault(
            "its body does not match its payload digest, but the record matches its block digest", url: url,
            at: place,
            .doubtful)
        return parsed
    }

    /// Returns a parser for the block of a record.
    private func message(_ head: HTTPFields, _ notes: ArchiveNotes?, hasHead: Bool = true) -> ArchivedMessage
    {
        let digest = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest)?.algorithm
        return ArchivedMessage(
            storage, digest: digest, hasHead: hasHead, keepsCodings: notes?.flags.contains(.isCoded) ?? false,
            growth.remainingLimits(input.rawOffset))
    }

    /// Reads a response or revisit record.
    private func readMessage(
        _ head: HTTPFields, _ url: String?, _ byteCount: Int, at place: String, isRevisit: Bool
    ) throws(ArchiveError) {
        let notes = head[WARC.notes].flatMap { try? JSONValue.parse($0.utf8.span) }.flatMap {
            ArchiveNotes($0)
        }
        let parsed = try readBlock(
            head, url, byteCount, at: place, message(head, notes), hasPayload: !isRevisit)
        guard let parsed else { return }
        guard let url, let date = head[WARC.date].flatMap({ HTTPDate(iso8601: $0) }) else {
            parsed.body.discard()
            return addFault("it has no URL or no date", url: url, at: place)
        }
        guard let status = Self.status(parsed.startLine) else {
            parsed.body.discard()
            if parsed.startLine.hasPrefix("HTTP/") {
                return addFault("its first line has no status", url: url, at: place)
            }
            // A response of another protocol, such as DNS.
            return items.append(.other)
        }
        let isTruncated = head.contains(WARC.truncated)
        if isTruncated { addFault("it was truncated by its writer", url: url, at: place, .doubtful) }
        var response = ArchivedResponse(
            url: url, status: status, fields: OriginalHeaders.restore(parsed.fields),
            body: parsed.body, fetched: date.secondsSinceEpoch)
        response.notes = notes
        response.payloadDigest = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest)
        if !isRevisit, !isTruncated { response.doubts = Self.doubts(parsed, status, url, at: place) }
        var item = ArchivedItem.response(response)
        if isRevisit {
            parsed.body.discard()
            response.body = nil
            let original = ArchivedOriginal(
                url: head[WARC.refersToTarget].map(Self.withoutAngleBrackets),
                payloadDigest: head[WARC.payloadDigest].flatMap(ArchiveDigest.digest))
            item = .revisit(response, of: original)
        }
        setPending((item, head[WARC.recordID] ?? "", head.all(WARC.concurrent)))
    }

    /// Returns the doubts of a message as faults. There are none for a response without a body, which may declare the
    /// length that the body would have (RFC 9110, section 8.6).
    private static func doubts(
        _ parsed: ArchivedMessage.ParsedMessage, _ status: Int, _ url: String?, at place: String
    ) -> [ArchiveFault] {
        guard status >= 200, status != 204, status != 304 else { return [] }
        return parsed.doubts.map { ArchiveFault($0, url: url, at: place, .doubtful) }
    }

    /// Returns the status code in the first line of a response, or nil if it is not HTTP.
    private static func status(_ line: String) -> Int? {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]),
            (100...999).contains(status)
        else { return nil }
        return status
    }

    /// Reads a file that was archived without an HTTP response.
    private func readResource(
        _ head: HTTPFields, _ url: String?, _ byteCount: Int, at place: String
    ) throws(ArchiveError) {
        let parsed = try readBlock(
            head, url, byteCount, at: place, message(head, nil, hasHead: false), hasPayload: true)
        guard let parsed else { return }
        guard let url, url.hasPrefix("http"), let date = head[WARC.date].flatMap({ HTTPDate(iso8601: $0) })
        else {
            parsed.body.discard()
            return items.append(.other)
        }
        var fields = HTTPFields()
        if let type = head[WARC.contentType] { fields.append("Content-Type", type) }
        items.append(
            .response(
                ArchivedResponse(
                    url: url, status: 200, fields: fields, body: parsed.body, fetched: date.secondsSinceEpoch)
            )
        )
    }

    // MARK: - Requests

    private func readRequest(
        _ head: HTTPFields, _ byteCount: Int, _ url: String?, at place: String
    ) throws(ArchiveError) {
        var bytes: [UInt8] = []
        let isComplete = try readBytes(byteCount, url, at: place) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece.prefix(Self.maxRequestBytes - bytes.count))
            return 0
        }
        guard isComplete else { return }
        items.append(.other)
        let message = ArchivedMessage(.inMemory, digest: nil, limits)
        _ = try bytes.withBytes { (bytes) throws(ArchiveError) in try message.append(bytes) }
        guard byteCount <= Self.maxRequestBytes, let parsed = try message.finish(),
            case .bytes(let body)? = parsed.body.content
        else { return }
        let method = String(parsed.startLine.prefix { $0 != " " })
        let request = Request(
            method: method, fields: parsed.fields,
            key: RequestKey(method: method, body: body.span, type: parsed.fields.contentType))
        requests.append(([head[WARC.recordID] ?? ""] + head.all(WARC.concurrent), request))
        if requests.count > Self.maxRequests { requests.removeFirst() }
        if let last = pending, belongs(requests[requests.count - 1].ids, to: last) { emitPending() }
    }

    /// Whether the record with these identifiers is the request of the response.
    private func belongs(_ ids: [String], to response: PendingItem) -> Bool {
        ids.contains { !$0.isEmpty && ($0 == response.id || response.concurrent.contains($0)) }
    }

    /// Emits the pending response and makes `next` pending, or emits it too if its request is known.
    private func setPending(_ next: PendingItem) {
        emitPending()
        pending = next
        if requests.contains(where: { belongs($0.ids, to: next) }) { emitPending() }
    }

    /// Moves the pending response to `items`, with its request if that was found.
    private func emitPending() {
        guard let last = pending.take() else { return }
        let item = withRequest(last)
        // A response to HEAD has the headers of a body, but no body, so its doubts are not reported.
        if case .response(let response) = item, response.method != "HEAD" {
            items += response.doubts.map { .fault($0) }
        }
        items.append(item)
    }

    /// Returns the item with the method, headers and body digest of its request, if that was found.
    private func withRequest(_ last: PendingItem) -> ArchivedItem {
        guard let request = requests.last(where: { belongs($0.ids, to: last) })?.request else {
            return last.item
        }
        func adding(_ response: ArchivedResponse) -> ArchivedResponse {
            var response = response
            response.method = request.method
            response.requestFields = request.fields
            if response.notes == nil, request.key != .get { response.requestKey = request.key }
            return response
        }
        switch last.item {
        case .response(let response): return .response(adding(response))
        case .revisit(let response, let original): return .revisit(adding(response), of: original)
        case .other, .fault: return last.item
        }
    }

    // MARK: - ARC

    private func readARCRecord(_ head: ARCHeader, at place: String) throws(ArchiveError) {
        guard head.url.hasPrefix("http") else {
            if try readBytes(head.byteCount, head.url, at: place) { items.append(.other) }
            return
        }
        let parsed = try readBlock(
            HTTPFields(), head.url, head.byteCount, at: place, message(HTTPFields(), nil), hasPayload: false)
        guard let parsed else { return }
        guard let status = Self.status(parsed.startLine) else {
            parsed.body.discard()
            return items.append(.other)
        }
        items += Self.doubts(parsed, status, head.url, at: place).map { .fault($0) }
        items.append(
            .response(
                ArchivedResponse(
                    url: head.url, status: status, fields: parsed.fields, body: parsed.body,
                    fetched: head.date)
            ))
    }
}

/// The line before each record of an ARC file: URL, IP address, time, media type and length. Some versions
/// have further fields in between.
struct ARCHeader {
    let url: String
    let date: Int64
    let byteCount: Int

    /// Parses a line. Returns nil if it is not such a line, which has 5 or 10 words.
    init?(_ line: [UInt8]) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 5 || words.count == 10, let last = words.last,
            let byteCount = Int(String(decoding: last, as: UTF8.self)), byteCount >= 0,
            let date = Self.date(Array(words[2]))
        else { return nil }
        url = String(decoding: words[0], as: UTF8.self)
        guard
            url.hasPrefix("http://") || url.hasPrefix("https://") || url.hasPrefix("filedesc://")
                || url.hasPrefix("dns:")
        else { return nil }
        self.date = date
        self.byteCount = byteCount
    }

    /// Returns the time for digits such as `19961104142103`, in seconds since 1970.
    static func date(_ digits: [UInt8]) -> Int64? {
        guard digits.count == 14, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let text = String(decoding: digits, as: UTF8.self)
        func part(_ from: Int, _ count: Int) -> Substring { text.dropFirst(from).prefix(count) }
        let moment = "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))T\(part(8, 2)):\(part(10, 2)):\(part(12, 2))Z"
        return HTTPDate(iso8601: moment)?.secondsSinceEpoch
    }
}
