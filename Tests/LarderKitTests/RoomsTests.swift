import Glibc
import Testing

/// The design's drawing of the rooms: what each may import beside Glibc and Synchronization.
@Suite struct RoomsTests {
    private static let walls: [String: Set<String>] = [
        "System": [],
        "Web": ["CICU"],
        "Markup": ["Web", "CXML2"],
        "Digest": ["COpenSSL"],
        "Store": ["System", "Web", "Digest", "Codings", "CSQLite", "CPQ", "CLinux"],
        "Codings": ["Web", "CCodings"],
        "Fetch": ["System", "Web", "Codings", "CCurl", "CLinux"],
        "Bundles": ["Web", "Markup", "Digest"],
        "Browser": ["System", "Web"],
        "TLS": ["System", "Web", "CTLS"],
        "Crawl": ["System", "Web", "Markup", "Digest", "Codings", "Store", "Fetch", "Bundles"],
        "Reports": ["System", "Web", "Digest", "Store"],
        "Search": ["System", "Web", "Markup", "Store", "Reports"],
        "Check": [
            "System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "Crawl", "Reports", "Search",
        ],
        "Archives": ["System", "Web", "Markup", "Digest", "Codings", "Store", "Bundles"],
        "Serve": [
            "System", "Web", "Markup", "Digest", "Store", "Bundles", "TLS", "Reports", "Search", "CLinux",
        ],
        "LarderKit": [
            "System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "TLS", "Browser", "Crawl",
            "Reports",
            "Search", "Check", "Archives", "Serve",
        ],
        "larder": ["System", "Web", "Reports", "LarderKit"],
    ]

    @Test(arguments: walls.keys.sorted())
    func `a room imports only what stands behind its name`(room: String) throws {
        let allowed = try #require(Self.walls[room]).union(["Glibc", "Synchronization"])
        var found: Set<String> = []
        let files = Self.files(below: Self.root + "/Sources/" + room)
        #expect(!files.isEmpty)
        for file in files {
            for line in try Self.lines(of: file) {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "import"), place <= 1, words.count == place + 2 else {
                    continue
                }
                found.insert(String(words[place + 1]))
            }
        }
        #expect(found.subtracting(allowed).isEmpty)
    }

    /// A room says what happened and why; which option helps is the command's to add (`Remedy`). The portal's
    /// style has variables that look like options.
    @Test func `only the command knows the names of its options`() throws {
        var named: [String] = []
        let option = /[ (]--[a-z]/
        for room in Self.walls.keys.sorted() where room != "larder" {
            for file in Self.files(below: Self.root + "/Sources/" + room)
            where !file.hasSuffix("/PortalStyle.swift") {
                named += try Self.lines(of: file).filter { line in
                    !line.drop { $0 == " " }.hasPrefix("//") && line.contains(option)
                }.map { "\(file): \($0)" }
            }
        }
        #expect(named == [])
    }

    private static var root: String {
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    }

    private static func files(below folder: String) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var files: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.first != "." else { continue }
            files += name.hasSuffix(".swift") ? [folder + "/" + name] : self.files(below: folder + "/" + name)
        }
        return files
    }

    private static func lines(of path: String) throws -> [Substring] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
