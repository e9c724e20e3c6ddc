import Glibc
import Testing

/// Package.swift says which module may import which. SwiftPM does not enforce this: a module can import any other that
/// happens to be built already.
@Suite struct ModuleImportTests {
    /// A target of Package.swift.
    struct Target: CustomTestStringConvertible {
        let name: String
        /// The folder of its sources, relative to the package.
        let folder: String
        let allowedImports: Set<String>

        var testDescription: String { name }
    }

    private static let targets: [Target] = {
        let manifest = (try? lines(of: root + "/Package.swift").joined(separator: "\n")) ?? ""
        let declaration = /\b(module|tests|program)\(\s*"(\w+)",\s*\[([^\]]*)\](?:,\s*path: "([^"]+)")?/
        return manifest.matches(of: declaration).map { match in
            let name = String(match.output.2)
            let isTest = match.output.1 == "tests"
            let names = match.output.3.matches(of: /"(\w+)"/).map { String($0.output.1) }
            return Target(
                name: name,
                folder: match.output.4.map(String.init) ?? (isTest ? "Tests/" : "Sources/") + name,
                allowedImports: Set(names).union(isTest ? ["TestOrigin", "Testing"] : []))
        }
    }()

    @Test func `the test finds the targets of the package`() {
        let names = Set(Self.targets.map(\.name))
        #expect(names.isSuperset(of: ["System", "Store", "larder", "StoreTests", "Fuzz", "StoreBenchmark"]))
        // Modules of C have only headers.
        for folder in Self.names(in: Self.root + "/Sources")
        where !Self.files(below: Self.root + "/Sources/" + folder).isEmpty {
            #expect(names.contains(folder), "Sources/\(folder)")
        }
    }

    @Test(arguments: targets)
    func `a module imports only the modules that Package.swift lists for it`(target: Target) throws {
        let files = Self.files(below: Self.root + "/" + target.folder)
        #expect(!files.isEmpty)
        var imported: Set<String> = []
        for file in files {
            // Imports are at the top, before the first declaration.
            for line in try Self.lines(of: file) where !line.hasPrefix("//") {
                guard let match = line.prefixMatch(of: Self.importDeclaration) else { break }
                imported.insert(String(match.output.1))
            }
        }
        imported.subtract(["Glibc", "Synchronization"])
        #expect(imported.subtracting(target.allowedImports) == [], "imported, and not listed")
        let listed = target.allowedImports.subtracting(["TestOrigin", "Testing"])
        #expect(listed.subtracting(imported) == [], "listed, and not imported")
    }

    /// Matches an import with attributes, an access level, and the kind of a single declaration: `@testable package import struct A.B`.
    private static var importDeclaration: Regex<(Substring, Substring)> {
        /\s*(?:@\w+(?:\(\w*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)/
    }

    /// A module says what happened and why; the command adds which option helps (`Remedy`). The portal's style has
    /// variables that look like options.
    @Test func `only the command knows the names of its options`() throws {
        var linesWithOptions: [String] = []
        let option = /[ (]--[a-z]/
        for module in Self.names(in: Self.root + "/Sources") where module != "larder" {
            for file in Self.files(below: Self.root + "/Sources/" + module)
            where !file.hasSuffix("/PortalStyle.swift") {
                linesWithOptions += try Self.lines(of: file).filter { line in
                    !line.drop { $0 == " " }.hasPrefix("//") && line.contains(option)
                }.map { "\(file): \($0)" }
            }
        }
        #expect(linesWithOptions == [])
    }

    private static var root: String {
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    }

    private static func files(below folder: String) -> [String] {
        names(in: folder).flatMap { name in
            name.hasSuffix(".swift") ? [folder + "/" + name] : files(below: folder + "/" + name)
        }
    }

    /// Returns the sorted names in a folder, without hidden ones.
    private static func names(in folder: String) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.first != "." { names.append(name) }
        }
        return names.sorted()
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
