internal import Digest
internal import Glibc
internal import Store
internal import System
internal import Web

/// The position of a response in a WARC file, for an index.
struct WARCPlace: Sendable {
    let url: String
    let method: String
    let date: Int64
    let status: Int
    /// The media type, or `warc/revisit` for a response without a body of its own.
    let type: String
    let digest: Digest?
    var offset: Int64
    let byteCount: Int64
}

/// Writes the records of one file in the order of the responses. The records are made on several threads. The
/// stream itself is used by one thread.
final class WARCStream {
    private struct Part: Sendable {
        let bytes: [UInt8]
        let place: WARCPlace
    }

    private let records: WARCRecords
    private let pool: PartPool<RecordCompressor, Part>
    private let compressor: RecordCompressor
    private let write: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    private let found: (WARCPlace) throws(ArchiveError) -> Void
    private(set) var byteCount: Int64 = 0
    /// An upper bound for the bytes that the records added since the last `drain` will take.
    private(set) var waitingByteCount: Int64 = 0
    private var originals: [[UInt8]: WARCRecords.Original] = [:]

    /// The minimum size of a body for a revisit record. For a smaller body, a revisit takes as much room and
    /// costs readers more time.
    private static let leastRevisited = 2048
    /// The maximum size of a body that is loaded. A larger body is streamed, and the other threads wait
    /// meanwhile.
    private static let mostLoaded = 4 << 20
    /// The maximum number of bodies that later responses can refer to.
    private static let mostOriginals = 200_000

    /// - Parameters:
    ///   - write: Receives the bytes of the file.
    ///   - found: Receives the position of each response.
    init(
        _ info: ArchiveInfo, filename: String, _ packing: RecordPacking = .members,
        write: @escaping (UnsafeRawBufferPointer) throws(ArchiveError) -> Void,
        found: @escaping (WARCPlace) throws(ArchiveError) -> Void = { (_) throws(ArchiveError) in }
    ) throws(ArchiveError) {
        records = WARCRecords(info, filename: filename)
        guard let compressor = RecordCompressor(packing) else {
            throw ArchiveError(.machine, "libz.so.1 (zlib) is not installed; install it")
        }
        pool = try PartPool(threads: Machine.coreCount, named: "larder-pack") { RecordCompressor(packing) }
        self.compressor = compressor
        (self.write, self.found) = (write, found)
        let first = records.first
        compressor.add([first.head, first.block, WARCRecords.end], isPacked: false)
        try put(compressor.take())
    }

    func add(_ response: ArchivedResponse) throws(ArchiveError) {
        while pool.isFull { try putNext() }
        let isPacked = RecordCompressor.isPacked(response.fields.contentType)
        let records = records
        if let body = response.body, let original = original(of: response, body) {
            return put(response, isRevisit: true, byteCount: 1024) { (compressor) in
                compressor.add(
                    [records.revisit(of: response, body, original), WARCRecords.end], isPacked: false)
            }
        }
        switch response.body?.content {
        case nil: put(response, byteCount: 1024) { Self.add(records, response, [], false, $0) }
        case .bytes(let bytes)?:
            put(response, byteCount: bytes.count + 1024) { Self.add(records, response, bytes, isPacked, $0) }
        case .file?:
            guard let body = response.body, let content = body.content, body.byteCount <= Self.mostLoaded
            else {
                return try stream(response, isPacked)
            }
            let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
            put(response, byteCount: bytes.count + 1024) { Self.add(records, response, bytes, isPacked, $0) }
        }
    }

    private static func add(
        _ records: WARCRecords, _ response: ArchivedResponse, _ body: [UInt8], _ isPacked: Bool,
        _ compressor: RecordCompressor
    ) {
        let message = records.messageHead(of: response)
        var digest = DigestStream(.sha256)
        digest.update(message.span)
        digest.update(body.span)
        let head = records.responseHead(of: response, message, block: digest.finish())
        compressor.add([head, body, WARCRecords.end], isPacked: isPacked)
    }

    /// Returns the earlier response in this file that has the same body. If there is none, records this one
    /// as the original for later responses.
    private func original(of response: ArchivedResponse, _ body: ArchivedBody) -> WARCRecords.Original? {
        guard body.byteCount >= Self.leastRevisited else { return nil }
        if let original = originals[body.sha256.bytes] { return original }
        if originals.count < Self.mostOriginals, response.method == "GET" {
            originals[body.sha256.bytes] = WARCRecords.Original(
                url: response.url, date: records.date(of: response), id: records.id(of: response, "response"))
        }
        return nil
    }

    /// Makes the records of the response and its request on a thread of the pool.
    private func put(
        _ response: ArchivedResponse, isRevisit: Bool = false, byteCount: Int,
        _ make: @escaping @Sendable (RecordCompressor) -> Void
    ) {
        let records = records
        waitingByteCount += Int64(byteCount)
        pool.add(byteCount) { compressor in
            make(compressor)
            let length = Int64(compressor.made.count)
            compressor.add([records.request(for: response), WARCRecords.end], isPacked: false)
            let place = Self.place(of: response, isRevisit: isRevisit, byteCount: length)
            return Part(bytes: compressor.take(), place: place)
        }
    }

    private static func place(of response: ArchivedResponse, isRevisit: Bool, byteCount: Int64) -> WARCPlace {
        WARCPlace(
            url: response.url, method: response.method, date: response.fetched, status: response.status,
            type: isRevisit ? "warc/revisit" : response.fields.contentType?.essence ?? "unk",
            digest: response.body?.sha256, offset: 0, byteCount: byteCount)
    }

    /// Streams a large body, which is read twice because the record's header contains its digest.
    private func stream(_ response: ArchivedResponse, _ isPacked: Bool) throws(ArchiveError) {
        try drain()
        guard let body = response.body, let content = body.content else { return }
        let message = records.messageHead(of: response)
        var digest = DigestStream(.sha256)
        digest.update(message.span)
        try ArchiveError.storing { () throws(StoreError) in try content.eachPiece { digest.update($0) } }
        let head = records.responseHead(of: response, message, block: digest.finish())
        let start = byteCount
        try compressor.stream(head, content, WARCRecords.end, isPacked: isPacked) {
            (piece) throws(ArchiveError) in
            byteCount += Int64(piece.count)
            try write(piece)
        }
        var place = Self.place(of: response, isRevisit: false, byteCount: byteCount - start)
        place.offset = start
        try found(place)
        compressor.add([records.request(for: response), WARCRecords.end], isPacked: false)
        try put(compressor.take())
    }

    private func putNext() throws(ArchiveError) {
        guard let part = pool.next() else { return }
        var place = part.place
        place.offset = byteCount
        try put(part.bytes)
        try found(place)
    }

    private func put(_ bytes: [UInt8]) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    /// Writes everything that was added.
    func drain() throws(ArchiveError) {
        while !pool.isEmpty { try putNext() }
        waitingByteCount = 0
    }
}

/// Writes WARC 1.1. The records are plain if the name ends in `.warc`, else each is a gzip member. The output
/// is one file, or several numbered files if `split` is set: `site.warc.gz`, or `site-00000.warc.gz` and so
/// on.
package final class WARCWriter: ArchiveWriter {
    private let path: String
    private let info: ArchiveInfo
    private let split: Int64?
    private var files: [ArchiveOutput] = []
    private var stream: WARCStream?

    package init(_ path: String, _ info: ArchiveInfo, split: Int64? = nil) throws(ArchiveError) {
        (self.path, self.info, self.split) = (path, info, split)
        try begin()
    }

    private func begin() throws(ArchiveError) {
        let output = try ArchiveOutput(split == nil ? path : Self.numbered(path, files.count))
        files.append(output)
        let name = output.name.split(separator: "/").last.map(String.init) ?? output.name
        stream = try WARCStream(info, filename: name, RecordPacking(path: path)) {
            (bytes) throws(ArchiveError) in
            try output.write(bytes)
        }
    }

    /// Returns the name of a part: `docs.warc.gz` becomes `docs-00001.warc.gz`.
    package static func numbered(_ path: String, _ number: Int) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 5 - digits.count)) + digits
        for suffix in [".warc.gz", ".gz", ".warc"] where path.lowercased().hasSuffix(suffix) {
            return "\(path.dropLast(suffix.count))-\(padded)\(path.suffix(suffix.count))"
        }
        return "\(path)-\(padded).warc.gz"
    }

    package func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        if let split, let stream {
            // The size of waiting records is only an upper bound, so they are written before the size is
            // compared.
            if stream.byteCount + stream.waitingByteCount >= split { try stream.drain() }
            if stream.byteCount >= split { try begin() }
        }
        try stream?.add(response)
        return true
    }

    /// Completes all files. No file has its final name until the last one is complete.
    package func finish() throws(ArchiveError) -> [ArchiveFile] {
        try stream?.drain()
        stream = nil
        for file in files { try file.settle() }
        var finished: [ArchiveFile] = []
        for file in files { finished.append(try file.finish()) }
        if split != nil { try removeFurtherParts() }
        return finished
    }

    /// The removed parts of an earlier export that had more parts than this one. They would not fit the new
    /// files.
    private(set) var removed: [String] = []

    /// Removes further parts of an earlier export, the last one first. If this is interrupted, the remaining
    /// parts are still numbered without a gap, so that the next export finds them.
    private func removeFurtherParts() throws(ArchiveError) {
        var further: [String] = []
        while case let part = Self.numbered(path, files.count + further.count), Self.isPart(part) {
            further.append(part)
        }
        for part in further.reversed() {
            guard unlink(part) == 0 || errno == ENOENT else {
                throw ArchiveError(
                    SystemError(
                        errno, doing: "remove", part,
                        advice: "remove it yourself: it belongs to an earlier export with more parts"))
            }
            removed.insert(part, at: 0)
        }
    }

    /// Whether the path is a regular file, not a link, that begins like a WARC file written by Larder.
    private static func isPart(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let input = try? ArchiveInput(path), let isFilled = try? input.fill(), isFilled
        else { return false }
        let beginning = Array(input.available.prefix(largestFirst))
        return beginning.starts(with: "WARC/".utf8)
            && beginning.firstRange(of: Array("\nsoftware: \(Product.token)/".utf8)) != nil
    }

    /// The number of bytes of the first record that are searched for the name of the software.
    private static let largestFirst = 4096
}
