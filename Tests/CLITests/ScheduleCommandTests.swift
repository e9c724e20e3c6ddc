import Glibc
import TestOrigin
import Testing

/// What `larder schedule` prints is taken to pieces as systemd and cron take it to pieces, and then by a
/// shell.
@Suite struct ScheduleCommandTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private static let stores = [
        "/srv/larder", "/srv/my larder", "/srv/100%", "/srv/$HOME", "/srv/a\"b", "/srv/it's",
        "/srv/back\\slash",
        "/srv/%h $USER \"x\" 'y' \\ `z`",
    ]

    @Test(arguments: stores, [true, false])
    func `both are for the larder that is meant, whatever its name`(store: String, isFromEnvironment: Bool)
        throws
    {
        let arguments =
            ["schedule", "example.com", "--hour", "6"] + (isFromEnvironment ? [] : ["--store", store])
        let environment = isFromEnvironment ? ["LARDER_STORE": store] : [:]
        let ending = try Command(arguments, home: home, environment: environment).wait()
        #expect(ending.status == 0, "\(ending)")
        let lines = ending.output.split(separator: "\n").map(String.init)
        let start = "ExecStart=/bin/sh -c \""
        let service = try #require(lines.first { $0.hasPrefix(start) })
        let quoted = service.dropFirst(start.count).dropLast()
        #expect(try words(of: Self.unquoted(String(quoted))) == ["update", "example.com", "--store", store])
        let cron = try #require(lines.last)
        let fields = cron.split(separator: " ", maxSplits: 5).map(String.init)
        #expect(fields.count == 6 && fields[1] == "6" && fields[2...4] == ["*", "*", "*"])
        let command = fields[5].replacing("\\%", with: "%")
        #expect(try words(of: command) == ["update", "example.com", "--store", store, "--quiet"])
    }

    /// By systemd.service(5): escapes of C within quotes, then `%%` and `$$`. What else begins with one of
    /// these is something.
    private static func unquoted(_ text: String) -> String {
        var result = ""
        var rest = text.unicodeScalars.makeIterator()
        while let scalar = rest.next() {
            switch scalar {
            case "\\", "%", "$":
                let next = rest.next()
                #expect(scalar == "\\" ? next == "\\" || next == "\"" : next == scalar, "\(text)")
                if let next { result.unicodeScalars.append(next) }
            case "\"": Issue.record("the quotes end here: \(text)")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Behind the program's name, as a shell reads them.
    private func words(of command: String) throws -> [String] {
        let line = command.hasPrefix("exec ") ? String(command.dropFirst(5)) : command
        let script = try home.write("set -- \(line)\nshift\nprintf '%s\\n' \"$@\"\n", to: "words.sh")
        let ending = try Command([], home: home, shell: "exec sh '\(script)'").wait()
        return ending.output.split(separator: "\n").map(String.init)
    }

    @Test func `a larder in the current folder is named whole`() throws {
        let ending = try Command(
            ["schedule"], home: home, environment: ["LARDER_STORE": "pantry"],
            shell: "cd \"$HOME\" && exec \"$0\" \"$@\""
        ).wait()
        #expect(ending.output.contains("--store \(home.path)/pantry"), "\(ending)")
    }
}
