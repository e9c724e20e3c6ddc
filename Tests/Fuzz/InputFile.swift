internal import Glibc

/// The file with the current input, which is available after a crash.
final class InputFile {
    private let path: String
    private let descriptor: Int32
    private var byteCount = 0

    init(_ path: String) throws(FuzzError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.failure("creating", path) }
    }

    deinit { close(descriptor) }

    func write(_ input: [UInt8]) throws(FuzzError) {
        if input.count < byteCount, ftruncate(descriptor, input.count) != 0 {
            throw Self.failure("writing", path)
        }
        byteCount = input.count
        let count = input.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == input.count else { throw Self.failure("writing", path) }
    }

    func remove() { unlink(path) }

    // MARK: - Reading

    static func read(_ path: String) throws(FuzzError) -> [UInt8] {
        guard let file = fopen(path, "r") else { throw failure("reading", path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// The files below a folder whose names end with one of the suffixes, sorted by path.
    static func paths(below folder: String, suffixes: [String]) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var paths: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            let path = folder + "/" + name
            if entry.pointee.d_type == UInt8(DT_DIR) {
                paths += Self.paths(below: path, suffixes: suffixes)
            } else if suffixes.contains(where: name.hasSuffix) {
                paths.append(path)
            }
        }
        return paths.sorted()
    }

    private static func failure(_ doing: String, _ path: String) -> FuzzError {
        FuzzError("\(doing) \(path): \(String(cString: strerror(errno)))")
    }
}
