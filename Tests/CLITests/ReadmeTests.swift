import Glibc
import TestOrigin
import Testing

/// Types every command of the README, with a site of its own in place of the example's.
@Suite struct ReadmeTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }

    /// The lines of the README's shell blocks, without their comments.
    private static let commands: [String] = {
        var commands: [String] = []
        var isShell = false
        for line in text(of: root + "/README.md").split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isShell = line == "```sh"
            } else if isShell, let command = line.split(separator: "#").first {
                commands.append(String(command.reversed().drop { $0 == " " }.reversed()))
            }
        }
        return commands
    }()

    @Test(arguments: commands)
    func `a command of the README does what it says`(line: String) throws {
        let home = try TemporaryFolder()
        let origin = try TestOrigin()
        origin.serve(folder: Self.root + "/Sources/larder/Demo/Site")
        var words = line.replacing("https://example.com/", with: origin.url("/")).split(separator: " ").map(String.init)
        let program = words.removeFirst()
        switch program {
        case "scripts/larder":
            words = words.map { $0.hasPrefix("manifests/") ? Self.root + "/" + $0 : $0 }
            if words == ["serve"] {
                #expect(try Command.run("prefetch", origin.url("/"), home: home).status == 0)
                let serve = try Command(words + ["--port", "0"], home: home)
                #expect(serve.read(until: "\n").contains("http://localhost:"))
                serve.signal(SIGTERM)
                #expect(serve.wait().status == 0)
            } else {
                let ending = try Command(words, home: home).wait()
                #expect(ending.status == 0, "\(ending)")
            }
        case "scripts/test":
            // What runs this test.
            #expect(access(Self.root + "/scripts/test", X_OK) == 0)
        default:
            Issue.record("the README has a command that no test types: \(line)")
        }
    }

    @Test func `the README names every command of larder`() throws {
        let home = try TemporaryFolder()
        let help = try Command.run("help", home: home).output
        let readme = Self.text(of: Self.root + "/README.md")
        let names = help.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first
        }
        #expect(names.count >= 6)
        for name in names { #expect(readme.contains("`larder \(name)")) }
    }

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
