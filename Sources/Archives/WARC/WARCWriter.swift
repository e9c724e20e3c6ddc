internal import Digest
internal import Glibc
internal import Store
internal import System
internal import Web

/// The position of a response in a WARC file, for an index.
struct WARCPosition: Sendable {
    let url: String
    let method: String
    let date: Int64
    let status: Int
    /// The media type as in a CDX index: `warc/revisit` for a response without a body of its own, and `unk` if it is
    /// unknown.
    let type: String
    let digest: Digest?
    var offset: Int64
    let byteCount: Int64
}

/// Writes the records of one WARC file in the order of the responses.
///
/// A `warcinfo` record comes first. Each response then gives a response record and a request record, which are built and
/// compressed on the threads of `pool` and written on the thread that owns the stream. A response with the same body as
/// an earlier one gives a `revisit` record without the body. Large bodies are not loaded: they are compressed piece by
/// piece on the owning thread, after the records before them were written.
final class WARCStream {
    /// The records of a response and its request.
    private struct CompressedRecords: Sendable {
        let bytes: [UInt8]
        /// The position of the response record. Its offset is set when the records are written.
        let position: WARCPosition
    }

    private let builder: WARCRecordBuilder
    private let pool: OrderedWorkPool<RecordCompressor, CompressedRecords>
    /// The compressor for records that are made on the owning thread.
    private let compressor: RecordCompressor
    private let write: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    private let didWriteResponse: (WARCPosition) throws(ArchiveError) -> Void
    private(set) var byteCount: Int64 = 0
    /// The estimated size of the records that were added since the last `drain`.
    private(set) var queuedByteCount: Int64 = 0
    /// The first response with each body, by the SHA-256 of the body.
    private var originals: [[UInt8]: WARCRecordBuilder.Original] = [:]

    /// The minimum size of a body for a revisit record. For a smaller body, a revisit takes as much room and
    /// costs readers more time.
    private static let minRevisitBytes = 2048
    /// The maximum size of a body that is loaded. A larger body is streamed, and the other threads wait
    /// meanwhile.
    private static let maxLoadedBytes = 4 << 20
    /// The maximum number of bodies that later responses can refer to. Further bodies are written each time they occur.
    private static let maxOriginals = 200_000
    /// The estimated size of the compressed records of a response without a body and its request. Long URLs and header
    /// fields can exceed it.
    private static let headBytes = 1024

    /// - Parameters:
    ///   - write: Receives the bytes of the file.
    ///   - didWriteResponse: Receives the position of each response.
    init(
        _ info: ArchiveInfo, filename: String, _ compression: RecordCompression = .gzipMembers,
        write: @escaping (UnsafeRawBufferPointer) throws(ArchiveError) -> Void,
        didWriteResponse: @escaping (WARCPosition) throws(ArchiveError) -> Void = {
            (_) throws(ArchiveError) in
        }
    ) throws(ArchiveError) {
        builder = WARCRecordBuilder(info, filename: filename)
        guard let compressor = RecordCompressor(compression) else {
            throw ArchiveError(.machine, "libz.so.1 (zlib) is not installed; install it")
        }
        pool = try OrderedWorkPool(threads: Machine.coreCount, named: "larder-pack") {
            RecordCompressor(compression)
        }
        self.compressor = compressor
        (self.write, self.didWriteResponse) = (write, didWriteResponse)
        let infoRecord = builder.infoRecord
        compressor.add([infoRecord.head, infoRecord.block, WARCRecordBuilder.recordEnd], isCompressed: false)
        try writeRecords(compressor.takeOutput())
    }

    /// Adds a response with its request. Blocks while the pool is full.
    func add(_ response: ArchivedResponse) throws(ArchiveError) {
        while pool.isFull { try writeNext() }
        let hasCompressedBody = RecordCompressor.isCompressed(response.fields.contentType)
        let builder = builder
        if let body = response.body, let original = original(of: response, body) {
            return enqueue(response, isRevisit: true, byteCount: Self.headBytes) { (compressor) in
                compressor.add(
                    [builder.revisitRecord(of: response, body, as: original), WARCRecordBuilder.recordEnd],
                    isCompressed: false)
            }
        }
        switch response.body?.content {
        case nil:
            enqueue(response, byteCount: Self.headBytes) {
                Self.addResponseRecord(builder, response, [], isCompressed: false, to: $0)
            }
        case .bytes(let bytes)?:
            enqueue(response, byteCount: bytes.count + Self.headBytes) {
                Self.addResponseRecord(builder, response, bytes, isCompressed: hasCompressedBody, to: $0)
            }
        case .file?:
            guard let body = response.body, let content = body.content, body.byteCount <= Self.maxLoadedBytes
            else {
                return try stream(response, isCompressed: hasCompressedBody)
            }
            let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
            enqueue(response, byteCount: bytes.count + Self.headBytes) {
                Self.addResponseRecord(builder, response, bytes, isCompressed: hasCompressedBody, to: $0)
            }
        }
    }

    /// Adds the response record for a body in memory to the compressor.
    ///
    /// - Parameter isCompressed: Whether the body is already compressed.
    private static func addResponseRecord(
        _ builder: WARCRecordBuilder, _ response: ArchivedResponse, _ body: [UInt8], isCompressed: Bool,
        to compressor: RecordCompressor
    ) {
        let messageHead = builder.messageHead(of: response)
        var digest = DigestStream(.sha256)
        digest.update(messageHead.span)
        digest.update(body.span)
        let head = builder.responseHead(of: response, messageHead: messageHead, blockDigest: digest.finish())
        compressor.add([head, body, WARCRecordBuilder.recordEnd], isCompressed: isCompressed)
    }

    /// Returns the earlier response in this file that has the same body. If there is none, records this one
    /// as the original for later responses. Only a response to GET can be one, because many readers find the
    /// original of a revisit record by URL and date.
    private func original(of response: ArchivedResponse, _ body: ArchivedBody) -> WARCRecordBuilder.Original?
    {
        guard body.byteCount >= Self.minRevisitBytes else { return nil }
        if let original = originals[body.sha256.bytes] { return original }
        if originals.count < Self.maxOriginals, response.method == "GET" {
            originals[body.sha256.bytes] = WARCRecordBuilder.Original(
                url: response.url, date: builder.date(of: response),
                id: builder.id(of: response, type: "response"))
        }
        return nil
    }

    /// Queues the records of the response and its request for compression on a thread of the pool.
    ///
    /// - Parameters:
    ///   - byteCount: The estimated size of the records.
    ///   - addRecord: Adds the response record to a compressor.
    private func enqueue(
        _ response: ArchivedResponse, isRevisit: Bool = false, byteCount: Int,
        _ addRecord: @escaping @Sendable (RecordCompressor) -> Void
    ) {
        let builder = builder
        queuedByteCount += Int64(byteCount)
        pool.add(byteCount) { compressor in
            addRecord(compressor)
            let length = Int64(compressor.output.count)
            compressor.add(
                [builder.requestRecord(for: response), WARCRecordBuilder.recordEnd], isCompressed: false)
            let position = Self.position(of: response, isRevisit: isRevisit, byteCount: length)
            return CompressedRecords(bytes: compressor.takeOutput(), position: position)
        }
    }

    private static func position(of response: ArchivedResponse, isRevisit: Bool, byteCount: Int64)
        -> WARCPosition
    {
        WARCPosition(
            url: response.url, method: response.method, date: response.fetched, status: response.status,
            type: isRevisit ? "warc/revisit" : response.fields.contentType?.essence ?? "unk",
            digest: response.body?.sha256, offset: 0, byteCount: byteCount)
    }

    /// Streams a large body, which is read twice because the record's header contains its digest.
    ///
    /// - Parameter isCompressed: Whether the body is already compressed.
    private func stream(_ response: ArchivedResponse, isCompressed: Bool) throws(ArchiveError) {
        try drain()
        guard let body = response.body, let content = body.content else { return }
        let messageHead = builder.messageHead(of: response)
        var digest = DigestStream(.sha256)
        digest.update(messageHead.span)
        try ArchiveError.storing { () throws(StoreError) in try content.eachPiece { digest.update($0) } }
        let head = builder.responseHead(of: response, messageHead: messageHead, blockDigest: digest.finish())
        let start = byteCount
        try compressor.stream(head, content, WARCRecordBuilder.recordEnd, isCompressed: isCompressed) {
            (piece) throws(ArchiveError) in
            byteCount += Int64(piece.count)
            try write(piece)
        }
        var position = Self.position(of: response, isRevisit: false, byteCount: byteCount - start)
        position.offset = start
        try didWriteResponse(position)
        compressor.add(
            [builder.requestRecord(for: response), WARCRecordBuilder.recordEnd], isCompressed: false)
        try writeRecords(compressor.takeOutput())
    }

    /// Writes the oldest records in the pool, after waiting until they are compressed.
    private func writeNext() throws(ArchiveError) {
        guard let compressed = pool.next() else { return }
        var position = compressed.position
        position.offset = byteCount
        try writeRecords(compressed.bytes)
        try didWriteResponse(position)
    }

    private func writeRecords(_ bytes: [UInt8]) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    /// Writes everything that was added.
    func drain() throws(ArchiveError) {
        while !pool.isEmpty { try writeNext() }
        queuedByteCount = 0
    }
}

/// Writes WARC 1.1. The records are plain if the name ends in `.warc`, else each is a gzip member. The output
/// is one file, or several numbered files if `maxFileBytes` is set: `site.warc.gz`, or `site-00000.warc.gz` and so
/// on. A file may exceed `maxFileBytes` by the records of one response.
package final class WARCWriter: ArchiveWriter {
    private let path: String
    private let info: ArchiveInfo
    private let maxFileBytes: Int64?
    private var files: [ArchiveOutput] = []
    private var stream: WARCStream?

    package init(_ path: String, _ info: ArchiveInfo, maxFileBytes: Int64? = nil) throws(ArchiveError) {
        (self.path, self.info, self.maxFileBytes) = (path, info, maxFileBytes)
        try beginFile()
    }

    /// Begins the next file.
    private func beginFile() throws(ArchiveError) {
        let output = try ArchiveOutput(maxFileBytes == nil ? path : Self.partPath(path, files.count))
        files.append(output)
        let name = output.name.split(separator: "/").last.map(String.init) ?? output.name
        stream = try WARCStream(info, filename: name, RecordCompression(path: path)) {
            (bytes) throws(ArchiveError) in
            try output.write(bytes)
        }
    }

    /// Returns the path of a numbered file: `docs.warc.gz` becomes `docs-00001.warc.gz`.
    package static func partPath(_ path: String, _ number: Int) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 5 - digits.count)) + digits
        for suffix in [".warc.gz", ".gz", ".warc"] where path.lowercased().hasSuffix(suffix) {
            return "\(path.dropLast(suffix.count))-\(padded)\(path.suffix(suffix.count))"
        }
        return "\(path)-\(padded).warc.gz"
    }

    package func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        if let maxFileBytes, let stream {
            // The size of queued records is only an estimate, so they are written before the size is compared.
            if stream.byteCount + stream.queuedByteCount >= maxFileBytes { try stream.drain() }
            if stream.byteCount >= maxFileBytes { try beginFile() }
        }
        try stream?.add(response)
        return true
    }

    /// Completes all files. No file has its final name until the last one is complete. Then removes the further parts of
    /// an earlier export (`removedFiles`).
    package func finish() throws(ArchiveError) -> [ArchiveFile] {
        try stream?.drain()
        stream = nil
        for file in files { try file.sync() }
        var finished: [ArchiveFile] = []
        for file in files { finished.append(try file.finish()) }
        if maxFileBytes != nil { try removeFurtherParts() }
        return finished
    }

    /// The removed parts of an earlier export that had more parts than this one. They would not fit the new
    /// files.
    private(set) var removedFiles: [String] = []

    /// Removes the further parts of an earlier export, the last one first. If this is interrupted, the remaining
    /// parts are still numbered without a gap, so that the next export finds them.
    private func removeFurtherParts() throws(ArchiveError) {
        var further: [String] = []
        while case let part = Self.partPath(path, files.count + further.count), Self.isPart(part) {
            further.append(part)
        }
        for part in further.reversed() {
            guard unlink(part) == 0 || errno == ENOENT else {
                throw ArchiveError(
                    SystemError(
                        errno, doing: "remove", part,
                        advice: "remove it yourself: it belongs to an earlier export with more parts"))
            }
            removedFiles.insert(part, at: 0)
        }
    }

    /// Whether the path is a regular file, not a link, that begins like a WARC file written by Larder.
    private static func isPart(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let input = try? ArchiveInput(path), let hasBytes = try? input.fill(), hasBytes
        else { return false }
        let beginning = Array(input.available.prefix(maxSearchedBytes))
        return beginning.starts(with: "WARC/".utf8)
            && beginning.firstRange(of: Array("\nsoftware: \(Product.token)/".utf8)) != nil
    }

    /// The number of bytes of the first record that are searched for the name of the software.
    private static let maxSearchedBytes = 4096
}
