import Glibc
import Testing
import Web

/// The case tables about URLs that other projects publish.
enum URLConformance {
    static let isThere = access(folder + "/url", R_OK) == 0
    static let absence: Comment = "the conformance data is not there (LARDER_CONFORMANCE)"

    /// The objects of a table; the strings between them are comments.
    static func objects(in name: String) -> [JSONValue] {
        let bytes = bytes(of: name)
        guard isThere, let table = try? JSONValue.parse(bytes.span) else { return [] }
        return (table.array ?? []).filter { $0.members != nil }
    }

    static func lines(of name: String) -> [Substring] {
        String(decoding: bytes(of: name), as: UTF8.self).split(separator: "\n")
    }

    private static let folder: String = {
        if let path = getenv("LARDER_CONFORMANCE") { return String(cString: path) }
        var root = #filePath[...]
        for _ in 0..<4 { root = root[..<(root.lastIndex(of: "/") ?? root.startIndex)] }
        return root + "/../shared/conformance"
    }()

    private static func bytes(of name: String) -> [UInt8] {
        guard let file = fopen("\(folder)/url/\(name)", "rb") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}
