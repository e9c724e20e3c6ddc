import Glibc
import TestOrigin
import Testing

@Suite struct OpenCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title>"))
    }

    /// The browser writes down what it is to show.
    private func larder(_ arguments: String...) throws -> Command.Ending {
        let browser = try home.write("#!/bin/sh\necho \"$1\" >> \"$HOME/shown\"\n", to: "browser")
        chmod(browser, 0o755)
        let environment = ["XDG_RUNTIME_DIR": home.path, "BROWSER": browser]
        return try Command(arguments, home: home, environment: environment).wait()
    }

    @Test func `it starts a server that outlives it, shows a site, and stops the server`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        let address = "http://port-\(origin.port).127-0-0-1.localhost:\(port)/"
        let first = try larder("open", origin.url("/"), "--port", port)
        #expect(first.status == 0, "\(first)")
        #expect(first.output.hasPrefix(address + "\n"))
        #expect(first.output.contains("larder open --stop --port \(port)\n"))
        origin.stop()
        let client = try RawClient(port: Int(port) ?? 0)
        #expect(
            try client.get("/", host: "port-\(origin.port).127-0-0-1.localhost:\(port)").text.contains("Home")
        )

        let second = try larder("open", "--port", port)
        #expect(second.output == "http://larder.localhost:\(port)/\n")
        let stop = try larder("open", "--stop", "--port", port)
        #expect(stop.status == 0, "\(stop)")
        #expect(stop.output == "The server on port \(port) has stopped\n")
        #expect(throws: (any Error).self) { try RawClient(port: Int(port) ?? 0) }
        let again = try larder("open", "--stop", "--port", port)
        #expect(again.status == 3)
        #expect(again.errors.contains("no server of yours runs on port \(port)"))
    }

    @Test func `what is not held, or another larder's port, is told`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        let none = try larder("open", "https://none.test/", "--port", port)
        #expect(none.status == 1 && none.errors.contains("https://none.test/ is not stored"), "\(none)")
        #expect(home.names().contains("shown") == false)
        #expect(try larder("open", "--port", port).status == 0)
        let (store, page) = (home.file("other"), origin.url("/"))
        #expect(try larder("prefetch", page, "--quiet", "--store", store).status == 0)
        let other = try larder("open", page, "--port", port, "--store", store)
        #expect(other.status == 3 && other.errors.contains("serves another store"), "\(other)")
        let stop = try larder("open", "--stop", "--port", port, "--store", store)
        #expect(stop.status == 3 && stop.errors.contains("open --stop --port \(port) --store"), "\(stop)")
        #expect(try larder("open", "--stop", "--port", port).status == 0)
    }

    @Test(arguments: ["open", "show", "cat", "explain", "pin"])
    func `for a word that is no site, the stored sites are listed`(command: String) throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let ending = try larder(command, "pantry")
        #expect(ending.status == 2, "\(ending)")
        #expect(
            ending.errors
                == "larder: cannot find the site pantry: it is not stored; the stored sites are: \(origin.url("/"))\n"
        )
        #expect(home.names().contains("shown") == false)
    }

    @Test func `the only site on an origin opens by host and port, and by the URL of the origin`() throws {
        origin.on("/docs/", .page("docs"))
        #expect(try larder("prefetch", origin.url("/docs/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        let address = "http://port-\(origin.port).127-0-0-1.localhost:\(port)/docs/\n"
        for name in ["127.0.0.1:\(origin.port)", origin.url("/")] {
            let ending = try larder("open", name, "--port", port)
            #expect(ending.status == 0 && ending.output.hasPrefix(address), "\(ending)")
        }
        #expect(try larder("open", "--stop", "--port", port).status == 0)
    }

    @Test func `a server that cannot start says why`() throws {
        let none = try larder("open", "--port", "\(try FreePort.draw())")
        #expect(none.status == 3)
        #expect(none.errors.contains("prefetch a site into it first"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let taken = try larder("open", "--port", "\(origin.port)")
        #expect(taken.status == 3)
        #expect(taken.errors.contains("port \(origin.port) is in use"))
        #expect(home.names().contains("shown") == false)
    }
}
