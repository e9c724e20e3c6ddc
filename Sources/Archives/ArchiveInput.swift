internal import Codings
internal import Glibc
internal import System

/// The bytes of an archive, a buffer at a time: plain, gzip by members, zstd by frames, or xz by streams. It belongs to one
/// thread.
///
/// Damage ends what can be read, until `recover` finds where something whole begins behind it.
final class ArchiveInput {
    enum Form: Sendable {
        case plain, gzip, zstd, xz, deflate
    }

    /// For messages.
    let name: String
    private(set) var form: Form
    private let file: File
    /// Of the file, where the input is a part of it.
    private let end: Int64
    /// Where the next byte is read from the file.
    private var next: Int64
    private let raw: UnsafeMutableRawBufferPointer
    private var rawAt = 0
    private var rawEnd = 0
    private let made: UnsafeMutableRawBufferPointer
    private var at = 0
    private var filled = 0
    private var decoder: (any CodingDecoder)?
    private var isBetweenMembers = true
    /// Where the member or frame begins that is being read.
    private(set) var memberStart: Int64
    /// Beyond which it is damaged; nil where whoever reads looks himself.
    var limits: ArchiveLimits?
    private var madeByteCount = 0
    /// Why nothing more can be read here.
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

    /// A part of a file, such as an entry of a zip file.
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
        case .deflate: InflateDecoder(isGzip: false, isBare: true)
        case .zstd: ZstdDecoder()
        case .xz: XZDecoder()
        }
    }

    /// Of the file; how far it was read, and for what is compressed, where the member begins.
    var place: String { "\(name), byte \(form == .plain ? offset : memberStart)" }

    private var offset: Int64 {
        form == .plain ? next - Int64(rawEnd - rawAt) - Int64(filled - at) : rawOffset
    }

    /// How much of the file was taken, to measure what becomes of it.
    var rawOffset: Int64 { next - Int64(rawEnd - rawAt) }

    // MARK: - Bytes

    /// What is there of the bytes without reading further. Until `fill`, `skip` or `take`.
    var available: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: made[at..<filled]) }

    func skip(_ count: Int) { at += min(count, filled - at) }

    /// Whether there is another byte.
    func fill() throws(ArchiveError) -> Bool {
        while at == filled {
            guard damage == nil else { return false }
            (at, filled) = (0, 0)
            guard try readMore() else { return false }
        }
        return true
    }

    /// Puts something into the buffer, or finds that there is no more.
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
        guard let (taken, count) = decoder.run(UnsafeRawBufferPointer(rebasing: raw[rawAt..<rawEnd]), made)
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

    /// Some writers fill up with zeros. Anything else between two members is damage.
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
        /// Without its end.
        case line([UInt8])
        case tooLong
        case end
    }

    /// The next line, ended by LF or CRLF, or by the end.
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

    /// Hands over so many bytes, fewer where there are no more; gives how many that were. Ends early when
    /// `give` says false.
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

    /// Goes on where the next thing may begin: the next member, or in what is not compressed the next line
    /// that begins so. False where there is none.
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
                    // It began in the buffer before: what was matched is put in front again.
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
        // Behind the first byte of the one that is damaged.
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

/// How much a user may still write.
package enum DiskRoom {
    /// Nil where nobody knows.
    package static func bytes(in folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let (room, isMore) = Int64(clamping: status.f_bavail)
            .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
        return isMore ? nil : room
    }
}
