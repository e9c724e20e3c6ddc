internal import Glibc

/// A file that is there whole or not at all.
enum WholeFile {
    /// Takes the place of a file that is there already.
    static func write(_ text: String, to path: String) throws(FileError) {
        var kind = stat()
        // A pipe or a device is written to, not replaced.
        if stat(path, &kind) == 0, kind.st_mode & S_IFMT != S_IFREG { return try put(text, path, O_WRONLY | O_CLOEXEC) }
        let draft = "\(path).\(getpid()).part"
        do throws(FileError) {
            try put(text, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC)
        } catch {
            unlink(draft)
            throw FileError(path, error.code)
        }
        guard rename(draft, path) == 0 else {
            let code = errno
            unlink(draft)
            throw FileError(path, code)
        }
    }

    static func isThere(_ path: String) -> Bool {
        var kind = stat()
        return stat(path, &kind) == 0 && kind.st_mode & S_IFMT == S_IFREG
    }

    private static func put(_ text: String, _ path: String, _ flags: Int32) throws(FileError) {
        let file = open(path, flags, 0o644)
        guard file >= 0 else { throw FileError(path, errno) }
        let failure = Output(file).write(text)
        let isClosed = close(file) == 0
        if let code = failure ?? (isClosed ? nil : errno) { throw FileError(path, code) }
    }
}

/// A report that could not be written.
struct FileError: Error, CustomStringConvertible {
    let path: String
    let code: Int32

    init(_ path: String, _ code: Int32) {
        self.path = path
        self.code = code
    }

    var description: String {
        "cannot write \(path): \(String(cString: strerror(code))); name a file in a folder that can be written to"
    }
}
