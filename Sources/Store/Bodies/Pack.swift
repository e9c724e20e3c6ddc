internal import CLinux
internal import Codings
internal import Database
internal import Glibc
internal import System

/// A file that consists of many bodies, one after the other.
///
/// One file per body costs a third more space and a file operation per body. A pack has no index of its own:
/// the rows of `body` have the location of each body (`PackLocation`), and the rows of `pack` the committed
/// size of each file. Bodies are only appended; collections punch holes or rewrite whole packs.
///
/// A pack's number is random and never reused, so that a body whose location was looked up is either in that
/// file or gone.
struct Pack: Equatable {
    let number: Int64
    /// The name of the file: the number as 16 hexadecimal digits.
    let name: String
    let path: String

    init(_ number: Int64, in folder: StoreFolder) {
        let digits = String(number, radix: 16)
        self.number = number
        name = String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
        path = folder.packs + "/" + name
    }

    /// Nil if the name is not that of a pack.
    init?(named name: String, in folder: StoreFolder) {
        guard name.utf8.count == 16, let number = Int64(name, radix: 16), number > 0 else { return nil }
        self.init(number, in: folder)
        guard self.name == name else { return nil }
    }

    /// A pack with a new random number.
    static func random(in folder: StoreFolder) -> Pack { Pack(.random(in: 1...Int64.max), in: folder) }

    /// The size of the file; nil if it does not exist.
    var byteCount: Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// The number of bytes that it occupies on the disk, which is smaller than its size if space was
    /// released.
    var byteCountOnDisk: Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? min(Int64(status.st_blocks) * 512, Int64(status.st_size)) : 0
    }

    /// Whether a body can have this start and size. A damaged database may contain any numbers.
    static func canHold(_ start: Int64, _ byteCount: Int64) -> Bool {
        (0...Int64(Limits.maxPackedBodyBytes)).contains(byteCount) && (0...1 << 40).contains(start)
    }

    /// Returns the bytes, or fewer if the file ends before. Nil if the file does not exist, or if no body can
    /// have this start and size.
    func read(from start: Int64, byteCount: Int) throws(StoreError) -> [UInt8]? {
        guard Self.canHold(start, Int64(byteCount)) else { return nil }
        do throws(SystemError) {
            return try File(path, O_RDONLY).read(from: start, byteCount: byteCount)
        } catch {
            if error.code == ENOENT { return nil }
            throw StoreError(error)
        }
    }
}

/// The location of a body in a pack.
struct PackLocation: Equatable {
    let pack: Int64
    let start: Int64
    /// The size of the body's zstd frame; nil if it is stored uncompressed.
    var frameByteCount: Int?

    /// Reads three columns, beginning with this one: the pack, the start and the size of the frame. Nil if
    /// the body is not in a pack.
    init?(_ row: Row, from column: Int32) {
        guard let pack = row.optionalInteger(column) else { return nil }
        self.init(
            pack: pack, start: row.integer(column + 1),
            frameByteCount: row.optionalInteger(column + 2).map { Int(clamping: $0) })
    }

    init(pack: Int64, start: Int64, frameByteCount: Int? = nil) {
        self.pack = pack
        self.start = start
        self.frameByteCount = frameByteCount
    }

    /// The size of the frame as a value for the database.
    var frame: Int64? { frameByteCount.map(Int64.init) }

    /// Whether the body ends within a pack of this size. The size is nil if the pack is missing.
    func fits(bodyByteCount: Int, packByteCount: Int64?) -> Bool {
        let storedByteCount = Int64(frameByteCount ?? bodyByteCount)
        guard let packByteCount, Pack.canHold(start, storedByteCount) else { return false }
        return packByteCount >= start + storedByteCount
    }

    /// Returns the bytes of the body, or fewer if the pack ends before. Nil if the pack does not exist, or if
    /// the location is impossible. A frame that cannot be decompressed is returned as it is.
    func read(_ byteCount: Int, in folder: StoreFolder) throws(StoreError) -> [UInt8]? {
        let stored = try Pack(pack, in: folder).read(from: start, byteCount: frameByteCount ?? byteCount)
        guard frameByteCount != nil, let stored, (0...Limits.maxCompressedTextBytes).contains(byteCount)
        else {
            return stored
        }
        if let bytes = ZstdFrame.decompress(stored, byteCount: byteCount) { return bytes }
        guard ZstdFrame.isAvailable else { throw .needsZstd(folder.packs) }
        return stored
    }
}

extension StoreError {
    static func needsZstd(_ path: String) -> StoreError {
        StoreError(
            .failed, doing: "read from", path: path, detail: "its content is compressed with zstd",
            advice: "install libzstd1")
    }
}

// MARK: - PackWriter

/// Appends bodies to one pack. A file lock keeps other processes from appending to it. It belongs to the
/// writer's thread.
///
/// Appended bytes belong to the pack from the commit on: `sync` must come before the commit, `didCommit` after
/// it. Bytes that a killed run did not commit are overwritten.
final class PackWriter {
    let pack: Pack
    private let folder: StoreFolder
    private let file: File
    /// The offset at which the next body is appended.
    private(set) var end: Int64
    /// The value of `end` at the last commit.
    private var committedEnd: Int64
    /// The offset up to which the disk was told to begin writing.
    private var writtenEnd: Int64
    /// Whether the name of the file is not synced yet.
    private var isNew: Bool

    /// Continues a pack that has space and that no other process has locked, or else begins one.
    ///
    /// - Parameter size: Returns the committed size of a pack; nil if nothing in it is committed.
    convenience init(
        _ folder: StoreFolder, size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) {
        for pack in folder.packList {
            guard let file = try? File(pack.path, O_WRONLY) else { continue }
            if let end = try Self.appendOffset(of: pack, file.descriptor, size) {
                self.init(pack, folder, file, end: end, isNew: end == 0)
                return
            }
        }
        try self.init(newIn: folder)
    }

    /// Opens a pack in the same way, with the committed sizes from the database.
    convenience init(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        let find = try connection.prepare("SELECT size FROM pack WHERE number = ?")
        try self.init(folder) { pack throws(StoreError) in
            try find.first(.integer(pack.number)) { $0.integer(0) }
        }
    }

    /// The SQL statement that `recordSize` runs.
    static let recordSizeSQL =
        "INSERT INTO pack (number, size) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET size = excluded.size"

    /// Stores the size of the pack in its row, in the open transaction.
    func recordSize(with statement: Statement) throws(StoreError) {
        try statement.run(.integer(pack.number), .integer(end))
    }

    /// Begins a new pack.
    convenience init(newIn folder: StoreFolder) throws(StoreError) {
        try folder.createPacks()
        while true {
            let pack = Pack.random(in: folder)
            do throws(SystemError) {
                let file = try File(pack.path, O_WRONLY | O_CREAT | O_EXCL)
                // Another process that looks for a pack may have locked it first.
                if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 {
                    self.init(pack, folder, file, end: 0, isNew: true)
                    return
                }
            } catch {
                guard error.code == EEXIST else { throw StoreError(error) }
            }
        }
    }

    private init(_ pack: Pack, _ folder: StoreFolder, _ file: consuming File, end: Int64, isNew: Bool) {
        self.pack = pack
        self.folder = folder
        self.file = file
        self.end = end
        (committedEnd, writtenEnd) = (end, end)
        self.isNew = isNew
    }

    /// Returns the offset at which to continue a pack. Nil if it is full, locked by another process, or
    /// shorter than its committed size.
    private static func appendOffset(
        of pack: Pack, _ file: Int32, _ size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        // The committed size is only read under the lock, since no other process can change it then.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else { return nil }
        let end = try size(pack) ?? 0
        var status = stat()
        guard end < Limits.fullPackBytes, fstat(file, &status) == 0, status.st_nlink > 0,
            Int64(status.st_size) >= end,
            ftruncate(file, off_t(end)) == 0
        else { return nil }
        return end
    }

    /// Whether no further body should be appended.
    var isFull: Bool { end >= Limits.fullPackBytes }

    /// Appends the bytes and returns their location.
    func append(_ bytes: [UInt8], isFrame: Bool) throws(StoreError) -> PackLocation {
        try StoreError.wrapping { () throws(SystemError) in try file.write(bytes, at: end) }
        defer {
            end += Int64(bytes.count)
            beginWriting()
        }
        return PackLocation(pack: pack.number, start: end, frameByteCount: isFrame ? bytes.count : nil)
    }

    /// Lets the disk begin to write the new bytes, so that `sync` has less to wait for.
    private func beginWriting() {
        guard end - writtenEnd >= Self.minBeginWritingBytes else { return }
        _ = larder_begin_writing(file.descriptor, off_t(writtenEnd), off_t(end - writtenEnd))
        writtenEnd = end
    }

    /// The minimum number of new bytes for which the disk is asked to begin writing. Fewer are left to `sync`.
    private static let minBeginWritingBytes: Int64 = 4 << 20

    /// Syncs the bytes that were appended so far. Must be called before the commit of the rows that refer to
    /// them.
    func sync() throws(StoreError) {
        guard end > committedEnd else { return }
        try StoreError.wrapping { () throws(SystemError) in
            try file.syncData()
            guard isNew else { return }
            try WholeFile.sync(folder.packs)
            try WholeFile.sync(folder.path)
        }
        isNew = false
    }

    /// Must be called after the commit of the rows that refer to the appended bytes.
    func didCommit() {
        committedEnd = end
    }

    /// Releases the space of bytes that were not committed.
    func rollBack() {
        end = committedEnd
        writtenEnd = min(writtenEnd, end)
        // If this fails, the next bytes overwrite the rest.
        _ = ftruncate(file.descriptor, off_t(end))
    }
}
