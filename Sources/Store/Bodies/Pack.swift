internal import CLinux
internal import Codings
internal import Database
internal import Glibc
internal import System

/// A file that consists of many bodies, one after the other.
///
/// Its number is random and never reused, so that a body whose place was looked up is either in that file or
/// gone.
struct Pack: Equatable {
    let number: Int64
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

    static func drawn(in folder: StoreFolder) -> Pack { Pack(.random(in: 1...Int64.max), in: folder) }

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

    /// Whether such a place is possible. A damaged database may contain any numbers.
    static func canHold(_ start: Int64, _ byteCount: Int64) -> Bool {
        (0...Int64(Limits.packedBody)).contains(byteCount) && (0...1 << 40).contains(start)
    }

    /// Returns the bytes, or fewer if the file ends before. Nil if the file does not exist, or if the place
    /// is impossible.
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

/// The place of a body in a pack.
struct PackPlace: Equatable {
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
    func holds(_ byteCount: Int, ofPack packByteCount: Int64?) -> Bool {
        let heldByteCount = Int64(frameByteCount ?? byteCount)
        guard let packByteCount, Pack.canHold(start, heldByteCount) else { return false }
        return packByteCount >= start + heldByteCount
    }

    /// Returns the bytes of the body, or fewer if the pack ends before. Nil if the pack does not exist, or if
    /// the place is impossible. A frame that cannot be decompressed is returned as it is.
    func read(_ byteCount: Int, in folder: StoreFolder) throws(StoreError) -> [UInt8]? {
        let held = try Pack(pack, in: folder).read(from: start, byteCount: frameByteCount ?? byteCount)
        guard frameByteCount != nil, let held, (0...Limits.framedBody).contains(byteCount) else {
            return held
        }
        if let bytes = ZstdFrame.decompress(held, byteCount: byteCount) { return bytes }
        guard ZstdFrame.isAvailable else { throw .needsZstd(folder.packs) }
        return held
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
/// Appended bytes count from the commit on. Bytes that a killed run did not commit are overwritten.
final class PackWriter {
    let pack: Pack
    private let folder: StoreFolder
    private let file: File
    private(set) var end: Int64
    private var committedEnd: Int64
    private var hurriedEnd: Int64
    private var isNew: Bool

    /// Continues a pack that has space and that no other process has locked, or else begins one.
    ///
    /// - Parameter size: Returns the committed size of a pack; nil if nothing in it is committed.
    convenience init(
        _ folder: StoreFolder, size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) {
        for pack in folder.packList {
            guard let file = try? File(pack.path, O_WRONLY) else { continue }
            if let end = try Self.end(of: pack, file.descriptor, size) {
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

    /// The statement that `note` runs.
    static let noting =
        "INSERT INTO pack (number, size) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET size = excluded.size"

    func note(by statement: Statement) throws(StoreError) {
        try statement.run(.integer(pack.number), .integer(end))
    }

    /// Begins a new pack.
    convenience init(newIn folder: StoreFolder) throws(StoreError) {
        try folder.createPacks()
        while true {
            let pack = Pack.drawn(in: folder)
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
        (committedEnd, hurriedEnd) = (end, end)
        self.isNew = isNew
    }

    /// Returns the offset at which to continue a pack. Nil if it is full, locked by another process, or
    /// shorter than its committed size.
    private static func end(
        of pack: Pack, _ file: Int32, _ size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        // The committed size is only read under the lock, since no other process can change it then.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else { return nil }
        let end = try size(pack) ?? 0
        var status = stat()
        guard end < Limits.packSize, fstat(file, &status) == 0, status.st_nlink > 0,
            Int64(status.st_size) >= end,
            ftruncate(file, off_t(end)) == 0
        else { return nil }
        return end
    }

    var isFull: Bool { end >= Limits.packSize }

    /// Appends the bytes and returns their place.
    func append(_ bytes: [UInt8], isFrame: Bool) throws(StoreError) -> PackPlace {
        try StoreError.wrapping { () throws(SystemError) in try file.write(bytes, at: end) }
        defer {
            end += Int64(bytes.count)
            hurry()
        }
        return PackPlace(pack: pack.number, start: end, frameByteCount: isFrame ? bytes.count : nil)
    }

    /// Lets the disk begin to write the new bytes, so that `settle` has less to wait for.
    private func hurry() {
        guard end - hurriedEnd >= Self.hurriedByteCount else { return }
        _ = larder_begin_writing(file.descriptor, off_t(hurriedEnd), off_t(end - hurriedEnd))
        hurriedEnd = end
    }

    private static let hurriedByteCount: Int64 = 4 << 20

    /// Syncs the bytes that were appended so far. Must be called before the commit of the rows that refer to
    /// them.
    func settle() throws(StoreError) {
        guard end > committedEnd else { return }
        try StoreError.wrapping { () throws(SystemError) in
            try file.syncData()
            guard isNew else { return }
            try WholeFile.sync(folder.packs)
            try WholeFile.sync(folder.path)
        }
        isNew = false
    }

    func committed() {
        committedEnd = end
    }

    /// Releases the space of bytes that were not committed.
    func rollBack() {
        end = committedEnd
        hurriedEnd = min(hurriedEnd, end)
        // If this fails, the next bytes overwrite the rest.
        _ = ftruncate(file.descriptor, off_t(end))
    }
}
