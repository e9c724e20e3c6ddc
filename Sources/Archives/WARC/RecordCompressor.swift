internal import Codings
internal import Store
internal import Web

/// The compression of the records in a WARC file.
enum RecordCompression: Sendable {
    case plain
    /// Each record is a gzip member (WARC 1.1, annex D).
    case gzipMembers

    /// Chooses the compression by the suffix of the file, as readers do.
    init(path: String) { self = path.lowercased().hasSuffix(".warc") ? .plain : .gzipMembers }
}

/// Turns records into gzip members, or leaves them plain. A compressor is used by one thread.
final class RecordCompressor {
    /// The streaming compressors of zlib, for text and for content that is already compressed; nil for plain records.
    private let deflaters: (text: Deflater, compressed: Deflater)?
    /// The faster compressors of libdeflate for records in memory; nil if it is not installed.
    private let whole: (text: OneShotDeflater, compressed: OneShotDeflater)?
    /// The parts of the current record in one buffer, as libdeflate needs them.
    private var record: [UInt8] = []
    /// The records that were added since the last `takeOutput`.
    private(set) var output: [UInt8] = []

    /// The compression level. For the pages of the Python docs, 50.7 MB, level 5 takes 0.71 s and gives 7.5
    /// MB, level 6 takes 1.17 s and gives 7.3 MB, and level 9 takes 1.91 s and gives 7.3 MB.
    private static let level: Int32 = 5
    /// The level for content that is already compressed and does not become smaller.
    private static let levelForCompressedContent: Int32 = 1

    /// Creates a compressor. Returns nil if zlib is needed and not installed.
    init?(_ compression: RecordCompression) {
        guard compression == .gzipMembers else {
            (deflaters, whole) = (nil, nil)
            return
        }
        guard let text = Deflater(.gzip, level: Self.level),
            let compressed = Deflater(.gzip, level: Self.levelForCompressedContent)
        else { return nil }
        deflaters = (text, compressed)
        whole = OneShotDeflater(level: Self.level).flatMap { text in
            OneShotDeflater(level: Self.levelForCompressedContent).map { (text, $0) }
        }
    }

    /// Returns the finished records and forgets them.
    func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Adds a record whose parts are in memory.
    ///
    /// - Parameter isCompressed: Whether the body is already compressed, so that compressing it again is fast and
    ///   has little effect.
    func add(_ parts: [[UInt8]], isCompressed: Bool) {
        guard let deflaters else {
            for part in parts { output += part }
            return
        }
        if let whole {
            record.removeAll(keepingCapacity: true)
            for part in parts { record += part }
            return (isCompressed ? whole.compressed : whole.text).add(record, to: &output)
        }
        let deflater = isCompressed ? deflaters.compressed : deflaters.text
        for part in parts {
            part.withUnsafeBytes { bytes in
                deflater.compress(bytes) { (piece) throws(Never) in output.append(contentsOf: piece) }
            }
        }
        deflater.finish { (piece) throws(Never) in output.append(contentsOf: piece) }
    }

    /// Compresses a record with a large body, and passes its bytes to `write` piece by piece.
    func stream(
        _ head: [UInt8], _ body: BodyContent, _ end: [UInt8], isCompressed: Bool,
        _ write: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        guard let deflaters else {
            try head.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
            try body.writePieces(write)
            return try end.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
        }
        let deflater = isCompressed ? deflaters.compressed : deflaters.text
        try head.withBytes { (bytes) throws(ArchiveError) in try deflater.compress(bytes, write) }
        try body.writePieces { (bytes) throws(ArchiveError) in try deflater.compress(bytes, write) }
        try end.withBytes { (bytes) throws(ArchiveError) in try deflater.compress(bytes, write) }
        try deflater.finish(write)
    }

    /// Whether content of the media type is already compressed.
    static func isCompressed(_ type: MediaType?) -> Bool {
        guard let essence = type?.essence else { return false }
        if essence == "image/svg+xml" || essence == "image/bmp" || essence == "audio/wav" { return false }
        return essence.hasPrefix("image/") || essence.hasPrefix("video/") || essence.hasPrefix("audio/")
            || compressedTypes.contains(essence)
    }

    private static let compressedTypes: Set<String> = [
        "font/woff", "font/woff2", "application/font-woff", "application/zip", "application/gzip",
        "application/x-gzip", "application/x-xz", "application/zstd", "application/epub+zip",
        "application/vnd.rar", "application/x-7z-compressed",
    ]
}
