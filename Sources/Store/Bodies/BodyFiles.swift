internal import Glibc

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
        let file = open(target, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var offset = 0
        return try new.eachWantedPiece { piece in
            let bytes = [UInt8](unsafeUninitializedCapacity: piece.count) { buffer, count in
                while count < piece.count {
                    let read = pread(
                        file, buffer.baseAddress?.advanced(by: count), piece.count - count, off_t(offset + count))
                    if read > 0 { count += read } else if read == 0 || errno != EINTR { break }
                }
            }
            offset += piece.count
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
        var template = Array("\(folder)/body-XXXXXX".utf8CString)
        let (file, path) = template.withUnsafeMutableBufferPointer { template -> (Int32, String) in
            guard let name = template.baseAddress else { return (-1, "") }
            return (mkstemp(name), String(cString: name))
        }
        guard file >= 0 else { throw StoreError(errno, doing: "create a file in", path: folder) }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        var code: Int32 = 0
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count, code == 0 {
                let count = Glibc.write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count >= 0 { written += count } else if errno != EINTR { code = errno }
            }
        }
        if close(file) != 0, code == 0 { code = errno }
        guard code == 0 else {
            unlink(path)
            throw StoreError(code, doing: "write", path: path)
        }
        return path
    }

    static func sync(_ path: String) throws(StoreError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreError(errno, doing: "open", path: path) }
        let code = fsync(file) == 0 ? 0 : errno
        close(file)
        guard code == 0 else { throw StoreError(code, doing: "sync", path: path) }
    }
}
