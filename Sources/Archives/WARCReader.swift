internal import Digest
internal import Glibc
internal import Store
internal import Web

/// Reads WARC files of all versions and ARC files, plain or compressed with gzip, zstd or xz.
///
/// A record that is not valid is returned as a fault. If its end is unknown, reading continues at the next
/// record that can be found. A response waits until its request is known, because the request may follow it.
final class WARCReader: ArchiveReader {
    private let input: ArchiveInput
    private let keeping: BodyKeeping
    private let limits: ArchiveLimits
    private let growth: ArchiveGrowth
    /// The last response, until its request is found or another response follows.
    private var waiting: Waiting?
    private var ready: [ArchivedItem] = []
    /// The last requests, with their own record identifiers and those of their responses.
    private var requests: [(ids: [String], request: Request)] = []
    private var isLost = false
    private var hasFound = false
    private var isArc = false
    private(set) var start: String?

    private typealias Waiting = (item: ArchivedItem, id: String, concurrent: [String])

    private struct Request {
        let method: String
        let fields: HTTPFields
        let key: RequestKey
    }

    private static let mostRequests = 64
    private static let largestRequest = 16 << 20
    /// The maximum number of empty lines before a record. Between two records there should be two.
    private static let mostEmptyLines = 64

    /// - Parameter growth: The sum for the archive that this file is a part of; nil if it is not a part.
    init(
        _ input: ArchiveInput, _ keeping: BodyKeeping, _ limits: ArchiveLimits = ArchiveLimits(),
        _ growth: ArchiveGrowth? = nil
    ) {
        self.input = input
        self.keeping = keeping
        self.limits = limits
        self.growth = growth ?? ArchiveGrowth(limits)
    }

    deinit {
        // Items that were not returned.
        for case .response(let response) in ready + [waiting?.item].compactMap({ $0 }) {
            response.body?.discard()
        }
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        while ready.isEmpty {
            guard try readRecord() else {
                release()
                break
            }
        }
        return ready.isEmpty ? nil : ready.removeFirst()
    }

    /// Reads one record or fault. Returns false at the end.
    private func readRecord() throws(ArchiveError) -> Bool {
        guard !growth.isOver else { return false }
        if isLost {
            isLost = false
            guard try input.recover(to: isArc ? Array("http".utf8) : Array("WARC/".utf8)) else {
                return false
            }
        }
        var emptyLines = 0
        while true {
            let place = input.place
            switch try input.line(limit: limits.head) {
            case .end:
                guard let damage = input.damage ?? (hasFound ? nil : "it is empty") else { return false }
                lose(damage, at: place)
                return true
            case .tooLong:
                lose("there is no record here", at: place)
                return true
            case .line(let line) where line.isEmpty:
                emptyLines += 1
                if emptyLines > Self.mostEmptyLines {
                    lose("there is no record here", at: place)
                    return true
                }
            case .line(let line):
                if line.starts(with: "WARC/".utf8) {
                    hasFound = true
                    try readRecord(at: place)
                } else if let head = ArcHead(line), isArc || !hasFound {
                    (isArc, hasFound) = (true, true)
                    try read(head, at: place)
                } else {
                    lose(hasFound ? "there is no record here" : Self.isNone, at: place)
                }
                return true
            }
        }
    }

    /// The reason for refusing a file that does not begin with a WARC or ARC record.
    static let isNone = "it is not a WARC"

    private func lose(_ reason: String, url: String? = nil, at place: String) {
        release()
        ready.append(.fault(ArchiveFault(input.damage ?? reason, url: url, at: place)))
        isLost = true
    }

    private func refuse(
        _ reason: String, url: String? = nil, at place: String, _ gravity: ArchiveFault.Gravity = .refused
    ) {
        ready.append(.fault(ArchiveFault(reason, url: url, at: place, gravity)))
    }

    // MARK: - Records

    private func readRecord(at place: String) throws(ArchiveError) {
        var block: [UInt8] = []
        lines: while true {
            switch try input.line(limit: limits.head) {
            case .end:
                return lose("it ends in the headers of a record", at: place)
            case .tooLong:
                return lose("the headers of a record are over \(limits.head) bytes", at: place)
            case .line(let line):
                if line.isEmpty { break lines }
                guard block.count + line.count < limits.head else {
                    return lose("the headers of a record are over \(limits.head) bytes", at: place)
                }
                block += line
                block.append(0x0A)
            }
        }
        let head = HTTPFields(block: block.span)
        let url = head[WARC.target].map(Self.target)
        guard let byteCount = head.contentLength, byteCount >= 0 else {
            return lose("a record does not declare its length", url: url, at: place)
        }
        switch head[WARC.type]?.lowercased() {
        case "response": try readMessage(head, url, byteCount, at: place, isRevisit: false)
        case "revisit": try readMessage(head, url, byteCount, at: place, isRevisit: true)
        case "request": try readRequest(head, byteCount, url, at: place)
        case "resource": try readResource(head, url, byteCount, at: place)
        case "warcinfo": try readInfo(byteCount, at: place)
        default:
            if try take(byteCount, url, at: place) { ready.append(.other) }
        }
    }

    /// Passes a record's block to `give`. Returns false, with a fault, if the block is truncated or expands
    /// too much.
    ///
    /// - Parameter give: Returns the number of expanded bytes.
    private func take(
        _ byteCount: Int, _ url: String?, at place: String,
        _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Int = { (_) throws(ArchiveError) in 0 }
    ) throws(ArchiveError) -> Bool {
        let mark = growth.mark
        var isSteep = false
        let taken = try input.take(byteCount) { (piece) throws(ArchiveError) in
            growth.add(max(piece.count, try give(piece)))
            isSteep = growth.isExceeded(input.rawOffset)
            return !isSteep
        }
        guard !isSteep else {
            growth.refuse(since: mark)
            lose(
                growth.isOver ? "\(limits.excess); nothing after it is read" : limits.excess, url: url,
                at: place)
            return false
        }
        guard taken == byteCount else {
            lose("it ends in a record of \(byteCount) bytes", url: url, at: place)
            return false
        }
        return true
    }

    /// Reads the site that Larder writes to `isPartOf`. Other tools write names that are not URLs.
    private func readInfo(_ byteCount: Int, at place: String) throws(ArchiveError) {
        var bytes: [UInt8] = []
        let isWhole = try take(byteCount, nil, at: place) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece.prefix(limits.line - bytes.count))
            return 0
        }
        guard isWhole else { return }
        let part = HTTPFields(block: bytes.span)["isPartOf"]
        if let part, WebURL(part)?.isHTTP == true { start = start ?? part }
        ready.append(.other)
    }

    /// Returns the URL without the angle brackets that some tools write, as the drafts of the standard
    /// required.
    private static func target(_ text: String) -> String {
        text.hasPrefix("<") && text.hasSuffix(">") ? String(text.dropFirst().dropLast()) : text
    }

    /// Reads a block through `message` and compares it with the digests in the record's header. Returns nil,
    /// with a fault, if the block is not valid.
    private func readBlock(
        _ head: HTTPFields, _ url: String?, _ byteCount: Int, at place: String, _ message: ArchivedMessage,
        isWhole: Bool
    ) throws(ArchiveError) -> ArchivedMessage.Whole? {
        let declared = head[WARC.blockDigest].flatMap(ArchiveDigest.digest)
        var block = declared.map { DigestStream($0.algorithm) }
        let isThere = try take(byteCount, url, at: place) { (piece) throws(ArchiveError) in
            block?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
            let before = message.byteCount
            _ = try message.take(piece)
            return message.byteCount - before
        }
        guard isThere else { return nil }
        let blockDigest = block.take()?.finish()
        if let declared, blockDigest != declared {
            refuse("its bytes do not match its digest", url: url, at: place)
            return nil
        }
        guard let whole = try message.finish() else {
            refuse(message.flaw ?? "it is not HTTP", url: url, at: place)
            return nil
        }
        guard isWhole, let payload = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest),
            !message.has(payload)
        else {
            return whole
        }
        guard declared != nil else {
            whole.body.discard()
            refuse("its body does not match its digest", url: url, at: place)
            return nil
        }
        refuse(
            "its body does not match its payload digest, but the record matches its block digest", url: url,
            at: place,
            .doubtful)
        return whole
    }

    private func message(_ head: HTTPFields, _ notes: ArchiveNotes?, hasHead: Bool = true) -> ArchivedMessage
    {
        let digest = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest)?.algorithm
        return ArchivedMessage(
            keeping, digest: digest, hasHead: hasHead, keepsCodings: notes?.flags.contains(.isCoded) ?? false,
            growth.limitsLeft(input.rawOffset))
    }

    private func readMessage(
        _ head: HTTPFields, _ url: String?, _ byteCount: Int, at place: String, isRevisit: Bool
    ) throws(ArchiveError) {
        let notes = head[WARC.notes].flatMap { try? JSONValue.parse($0.utf8.span) }.flatMap {
            ArchiveNotes($0)
        }
        let whole = try readBlock(
            head, url, byteCount, at: place, message(head, notes), isWhole: !isRevisit)
        guard let whole else { return }
        guard let url, let date = head[WARC.date].flatMap({ HTTPDate(iso8601: $0) }) else {
            whole.body.discard()
            return refuse("it has no URL or no date", url: url, at: place)
        }
        guard let status = Self.status(whole.start) else {
            whole.body.discard()
            if whole.start.hasPrefix("HTTP/") {
                return refuse("its first line has no status", url: url, at: place)
            }
            // A response of another protocol, such as DNS.
            return ready.append(.other)
        }
        let isCut = head.contains(WARC.truncated)
        if isCut { refuse("it was truncated by its writer", url: url, at: place, .doubtful) }
        var response = ArchivedResponse(
            url: url, status: status, fields: OriginalField.read(whole.fields),
            body: whole.body, fetched: date.secondsSinceEpoch)
        response.notes = notes
        response.payloadDigest = head[WARC.payloadDigest].flatMap(ArchiveDigest.digest)
        if !isRevisit, !isCut { response.doubts = Self.doubts(whole, status, url, at: place) }
        var item = ArchivedItem.response(response)
        if isRevisit {
            whole.body.discard()
            response.body = nil
            let original = ArchivedOriginal(
                url: head[WARC.refersToTarget].map(Self.target),
                payloadDigest: head[WARC.payloadDigest].flatMap(ArchiveDigest.digest))
            item = .revisit(response, of: original)
        }
        settle((item, head[WARC.recordID] ?? "", head.all(WARC.concurrent)))
    }

    /// A response without a body may declare the length that the body would have (RFC 9110, section 8.6).
    private static func doubts(
        _ whole: ArchivedMessage.Whole, _ status: Int, _ url: String?, at place: String
    ) -> [ArchiveFault] {
        guard status >= 200, status != 204, status != 304 else { return [] }
        return whole.doubts.map { ArchiveFault($0, url: url, at: place, .doubtful) }
    }

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
        let whole = try readBlock(
            head, url, byteCount, at: place, message(head, nil, hasHead: false), isWhole: true)
        guard let whole else { return }
        guard let url, url.hasPrefix("http"), let date = head[WARC.date].flatMap({ HTTPDate(iso8601: $0) })
        else {
            whole.body.discard()
            return ready.append(.other)
        }
        var fields = HTTPFields()
        if let type = head[WARC.contentType] { fields.append("Content-Type", type) }
        ready.append(
            .response(
                ArchivedResponse(
                    url: url, status: 200, fields: fields, body: whole.body, fetched: date.secondsSinceEpoch))
        )
    }

    // MARK: - Requests

    private func readRequest(
        _ head: HTTPFields, _ byteCount: Int, _ url: String?, at place: String
    ) throws(ArchiveError) {
        var bytes: [UInt8] = []
        let isWhole = try take(byteCount, url, at: place) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece.prefix(Self.largestRequest - bytes.count))
            return 0
        }
        guard isWhole else { return }
        ready.append(.other)
        let message = ArchivedMessage(.inMemory, digest: nil, limits)
        _ = try bytes.withBytes { (bytes) throws(ArchiveError) in try message.take(bytes) }
        guard byteCount <= Self.largestRequest, let whole = try message.finish(),
            case .bytes(let body)? = whole.body.content
        else { return }
        let method = String(whole.start.prefix { $0 != " " })
        let request = Request(
            method: method, fields: whole.fields,
            key: RequestKey(method: method, body: body.span, type: whole.fields.contentType))
        requests.append(([head[WARC.recordID] ?? ""] + head.all(WARC.concurrent), request))
        if requests.count > Self.mostRequests { requests.removeFirst() }
        if let last = waiting, belongs(requests[requests.count - 1].ids, to: last) { release() }
    }

    private func belongs(_ ids: [String], to response: Waiting) -> Bool {
        ids.contains { !$0.isEmpty && ($0 == response.id || response.concurrent.contains($0)) }
    }

    /// Releases the waiting response and makes this one wait for its request.
    private func settle(_ next: Waiting) {
        release()
        waiting = next
        if requests.contains(where: { belongs($0.ids, to: next) }) { release() }
    }

    /// Returns the waiting response with its request if it was found.
    private func release() {
        guard let last = waiting.take() else { return }
        let item = answered(last)
        // A response to HEAD has the headers of a body, but no body.
        if case .response(let response) = item, response.method != "HEAD" {
            ready += response.doubts.map { .fault($0) }
        }
        ready.append(item)
    }

    private func answered(_ last: Waiting) -> ArchivedItem {
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

    private func read(_ head: ArcHead, at place: String) throws(ArchiveError) {
        guard head.url.hasPrefix("http") else {
            if try take(head.byteCount, head.url, at: place) { ready.append(.other) }
            return
        }
        let whole = try readBlock(
            HTTPFields(), head.url, head.byteCount, at: place, message(HTTPFields(), nil), isWhole: false)
        guard let whole else { return }
        guard let status = Self.status(whole.start) else {
            whole.body.discard()
            return ready.append(.other)
        }
        ready += Self.doubts(whole, status, head.url, at: place).map { .fault($0) }
        ready.append(
            .response(
                ArchivedResponse(
                    url: head.url, status: status, fields: whole.fields, body: whole.body, fetched: head.date)
            ))
    }
}

/// The line before each record of an ARC file: URL, IP address, time, media type and length. Some versions
/// have further fields in between.
struct ArcHead {
    let url: String
    let date: Int64
    let byteCount: Int

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
