internal import Glibc

/// Folders as they stand on the disk.
package enum Folder {
    /// Whether a folder stands there, or a link to one.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The whole path, without links and dots; as it is where nothing stands there.
    package static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// What is in it, without order; nil when it cannot be opened, of which `errno` tells. One is open at a
    /// time.
    package static func names(in path: String) -> [[UInt8]]? {
        guard let entries = opendir(path) else { return nil }
        defer { closedir(entries) }
        var names: [[UInt8]] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
        }
        return names
    }

    /// Makes it with those above it, so that nobody else gets into what is made. One that is there has to be
    /// a folder that may be written to.
    package static func make(_ path: String) throws(SystemError) {
        var end = path.startIndex
        repeat {
            end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            guard mkdir(part, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
            let code = errno
            // A parent that we may not write to may still have the folder we need.
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

    /// Makes one for a while, where TMPDIR says, and nobody else gets into it. Its name is its beginning, and
    /// six characters that are drawn.
    package static func makeTemporary(named beginning: String) throws(SystemError) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(beginning)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SystemError(
                errno, doing: "create a folder in", parent,
                advice: "set TMPDIR to a writable folder")
        }
        return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// Removes a file, or a folder with everything in it; what cannot be removed stays. A link is taken away,
    /// not followed.
    package static func remove(_ path: String) {
        // `remove` takes files and empty folders.
        guard Glibc.remove(path) != 0, errno == ENOTEMPTY || errno == EEXIST else { return }
        for name in names(in: path) ?? [] { remove(path + "/" + String(decoding: name, as: UTF8.self)) }
        _ = Glibc.remove(path)
    }
}
