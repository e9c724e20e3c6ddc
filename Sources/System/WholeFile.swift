internal import Glibc

/// Functions that read and write files as a whole.
package enum WholeFile {
    /// Returns the contents of a file. Throws if it is larger than `limit` bytes.
    package static func read(_ path: String, atMost limit: Int) throws(SystemError) -> [UInt8] {
        let bytes = try beginning(of: path, limit + 1)
        guard bytes.count <= limit else {
            throw SystemError(EFBIG, doing: "read", path, reason: "it is over \(limit) bytes")
        }
        return bytes
    }

    /// Returns at most the first `byteCount` bytes of a file.
    package static func beginning(of path: String, _ byteCount: Int) throws(SystemError) -> [UInt8] {
        try File(path, O_RDONLY, doing: "read").read(atMost: byteCount)
    }

    /// Whether there is a regular file at the path, or a symbolic link to one.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The reason why the file at the path cannot be read; nil if it can.
    package static func unreadableReason(_ path: String) -> String? {
        access(path, R_OK) == 0 ? nil : String(cString: strerror(errno))
    }

    /// Replaces a file atomically, or creates it: writes a draft beside it and renames the draft. By default only
    /// this user can access the new file.
    package static func replace(_ path: String, with text: String, mode: UInt32 = 0o600) throws(SystemError) {
        try replace(path, with: Array(text.utf8), mode: mode)
    }

    /// Does the same with bytes.
    package static func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(SystemError)
    {
        let draft = "\(path).\(getpid()).part"
        unlink(draft)
        do throws(SystemError) {
            let file = try File(draft, O_WRONLY | O_CREAT | O_EXCL, mode: mode, doing: "write")
            try file.write(bytes)
            try file.close()
            guard rename(draft, path) == 0 else { throw SystemError(errno, doing: "write", path) }
        } catch {
            unlink(draft)
            throw SystemError(error.code, doing: "write", path)
        }
    }

    /// Writes a file as `replace` does; but if the path is a pipe or a device, writes to it instead of
    /// replacing it.
    package static func write(_ text: String, to path: String) throws(SystemError) {
        do throws(SystemError) {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
                return try replace(path, with: text, mode: 0o644)
            }
            let file = try File(path, O_WRONLY)
            try file.write(Array(text.utf8))
            try file.close()
        } catch {
            throw SystemError(
                error.code, doing: "write", path, advice: "name a file in a writable folder")
        }
    }

    /// Creates a file with a unique name in a folder, writes the bytes, and returns its path. Removes it if
    /// writing fails.
    package static func makeTemporary(
        in folder: String, named prefix: String, _ bytes: [UInt8]
    ) throws(SystemError) -> String {
        let file = try File(temporaryIn: folder, named: prefix)
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

    /// Makes a file, or the list of names in a folder, survive a power cut. A renamed file survives only if its
    /// folder is synced too.
    package static func sync(_ path: String) throws(SystemError) {
        try File(path, O_RDONLY).sync()
    }
}
