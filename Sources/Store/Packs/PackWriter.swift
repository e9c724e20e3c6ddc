internal import Glibc

/// Appends bodies to one pack, to which nobody else appends meanwhile. It belongs to the writer's thread.
///
/// What is appended counts from the commit on. What a killed run appended without one is written over.
final class PackWriter {
    let pack: Pack
    private let folder: StoreFolder
    private let file: Int32
    private(set) var end: Int64
    private var committedEnd: Int64
    private var isNew: Bool

    /// Goes on with a pack that has room and that nobody holds, else begins one. `size` tells how much of a pack is
    /// committed, nil for none of it.
    convenience init(
        _ folder: StoreFolder, size: (Pack) throws(StoreError) -> Int64?
    ) throws(StoreError) {
        for pack in folder.packList {
            let file = open(pack.path, O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { continue }
            let end: Int64?
            do throws(StoreError) {
                end = try Self.end(of: pack, file, size)
            } catch {
                close(file)
                throw error
            }
            if let end {
                self.init(pack, folder, file, end: end, isNew: end == 0)
                return
            }
            close(file)
        }
        try self.init(newIn: folder)
    }

    /// Begins a pack.
    convenience init(newIn folder: StoreFolder) throws(StoreError) {
        try folder.createPacks()
        while true {
            let pack = Pack.drawn(in: folder)
            let file = open(pack.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else {
                if errno == EEXIST { continue }
                throw StoreError(errno, doing: "create", path: pack.path)
            }
            // Somebody who looks for a pack may have been quicker.
            if flock(file, LOCK_EX | LOCK_NB) == 0 {
                self.init(pack, folder, file, end: 0, isNew: true)
                return
            }
            close(file)
        }
    }

    private init(_ pack: Pack, _ folder: StoreFolder, _ file: Int32, end: Int64, isNew: Bool) {
        self.pack = pack
        self.folder = folder
        self.file = file
        self.end = end
        committedEnd = end
        self.isNew = isNew
    }

    deinit {
        close(file)
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
        var code: Int32 = 0
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count, code == 0 {
                let count = pwrite(
                    file, bytes.baseAddress?.advanced(by: written), bytes.count - written, off_t(end) + written)
                if count >= 0 { written += count } else if errno != EINTR { code = errno }
            }
        }
        guard code == 0 else { throw StoreError(code, doing: "write to", path: pack.path) }
        defer { end += Int64(bytes.count) }
        return PackPlace(pack: pack.number, start: end)
    }

    /// What is appended so far stays, even after a power cut. Comes before the commit of the rows that name it.
    func settle() throws(StoreError) {
        guard end > committedEnd else { return }
        guard fdatasync(file) == 0 else { throw StoreError(errno, doing: "sync", path: pack.path) }
        guard isNew else { return }
        try BodyFiles.sync(folder.packs)
        try BodyFiles.sync(folder.path)
        isNew = false
    }

    func committed() {
        committedEnd = end
    }

    /// Gives back the room of what was not committed.
    func rollBack() {
        end = committedEnd
        // Where it fails, the next bytes are written over what is left.
        _ = ftruncate(file, off_t(end))
    }
}
