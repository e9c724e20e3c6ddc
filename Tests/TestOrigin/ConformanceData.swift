import Glibc
package import Web

/// Test data published by other projects, in the folder `LARDER_CONFORMANCE`; by default in a folder beside
/// the package.
package enum ConformanceData {
    package static let folder: String = {
        if let path = getenv("LARDER_CONFORMANCE") { return String(cString: path) }
        return packageRoot + "/../shared/conformance"
    }()

    /// The nearest parent folder of this file that contains a Package.swift.
    private static let packageRoot: String = {
        var path = #filePath
        while let slash = path.lastIndex(of: "/") {
            path = String(path[..<slash])
            if access(path + "/Package.swift", R_OK) == 0 { return path }
        }
        return "."
    }()

    package static var isThere: Bool { access(folder + "/INDEX.md", R_OK) == 0 }

    /// The bytes of a file; empty if it does not exist.
    package static func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(folder + "/" + name, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    package static func json(_ name: String) throws -> JSONValue {
        try JSONValue.parse(bytes(name).span)
    }

    /// The cases of a JSON file: the array under a key, or the file itself if it is an array.
    package static func cases(_ name: String, _ key: String = "cases") -> [JSONValue] {
        guard isThere, let value = try? json(name) else { return [] }
        return value[key]?.array ?? value.array ?? []
    }
}
