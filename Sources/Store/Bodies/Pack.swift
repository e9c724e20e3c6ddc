internal import CLinux
internal import Codings
internal import Glibc
internal import System

/// A file with many bodies, one behind the other.
///
/// Its number is drawn by lot and not given again, so that a body that somebody looked up is in that very
/// file or nowhere.
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

    /// Nil for a name that no pack has.
    init?(named name: String, in folder: StoreFolder) {
        guard name.utf8.count == 16, let number = Int64(name, radix: 16), number > 0 else { return nil }
        self.init(number, in: folder)
        guard self.name == name else { return nil }
    }

    static func drawn(in folder: StoreFolder) -> Pack { Pack(.random(in: 1...Int64.max), in: folder) }

    /// Nil where there is no such file.
    var byteCount: Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// What it takes on the disk: less than its size where room was given back.
    var byteCountOnDisk: Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? min(Int64(status.st_blocks) * 512, Int64(status.st_size)) : 0
    }

    /// Whether a body can be there: a damaged database may say anything.
    static func canHold(_ start: Int64, _ byteCount: Int64) -> Bool {
        (0...Int64(Limits.packedBody)).contains(byteCount) && (0...1 << 40).contains(start)
    }

    /// What is there, less where the file ends before; nil where there is no such file, or can be no such
    /// body.
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

/// Where a body is among the packs.
struct PackPlace: Equatable {
    let pack: Int64
    let start: Int64
    /// How many bytes it is as a frame of zstd; nil for one that is there as it is.
    var frameByteCount: Int?

    /// Of a row, from this column on: the pack, the start and the size of the frame. Nil for what is
    /// elsewhere.
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

    /// The size of its frame, as a row has it.
    var frame: Int64? { frameByteCount.map(Int64.init) }

    /// Whether a pack of that size, nil for one that is gone, reaches to the end of such a body.
    func holds(_ byteCount: Int, ofPack packByteCount: Int64?) -> Bool {
        let heldByteCount = Int64(frameByteCount ?? byteCount)
        guard let packByteCount, Pack.canHold(start, heldByteCount) else { return false }
        return packByteCount >= start + heldByteCount
    }

    /// The bytes of a body, fewer where the pack ends before; nil where there is no such pack, or can be no
    /// such body. A frame that is none is given as it is.
    func read(_ byteCount: Int, in folder: StoreFolder) throws(StoreError) -> [UInt8]? {
        let held = try Pack(pack, in: folder).read(from: start, byteCount: frameByteCount ?? byteCount)
        guard frameByteCount != nil, let held, (0...Limits.framedBody).contains(byteCount) else {
            return held
        }
        if let bytes = ZstdFrame.unpacked(held, byteCount: byteCount) { return bytes }
        guard ZstdFrame.isPossible else { throw .needsZstd(folder.packs) }
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

/// Appends bodies to one pack, to which nobody else appends meanwhile. It belongs to the writer's thread.
///
/// What is appended counts from the commit on. What a killed run appended without one is written over.
final class PackWriter {
    let pack: Pack
    private let folder: StoreFolder
    private let file: File
    private(set) var end: Int64
    private var committedEnd: Int64
    private var hurriedEnd: Int64
    private var isNew: Bool

    /// Goes on with a pack that has room and that nobody holds, else begins one. `size` tells how much of a
    /// pack is committed, nil for none of it.
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

    /// The same, where the database tells how much of a pack is committed.
    convenience init(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        let find = try connection.prepare("SELECT size FROM pack WHERE number = ?")
        try self.init(folder) { pack throws(StoreError) in
            try find.first(.integer(pack.number)) { $0.integer(0) }
        }
    }

    /// Of the row that tells it.
    static let noting =
        "INSERT INTO pack (number, size) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET size = excluded.size"

    func note(by statement: Statement) throws(StoreError) {
        try statement.run(.integer(pack.number), .integer(end))
    }

    /// Begins a pack.
    convenience init(newIn folder: StoreFolder) throws(StoreError) {
        try folder.createPacks()
        while true {
            let pack = Pack.drawn(in: folder)
            do throws(SystemError) {
                let file = try File(pack.path, O_WRONLY | O_CREAT | O_EXCL)
                // Somebody who looks for a pack may have been quicker.
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

    /// Where a pack is gone on with; nil for one that is full, that somebody else holds, or that was cut
    /// short.
    private static func end(
        of pack: Pack, _ file: Int32, _ size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        // Asked for only once nobody else can change it.
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

    /// Gives the place where the bytes start.
    func append(_ bytes: [UInt8], isFrame: Bool) throws(StoreError) -> PackPlace {
        try StoreError.wrapping { () throws(SystemError) in try file.write(bytes, at: end) }
        defer {
            end += Int64(bytes.count)
            hurry()
        }
        return PackPlace(pack: pack.number, start: end, frameByteCount: isFrame ? bytes.count : nil)
    }

    /// The disk begins to write what has come: less is left to wait for when all of it has to be there.
    private func hurry() {
        guard end - hurriedEnd >= Self.hurriedByteCount else { return }
        _ = larder_begin_writing(file.descriptor, off_t(hurriedEnd), off_t(end - hurriedEnd))
        hurriedEnd = end
    }

    private static let hurriedByteCount: Int64 = 4 << 20

    /// What is appended so far stays, even after a power cut. Comes before the commit of the rows that name
    /// it.
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

    /// Gives back the room of what was not committed.
    func rollBack() {
        end = committedEnd
        hurriedEnd = min(hurriedEnd, end)
        // Where it fails, the next bytes are written over what is left.
        _ = ftruncate(file.descriptor, off_t(end))
    }
}
