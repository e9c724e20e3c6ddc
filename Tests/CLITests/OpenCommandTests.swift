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

    /// Runs a command with a fake browser that records the URL.
    private func larder(_ arguments: String...) throws -> Command.Ending {
        let browser = try home.write("#!/bin/sh\necho \"$1\" >> \"$HOME/shown\"\n", to: "browser")
        chmod(browser, 0o755)
        let environment = ["XDG_RUNTIME_DIR": home.path, "BROWSER": browser]
        return try Command(arguments, home: home, environment: environment).wait()
    }

    @Test func `open starts a server in the background, shows a site, and --stop stops the server`() throws {
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

    @Test func `a site that is not stored and the port of another store are errors`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        let none = try larder("open", "https://none.test/", "--port", port)
        #expect(none.status == 1 && none.errors.contains("https://none.test/ is not stored"), "\(none)")
        #expect(none.errors.contains("store it with: larder prefetch https://none.test/"), "\(none)")
        // A prefetch of a page of a stored site would store all of its host as another site.
        let lost = try larder("open", origin.url("/lost"), "--port", port)
        #expect(lost.errors.contains("store it with: larder add \(origin.url("/lost")) --page"), "\(lost)")
        let bare = String(origin.url("/lost").dropFirst("http://".count))
        let lostByHost = try larder("open", bare, "--port", port)
        #expect(
            lostByHost.errors.contains("store it with: larder add \(origin.url("/lost")) --page"),
            "\(lostByHost)")
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
    func `for an unknown site, the stored sites are listed`(command: String) throws {
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

    @Test
    func `SITE@N opens the snapshot of that site, although another site on the host has one with the number`()
        throws
    {
        let other = try TestOrigin()
        other.on("/", .page("<title>Other</title>"))
        origin.on("/", .page("<title>Before</title>"))
        for url in [origin.url("/"), other.url("/")] {
            #expect(try larder("prefetch", url, "--quiet").status == 0)
        }
        origin.on("/", .page("<title>After</title>"))
        #expect(try larder("update", origin.url("/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        for (number, title) in [(1, "Before"), (2, "After")] {
            let opened = try larder("open", "127.0.0.1:\(origin.port)@\(number)", "--port", port)
            #expect(opened.status == 0, "\(opened)")
            let line = try #require(opened.output.split(separator: "\n").first)
            let host = line.dropFirst("http://".utf8.count).prefix { $0 != "/" }
            let client = try RawClient(port: Int(port) ?? 0)
            #expect(try client.get("/", host: String(host)).text.contains(title), "\(opened)")
        }
        #expect(try larder("open", "--stop", "--port", port).status == 0)
    }

    @Test func `URL@N opens the page of that snapshot`() throws {
        origin.on("/", .page("<a href=/page>page</a>"))
        origin.on("/page", .page("<title>Before</title>"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        origin.on("/page", .page("<title>After</title>"))
        #expect(try larder("update", origin.url("/"), "--quiet").status == 0)
        let port = "\(try FreePort.draw())"
        for (version, title) in [("1", "Before"), ("2", "After"), ("today", "After"), ("latest", "After")] {
            let opened = try larder("open", "\(origin.url("/page"))@\(version)", "--port", port)
            #expect(opened.status == 0, "\(opened)")
            let line = try #require(opened.output.split(separator: "\n").first)
            let host = line.dropFirst("http://".utf8.count).prefix { $0 != "/" }
            let client = try RawClient(port: Int(port) ?? 0)
            #expect(try client.get("/page", host: String(host)).text.contains(title), "\(opened)")
        }
        let shown = try larder("show", origin.url("/page"))
        #expect(shown.output.contains("http://larder.localhost:8080/@1/\(origin.url("/page"))\n") == false)
        #expect(
            shown.output.contains("http://larder.localhost:\(port)/@1/\(origin.url("/page"))\n"), "\(shown)")
        #expect(try larder("open", "--stop", "--port", port).status == 0)
    }

    @Test func `without a browser and a desktop, open says that it found none`() throws {
        let environment = ["XDG_RUNTIME_DIR": home.path]
        func run(_ arguments: String...) throws -> Command.Ending {
            try Command(arguments, home: home, environment: environment).wait()
        }
        let port = "\(try FreePort.draw())"
        let opened = try run("open", "--port", port)
        #expect(
            opened.status == 0 && opened.output.hasPrefix("http://larder.localhost:\(port)/\n"), "\(opened)")
        #expect(opened.errors.contains("there is no desktop here; open the URL above yourself"), "\(opened)")
        #expect(try run("open", "--stop", "--port", port).status == 0)
    }

    @Test func `an empty store opens the portal, and a server that cannot start says why`() throws {
        let port = "\(try FreePort.draw())"
        let empty = try larder("open", "--port", port)
        #expect(empty.status == 0 && empty.output.hasPrefix("http://larder.localhost:\(port)/\n"), "\(empty)")
        #expect(try larder("open", "--stop", "--port", port).status == 0)
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let taken = try larder("open", "--port", "\(origin.port)")
        #expect(taken.status == 3)
        #expect(taken.errors.contains("port \(origin.port) is in use"), "\(taken)")
    }

    /// Returns the port in the first URL of an output.
    private func port(in output: String) throws -> Int {
        let digits = output.split(separator: "localhost:").dropFirst().first?.prefix { $0.isNumber }
        return try #require(digits.flatMap { Int($0) }, "\(output)")
    }

    @Test func `without a named port, commands find the server of their store`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let port = try port(in: larder("open").output)
        let second = try larder("serve")
        #expect(second.status == 3 && second.output.isEmpty, "\(second)")
        #expect(
            second.errors.hasPrefix("larder: already serving this store at http://localhost:\(port)/ (pid "))
        #expect(second.errors.contains("; larder open --stop ends it; to run another one, name its port"))
        let again = try larder("open", origin.url("/"))
        #expect(
            again.status == 0
                && again.output == "http://port-\(origin.port).127-0-0-1.localhost:\(port)/\n", "\(again)")

        // A server on a named port runs beside the other one.
        let named = try Command(
            ["serve", "--port", "0"], home: home, environment: ["XDG_RUNTIME_DIR": home.path])
        #expect(try self.port(in: named.read(until: "\n")) != port)
        named.signal(SIGTERM)
        #expect(named.wait().status == 0)

        // Another store gets another port.
        let other = try larder("open", "--store", home.file("other"))
        let otherPort = try self.port(in: other.output)
        #expect(other.status == 0 && otherPort > port, "\(other)")
        #expect(other.output.contains("\nIt uses port \(otherPort), because port "), "\(other)")
        #expect(try larder("open", "--stop", "--store", home.file("other")).status == 0)
        let stop = try larder("open", "--stop")
        #expect(stop.status == 0 && stop.output == "The server on port \(port) has stopped\n", "\(stop)")
        #expect(try larder("open", "--stop").status == 3)
    }

    @Test func `a server that was killed is not found`() throws {
        let environment = ["XDG_RUNTIME_DIR": home.path]
        let port = try FreePort.draw()
        let words = ["serve", "--port", "\(port)"]
        let server = try Command(words, home: home, environment: environment)
        #expect(try self.port(in: server.read(until: "\n")) == port)
        let second = try larder("serve", "--port", "\(port)")
        #expect(second.status == 3 && second.errors.contains("already serving this store"), "\(second)")
        #expect(!second.errors.contains("another one"), "\(second)")
        server.signal(SIGKILL)
        _ = server.wait()
        #expect(home.names().contains("larder"))
        #expect(try larder("open", "--stop", "--port", "\(port)").status == 3)
        let next = try Command(words, home: home, environment: environment)
        #expect(try self.port(in: next.read(until: "\n")) == port)
        next.signal(SIGTERM)
        #expect(next.wait().status == 0)
    }

    @Test func `a named port that is in use is an error, which names a free one`() throws {
        let ending = try larder("serve", "--port", "\(origin.port)")
        #expect(ending.status == 3)
        #expect(
            ending.errors.hasPrefix(
                "larder: port \(origin.port) is in use by another program; the next free port is "),
            "\(ending)")
        #expect(ending.errors.contains(": larder serve --port "), "\(ending)")
    }
}
