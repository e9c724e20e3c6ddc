internal import Glibc
internal import System

/// A file with many bodies, one behind the other.
///
/// Its number is drawn by lot and not given again, so that a body that somebody looked up is in that very file or nowhere.
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

    /// The bytes of a body, fewer where the file ends before; nil where there is no such file, or can be no such body.
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

    /// Whether a pack of that size, nil for one that is gone, reaches to the end of such a body.
    func holds(_ byteCount: Int, ofPack packByteCount: Int64?) -> Bool {
        guard let packByteCount, Pack.canHold(start, Int64(byteCount)) else { return false }
        return packByteCount >= start + Int64(byteCount)
    }
}
