internal import Glibc
internal import System

/// The contents of a tar file (POSIX.1-2017 pax and ustar, GNU long names), plain or compressed with gzip,
/// zstd or xz. Every number is checked against the size of the file. No file is created under a name from the
/// archive.
final class TarFile: FileSource {
    let name: String
    private(set) var files: [SourceFile] = []
    private(set) var faults: [ArchiveFault] = []
    let isPacked = true
    private let limits: ArchiveLimits
    /// The path of the tar file, or of an unpacked copy if it was compressed.
    private let path: String
    private let folder: ScratchFolder?
    private var contents: [Range<Int64>] = []
    private var links = PackedLinks()

    private static let mostFaults = 1000
    /// The maximum size of an extended header, which has a long name or pax records.
    private static let longestNote: Int64 = 1 << 20

    init(_ path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        (name, self.limits) = (path, limits)
        let input = try ArchiveInput(path)
        guard input.form != .plain else {
            (self.path, folder) = (path, nil)
            try list()
            followLinks()
            return
        }
        let folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-import")
        }
        (self.folder, self.path) = (folder, "\(folder.path)/tar")
        try Self.unpack(input, to: self.path, limits)
        if let damage = input.damage { faults.append(ArchiveFault(damage, at: path)) }
        try list()
        followLinks()
    }

    private static func unpack(
        _ input: ArchiveInput, to path: String, _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        let output = try ArchiveOutput(path)
        while try input.fill() {
            guard !limits.isExceeded(Int(output.byteCount), outOf: input.rawOffset) else {
                throw ArchiveError(
                    .input,
                    "\(input.name) cannot be imported: \(limits.excess); allow more if you trust it")
            }
            try output.write(input.available)
            input.skip(input.available.count)
        }
        _ = try output.finish()
    }

    /// Whether the bytes begin with a tar header, which contains its own checksum.
    static func isOne(_ beginning: UnsafeRawBufferPointer) -> Bool {
        beginning.count >= Head.byteCount && Head(Array(beginning.prefix(Head.byteCount))) != nil
    }

    // MARK: - Entries

    /// The contents of extended headers, which describe the next entry.
    private struct Notes {
        var name: [UInt8]?
        /// The target of a link.
        var target: [UInt8]?
        var byteCount: Int64?
        var modified: Int64?
        var isSparse = false
    }

    private func list() throws(ArchiveError) {
        let file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        let end = Int64(file.byteCount ?? 0)
        func bytes(_ start: Int64, _ count: Int64) throws(ArchiveError) -> [UInt8] {
            try ArchiveError.wrapping { () throws(SystemError) in
                try file.read(from: start, byteCount: Int(count))
            }
        }
        var (at, notes) = (Int64(0), Notes())
        while at + Int64(Head.byteCount) <= end {
            let block = try bytes(at, Int64(Head.byteCount))
            if block.allSatisfy({ $0 == 0 }) { return }
            guard let head = Head(block) else { return tell("there is no header of an entry", "byte \(at)") }
            at += Int64(Head.byteCount)
            let shown = FileName.text(notes.name ?? head.name)
            let byteCount = head.isNote ? head.byteCount : notes.byteCount ?? head.byteCount
            guard byteCount >= 0, byteCount <= end - at else { return tell("it is truncated", shown) }
            if head.isNote {
                guard byteCount <= Self.longestNote else {
                    return tell("an extended header is over \(Self.longestNote) bytes", shown)
                }
                read(try bytes(at, byteCount), of: head.kind, &notes)
            } else {
                if head.kind == UInt8(ascii: "S"), head.isExtended {
                    // The map of a sparse file continues in further blocks.
                    var isLast = false
                    while !isLast, at + Int64(Head.byteCount) <= end {
                        isLast = try bytes(at, Int64(Head.byteCount))[504] == 0
                        at += Int64(Head.byteCount)
                    }
                    guard byteCount <= end - at else { return tell("it is truncated", shown) }
                }
                add(head, notes, shown, at..<at + byteCount)
                notes = Notes()
            }
            let padded = byteCount + (512 - byteCount % 512) % 512
            at += padded
            guard files.count < FileName.mostFiles else {
                throw ArchiveError(
                    .input, "\(name) has over \(FileName.mostFiles) files; import a part of it")
            }
        }
        if at > end || at < end { tell("it is truncated", "byte \(min(at, end))") }
    }

    private func add(_ head: Head, _ notes: Notes, _ shown: String, _ content: Range<Int64>) {
        switch head.kind {
        case UInt8(ascii: "0"), 0, UInt8(ascii: "7"): break
        case UInt8(ascii: "5"): return
        case UInt8(ascii: "1"), UInt8(ascii: "2"): return add(head, notes, linkShown: shown)
        case UInt8(ascii: "S"): return tell("it is a sparse file", shown)
        default: return tell("it is not a regular file", shown)
        }
        guard !notes.isSparse else { return tell("it is a sparse file", shown) }
        // In old tar files, a folder is an entry whose name ends with a slash.
        guard (notes.name ?? head.name).last != UInt8(ascii: "/") else { return }
        guard let path = FileName.inside(notes.name ?? head.name) else {
            return tell("its name points outside the folder", shown)
        }
        guard content.count <= limits.body else { return tell("it is over \(limits.body) bytes", shown) }
        files.append(
            SourceFile(
                path: path, byteCount: Int64(content.count), modified: notes.modified ?? head.modified,
                number: contents.count))
        contents.append(content)
    }

    /// Adds a link. The target of a hard link is relative to the root of the archive, that of a symbolic link
    /// to its folder.
    private func add(_ head: Head, _ notes: Notes, linkShown shown: String) {
        let (written, name) = (notes.target ?? head.target, notes.name ?? head.name)
        let isHard = head.kind == UInt8(ascii: "1")
        let target = isHard ? FileName.inside(written) : FileName.target(ofLink: written, at: name)
        let link = PackedLinks.Link(name: name, shown: shown, target: target)
        if let reason = links.add(link) { tell(reason, shown) }
    }

    private func followLinks() {
        let followed = links.followed(among: files)
        files += followed.files
        for fault in followed.faults { tell(fault.reason, fault.shown) }
    }

    private func tell(_ reason: String, _ entry: String) {
        guard faults.count < Self.mostFaults else { return }
        faults.append(ArchiveFault(reason, at: "\(name), \(entry)"))
    }

    /// Reads a GNU long name, or pax records of the form `length key=value`. Global pax headers have nothing
    /// of use.
    private func read(_ bytes: [UInt8], of kind: UInt8, _ notes: inout Notes) {
        if kind == UInt8(ascii: "L") { notes.name = Array(bytes.prefix { $0 != 0 }) }
        if kind == UInt8(ascii: "K") { notes.target = Array(bytes.prefix { $0 != 0 }) }
        guard kind == UInt8(ascii: "x") else { return }
        var rest = bytes[...]
        while let space = rest.firstIndex(of: 0x20),
            let length = Int(String(decoding: rest[..<space], as: UTF8.self)),
            length > space - rest.startIndex, length <= rest.count
        {
            let record = rest[(space + 1)..<(rest.startIndex + length)].dropLast()
            rest = rest[(rest.startIndex + length)...]
            guard let mark = record.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let (key, value) = (String(decoding: record[..<mark], as: UTF8.self), record[(mark + 1)...])
            let text = String(decoding: value, as: UTF8.self)
            switch key {
            case "path": notes.name = Array(value)
            case "linkpath": notes.target = Array(value)
            case "size": notes.byteCount = Int64(text) ?? -1
            case "mtime": notes.modified = Int64(text.prefix { $0 != "." })
            case _ where key.hasPrefix("GNU.sparse."): notes.isSparse = true
            default: break
            }
        }
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let input = try ArchiveInput(path, part: contents[file.number], name: place(of: file), form: .plain)
        var isWanted = true
        let taken = try input.take(.max) { (piece) throws(ArchiveError) in
            isWanted = try take(piece)
            return isWanted
        }
        return !isWanted || Int64(taken) == file.byteCount ? nil : "it was truncated while it was read"
    }

    // MARK: - Heads

    /// The header of an entry.
    private struct Head {
        static let byteCount = 512

        let name: [UInt8]
        /// The target of a link.
        let target: [UInt8]
        let byteCount: Int64
        let modified: Int64
        let kind: UInt8
        /// Whether the map of a sparse file continues in the next block.
        let isExtended: Bool

        /// Whether the header describes the next entry, or all entries.
        var isNote: Bool {
            [UInt8(ascii: "x"), UInt8(ascii: "g"), UInt8(ascii: "L"), UInt8(ascii: "K")].contains(kind)
        }

        /// Creates a header from a block. Returns nil if its checksum is wrong.
        init?(_ block: [UInt8]) {
            let sum = block.enumerated().reduce(0) {
                $0 + ((148..<156).contains($1.offset) ? 0x20 : Int64($1.element))
            }
            guard Self.number(block[148..<156]) == sum, sum > 8 * 0x20 else { return nil }
            func text(_ range: Range<Int>) -> [UInt8] { Array(block[range].prefix { $0 != 0 }) }
            let isPOSIX = block[257..<263].elementsEqual("ustar\0".utf8)
            let folder = isPOSIX ? text(345..<500) : []
            name = folder.isEmpty ? text(0..<100) : folder + [UInt8(ascii: "/")] + text(0..<100)
            target = text(157..<257)
            byteCount = Self.number(block[124..<136]) ?? -1
            modified = Self.number(block[136..<148]) ?? 0
            kind = block[156]
            isExtended = block[482] != 0
        }

        /// Returns the number in a field: octal digits, or base 256 if the first bit is set.
        private static func number(_ field: ArraySlice<UInt8>) -> Int64? {
            if let first = field.first, first & 0x80 != 0 {
                guard first == 0x80, field.dropFirst().dropLast(8).allSatisfy({ $0 == 0 }) else { return nil }
                return Int64(exactly: field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            }
            let digits = field.drop { $0 == 0x20 }.prefix { $0 != 0 && $0 != 0x20 }
            return digits.isEmpty ? 0 : Int64(String(decoding: digits, as: UTF8.self), radix: 8)
        }
    }
}
