internal import Glibc
internal import System

/// Large bodies on their way into the store: synced together, then moved to their names.
///
/// A row never names a file that is not whole, even after a power cut: `settle` comes before the commit.
struct BodyFiles {
    private let folder: StoreFolder
    private var waiting: [(source: String, target: String)] = []

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    /// Takes a file of `incoming`; it is moved, or removed when the store has the same. One that was cut short there, or whose
    /// bytes have changed, is not the same.
    mutating func add(_ source: String, sha256 hex: String) throws(StoreError) {
        let target = folder.bodyFile(sha256: hex)
        if try Self.isSame(source, target) {
            unlink(source)
        } else {
            waiting.append((source, target))
        }
    }

    private static func isSame(_ source: String, _ target: String) throws(StoreError) -> Bool {
        let (new, held) = (BodyContent.file(path: source), BodyContent.file(path: target))
        guard let byteCount = held.byteCount, byteCount == new.byteCount else { return false }
        guard let file = try? File(target, O_RDONLY) else { return false }
        var offset: Int64 = 0
        return try new.eachWantedPiece { piece in
            guard let bytes = try? file.read(from: offset, byteCount: piece.count) else { return false }
            offset += Int64(piece.count)
            return piece.withUnsafeBytes { new in
                bytes.withUnsafeBytes { held in
                    guard let new = new.baseAddress, let held = held.baseAddress else { return true }
                    return bytes.count == piece.count && memcmp(new, held, bytes.count) == 0
                }
            }
        }
    }

    /// What was taken and is not settled is nobody's.
    mutating func forget() {
        waiting.removeAll(keepingCapacity: true)
    }

    /// After this every body taken so far has its name and stays.
    mutating func settle() throws(StoreError) {
        guard !waiting.isEmpty else { return }
        // When it fails, they come again with the batch that is tried again, if it is.
        defer { waiting.removeAll(keepingCapacity: true) }
        for (source, _) in waiting { try Self.sync(source) }
        // Of two with the same content the second replaces the first by the same.
        for (source, target) in waiting where rename(source, target) != 0 {
            throw StoreError(errno, doing: "move a body to", path: target)
        }
        try Self.sync(folder.bodies)
    }

    /// The path of a new file in `incoming` with these bytes. Any thread may call this.
    static func write(_ bytes: [UInt8], in folder: StoreFolder) throws(StoreError) -> String {
        try write(bytes, in: folder.incoming)
    }

    static func write(_ bytes: [UInt8], in folder: String) throws(StoreError) -> String {
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.temporary(in: folder, named: "body", bytes)
        }
    }

    /// A file, or the names in a folder, stay even after a power cut.
    static func sync(_ path: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try WholeFile.sync(path) }
    }
}
