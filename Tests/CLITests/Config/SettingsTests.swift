import Testing

@testable import LarderKit
@testable import larder

@Suite struct SettingsTests {
    private func file(_ text: String, _ path: String = ".larder.json") throws -> ConfigFile {
        try ConfigFile(Array(text.utf8), path: path)
    }

    private func entry(_ name: String) throws -> CommandEntry {
        try #require(CommandEntry.command(named: name))
    }

    @Test(arguments: [
        ("prefetch --per-host 1", "1", "the command line"),
        ("prefetch", "4", "project:2"),
        ("update", "5", "project:3"),
        ("plan", "4", "project:2"),
    ])
    func `the command line has precedence over files, and a section over entries for all commands`(
        words: String, value: String, source: String
    ) throws {
        var settings = Settings()
        settings.files = [
            try file("{\n\"per-host\": 4,\n\"update\": {\"per-host\": 5}}", "project"),
            try file("{\"per-host\": 6, \"prefetch\": {\"per-host\": 7}}", "user"),
        ]
        let words = words.split(separator: " ").map(String.init)
        let arguments = try Arguments(
            words.dropFirst() + ["https://a.test/"], for: try entry(words[0]), settings: settings)
        #expect(arguments.text(.perHost) == value)
        #expect(arguments.source(of: .perHost).text == source)
    }

    @Test(arguments: [
        (["--into", "ci", "curl", "-sS", "--store", "x"], ["curl", "-sS", "--store", "x"]),
        (["--", "curl", "-sS"], ["curl", "-sS"]), (["npm", "ci"], ["npm", "ci"]),
    ])
    func `options after the recorded program belong to that program`(words: [String], operands: [String])
        throws
    {
        let arguments = try Arguments(words, for: entry("record"))
        #expect(arguments.operands == operands)
        #expect(!arguments.has(.store))
    }

    @Test(arguments: [("--visit", "--snapshot"), ("--held", "--stored"), ("--requisites", "--assets")])
    func `an earlier name of an option is understood`(earlier: String, name: String) throws {
        let entry = try #require(CommandEntry.all.first { $0.options.contains { $0.name == name } })
        let option = try #require(entry.options.first { $0.name == name })
        let operands = Array(repeating: "x", count: entry.operandCount.lowerBound)
        let words = option.isFlag ? [earlier] : [earlier, "1"]
        #expect(try Arguments(operands + words, for: entry).has(option))
        var settings = Settings()
        let value = option.isFlag ? "true" : "\"1\""
        settings.files = [try file("{\"\(entry.name)\": {\"\(earlier.dropFirst(2))\": \(value)}}")]
        try settings.check()
        #expect(try Arguments(operands, for: entry, settings: settings).has(option))
    }

    @Test func `variables have precedence over files, and the command line over both`() throws {
        var settings = Settings(environment: ["LARDER_PORT": "81"])
        settings.files = [try file("{\"port\": 82, \"store\": \"/s\"}")]
        #expect(try Arguments([], for: entry("serve"), settings: settings).number(.port, in: 1...99) == 81)
        #expect(try Arguments(["--port=83"], for: entry("serve"), settings: settings).text(.port) == "83")
        settings.environment["LARDER_PORT"] = ""
        let arguments = try Arguments([], for: entry("serve"), settings: settings)
        #expect(arguments.text(.port) == "82")
        #expect(arguments.text(.store) == "/s")
        #expect(try Arguments([], for: entry("serve")).number(.port, in: 1...9999) == 8080)
    }

    @Test func `a list replaces a list, and =false switches off a flag`() throws {
        var settings = Settings()
        settings.files = [
            try file("{\"exclude\": [\"*.pdf\", \"*.zip\"], \"insecure\": true, \"no-guesses\": false}"),
            try file("{\"no-guesses\": true}"),
        ]
        let entry = try entry("prefetch")
        let arguments = try Arguments(["a.test"], for: entry, settings: settings)
        #expect(arguments.texts(.exclude) == ["*.pdf", "*.zip"])
        #expect(arguments.has(.insecure))
        #expect(!arguments.has(.noGuesses))
        let own = try Arguments(
            ["a.test", "--exclude", "x", "--exclude", "y", "--insecure=false"], for: entry, settings: settings
        )
        #expect(own.texts(.exclude) == ["x", "y"])
        #expect(!own.has(.insecure))
    }

    @Test(arguments: [
        ("{\n\n  \"per-hots\": 1}", "f:3: there is no option \"per-hots\"; did you mean \"per-host\"?"),
        (
            "{\"depth\": 1, \"zzzzzzzzzzzzzz\": 1}",
            "f:1: there is no option \"zzzzzzzzzzzzzz\"; see: larder help"
        ),
        (
            "{\n\"bundles\": [\"zzzzzzzzzzzzzz\"]}",
            "f:2: unknown option \"bundles\": this file contains options for larder; "
                + "see: larder help config"
        ),
        (
            "{\"prefetsch\":\n{\"depth\": 1}}",
            "f:2: there is no command \"prefetsch\"; did you mean \"prefetch\"?"
        ),
        ("{\"serve\":\n{\"prot\": 1}}", "f:2: larder serve has no option \"prot\"; did you mean \"port\"?"),
        (
            "{\"check\": {\"manifest\": \"m.json\"}}",
            "f:1: larder check has no option \"manifest\"; did you mean \"target\"?"
        ),
        (
            "{\"repair\": true}",
            "f:1: \"repair\" applies to a single run; use it on the command line, as --repair"
        ),
        ("{\"insecure\": 1}", "f:1: \"insecure\" must be true or false"),
        ("{\"depth\": true}", "f:1: \"depth\" must have a value (N), not true or false"),
        ("{\"depth\": [1, 2]}", "f:1: \"depth\" must have one value (N), not a list"),
        (
            "{\"policy\": \"reload\"}",
            "f:1: \"policy\" has different meanings for prefetch, update, serve, record, proxy, work; set it in a section, such as "
                + "{\"prefetch\": {\"policy\": …}}"
        ),
    ])
    func `an unknown entry is reported with its file, its line and a similar option`(
        text: String, message: String
    ) throws {
        let settings = Settings(files: [try file(text, "f")])
        #expect(throws: UsageError(message)) { try settings.check() }
    }

    @Test(arguments: ["{\"browser\": \"./evil\"}", "{\"check\":\n{\"browser\": \"./evil\"}}"])
    func `the file in the current folder names no program, but the user's own file may`(text: String) throws {
        for path in [".larder.json", "larder.json"] {
            let settings = Settings(files: [try file(text, path)])
            let error = #expect(throws: UsageError.self) { try settings.check() }
            let message = error?.message ?? ""
            #expect(message.contains(": \"browser\" names a program to run"), "\(message)")
            #expect(message.contains("use --browser or $LARDER_CHROMIUM"), "\(message)")
        }
        let own = Settings(files: [try file(text, "/home/me/.config/larder/config.json")])
        try own.check()
        #expect(try Arguments([], for: entry("check"), settings: own).text(.browser) == "./evil")
    }

    @Test(arguments: [
        ("{\"a\": }", "f:1: invalid JSON: expected a value, found '}'"),
        (
            "[]",
            "f:1: expected an object with options; write it like {\"per-host\": 8, \"serve\": {\"port\": 9000}}"
        ),
        (
            "{\"store\":\nnull}",
            "f:1: \"store\" must be a string, a number, true, false, or a list of strings; leave it out to use the default"
        ),
    ])
    func `an invalid file is reported with its line`(text: String, message: String) throws {
        let error = #expect(throws: UsageError.self) { try file(text, "f") }
        #expect(error?.message == message)
    }

    @Test func `a wrong value is reported with the place that sets it`() throws {
        let settings = Settings(
            environment: ["LARDER_PORT": "x"], files: [try file("{\n\"depth\": \"deep\"}")])
        let serve = try Arguments([], for: entry("serve"), settings: settings)
        #expect(throws: UsageError("$LARDER_PORT must be a number from 1 to 9, not \"x\"")) {
            try serve.number(.port, in: 1...9)
        }
        let prefetch = try Arguments(["a.test"], for: entry("prefetch"), settings: settings)
        #expect(
            throws: UsageError(".larder.json:2: \"depth\" must be a number from 0 to 65000, not \"deep\"")
        ) {
            try prefetch.prefetchOptions()
        }
    }

    @Test(arguments: [
        (["HOME": "/h"], [".larder.json", "/h/.config/larder/config.json"]),
        (["HOME": "/h", "XDG_CONFIG_HOME": "/c"], [".larder.json", "/c/larder/config.json"]),
        (["HOME": "/h", "XDG_CONFIG_HOME": "c"], [".larder.json", "/h/.config/larder/config.json"]),
        (["HOME": "/h", "LARDER_CONFIG": "/f"], [".larder.json", "/f"]),
        ([:], [".larder.json"]),
    ])
    func `the paths of configuration files follow the environment`(
        environment: [String: String], paths: [String]
    ) {
        #expect(Settings.paths(environment: environment) == paths)
    }
}
