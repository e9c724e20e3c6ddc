import Glibc
import TestOrigin
import Testing
import Web

/// Tests effects of the environment of the process: streams, limits, folders, proxies and signals.
@Suite struct ProcessTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<a href=/two>two</a>"))
        origin.on("/two", .page("two"))
    }

    private func larder(_ arguments: String..., environment: [String: String] = [:]) throws -> Command.Ending
    {
        try Command(arguments, home: home, environment: environment).wait()
    }

    /// Writes a manifest with one bundle of the origin and a digest that differs from the bundle's.
    private func manifest(naming target: String) throws -> String {
        try home.write(
            "{\"bundles\": [{\"url\": \"\(origin.url(target))\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "m.json")
    }

    @Test(arguments: [
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
        ("<&- >&-", "Bad file descriptor"),
    ])
    func `a report that cannot be written makes the exit status 3`(redirection: String, reason: String) throws
    {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        for arguments in [["status", "--json"], ["--version"], ["help"], ["prefetch", origin.url("/")]] {
            let ending = try Command(arguments, home: home, shell: "exec \"$0\" \"$@\" \(redirection)").wait()
            #expect(ending.status == 3, "\(arguments)")
            #expect(ending.errors == "larder: cannot write to standard output: \(reason)\n")
        }
        #expect(
            try Command(["status", "--quiet"], home: home, shell: "exec \"$0\" \"$@\" >&-").wait().status == 0
        )
    }

    @Test func `a store that a killed run had begun to create is created by the next one`() throws {
        for name in ["bodies", "incoming"] { #expect(mkdir(home.file(name), 0o700) == 0) }
        let folder = home.file("store")
        #expect(mkdir(folder, 0o700) == 0)
        for name in ["bodies", "incoming"] { #expect(rename(home.file(name), folder + "/" + name) == 0) }
        try home.write("", to: "store/larder.db")
        let ending = try larder("prefetch", origin.url("/"), "--store", folder)
        #expect(ending.status == 0, "\(ending)")
        #expect(try larder("fsck", "--store", folder).status == 0)
    }

    @Test func `several first runs at the same time end with one store`() throws {
        for round in 0..<3 {
            let store = home.file("store\(round)")
            let runs = try (0..<5).map { number in
                origin.on("/\(number)/", .page("page \(number)"))
                return try Command(
                    ["prefetch", origin.url("/\(number)/"), "--quiet", "--store", store], home: home)
            }
            for run in runs {
                let ending = run.wait()
                #expect(ending.status == 0, "\(ending)")
            }
            #expect(try larder("list", "--store", store).output.split(separator: "\n").count == 5)
            #expect(try larder("fsck", "--store", store).status == 0)
        }
    }

    @Test func `a reader that closes the pipe gets no message, but the status is not 0`() throws {
        origin.hold("/two")
        let command = try Command(["prefetch", origin.url("/")], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.stopReading()
        origin.release("/two")
        let ending = command.wait()
        #expect(ending.status == 3)
        #expect(ending.errors == "")
    }

    @Test func `a long report is written completely to a non-blocking pipe`() throws {
        let links = (0..<3000).map { "<a href=https://elsewhere.test/\($0)>\($0)</a>" }
        origin.on("/", .page(links.joined()))
        let arguments = ["prefetch", origin.url("/"), "--json"]
        let ending = try Command(arguments, home: home, blocksOutput: false).wait()
        #expect(ending.status == 0)
        #expect(ending.output.utf8.count > 200_000)
        #expect(try JSONValue.parse(ending.output.utf8.span)["skipped"]?.array?.count == 3000)
    }

    @Test func `the server raises its file limit to the maximum, and has one thread per core`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let serve = try Command(
            ["serve", "--port", "0"], home: home, shell: "ulimit -Sn 100; exec \"$0\" \"$@\"")
        #expect(serve.read(until: "\n").contains("http://localhost:"))
        let limits = try #require(
            Self.lines(of: "/proc/\(serve.process)/limits").first { $0.hasPrefix("Max open") })
        let words = limits.split(separator: " ")
        #expect(words[3] != "100")
        #expect(words[3] == words[4])
        // A thread sets its name when it first runs, which may be after the server has printed its address.
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let deadline = ContinuousClock.now + .seconds(120)
        while try Self.serverThreadCount(of: serve.process) < cores, ContinuousClock.now < deadline {
            usleep(1000)
        }
        #expect(try Self.serverThreadCount(of: serve.process) == cores)
        serve.signal(SIGTERM)
        #expect(serve.wait().status == 0)
    }

    @Test func `a check stores no bodies, and needs no temporary folder`() throws {
        origin.on("/a.js", .file([UInt8](repeating: 97, count: 3_000_000), type: "text/javascript"))
        let nowhere = home.file("nowhere")
        let ending = try larder("check", try manifest(naming: "/a.js"), environment: ["TMPDIR": nowhere])
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.output.hasPrefix("mismatch \(origin.url("/a.js"))"))
    }

    @Test func `an interrupted check ends at once, and leaves nothing behind`() throws {
        let scratch = try TemporaryFolder()
        let body = [UInt8](repeating: 97, count: 4_000_000)
        origin.on("/a.js", .file(body, type: "text/javascript").dripping(3_000_000, every: .seconds(3600)))
        let command = try Command(
            ["check", try manifest(naming: "/a.js")], home: home, environment: ["TMPDIR": scratch.path])
        #expect(origin.waitForRequests(1, to: "/a.js"))
        command.signal(SIGINT)
        #expect(command.wait().status == 130)
        #expect(scratch.names().isEmpty)
    }

    @Test(arguments: [("no_proxy", "elsewhere.invalid"), ("NO_PROXY", "a.invalid,elsewhere.invalid")])
    func `requests go through the proxy, except to excluded hosts`(name: String, hosts: String) throws {
        let proxy = ["http_proxy": origin.base]
        _ = try larder("prefetch", "http://elsewhere.invalid/", environment: proxy)
        #expect(!origin.requests.isEmpty)
        origin.forgetRequests()
        let direct = try larder(
            "prefetch", "http://elsewhere.invalid/", "--store", home.file("other"),
            environment: proxy.merging([name: hosts]) { $1 })
        #expect(direct.errors.contains("host not found"))
        #expect(origin.requests.isEmpty)
    }

    private static func serverThreadCount(of process: pid_t) throws -> Int {
        try names(in: "/proc/\(process)/task").count { thread in
            // Other threads may have ended after they were listed.
            lines(of: "/proc/\(process)/task/\(thread)/comm").contains { $0.hasPrefix("larder-serve") }
        }
    }

    private static func names(in folder: String) throws -> [String] {
        let entries = try #require(opendir(folder))
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.first != "." { names.append(name) }
        }
        return names
    }

    /// Returns the lines of a file; an empty list if it cannot be read.
    private static func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
