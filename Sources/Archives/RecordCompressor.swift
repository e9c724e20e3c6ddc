internal import Codings
internal import Store
internal import Web

/// How records stand in their file.
enum RecordPacking: Sendable {
    case plain
    /// Each is a gzip member for itself (WARC 1.1, annex D).
    case members

    /// What the name of a file says: readers go by it.
    init(path: String) { self = path.lowercased().hasSuffix(".warc") ? .plain : .members }
}

/// Makes records what they are in their file: gzip members, or plain. It belongs to one thread.
final class RecordCompressor {
    /// Nil where records are plain.
    private let deflaters: (text: Deflater, packed: Deflater)?
    /// The same for what is at hand, where libdeflate is installed.
    private let whole: (text: WholeDeflater, packed: WholeDeflater)?
    private var record: [UInt8] = []
    /// What was made and nobody has taken.
    private(set) var made: [UInt8] = []

    /// The pages of the Python docs, 50.7 MB: 0.71 s and 7.5 MB at 5, 1.17 s and 7.3 MB at 6, 1.91 s and 7.3
    /// MB at 9.
    private static let level: Int32 = 5
    /// What is compressed already becomes no smaller.
    private static let levelOfPacked: Int32 = 1

    /// Nil where zlib is wanted and not there.
    init?(_ packing: RecordPacking) {
        guard packing == .members else {
            (deflaters, whole) = (nil, nil)
            return
        }
        guard let text = Deflater(.gzip, level: Self.level),
            let packed = Deflater(.gzip, level: Self.levelOfPacked)
        else { return nil }
        deflaters = (text, packed)
        whole = WholeDeflater(level: Self.level).flatMap { text in
            WholeDeflater(level: Self.levelOfPacked).map { (text, $0) }
        }
    }

    func take() -> [UInt8] {
        defer { made = [] }
        return made
    }

    /// One record of everything at hand.
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
                deflater.take(bytes) { (piece) throws(Never) in made.append(contentsOf: piece) }
            }
        }
        deflater.finish { (piece) throws(Never) in made.append(contentsOf: piece) }
    }

    /// One record of a head, a large body, and an end; handed on as it is made.
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
        try head.withBytes { (bytes) throws(ArchiveError) in try deflater.take(bytes, give) }
        try body.eachArchived { (bytes) throws(ArchiveError) in try deflater.take(bytes, give) }
        try end.withBytes { (bytes) throws(ArchiveError) in try deflater.take(bytes, give) }
        try deflater.finish(give)
    }

    /// Whether the media type says that it is compressed in itself.
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
