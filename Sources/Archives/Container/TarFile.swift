internal import Glibc
internal import System

/// The contents of a tar file (POSIX.1-2017 pax and ustar, GNU long names), plain or compressed with gzip,
/// zstd or xz. Every number is checked against the size of the file. No file is created under a name from the
/// archive.
///
/// `init` reads the headers of all entries. A tar file is a sequence of entries, each with a header of 512 bytes and
/// its content, padded to a multiple of 512 bytes. An entry of type `x`, `L` or `K` is an extended header: its content
/// describes the next entry.
final class TarFile: FileSource {
    let name: String
    private(set) var files: [SourceFile] = []
    private(set) var faults: [ArchiveFault] = []
    let isPacked = true
    private let limits: ArchiveLimits
    /// The path of the tar file, or of an unpacked copy if it was compressed.
    private let path: String
    private let folder: ScratchFolder?
    /// The ranges of the files in the tar file, by `SourceFile.number`.
    private var contents: [Range<Int64>] = []
    private var links = ArchivedFileLinks()

    /// Further faults are not reported.
    private static let maxReportedFaults = 1000
    /// The maximum size of an extended header, which has a long name or pax records. The file is not read beyond a
    /// larger one.
    private static let maxExtendedHeaderBytes: Int64 = 1 << 20

    init(_ path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        (name, self.limits) = (path, limits)
        let input = try ArchiveInput(path)
        guard input.compression != .plain else {
            (self.path, folder) = (path, nil)
            try readEntries()
            resolveLinks()
            return
        }
        let folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-import")
        }
        (self.folder, self.path) = (folder, "\(folder.path)/tar")
        try Self.unpack(input, to: self.path, limits)
        if let damage = input.damage { faults.append(ArchiveFault(damage, at: path)) }
        try readEntries()
        resolveLinks()
    }

    /// Decompresses the whole file, because files in it are read in any order.
    private static func unpack(
        _ input: ArchiveInput, to path: String, _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        let output = try ArchiveOutput(path)
        while try input.fill() {
            guard !limits.isExceeded(Int(output.byteCount), outOf: input.rawOffset) else {
                throw ArchiveError(
                    .input,
                    "\(input.name) cannot be imported: \(limits.excessMessage); allow more if you trust it")
            }
            try output.write(input.available)
            input.skip(input.available.count)
        }
        _ = try output.finish()
    }

    /// Whether the bytes begin with a tar header, which contains its own checksum.
    static func isTar(_ beginning: UnsafeRawBufferPointer) -> Bool {
        beginning.count >= Header.byteCount && Header(Array(beginning.prefix(Header.byteCount))) != nil
    }

    // MARK: - Entries

    /// The contents of extended headers, which describe the next entry.
    private struct ExtendedHeader {
        var name: [UInt8]?
        /// The target of a link.
        var target: [UInt8]?
        var byteCount: Int64?
        var modified: Int64?
        var isSparse = false
    }

    /// Reads all headers. After a damaged one, it looks for the next block that is a header, since the size of the entry is
    /// unknown. Other faults end the list.
    private func readEntries() throws(ArchiveError) {
        let file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        let end = Int64(file.byteCount ?? 0)
        func bytes(_ start: Int64, _ count: Int64) throws(ArchiveError) -> [UInt8] {
            try ArchiveError.wrapping { () throws(SystemError) in
                try file.read(from: start, byteCount: Int(count))
            }
        }
        var (offset, extended) = (Int64(0), ExtendedHeader())
        var isAfterDamage = false
        while offset + Int64(Header.byteCount) <= end {
            let block = try bytes(offset, Int64(Header.byteCount))
            // Blocks of zeros end the archive. After a damaged header, they may be part of a file.
            if !isAfterDamage, block.allSatisfy({ $0 == 0 }) { return }
            guard let header = Header(block) else {
                if !isAfterDamage { addFault("there is no header of an entry", "byte \(offset)") }
                isAfterDamage = true
                extended = ExtendedHeader()
                offset += Int64(Header.byteCount)
                continue
            }
            isAfterDamage = false
            offset += Int64(Header.byteCount)
            let displayName = FileName.text(extended.name ?? header.name)
            let byteCount =
                header.isExtendedHeader ? header.byteCount : extended.byteCount ?? header.byteCount
            guard byteCount >= 0, byteCount <= end - offset else {
                return addFault("it is truncated", displayName)
            }
            if header.isExtendedHeader {
                guard byteCount <= Self.maxExtendedHeaderBytes else {
                    return addFault(
                        "an extended header is over \(Self.maxExtendedHeaderBytes) bytes", displayName)
                }
                readExtendedHeader(try bytes(offset, byteCount), of: header.kind, &extended)
            } else {
                if header.kind == UInt8(ascii: "S"), header.continuesSparseMap {
                    // The map of a sparse file continues in further blocks.
                    var isLast = false
                    while !isLast, offset + Int64(Header.byteCount) <= end {
                        isLast = try bytes(offset, Int64(Header.byteCount))[504] == 0
                        offset += Int64(Header.byteCount)
                    }
                    guard byteCount <= end - offset else { return addFault("it is truncated", displayName) }
                }
                addEntry(header, extended, displayName, offset..<offset + byteCount)
                extended = ExtendedHeader()
            }
            let padded = byteCount + (512 - byteCount % 512) % 512
            offset += padded
            guard files.count < FileName.maxFiles else {
                throw ArchiveError(
                    .input, "\(name) has over \(FileName.maxFiles) files; import a part of it")
            }
        }
        if offset > end || offset < end { addFault("it is truncated", "byte \(min(offset, end))") }
    }

    /// Adds the file or link of an entry. Folders are ignored, because the paths of files name them too.
    private func addEntry(
        _ header: Header, _ extended: ExtendedHeader, _ displayName: String, _ content: Range<Int64>
    ) {
        switch header.kind {
        case UInt8(ascii: "0"), 0, UInt8(ascii: "7"): break
        case UInt8(ascii: "5"): return
        case UInt8(ascii: "1"), UInt8(ascii: "2"): return addLink(header, extended, displayName)
        case UInt8(ascii: "S"): return addFault("it is a sparse file", displayName)
        default: return addFault("it is not a regular file", displayName)
        }
        guard !extended.isSparse else { return addFault("it is a sparse file", displayName) }
        // In old tar files, a folder is an entry whose name ends with a slash.
        guard (extended.name ?? header.name).last != UInt8(ascii: "/") else { return }
        guard let path = FileName.pathInside(extended.name ?? header.name) else {
            return addFault("its name points outside the folder", displayName)
        }
        guard content.count <= limits.maxBodyBytes else {
            return addFault("it is over \(limits.maxBodyBytes) bytes", displayName)
        }
        files.append(
            SourceFile(
                path: path, byteCount: Int64(content.count), modified: extended.modified ?? header.modified,
                number: contents.count))
        contents.append(content)
    }

    /// Adds a link. The target of a hard link is relative to the root of the archive, that of a symbolic link
    /// to its folder.
    private func addLink(_ header: Header, _ extended: ExtendedHeader, _ displayName: String) {
        let (written, name) = (extended.target ?? header.target, extended.name ?? header.name)
        let isHard = header.kind == UInt8(ascii: "1")
        let target = isHard ? FileName.pathInside(written) : FileName.target(ofLink: written, at: name)
        let link = ArchivedFileLinks.Link(name: name, displayName: displayName, target: target)
        if let reason = links.add(link) { addFault(reason, displayName) }
    }

    /// Adds a file for each link to a file, and a fault for each other link.
    private func resolveLinks() {
        let resolved = links.resolve(among: files)
        files += resolved.files
        for fault in resolved.faults { addFault(fault.reason, fault.displayName) }
    }

    private func addFault(_ reason: String, _ entry: String) {
        guard faults.count < Self.maxReportedFaults else { return }
        faults.append(ArchiveFault(reason, at: "\(name), \(entry)"))
    }

    /// Reads a GNU long name, or pax records of the form `length key=value`. Global pax headers have nothing
    /// of use.
    private func readExtendedHeader(_ bytes: [UInt8], of kind: UInt8, _ extended: inout ExtendedHeader) {
        if kind == UInt8(ascii: "L") { extended.name = Array(bytes.prefix { $0 != 0 }) }
        if kind == UInt8(ascii: "K") { extended.target = Array(bytes.prefix { $0 != 0 }) }
        guard kind == UInt8(ascii: "x") else { return }
        var rest = bytes[...]
        while let space = rest.firstIndex(of: 0x20),
            let length = Int(String(decoding: rest[..<space], as: UTF8.self)),
            length > space - rest.startIndex, length <= rest.count
        {
            let record = rest[(space + 1)..<(rest.startIndex + length)].dropLast()
            rest = rest[(rest.startIndex + length)...]
            guard let equals = record.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let (key, value) = (String(decoding: record[..<equals], as: UTF8.self), record[(equals + 1)...])
            let text = String(decoding: value, as: UTF8.self)
            switch key {
            case "path": extended.name = Array(value)
            case "linkpath": extended.target = Array(value)
            case "size": extended.byteCount = Int64(text) ?? -1
            case "mtime": extended.modified = Int64(text.prefix { $0 != "." })
            case _ where key.hasPrefix("GNU.sparse."): extended.isSparse = true
            default: break
            }
        }
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let input = try ArchiveInput(
            path, part: contents[file.number], name: place(of: file), compression: .plain)
        var isWanted = true
        let taken = try input.take(.max) { (piece) throws(ArchiveError) in
            isWanted = try take(piece)
            return isWanted
        }
        return !isWanted || Int64(taken) == file.byteCount ? nil : "it was truncated while it was read"
    }

    // MARK: - Headers

    /// The header of an entry.
    private struct Header {
        static let byteCount = 512

        let name: [UInt8]
        /// The target of a link.
        let target: [UInt8]
        let byteCount: Int64
        let modified: Int64
        /// The type flag of the entry.
        let kind: UInt8
        /// Whether the map of a sparse file continues in the next block.
        let continuesSparseMap: Bool

        /// Whether the header describes the next entry, or all entries.
        var isExtendedHeader: Bool {
            [UInt8(ascii: "x"), UInt8(ascii: "g"), UInt8(ascii: "L"), UInt8(ascii: "K")].contains(kind)
        }

        /// Creates a header from a block. Returns nil if its checksum is wrong.
        init?(_ block: [UInt8]) {
            let sum = block.enumerated().reduce(0) {
                $0 + ((148..<156).contains($1.offset) ? 0x20 : Int64($1.element))
            }
            // An empty block has the sum of 8 spaces.
            guard Self.number(block[148..<156]) == sum, sum > 8 * 0x20 else { return nil }
            func text(_ range: Range<Int>) -> [UInt8] { Array(block[range].prefix { $0 != 0 }) }
            let isPOSIX = block[257..<263].elementsEqual("ustar\0".utf8)
            // In the POSIX format, another field has the beginning of a long path. GNU tar uses it for other data.
            let folder = isPOSIX ? text(345..<500) : []
            name = folder.isEmpty ? text(0..<100) : folder + [UInt8(ascii: "/")] + text(0..<100)
            target = text(157..<257)
            byteCount = Self.number(block[124..<136]) ?? -1
            modified = Self.number(block[136..<148]) ?? 0
            kind = block[156]
            continuesSparseMap = block[482] != 0
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
