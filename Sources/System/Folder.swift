internal import Glibc

/// Operations on folders of the file system.
package enum Folder {
    /// Whether there is a folder at the path, or a symbolic link to one.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the absolute path without symbolic links and dots; the path unchanged if it does not exist.
    package static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Returns the names of the folder's entries in no particular order; nil if it cannot be opened, with the
    /// reason in `errno`. The folder is closed before this returns, so that recursion needs only one
    /// descriptor.
    package static func names(in path: String) -> [[UInt8]]? { names(in: Array(path.utf8)) }

    /// Returns the names of the entries of a folder whose path may be invalid UTF-8.
    package static func names(in path: [UInt8]) -> [[UInt8]]? {
        guard let entries = opendir(path.map { CChar(bitPattern: $0) } + [0]) else { return nil }
        defer { closedir(entries) }
        var names: [[UInt8]] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
        return names
    }

    /// Creates a folder and its missing parents, with access for this user only. Throws if the path exists
    /// but is not a writable folder.
    package static func make(_ path: String) throws(SystemError) {
        var end = path.startIndex
        repeat {
            end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            guard mkdir(part, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
            let code = errno
            // `mkdir` can fail with EACCES or EROFS for a parent that exists already.
            if end != path.endIndex, access(part, F_OK) == 0 { continue }
            throw SystemError(code, doing: "create the folder", part)
        } while end != path.endIndex

        guard access(path, W_OK | X_OK) == 0 else {
            throw SystemError(errno, doing: "write to the folder", path)
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw SystemError(ENOTDIR, doing: "use", path, reason: "it is not a folder")
        }
    }

    /// Creates a temporary folder in TMPDIR, or in /tmp if TMPDIR is not set, with access for this user only.
    /// The name is `prefix`, a hyphen and six random characters.
    package static func makeTemporary(named prefix: String) throws(SystemError) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SystemError(
                errno, doing: "create a folder in", parent,
                advice: "set TMPDIR to a writable folder")
        }
        return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// Returns the number of bytes on the disk of a folder that the user can still write; nil if the system cannot tell.
    package static func freeBytes(in path: String) -> Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (byteCount, isOverflow) = Int64(clamping: status.f_bavail)
            .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
        return isOverflow ? nil : byteCount
    }

    /// Removes a file, or a folder with its contents. Does not follow symbolic links. Ignores entries that
    /// cannot be removed.
    package static func remove(_ path: String) {
        // `Glibc.remove` removes files and empty folders.
        guard Glibc.remove(path) != 0, errno == ENOTEMPTY || errno == EEXIST else { return }
        for name in names(in: path) ?? [] { remove(path + "/" + String(decoding: name, as: UTF8.self)) }
        _ = Glibc.remove(path)
    }
}
