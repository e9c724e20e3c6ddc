internal import Glibc

/// Files that are read and written whole.
package enum WholeFile {
    /// All of it. One that is larger is not read.
    package static func read(_ path: String, atMost limit: Int) throws(SystemError) -> [UInt8] {
        let bytes = try beginning(of: path, limit + 1)
        guard bytes.count <= limit else {
            throw SystemError(EFBIG, doing: "read", path, reason: "it is over \(limit) bytes")
        }
        return bytes
    }

    /// At most so many bytes from the start.
    package static func beginning(of path: String, _ byteCount: Int) throws(SystemError) -> [UInt8] {
        try File(path, O_RDONLY, doing: "read").read(atMost: byteCount)
    }

    /// Whether there is a file, which is neither a folder nor a device.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Takes the place of what is there, whole or not at all. Without a mode nobody else may read it.
    package static func replace(_ path: String, with text: String, mode: UInt32 = 0o600) throws(SystemError) {
        let draft = "\(path).\(getpid()).part"
        unlink(draft)
        do throws(SystemError) {
            let file = try File(draft, O_WRONLY | O_CREAT | O_EXCL, mode: mode, doing: "write")
            try file.write(Array(text.utf8))
            try file.close()
            guard rename(draft, path) == 0 else { throw SystemError(errno, doing: "write", path) }
        } catch {
            unlink(draft)
            throw SystemError(error.code, doing: "write", path)
        }
    }

    /// The same, where a pipe or a device is written to, not replaced.
    package static func write(_ text: String, to path: String, mode: UInt32 = 0o644) throws(SystemError) {
        do throws(SystemError) {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
                return try replace(path, with: text, mode: mode)
            }
            let file = try File(path, O_WRONLY)
            try file.write(Array(text.utf8))
            try file.close()
        } catch {
            throw SystemError(
                error.code, doing: "write", path, advice: "name a file in a writable folder")
        }
    }

    /// Writes a new file of a name that nothing else has; gives its path.
    package static func temporary(
        in folder: String, named beginning: String, _ bytes: [UInt8]
    ) throws(SystemError) -> String {
        let file = try File(temporaryIn: folder, named: beginning)
        let path = file.path
        do throws(SystemError) {
            try file.write(bytes)
            try file.close()
        } catch {
            unlink(path)
            throw error
        }
        return path
    }

    /// A file, or the names in a folder, stay even after a power cut.
    package static func sync(_ path: String) throws(SystemError) {
        try File(path, O_RDONLY).sync()
    }
}
