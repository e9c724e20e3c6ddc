import Glibc
import System
import TestOrigin
import Testing

/// A file that `larder export --self-serving` wrote, run by a user who does not have Larder.
@Suite struct EnclosedSiteTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title><p>some words about penguins<a href=/b>b</a>"))
        origin.on("/b", .page("more"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        #expect(mkdir(home.file("tmp"), 0o700) == 0)
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    /// Runs the file with an empty home folder and only the system's programs.
    private func run(_ words: String...) throws -> ChildProcess {
        try ChildProcess(
            home.file("site.run"), words,
            environment: ["HOME": home.file("nobody"), "PATH": "/usr/bin:/bin", "TMPDIR": home.file("tmp")])
    }

    /// Writes the file `site.run`.
    private func export() throws {
        let export = try larder(
            "export", origin.url("/"), home.file("site.run"), "--self-serving", "--verify")
        #expect(export.status == 0 && export.output.contains("libcurl.so.4"), "\(export)")
    }

    @Test func `the file serves its site, and leaves nothing behind`() throws {
        let before = try larder("list", "--json").output
        try export()
        #expect(try larder("list", "--json").output == before)
        let server = try run()
        let line = server.read(until: "\n")
        let port = try #require(
            line.split(separator: "localhost:").last?.prefix { $0.isNumber }.description, "\(line)")
        #expect(line.hasPrefix("\(origin.url("/")), copied on "), "\(line)")
        let host = "port-\(origin.port).127-0-0-1.localhost:\(port)"
        let number = try #require(Int(port))
        #expect(try RawClient(port: number).get("/", host: host).text.contains("penguins"))
        #expect(try RawClient(port: number).get("/b", host: host).text.contains("more"))
        #expect(home.names(in: "tmp").count == 1)
        server.signal(SIGTERM)
        #expect(server.wait().status == 0)
        #expect(home.names(in: "tmp").isEmpty && access(home.file("nobody"), F_OK) != 0)
    }

    @Test func `the file is the command too, and says how it is used`() throws {
        try export()
        #expect(try run("--help").wait().output.contains("[--port N]"))
        #expect(try run("--version").wait().output.hasPrefix("larder "))
        #expect(try run("help").wait().status == 0)
        #expect(try run("--ports", "1").wait().status == 2)
        #expect(home.names(in: "tmp").isEmpty)
    }

    @Test func `a damaged file says so, and serves nothing`() throws {
        try export()
        let path = home.file("site.run")
        var status = stat()
        #expect(stat(path, &status) == 0)
        do {
            let file = try File(path, O_RDWR)
            try file.write([0], at: Int64(status.st_size) - 200)
        }
        let damaged = try run().wait()
        #expect(
            damaged.status == 3 && damaged.errors.contains("does not match its digest; copy the file again"),
            "\(damaged)")
        #expect(truncate(path, status.st_size - 100) == 0)
        let short = try run().wait()
        #expect(
            short.status == 3
                && short.errors == "larder: \(path) is damaged: its end is missing; copy the file again\n",
            "\(short)")
        #expect(home.names(in: "tmp").isEmpty)
    }

    @Test func `only one format is chosen, and no file is replaced`() throws {
        let form = try larder("export", origin.url("/"), home.file("x"), "--self-serving", "--format", "warc")
        #expect(form.status == 2 && form.errors.contains("--self-serving"), "\(form)")
        try home.write("mine", to: "x")
        let there = try larder("export", origin.url("/"), home.file("x"), "--self-serving")
        #expect(there.status == 2 && there.errors.contains("already exists"), "\(there)")
    }
}
