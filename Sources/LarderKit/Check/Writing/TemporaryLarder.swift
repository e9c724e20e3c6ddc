internal import Glibc
internal import Store

/// A larder that is gone when it is done with.
struct TemporaryLarder {
    let larder: Larder

    /// - Throws: `LarderError` of kind `.machine` when there is no place for it.
    init() throws(LarderError) {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/larder-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LarderError(
                .machine,
                "cannot make a folder in \(base): \(String(cString: strerror(errno))); set TMPDIR to one that can be written"
            )
        }
        larder = Larder(at: String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    func remove() {
        Self.remove(larder.path)
    }

    private static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        guard let entries = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        closedir(entries)
        for name in names { remove(path + "/" + name) }
        rmdir(path)
    }
}
