internal import Glibc

/// A folder for as long as a demonstration lasts.
struct TemporaryFolder {
    let path: String

    init() throws(FolderError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/larder-demo-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { template in
            template.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw FolderError("create a folder in \(parent)") }
        path = made
    }

    /// The path of the new file.
    func write(_ bytes: [UInt8], to name: String) throws(FolderError) -> String {
        let file = path + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FolderError("create \(file)") }
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard close(descriptor) == 0, count == bytes.count else { throw FolderError("write \(file)") }
        return file
    }

    /// Removes the folder with everything in it; what cannot be removed stays.
    func remove() {
        Self.remove(path)
    }

    private static func remove(_ path: String) {
        // `remove` takes files and empty folders; a link is taken away, not followed.
        guard Glibc.remove(path) != 0, errno == ENOTEMPTY || errno == EEXIST, let entries = opendir(path) else {
            return
        }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove(path + "/" + name) }
        }
        closedir(entries)
        _ = Glibc.remove(path)
    }

    struct FolderError: Error, CustomStringConvertible {
        let description: String

        init(_ doing: String) {
            description =
                "cannot \(doing): \(String(cString: strerror(errno))); set TMPDIR to a folder that can be written"
        }
    }
}
