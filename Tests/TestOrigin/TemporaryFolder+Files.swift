import Glibc

extension TemporaryFolder {
    /// Writes a file, and returns its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws(TestError) -> String {
        let path = file(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw TestError("creating \(path)") }
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard close(descriptor) == 0, count == bytes.count else { throw TestError("writing \(path)") }
        return path
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws(TestError) -> String {
        try write(Array(text.utf8), to: name)
    }

    package func remove(_ name: String) {
        Glibc.remove(file(name))
    }

    /// The names in a subfolder, unsorted; empty if it does not exist.
    package func names(in folder: String = "") -> [String] {
        guard let entries = opendir(file(folder)) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
