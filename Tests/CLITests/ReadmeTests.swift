import Glibc
import TestOrigin
import Testing

/// Runs the commands of the README in their order and in one home folder, with the demo site on another port.
@Suite struct ReadmeTests {
    private struct Block {
        var commands: [String] = []
        /// The output that the README shows below the commands.
        var output: [String] = []
    }

    private static let blocks: [Block] = {
        var blocks: [Block] = []
        var kind: Substring?
        for line in SourceText.read(SourceText.root + "/README.md").split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("```") {
                kind = kind == nil ? line.dropFirst(3) : nil
                if kind == "sh" { blocks.append(Block()) }
            } else if kind == "sh", let command = line.split(separator: "#").first {
                blocks[blocks.count - 1].commands.append(
                    String(command.reversed().drop { $0 == " " }.reversed()))
            } else if kind == "text", !blocks.isEmpty {
                blocks[blocks.count - 1].output.append(String(line))
            }
        }
        return blocks
    }()

    private let home: TemporaryFolder
    private let site: Command
    private let origin: String
    private let environment: [String: String]

    init() throws {
        home = try TemporaryFolder()
        // The README runs this command in a second terminal.
        site = try Command(["demo", "--site-only"], home: home)
        let told = site.read(until: "(Ctrl-C")
        origin = try #require(told.split(separator: " ").first { $0.hasPrefix("http://") }.map(String.init))
        environment = [
            "XDG_RUNTIME_DIR": home.path, "BROWSER": "/bin/true", "LARDER_PORT": "\(try FreePort.draw())",
        ]
    }

    @Test func `the commands of the README work, and print the output that it shows`() throws {
        #expect(Self.blocks.flatMap(\.commands).count > 10)
        // `larder open` leaves a server running.
        defer { _ = try? Command(["open", "--stop"], home: home, environment: environment).wait() }
        for block in Self.blocks {
            var printed = ""
            for command in block.commands { printed += try output(of: command) }
            let lines = Set(printed.split(separator: "\n").map { Self.normalized(String($0)) })
            for line in block.output {
                #expect(lines.contains(Self.normalized(line)), "\(block.commands): \(line)\n\(printed)")
            }
        }
        site.signal(SIGTERM)
        #expect(site.wait().status == 0)
    }

    /// Runs a command of the README, with the test origin in place of its sites. Returns the output.
    private func output(of command: String) throws -> String {
        var line = command
        for site in ["https://example.com/", "http://127.0.0.1:8090/"] {
            line = line.replacing(site, with: origin)
        }
        var words = line.split(separator: " ").map(String.init)
        let program = words.removeFirst()
        switch program {
        case "scripts/test", "scripts/install":
            // The program that runs this test, and programs that CI runs by themselves.
            #expect(access(SourceText.root + "/" + program, X_OK) == 0)
            return ""
        case "sh":
            // `InstallScriptTests` runs it.
            #expect(words.first == "install.sh" && access(SourceText.root + "/install.sh", R_OK) == 0)
            return ""
        case "scripts/larder", "larder":
            if words.contains("--site-only") { return "" }
            words = words.map { $0.hasPrefix("manifests/") ? SourceText.root + "/" + $0 : $0 }
            let run = try Command(words, home: home, environment: environment)
            if words.first == "serve" {
                #expect(run.read(until: "\n").contains("http://localhost:"))
                if words.contains("--preload") {
                    #expect(run.read(until: "is live\n").contains("nothing fetched"))
                }
                run.signal(SIGTERM)
            }
            let ending = run.wait()
            #expect(ending.status == 0, "\(command): \(ending)")
            return ending.output
        default:
            Issue.record("the README has a command that no test types: \(command)")
            return ""
        }
    }

    /// Replaces the parts that differ in every run: figures, units and ports.
    private static func normalized(_ line: String) -> String {
        var text = ""
        for word in line.replacing(SourceText.root + "/", with: "").split(separator: " ") {
            let plain = word.split { $0.isNumber || ".,:-()".contains($0) }.joined()
            if !["", "ms", "s", "min", "B", "kB", "MB"].contains(plain) { text += " " + plain }
        }
        return text
    }
}
