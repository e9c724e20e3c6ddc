import Testing

@testable import larder

/// Every command line in the help, the manual pages and the DocC catalogue is valid.
@Suite struct HelpExampleTests {
    private static let pages = [
        "LarderKit", "Preloading", "Prefetching", "Serving", "Checking", "Keeping", "Automating",
    ]

    private static let lines: [String] = {
        var lines = CommandEntry.all.flatMap { [$0] + $0.subcommands }.flatMap(\.examples)
        for page in pages {
            var isShell = false
            let text = SourceText.read(SourceText.root + "/Sources/LarderKit/LarderKit.docc/\(page).md")
            for line in text.split(separator: "\n") {
                if line.hasPrefix("```") {
                    isShell = line == "```sh"
                } else if isShell {
                    lines.append(String(line))
                }
            }
        }
        return lines
    }()

    @Test func `every command and every page has examples`() {
        for entry in CommandEntry.all { #expect(!entry.examples.isEmpty, "\(entry.name)") }
        #expect(Self.lines.count > CommandEntry.all.flatMap(\.examples).count + 20)
    }

    @Test(arguments: lines)
    func `the parser accepts an example`(line: String) throws {
        let words = Self.words(of: line)
        #expect(words.first == "larder")
        let command = try #require(CommandEntry.command(named: words.dropFirst().first ?? ""), "\(line)")
        let entry = words.dropFirst(2).first.flatMap(command.subcommand) ?? command
        let arguments = try Arguments(words.dropFirst(2), for: entry)
        if entry.options.contains(where: { $0.name == Option.perHost.name }) {
            _ = try arguments.prefetchOptions()
        }
        #expect(!arguments.has(.help))
    }

    /// The words of a command line as a shell splits them, without redirections.
    private static func words(of line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in line {
            if character == ">" && !isQuoted { break }
            if character == "'" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character == " " && !isQuoted {
                if let whole = word { words.append(whole) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
