import Glibc
import TestOrigin
import Testing
import Web

@Suite struct ProgressCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title><a href=/two>two</a><img src=/dot.png><img src=/gone.png>"))
        origin.on("/two", .page("two"))
        origin.on("/dot.png", .file([137, 80, 78, 71], type: "image/png"))
    }

    private func larder(_ arguments: String..., environment: [String: String] = [:]) throws -> Command.Ending
    {
        try Command(arguments, home: home, environment: environment).wait()
    }

    private func events(_ text: String) throws -> [JSONValue] {
        // Errors are printed as text, whatever the format of the progress is.
        try text.split(separator: "\n").filter { $0.hasPrefix("{") }.map { try JSONValue.parse($0.utf8.span) }
    }

    @Test func `--progress json prints lines of JSON to standard error`() throws {
        let ending = try larder("prefetch", origin.url("/"), "--progress", "json", "--json")
        #expect(try JSONValue.parse(ending.output.utf8.span)["pages"]?.int == 2)
        let last = try #require(try events(ending.errors).last)
        let keys = try #require(last.members?.map(\.key))
        #expect(
            keys == [
                "event", "site", "seconds", "phase", "pages", "assets", "failed", "running", "known",
                "requests",
                "bytes", "bytesPerSecond", "confirmed", "savedBytes", "hosts", "hostCount", "waiting",
                "secondsLeft", "indexed",
            ])
        #expect(last["event"]?.string == "progress")
        #expect(last["phase"]?.string == "indexing")
        #expect(last["indexed"]?.int == 2)
        #expect(last["pages"]?["done"]?.int == 2)
        #expect(last["assets"]?["done"]?.int == 1)
        // A URL that the server does not have (404) is broken, and has not failed.
        #expect(last["failed"]?.int == 0)
        #expect(last["waiting"]?.members?.map(\.key) == ["robots", "retries", "scans"])
    }

    @Test func `--verbose prints a line for each request`() throws {
        let text = try larder("prefetch", origin.url("/"), "-v").errors
        let lines = text.split(separator: "\n")
        #expect(
            lines.contains {
                $0.hasPrefix("200 ") && $0.contains(" page ") && $0.hasSuffix(origin.url("/two"))
            })
        #expect(
            lines.contains { $0.hasPrefix("404 ") && $0.contains(" asset ") && $0.hasSuffix("/gone.png") }
        )
        #expect(lines.contains { $0.contains(" robots ") })
        let json = try larder(
            "prefetch", origin.url("/"), "--verbose", "--progress", "json", "--policy", "reload"
        )
        .errors
        let fetched = try events(json).filter { $0["event"]?.string == "fetched" }
        let gone = try #require(fetched.first { $0["url"]?.string == origin.url("/gone.png") })
        #expect(gone.members?.map(\.key) == ["event", "url", "kind", "status", "bytes", "seconds"])
        #expect(gone["status"]?.int == 404)
        origin.stop()
        let failed = try larder("update", "-v", "--progress", "json", "--max-time", "2s").errors
        #expect(try events(failed).contains { $0["status"]?.isNull == true && $0["failure"]?.string != nil })
    }

    @Test(arguments: [["--quiet"], ["-q", "-v"], []])
    func `without a terminal, no progress is shown`(options: [String]) throws {
        origin.on("/gone.png", .file(Array("there".utf8), type: "image/png"))
        let ending = try Command(["prefetch", origin.url("/")] + options, home: home).wait()
        #expect(ending.errors == "")
        #expect(ending.output.isEmpty == options.contains { $0.hasSuffix("q") || $0 == "--quiet" })
    }

    @Test func `other work reports its progress`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let check = try larder("check", "--offline", origin.url("/"), "--progress", "json")
        let last = try #require(try events(check.errors).last)
        #expect(last.members?.map(\.key) == ["event", "unit", "done", "total", "bytes"])
        #expect(last["unit"]?.string == "bodies")
        #expect(last["done"]?.int == last["total"]?.int)
        #expect(
            try larder("gc", "--max-size", "1k", "--allow-incomplete", "--progress", "json").errors.contains(
                "\"unit\":\"room\""))
    }

    /// Runs the command on a pseudoterminal of script(1).
    ///
    /// - Parameter shown: The server answers for `/two` once this text is on the screen.
    private func onTerminal(
        _ arguments: String, environment: [String: String], until shown: String? = nil
    ) throws -> String {
        if shown != nil { origin.hold("/two") }
        let shell = "larder=$0; exec script -qec \"stty cols 80 rows 24; '$larder' \(arguments)\" /dev/null"
        let command = try Command([], home: home, environment: environment, shell: shell)
        let text = shown.map { command.read(until: $0) } ?? ""
        origin.release("/two")
        return text + command.wait().output
    }

    @Test func `on a terminal, a block is drawn and removed at the end`() throws {
        let prefetch = "prefetch \(origin.url("/"))"
        let text = try onTerminal(prefetch, environment: ["TERM": "xterm"], until: "Prefetching")
        #expect(text.contains("Prefetching \(origin.url("/"))"))
        #expect(text.contains("\u{1b}[1m"))
        // The last block is removed, and the report replaces it.
        #expect(text.contains("A\u{1b}[J" + origin.url("/")))
        for environment in [["TERM": "dumb"], [:]] {
            #expect(
                !(try onTerminal(prefetch, environment: environment).contains("\u{1b}")))
        }
        let plain = try onTerminal(
            "\(prefetch) --policy reload", environment: ["TERM": "xterm", "NO_COLOR": "1"],
            until: "Prefetching")
        #expect(plain.contains("Prefetching"))
        #expect(!plain.contains("\u{1b}[1m"))
    }

    @Test func `an interrupted command is shown with all its options except secrets`() throws {
        origin.hold("/two")
        let command = try Command(
            [
                "prefetch", origin.url("/"), "--scope", "path", "--user", "me:secret", "--exclude", "*.pdf",
                "-v",
                "--progress", "json",
            ], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.signal(SIGINT)
        let ending = command.wait()
        #expect(ending.status == 130)
        #expect(
            ending.output.contains(
                "to continue: larder prefetch \(origin.url("/")) --scope path --user NAME:PASSWORD --exclude '*.pdf' "
                    + "--verbose --progress json\n"))
        #expect(ending.errors.contains("{\"event\":\"stopping\"}\n"))
        #expect(!(ending.output + ending.errors).contains("secret"))
        origin.release("/two")
    }
}
