import Glibc
import TestOrigin
import Testing
import Web

@Suite struct ConfigCommandTests {
    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder()
    }

    private func config(_ arguments: String..., environment: [String: String] = [:]) throws -> Command.Ending
    {
        try Command(
            ["config"] + arguments, home: home, environment: environment,
            shell: "cd \"$HOME\"; exec \"$0\" \"$@\""
        ).wait()
    }

    @Test func `the options in effect are shown with their sources`() throws {
        try home.write("{\n\"per-host\": 8,\n\"prefetch\": {\"header\": \"X-Key: 1\"}}", to: ".larder.json")
        for folder in [".config", ".config/larder"] { #expect(mkdir(home.file(folder), 0o755) == 0) }
        try home.write("{\"serve\": {\"port\": 9000}}", to: ".config/larder/config.json")
        let ending = try config(environment: ["LARDER_STORE": "/srv/larder"])
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output.contains(".larder.json: read\n\(home.path)/.config/larder/config.json: read\n"))
        #expect(ending.output.contains("--per-host         8  (.larder.json:2)\n"))
        #expect(ending.output.contains("--store            /srv/larder  ($LARDER_STORE)\n"))
        #expect(ending.output.contains("--header           (not shown)  (.larder.json:3) for prefetch\n"))
        #expect(!ending.output.contains("X-Key"))
        #expect(
            ending.output.contains(
                "--port             9000  (\(home.path)/.config/larder/config.json:1) for serve\n"))
        let json = try JSONValue.parse(config("serve", "--json").output.utf8.span)
        #expect(json["files"]?[0]?.members?.map(\.key) == ["path", "state"])
        let port = json["settings"]?.array?.first { $0["option"]?.string == "--port" }
        #expect(port?.members?.map(\.key) == ["command", "option", "values", "source"])
        #expect(port?["values"]?[0]?.string == "9000")
        let policy = json["settings"]?.array?.first { $0["option"]?.string == "--policy" }
        #expect(policy?["source"]?.string == "default")
    }

    @Test(arguments: [
        "postgres://ann:secret@db.test/x?schema=y", "postgres://ann@db.test/x?schema=y&password=secret",
    ])
    func `the password of a store is not shown`(address: String) throws {
        try home.write("{\"proxy\": \"http://ann:secret@proxy.test:80\"}", to: ".larder.json")
        for arguments in [["config"], ["config", "status"], ["config", "prefetch", "--json"]] {
            let ending = try Command(
                arguments, home: home, environment: ["LARDER_STORE": address],
                shell: "cd \"$HOME\"; exec \"$0\" \"$@\""
            ).wait()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output.contains("postgres://ann@db.test/x?schema=y"), "\(arguments)")
            #expect(!(ending.output + ending.errors).contains("secret"), "\(arguments)")
        }
    }

    @Test func `a mistake in a file stops every command that has options`() throws {
        try home.write("{\"stor\": \"/s\"}", to: ".larder.json")
        let message = "larder: .larder.json:1: there is no option \"stor\"; did you mean \"store\"?\n"
        #expect(try config().errors == message)
        let shell = "cd \"$HOME\"; exec \"$0\" \"$@\""
        let status = try Command(["status"], home: home, shell: shell).wait()
        #expect(status.status == 2)
        #expect(status.errors == message)
        #expect(try Command(["help", "status"], home: home, shell: shell).wait().status == 0)
        #expect(try Command(["--version"], home: home, shell: shell).wait().status == 0)
    }

    @Test func `a file with the earlier name is used, with a hint`() throws {
        try home.write("{\"per-host\": 8}", to: "larder.json")
        let ending = try config()
        #expect(ending.output.contains("--per-host         8  (larder.json:1)\n"), "\(ending)")
        #expect(ending.errors == "larder: larder.json is used as configuration; rename it to .larder.json\n")
    }

    @Test(arguments: [
        "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0123456789abcdef0123456789abcdef\"}]}", "no JSON",
    ])
    func `another file with the earlier name is ignored`(text: String) throws {
        try home.write(text, to: "larder.json")
        let ending = try config()
        #expect(ending.status == 0 && ending.errors.isEmpty, "\(ending)")
        #expect(ending.output.contains("Nothing is set"))
    }

    @Test func `without any setting, config says so`() throws {
        let ending = try config()
        #expect(
            ending.output.hasPrefix(
                ".larder.json: does not exist\n\(home.path)/.config/larder/config.json: does not exist\n"))
        #expect(ending.output.contains("Nothing is set"))
    }
}
