import Glibc
import TestOrigin
import Testing

@Suite struct DemoTests {
    private static let site =
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
        + "/Sources/larder/Demo/Site"

    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder()
    }

    /// Starts the demo with its temporary files in the home folder.
    private func demo(_ options: String..., environment: [String: String] = [:]) throws -> Command {
        try Command(
            ["demo"] + options, home: home, environment: environment.merging(["TMPDIR": home.path]) { $1 })
    }

    @Test func `the demo prints every step and leaves no files behind`() throws {
        let ending = try demo("--once").wait()
        #expect(ending.status == 0, "\(ending)")
        let lines = [
            "2. Preloaded its bundles: 1 fetched and verified, live now",
            "3. Preloaded them again: nothing has changed, nothing fetched",
            "4. Preloaded a new release that does not match its manifest: refused, the last good set stays live",
            "5. Preloaded the corrected release: 1 fetched and verified, live now",
            "are still served", "/bundles/main.weex.js: verified",
        ]
        for line in lines { #expect(ending.output.contains(line), "\(line)\n\(ending)") }
        #expect(home.names().isEmpty)
    }

    /// A request through the proxy would fail, because no proxy listens there.
    @Test(arguments: [[:], ["no_proxy": "example.com"], ["NO_PROXY": "example.com"], ["no_proxy": "*"]])
    func `the demo ignores proxy settings`(exceptions: [String: String]) throws {
        let proxies = ["http_proxy": "http://127.0.0.1:9", "all_proxy": "http://127.0.0.1:9"]
        let ending = try demo("--once", environment: exceptions.merging(proxies) { $1 }).wait()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `--site-only serves the demo site, which answers conditional requests`() throws {
        let command = try demo("--site-only")
        let port = try #require(Int(command.read(until: "(Ctrl-C").split { !$0.isNumber }.last ?? ""))
        let client = try RawClient(port: port)
        let first = try client.get("/jar.html", host: "127.0.0.1:\(port)")
        #expect(first.status == 200)
        let tag = try #require(first["ETag"])
        let again = try client.get(
            "/jar.html", host: "127.0.0.1:\(port)", fields: [("If-None-Match", tag)])
        #expect(again.status == 304)
        command.signal(SIGINT)
        #expect(command.wait().status == 0)
    }

    @Test(arguments: [
        ("1. ", [130, 0]), ("4. ", [130, 0]), ("6. ", [130, 0]), ("8. ", [130, 0]), ("(Ctrl-C stops)", [0]),
    ])
    func `a demo stopped at any step leaves no files behind`(line: String, statuses: [Int32]) throws {
        let command = try demo()
        #expect(command.read(until: line).contains(line))
        command.signal(SIGINT)
        // At some steps the command continues for a moment and may end by itself. Where it waits, a signal is the normal
        // end.
        #expect(statuses.contains(command.wait().status))
        #expect(home.names().isEmpty)
    }

    @Test func `every file of the demo site is on the mirror`() throws {
        let command = try demo()
        let text = command.read(until: "(Ctrl-C stops)")
        let ports = text.split(separator: "\n").compactMap { line in
            line.split(separator: ":").last.flatMap { Int($0.prefix { $0.isNumber }) }
        }
        let (origin, mirror) = (try #require(ports.first), try #require(ports.last))
        let client = try RawClient(port: mirror)
        let paths = Self.paths(below: "")
        #expect(paths.count > 20)
        for path in paths {
            let answer = try client.get(
                Self.links[path] ?? path, host: "port-\(origin).127-0-0-1.localhost:\(mirror)")
            #expect(answer.status == 200, "\(path)")
        }
        command.signal(SIGTERM)
        #expect(command.wait().status == 0)
    }

    /// The URLs in the pages that differ from the paths of the files.
    private static let links = ["/index.html": "/", "/jar.html": "/jar.html?kind=honey"]

    private static func paths(below folder: String) -> [String] {
        guard let entries = opendir(site + folder) else { return [folder] }
        defer { closedir(entries) }
        var paths: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.first != "." { paths += self.paths(below: folder + "/" + name) }
        }
        return paths
    }
}
