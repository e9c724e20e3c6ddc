import Glibc

/// A temporary folder for a test, removed with its content when it is released.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init(_ name: String = "larder-test") throws(TestError) {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestError("making a folder in \(base)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        // Helpers of a process that was just killed may still write for a moment.
        for _ in 0..<50 where !Self.remove(path) { usleep(10_000) }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Removes a file or folder. Returns false if something could not be removed.
    private static func remove(_ path: String) -> Bool {
        if unlink(path) == 0 || errno == ENOENT { return true }
        guard let folder = opendir(path) else { return false }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        closedir(folder)
        for name in names { _ = remove(path + "/" + name) }
        return rmdir(path) == 0 || errno == ENOENT
    }
}
