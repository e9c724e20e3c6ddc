internal import Glibc

/// The files of a folder and of those below it, by their paths below it, in order.
struct FolderFiles {
    private(set) var paths: [String] = []
    /// Links and what is no file: a build has none, and what they lead to may lie elsewhere.
    private(set) var skipped: [ManifestReport.Skipped] = []

    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read.
    init(_ root: String) throws(LarderError) {
        try add(root, below: "")
        paths.sort()
    }

    private mutating func add(_ folder: String, below prefix: String) throws(LarderError) {
        guard let entries = opendir(folder) else {
            throw LarderError(
                .input,
                "cannot open the folder \(folder): \(String(cString: strerror(errno))); name the one that the build wrote"
            )
        }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG: paths.append(prefix + name)
            case S_IFDIR: try add(folder + "/" + name, below: prefix + name + "/")
            case S_IFLNK: skipped.append(.init(name: prefix + name, reason: "it is a link"))
            default: skipped.append(.init(name: prefix + name, reason: "it is no file"))
            }
        }
    }

    /// The path as a relative URL.
    static func reference(to path: String) -> String {
        var bytes: [UInt8] = []
        // What looks like a scheme is none behind `./` (RFC 3986, section 4.2).
        if path.utf8.prefix(while: { $0 != UInt8(ascii: "/") }).contains(UInt8(ascii: ":")) { bytes += "./".utf8 }
        for byte in path.utf8 {
            switch byte {
            case 0x21, 0x24, 0x26...0x3b, 0x3d, 0x40...0x5a, 0x5f, 0x61...0x7a, 0x7e: bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
