internal import Glibc
internal import System

/// Appends bodies to one pack, to which nobody else appends meanwhile. It belongs to the writer's thread.
///
/// What is appended counts from the commit on. What a killed run appended without one is written over.
final class PackWriter {
    let pack: Pack
    private let folder: StoreFolder
    private let file: File
    private(set) var end: Int64
    private var committedEnd: Int64
    private var isNew: Bool

    /// Goes on with a pack that has room and that nobody holds, else begins one. `size` tells how much of a pack is
    /// committed, nil for none of it.
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
        committedEnd = end
        self.isNew = isNew
    }

    /// Where a pack is gone on with; nil for one that is full, that somebody else holds, or that was cut short.
    private static func end(
        of pack: Pack, _ file: Int32, _ size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        // Asked for only once nobody else can change it.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else { return nil }
        let end = try size(pack) ?? 0
        var status = stat()
        guard end < Limits.packSize, fstat(file, &status) == 0, status.st_nlink > 0, Int64(status.st_size) >= end,
            ftruncate(file, off_t(end)) == 0
        else { return nil }
        return end
    }

    var isFull: Bool { end >= Limits.packSize }

    /// Gives the place where the bytes start.
    func append(_ bytes: [UInt8]) throws(StoreError) -> PackPlace {
        try StoreError.wrapping { () throws(SystemError) in try file.write(bytes, at: end) }
        defer { end += Int64(bytes.count) }
        return PackPlace(pack: pack.number, start: end)
    }

    /// What is appended so far stays, even after a power cut. Comes before the commit of the rows that name it.
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
        // Where it fails, the next bytes are written over what is left.
        _ = ftruncate(file.descriptor, off_t(end))
    }
}
