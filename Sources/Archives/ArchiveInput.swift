internal import Codings
internal import Glibc
internal import System

/// Reads the bytes of an archive, one buffer at a time. The file is plain, or compressed as gzip members,
/// zstd frames, xz streams or a deflate stream. An input is used by one thread.
///
/// Bytes move through two buffers: `refill` reads the file into `rawBuffer`, and `readMore` decompresses (or copies)
/// from there into `output`. Callers look at ``available`` and consume with ``skip(_:)`` or ``take(_:_:)``. The unread
/// part of a buffer is always `buffer[start..<end]`.
///
/// A member is a gzip member, a zstd frame or an xz stream. WARC files have one per record, so that reading can begin
/// at any record. `isBetweenMembers` is true from the end of a member until bytes of the next one are decompressed.
///
/// Reading stops at damage: `damage` is set, and no more bytes are returned until ``recover(to:)`` finds the
/// beginning of the next intact part.
final class ArchiveInput {
    enum Compression: Sendable {
        case plain, gzip, zstd, xz
        /// A bare deflate stream, as in an entry of a zip file. It has no signature and is a single member.
        case deflate
    }

    /// The name of the input in error messages.
    let name: String
    private(set) var compression: Compression
    private let file: File
    /// The offset in the file at which the input ends.
    private let end: Int64
    /// The offset in the file of the next read.
    private var nextRead: Int64
    /// Bytes of the file.
    private let rawBuffer: UnsafeMutableRawBufferPointer
    private var rawStart = 0
    private var rawEnd = 0
    /// Decompressed bytes.
    private let output: UnsafeMutableRawBufferPointer
    private var outputStart = 0
    private var outputEnd = 0
    /// The decoder; nil for plain input.
    private var decoder: (any CodingDecoder)?
    private var isBetweenMembers = true
    /// The offset of the member or frame that is being read.
    private(set) var memberStart: Int64
    /// The limits on the expanded size, beyond which the input counts as damaged. Nil if the caller checks the size.
    var limits: ArchiveLimits?
    private var expandedByteCount = 0
    /// The reason why nothing more can be read here, such as "it is truncated"; nil if there is no damage.
    private(set) var damage: String?

    /// The size of each buffer.
    private static let bufferBytes = 256 * 1024
    /// The room that `readMore` leaves in `output`, so that `prepend` never loses bytes of a full buffer.
    private static let maxPrependedBytes = 16

    /// Opens a file, whose signature shows its compression.
    ///
    /// - Parameter name: The name for messages; nil for the path.
    init(_ path: String, name: String? = nil) throws(ArchiveError) {
        let opened = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        guard let byteCount = opened.byteCount else {
            throw ArchiveError(.input, "\(path) cannot be read; name a regular file")
        }
        self.name = name ?? path
        file = consume opened
        (nextRead, memberStart, end) = (0, 0, Int64(byteCount))
        rawBuffer = .allocate(byteCount: Self.bufferBytes, alignment: 16)
        output = .allocate(byteCount: Self.bufferBytes + Self.maxPrependedBytes, alignment: 16)
        compression = .plain
        try refill()
        let beginning = rawBuffer[..<rawEnd]
        if beginning.starts(with: [0x1F, 0x8B]) { compression = .gzip }
        // A zstd frame, or the skippable frame with the dictionary at the beginning of a .warc.zst file.
        if beginning.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
            || beginning.starts(with: [0x5D, 0x2A, 0x4D, 0x18])
        {
            compression = .zstd
        }
        if beginning.starts(with: Self.xzSignature) { compression = .xz }
        decoder = Self.decoder(compression)
        if decoder == nil, compression == .zstd || compression == .xz {
            let (tool, library) = compression == .xz ? ("xz", "liblzma5") : ("zstd", "libzstd1")
            throw ArchiveError(
                .input, "\(path) is compressed with \(tool), which cannot be read; install \(library)")
        }
    }

    private static let xzSignature: [UInt8] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]

    /// Opens a part of a file, such as an entry of a zip file.
    ///
    /// - Parameter compression: The compression of the part. If it is nil, the part is gzip if it has its signature,
    ///   and plain otherwise.
    init(_ path: String, part: Range<Int64>, name: String, compression: Compression?) throws(ArchiveError) {
        self.name = name
        file = try ArchiveError.wrapping { () throws(SystemError) in try File(path, O_RDONLY, doing: "read") }
        (nextRead, memberStart, end) = (part.lowerBound, part.lowerBound, part.upperBound)
        rawBuffer = .allocate(byteCount: Self.bufferBytes, alignment: 16)
        output = .allocate(byteCount: Self.bufferBytes + Self.maxPrependedBytes, alignment: 16)
        self.compression = compression ?? .plain
        try refill()
        if compression == nil, rawBuffer[..<rawEnd].starts(with: [0x1F, 0x8B]) { self.compression = .gzip }
        decoder = Self.decoder(self.compression)
    }

    deinit {
        rawBuffer.deallocate()
        output.deallocate()
    }

    /// Returns a new decoder. Returns nil for plain input, or if the library is not installed.
    private static func decoder(_ compression: Compression) -> (any CodingDecoder)? {
        switch compression {
        case .plain: nil
        case .gzip: InflateDecoder(isGzip: true)
        case .deflate: InflateDecoder(isGzip: false, isRaw: true)
        case .zstd: ZstdDecoder()
        case .xz: XZDecoder()
        }
    }

    /// The position in error messages: the byte offset that was reached, or the beginning of the member in
    /// compressed input.
    var place: String { "\(name), byte \(compression == .plain ? outputOffset : memberStart)" }

    /// The offset in the file of the next available byte, or of the next compressed byte.
    private var outputOffset: Int64 {
        compression == .plain ? rawOffset - Int64(outputEnd - outputStart) : rawOffset
    }

    /// The number of bytes of the file that were decompressed, to compare with the expanded size.
    var rawOffset: Int64 { nextRead - Int64(rawEnd - rawStart) }

    // MARK: - Bytes

    /// The bytes in the buffer. They are valid until the next call of `fill`, `skip`, `take` or another
    /// reading method.
    var available: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: output[outputStart..<outputEnd])
    }

    /// Consumes bytes of `available`.
    func skip(_ count: Int) { outputStart += min(count, outputEnd - outputStart) }

    /// Fills the buffer if it is empty. Returns false at the end of the input or at damage.
    func fill() throws(ArchiveError) -> Bool {
        while outputStart == outputEnd {
            guard damage == nil else { return false }
            (outputStart, outputEnd) = (0, 0)
            guard try readMore() else { return false }
        }
        return true
    }

    /// Reads and decompresses the next bytes into the buffer. Returns false if there are none. Otherwise the buffer may
    /// still be empty, when the decoder took bytes and produced none.
    private func readMore() throws(ArchiveError) -> Bool {
        if rawStart == rawEnd { try refill() }
        guard let decoder else {
            outputEnd = min(rawEnd - rawStart, Self.bufferBytes)
            if outputEnd > 0, let from = rawBuffer.baseAddress, let to = output.baseAddress {
                memcpy(to, from + rawStart, outputEnd)
            }
            rawStart += outputEnd
            return outputEnd > 0
        }
        if isBetweenMembers, compression != .deflate { try skipPadding() }
        guard damage == nil else { return false }
        guard rawStart < rawEnd else {
            if !isBetweenMembers, !decoder.isComplete { damage = "it is truncated" }
            return false
        }
        if isBetweenMembers {
            memberStart = rawOffset
            isBetweenMembers = false
        }
        guard
            let (taken, count) = decoder.decode(
                UnsafeRawBufferPointer(rebasing: rawBuffer[rawStart..<rawEnd]),
                into: UnsafeMutableRawBufferPointer(rebasing: output[..<Self.bufferBytes]))
        else {
            damage =
                compression == .zstd
                ? "it is not zstd, or needs a dictionary that it does not contain" : "it is damaged"
            return false
        }
        rawStart += taken
        expandedByteCount += count
        if let limits, limits.isExceeded(expandedByteCount, outOf: rawOffset) {
            damage = limits.excessMessage
            return false
        }
        outputEnd = count
        // Anything after the single member of a deflate stream is ignored.
        if compression == .deflate, decoder.isComplete {
            rawStart = rawEnd
            nextRead = end
        }
        if decoder.isComplete { isBetweenMembers = true }
        return outputEnd > 0 || taken > 0
    }

    /// Skips the zeros with which some writers pad members. Anything else between two gzip members is damage.
    private func skipPadding() throws(ArchiveError) {
        while true {
            while rawStart < rawEnd, rawBuffer[rawStart] == 0 { rawStart += 1 }
            if rawStart < rawEnd { break }
            try refill()
            if rawEnd == 0 { return }
        }
        if compression == .gzip, rawBuffer[rawStart] != 0x1F {
            damage = "there is uncompressed data between its members"
        }
    }

    /// Reads the next bytes of the file. `rawEnd` is 0 at the end.
    private func refill() throws(ArchiveError) {
        (rawStart, rawEnd) = (0, 0)
        let byteCount = min(Int64(rawBuffer.count), end - nextRead)
        guard byteCount > 0 else { return }
        while true {
            let count = pread(file.descriptor, rawBuffer.baseAddress, Int(byteCount), off_t(nextRead))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ArchiveError(SystemError(errno, doing: "read", name)) }
            rawEnd = count
            nextRead += Int64(count)
            return
        }
    }

    // MARK: - Lines and blocks

    enum Line {
        /// A line without its terminator.
        case line([UInt8])
        case tooLong
        case end
    }

    /// Returns the next line, which ends with LF, CRLF or the end of the input. A line of more than `limit` bytes is
    /// partly consumed.
    func line(limit: Int) throws(ArchiveError) -> Line {
        var line: [UInt8] = []
        while try fill() {
            let bytes = available
            let end = bytes.firstIndex(of: 0x0A) ?? bytes.count
            guard line.count + end <= limit else { return .tooLong }
            line.append(contentsOf: bytes[..<end])
            skip(end + 1)
            guard end < bytes.count else { continue }
            if line.last == 0x0D { line.removeLast() }
            return .line(line)
        }
        return line.isEmpty ? .end : .line(line)
    }

    /// Passes up to `count` bytes to `give`, which returns false to stop early. Returns the number of bytes
    /// passed.
    func take(
        _ count: Int, _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> Int {
        var taken = 0
        while taken < count, try fill() {
            let pieceBytes = min(count - taken, outputEnd - outputStart)
            let piece = UnsafeRawBufferPointer(rebasing: output[outputStart..<outputStart + pieceBytes])
            outputStart += pieceBytes
            taken += pieceBytes
            guard try give(piece) else { return taken }
        }
        return taken
    }

    // MARK: - Damage

    /// Continues at the next place where a record may begin: the next member, or in uncompressed input the
    /// next occurrence of `beginning`. Returns false if there is none.
    func recover(to beginning: [UInt8]) throws(ArchiveError) -> Bool {
        damage = nil
        switch compression {
        case .plain: return try find(beginning)
        case .deflate: return try find(beginning)
        case .gzip, .zstd, .xz:
            (outputStart, outputEnd) = (0, 0)
            let signature: [UInt8] = compression == .gzip ? [0x1F, 0x8B, 0x08] : [0x28, 0xB5, 0x2F, 0xFD]
            return try findMember(compression == .xz ? Self.xzSignature : signature)
        }
    }

    /// Skips to the next occurrence of the bytes. After a mismatch, the comparison can only restart at the first byte,
    /// so the first byte must not occur again in `beginning`, as in `WARC/`.
    private func find(_ beginning: [UInt8]) throws(ArchiveError) -> Bool {
        var matched = 0
        while try fill() {
            let bytes = available
            for (index, byte) in bytes.enumerated() {
                matched = byte == beginning[matched] ? matched + 1 : byte == beginning[0] ? 1 : 0
                guard matched == beginning.count else { continue }
                if index + 1 >= matched {
                    skip(index + 1 - matched)
                } else {
                    // The match began in the previous buffer, so its bytes are put back in front.
                    let missing = matched - (index + 1)
                    prepend(Array(beginning[..<missing]))
                }
                return true
            }
            skip(bytes.count)
        }
        return false
    }

    /// Inserts bytes in front of the available ones: fewer than `maxPrependedBytes`, directly after `readMore`.
    private func prepend(_ bytes: [UInt8]) {
        let all = bytes + output[outputStart..<outputEnd]
        output.copyBytes(from: all)
        (outputStart, outputEnd) = (0, all.count)
    }

    /// Moves to the next occurrence of the signature in the compressed bytes, where a new member may begin.
    private func findMember(_ signature: [UInt8]) throws(ArchiveError) -> Bool {
        // The search continues after the bytes that were decompressed. If the decoder took none, it must not find the
        // beginning of the damaged member again.
        if !isBetweenMembers, rawOffset <= memberStart { rawStart = min(rawStart + 1, rawEnd) }
        var matched = 0
        while true {
            if rawStart == rawEnd { try refill() }
            guard rawEnd > 0 else { return false }
            while rawStart < rawEnd {
                let byte = rawBuffer[rawStart]
                rawStart += 1
                matched = byte == signature[matched] ? matched + 1 : byte == signature[0] ? 1 : 0
                guard matched == signature.count else { continue }
                nextRead = rawOffset - Int64(signature.count)
                (rawStart, rawEnd) = (0, 0)
                memberStart = nextRead
                isBetweenMembers = true
                decoder = Self.decoder(compression)
                return true
            }
        }
    }
}
