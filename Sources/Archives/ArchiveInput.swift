internal import Codings
internal import Glibc
internal import System

/// Reads the bytes of an archive, one buffer at a time. The file is plain, or compressed as gzip members,
/// zstd frames, xz streams or a deflate stream. An input is used by one thread.
///
/// Reading stops at damage: `damage` is set, and no more bytes are returned until ``recover(to:)`` finds the
/// beginning of the next intact part.
final class ArchiveInput {
    enum Form: Sendable {
        case plain, gzip, zstd, xz, deflate
    }

    /// The name for messages.
    let name: String
    private(set) var form: Form
    private let file: File
    /// The offset in the file at which the input ends.
    private let end: Int64
    /// The offset in the file of the next read.
    private var next: Int64
    private let raw: UnsafeMutableRawBufferPointer
    private var rawAt = 0
    private var rawEnd = 0
    private let made: UnsafeMutableRawBufferPointer
    private var at = 0
    private var filled = 0
    private var decoder: (any CodingDecoder)?
    private var isBetweenMembers = true
    /// The offset of the member or frame that is being read.
    private(set) var memberStart: Int64
    /// The limits beyond which the input counts as damaged. Nil if the caller checks the size.
    var limits: ArchiveLimits?
    private var madeByteCount = 0
    /// The reason why nothing more can be read here.
    private(set) var damage: String?

    private static let size = 256 * 1024

    init(_ path: String, name: String? = nil) throws(ArchiveError) {
        let opened = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        guard let byteCount = opened.byteCount else {
            throw ArchiveError(.input, "\(path) cannot be read; name a regular file")
        }
        self.name = name ?? path
        file = consume opened
        (next, memberStart, end) = (0, 0, Int64(byteCount))
        raw = .allocate(byteCount: Self.size, alignment: 16)
        made = .allocate(byteCount: Self.size, alignment: 16)
        form = .plain
        try refill()
        let beginning = raw[..<rawEnd]
        if beginning.starts(with: [0x1F, 0x8B]) { form = .gzip }
        if beginning.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
            || beginning.starts(with: [0x5D, 0x2A, 0x4D, 0x18])
        {
            form = .zstd
        }
        if beginning.starts(with: Self.xzMark) { form = .xz }
        decoder = Self.decoder(form)
        if decoder == nil, form == .zstd || form == .xz {
            let (tool, library) = form == .xz ? ("xz", "liblzma5") : ("zstd", "libzstd1")
            throw ArchiveError(
                .input, "\(path) is compressed with \(tool), which cannot be read; install \(library)")
        }
    }

    private static let xzMark: [UInt8] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]

    /// Opens a part of a file, such as an entry of a zip file.
    init(_ path: String, part: Range<Int64>, name: String, form: Form?) throws(ArchiveError) {
        self.name = name
        file = try ArchiveError.wrapping { () throws(SystemError) in try File(path, O_RDONLY, doing: "read") }
        (next, memberStart, end) = (part.lowerBound, part.lowerBound, part.upperBound)
        raw = .allocate(byteCount: Self.size, alignment: 16)
        made = .allocate(byteCount: Self.size, alignment: 16)
        self.form = form ?? .plain
        try refill()
        if form == nil, raw[..<rawEnd].starts(with: [0x1F, 0x8B]) { self.form = .gzip }
        decoder = Self.decoder(self.form)
    }

    deinit {
        raw.deallocate()
        made.deallocate()
    }

    private static func decoder(_ form: Form) -> (any CodingDecoder)? {
        switch form {
        case .plain: nil
        case .gzip: InflateDecoder(isGzip: true)
        case .deflate: InflateDecoder(isGzip: false, isRaw: true)
        case .zstd: ZstdDecoder()
        case .xz: XZDecoder()
        }
    }

    /// The position for messages: the byte offset that was reached, or the beginning of the member in
    /// compressed input.
    var place: String { "\(name), byte \(form == .plain ? offset : memberStart)" }

    private var offset: Int64 {
        form == .plain ? next - Int64(rawEnd - rawAt) - Int64(filled - at) : rawOffset
    }

    /// The number of bytes of the file that were read, to compare with the expanded size.
    var rawOffset: Int64 { next - Int64(rawEnd - rawAt) }

    // MARK: - Bytes

    /// The bytes in the buffer. They are valid until the next call of `fill`, `skip`, `take` or another
    /// reading method.
    var available: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: made[at..<filled]) }

    func skip(_ count: Int) { at += min(count, filled - at) }

    /// Fills the buffer if it is empty. Returns false at the end of the input or at damage.
    func fill() throws(ArchiveError) -> Bool {
        while at == filled {
            guard damage == nil else { return false }
            (at, filled) = (0, 0)
            guard try readMore() else { return false }
        }
        return true
    }

    /// Reads and decompresses the next bytes into the buffer. Returns false if there are none.
    private func readMore() throws(ArchiveError) -> Bool {
        if rawAt == rawEnd { try refill() }
        guard let decoder else {
            filled = min(rawEnd - rawAt, made.count)
            if filled > 0, let from = raw.baseAddress, let to = made.baseAddress {
                memcpy(to, from + rawAt, filled)
            }
            rawAt += filled
            return filled > 0
        }
        if isBetweenMembers, form != .deflate { try skipPadding() }
        guard damage == nil else { return false }
        guard rawAt < rawEnd else {
            if !isBetweenMembers, !decoder.isComplete { damage = "it is truncated" }
            return false
        }
        if isBetweenMembers {
            memberStart = rawOffset
            isBetweenMembers = false
        }
        guard
            let (taken, count) = decoder.decode(
                UnsafeRawBufferPointer(rebasing: raw[rawAt..<rawEnd]), into: made)
        else {
            damage =
                form == .zstd
                ? "it is not zstd, or needs a dictionary that it does not contain" : "it is damaged"
            return false
        }
        rawAt += taken
        madeByteCount += count
        if let limits, limits.isExceeded(madeByteCount, outOf: rawOffset) {
            damage = limits.excess
            return false
        }
        filled = count
        if form == .deflate, decoder.isComplete {
            rawAt = rawEnd
            next = end
        }
        if decoder.isComplete { isBetweenMembers = true }
        return filled > 0 || taken > 0
    }

    /// Skips the zeros with which some writers pad members. Anything else between two gzip members is damage.
    private func skipPadding() throws(ArchiveError) {
        while true {
            while rawAt < rawEnd, raw[rawAt] == 0 { rawAt += 1 }
            if rawAt < rawEnd { break }
            try refill()
            if rawEnd == 0 { return }
        }
        if form == .gzip, raw[rawAt] != 0x1F { damage = "there is uncompressed data between its members" }
    }

    private func refill() throws(ArchiveError) {
        (rawAt, rawEnd) = (0, 0)
        let wanted = min(Int64(raw.count), end - next)
        guard wanted > 0 else { return }
        while true {
            let count = pread(file.descriptor, raw.baseAddress, Int(wanted), off_t(next))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ArchiveError(SystemError(errno, doing: "read", name)) }
            rawEnd = count
            next += Int64(count)
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

    /// Returns the next line, which ends with LF, CRLF or the end of the input.
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
            let size = min(count - taken, filled - at)
            let piece = UnsafeRawBufferPointer(rebasing: made[at..<at + size])
            at += size
            taken += size
            guard try give(piece) else { return taken }
        }
        return taken
    }

    // MARK: - Damage

    /// Continues at the next place where a record may begin: the next member, or in uncompressed input the
    /// next occurrence of `beginning`. Returns false if there is none.
    func recover(to beginning: [UInt8]) throws(ArchiveError) -> Bool {
        damage = nil
        switch form {
        case .plain: return try findLine(beginning)
        case .deflate: return try findLine(beginning)
        case .gzip, .zstd, .xz:
            (at, filled) = (0, 0)
            let packed: [UInt8] = form == .gzip ? [0x1F, 0x8B, 0x08] : [0x28, 0xB5, 0x2F, 0xFD]
            return try findMember(form == .xz ? Self.xzMark : packed)
        }
    }

    private func findLine(_ beginning: [UInt8]) throws(ArchiveError) -> Bool {
        var matched = 0
        while try fill() {
            let bytes = available
            for (place, byte) in bytes.enumerated() {
                matched = byte == beginning[matched] ? matched + 1 : byte == beginning[0] ? 1 : 0
                guard matched == beginning.count else { continue }
                if place + 1 >= matched {
                    skip(place + 1 - matched)
                } else {
                    // The match began in the previous buffer, so its bytes are put back in front.
                    let missing = matched - (place + 1)
                    putBack(Array(beginning[..<missing]))
                }
                return true
            }
            skip(bytes.count)
        }
        return false
    }

    private func putBack(_ bytes: [UInt8]) {
        let rest = Array(made[at..<filled])
        let all = bytes + rest.prefix(made.count - bytes.count)
        made.copyBytes(from: all)
        (at, filled) = (0, all.count)
    }

    private func findMember(_ magic: [UInt8]) throws(ArchiveError) -> Bool {
        // The search starts after the first byte of the damaged member.
        let start = max(memberStart + 1, 0)
        if isBetweenMembers || rawOffset < start { rawAt = min(rawAt + (isBetweenMembers ? 0 : 1), rawEnd) }
        var matched = 0
        while true {
            if rawAt == rawEnd { try refill() }
            guard rawEnd > 0 else { return false }
            while rawAt < rawEnd {
                let byte = raw[rawAt]
                rawAt += 1
                matched = byte == magic[matched] ? matched + 1 : byte == magic[0] ? 1 : 0
                guard matched == magic.count else { continue }
                next = rawOffset - Int64(magic.count)
                (rawAt, rawEnd) = (0, 0)
                memberStart = next
                isBetweenMembers = true
                decoder = Self.decoder(form)
                return true
            }
        }
    }
}

/// The free disk space that is available to the user.
package enum DiskRoom {
    /// Returns the number of bytes, or nil if it cannot be determined.
    package static func bytes(in folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let (room, isMore) = Int64(clamping: status.f_bavail)
            .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
        return isMore ? nil : room
    }
}
