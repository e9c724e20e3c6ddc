import Glibc
import TestOrigin
import Testing

/// Runs every example of docs/schema.md, and compares its tables with the views of the database.
@Suite struct SchemaTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }

    private static let lines: [String] = {
        guard let file = fopen(root + "/docs/schema.md", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }()

    private static let examples = lines.filter { $0.hasPrefix("sqlite3 ") }

    private static let hasSQLite = access("/usr/bin/sqlite3", X_OK) == 0
    private static let canRun = hasSQLite || access("/usr/bin/python3", X_OK) == 0

    /// A Python script in place of `sqlite3`, if that is not installed.
    private static let replacement = """
        sqlite3() { python3 -c '
        import sqlite3, sys
        for row in sqlite3.connect(sys.argv[-2]).execute(sys.argv[-1]):
            print("|".join("" if value is None else str(value) for value in row))
        ' "$@"; }

        """

    private static func run(_ script: String, _ home: TemporaryFolder) throws -> Command.Ending {
        try Command([], home: home, shell: (hasSQLite ? "" : replacement) + script).wait()
    }

    /// A home folder with the demo site as its stored site.
    private static func homeWithSite() throws -> (home: TemporaryFolder, origin: TestOrigin) {
        let home = try TemporaryFolder()
        let origin = try TestOrigin()
        origin.serve(folder: root + "/Sources/larder/Demo/Site")
        #expect(try Command.run("prefetch", origin.url("/"), "--quiet", home: home).status == 0)
        return (home, origin)
    }

    @Test(.enabled(if: canRun, "neither sqlite3 nor python3 is there"), arguments: examples)
    func `an example of the schema can be pasted`(example: String) throws {
        let (home, origin) = try Self.homeWithSite()
        let ending = try Self.run(example.replacing("https://example.com/", with: origin.url("/")), home)
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.errors == "")
    }

    @Test func `the schema has examples`() {
        #expect(Self.examples.count >= 6)
    }

    @Test(
        .enabled(if: canRun, "neither sqlite3 nor python3 is there"),
        arguments: ["larder_response", "larder_body", "larder_link"])
    func `the columns of a view are those of docs/schema.md`(view: String) throws {
        let (home, _) = try Self.homeWithSite()
        let ending = try Self.run(
            "sqlite3 -readonly ~/.local/share/larder/larder.db \"SELECT name FROM pragma_table_info('\(view)')\"",
            home)
        let start = try #require(Self.lines.firstIndex { $0.hasPrefix("`\(view)`") })
        let rows = Self.lines[(start + 3)...].prefix { $0.hasPrefix("| `") }
        let told = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(ending.output.split(separator: "\n").map(String.init) == told)
    }
}
