internal import Codings
internal import Store
internal import Web

/// The compression of the records in a WARC file.
enum RecordPacking: Sendable {
    case plain
    /// Each record is a gzip member (WARC 1.1, annex D).
    case members

    /// Chooses the compression by the suffix of the file, as readers do.
    init(path: String) { self = path.lowercased().hasSuffix(".warc") ? .plain : .members }
}

/// Turns records into gzip members, or leaves them plain. A compressor is used by one thread.
final class RecordCompressor {
    /// The streaming compressors; nil for plain records.
    private let deflaters: (text: Deflater, packed: Deflater)?
    /// Compressors for records in memory, if libdeflate is installed.
    private let whole: (text: OneShotDeflater, packed: OneShotDeflater)?
    private var record: [UInt8] = []
    /// The bytes that were made since the last `take`.
    private(set) var made: [UInt8] = []

    /// The compression level. For the pages of the Python docs, 50.7 MB, level 5 takes 0.71 s and gives 7.5
    /// MB, level 6 takes 1.17 s and gives 7.3 MB, and level 9 takes 1.91 s and gives 7.3 MB.
    private static let level: Int32 = 5
    /// The level for content that is already compressed and does not become smaller.
    private static let levelOfPacked: Int32 = 1

    /// Creates a compressor. Returns nil if zlib is needed and not installed.
    init?(_ packing: RecordPacking) {
        guard packing == .members else {
            (deflaters, whole) = (nil, nil)
            return
        }
        guard let text = Deflater(.gzip, level: Self.level),
            let packed = Deflater(.gzip, level: Self.levelOfPacked)
        else { return nil }
        deflaters = (text, packed)
        whole = OneShotDeflater(level: Self.level).flatMap { text in
            OneShotDeflater(level: Self.levelOfPacked).map { (text, $0) }
        }
    }

    func take() -> [UInt8] {
        defer { made = [] }
        return made
    }

    /// Adds a record whose parts are in memory.
    func add(_ parts: [[UInt8]], isPacked: Bool) {
        guard let deflaters else {
            for part in parts { made += part }
            return
        }
        if let whole {
            record.removeAll(keepingCapacity: true)
            for part in parts { record += part }
            return (isPacked ? whole.packed : whole.text).add(record, to: &made)
        }
        let deflater = isPacked ? deflaters.packed : deflaters.text
        for part in parts {
            part.withUnsafeBytes { bytes in
                deflater.compress(bytes) { (piece) throws(Never) in made.append(contentsOf: piece) }
            }
        }
        deflater.finish { (piece) throws(Never) in made.append(contentsOf: piece) }
    }

    /// Makes a record with a large body, and passes its bytes to `give` as they are made.
    func stream(
        _ head: [UInt8], _ body: BodyContent, _ end: [UInt8], isPacked: Bool,
        _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        guard let deflaters else {
            try head.withBytes { (bytes) throws(ArchiveError) in try give(bytes) }
            try body.eachArchived(give)
            return try end.withBytes { (bytes) throws(ArchiveError) in try give(bytes) }
        }
        let deflater = isPacked ? deflaters.packed : deflaters.text
        try head.withBytes { (bytes) throws(ArchiveError) in try deflater.compress(bytes, give) }
        try body.eachArchived { (bytes) throws(ArchiveError) in try deflater.compress(bytes, give) }
        try end.withBytes { (bytes) throws(ArchiveError) in try deflater.compress(bytes, give) }
        try deflater.finish(give)
    }

    /// Whether content of the media type is already compressed.
    static func isPacked(_ type: MediaType?) -> Bool {
        guard let essence = type?.essence else { return false }
        if essence == "image/svg+xml" || essence == "image/bmp" || essence == "audio/wav" { return false }
        return essence.hasPrefix("image/") || essence.hasPrefix("video/") || essence.hasPrefix("audio/")
            || packedTypes.contains(essence)
    }

    private static let packedTypes: Set<String> = [
        "font/woff", "font/woff2", "application/font-woff", "application/zip", "application/gzip",
        "application/x-gzip", "application/x-xz", "application/zstd", "application/epub+zip",
        "application/vnd.rar", "application/x-7z-compressed",
    ]
}
