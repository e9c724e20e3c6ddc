import Glibc
import TestOrigin
import Testing

/// Tests `larder proxy`, `record`, `replay` and `ca` with common programs: curl, Python, git and pip.
///
/// The https origin is `openssl s_server`, with an authority that only Larder trusts.
@Suite struct ProxyCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
    }

    private var store: [String: String] { ["LARDER_STORE": home.file("s")] }

    private func record(_ options: [String] = [], _ command: String...) throws -> Command.Ending {
        try Command(["record"] + options + ["--"] + command, home: home, environment: store).wait()
    }

    private func replay(_ command: String...) throws -> Command.Ending {
        try Command(["replay", "--"] + command, home: home, environment: store).wait()
    }

    @Test func `recorded responses are replayed after the server has stopped`() throws {
        let text = String(repeating: "jam ", count: 50_000)
        origin.on("/a.txt", .file(text, type: "text/plain").validated(entityTag: "\"jam\""))
        let url = origin.url("/a.txt")
        let first = try record([], "curl", "-sS", url)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output == text)
        let again = try record([], "curl", "-sS", url)
        #expect(again.errors.contains("larder: 1 response from the store (1 confirmed by the server)\n"))
        #expect(first.errors.contains("1 loaded, 1 of them stored"))
        #expect(first.errors.hasSuffix("larder: To replay it offline: larder replay COMMAND\n"))
        origin.stop()
        let second = try replay("curl", "-sS", url)
        #expect(second.status == 0, "\(second.errors)")
        #expect(second.output == text)
        #expect(second.errors.contains("larder: 1 response from the store\n"))
    }

    @Test func `a no-store response is recorded, and its cookies are not`() throws {
        origin.on("/secret") { _ in
            OriginAnswer.file("mine", type: "text/plain").adding("Cache-Control", "no-store, private")
                .adding("Set-Cookie", "session=4711")
        }
        let first = try record([], "curl", "-sSi", origin.url("/secret"))
        #expect(first.output.contains("session=4711"))
        origin.stop()
        let second = try replay("curl", "-sSi", origin.url("/secret"))
        #expect(second.output.hasSuffix("mine"))
        #expect(!second.output.contains("4711"))
        #expect(second.output.contains("Cache-Control: no-store, private"))
    }

    @Test func `record asks the server for a response that is stored and still fresh`() throws {
        for text in ["one", "two"] {
            origin.on("/a.txt") { _ in
                OriginAnswer.file(text, type: "text/plain").adding("Cache-Control", "max-age=3600")
            }
            #expect(try record([], "curl", "-sS", origin.url("/a.txt")).output == text)
        }
        let stored = try record(["--policy", "protocol"], "curl", "-sS", origin.url("/a.txt"))
        #expect(stored.output == "two" && origin.requests.count == 2, "\(stored)")
        origin.stop()
        #expect(try replay("curl", "-sS", origin.url("/a.txt")).output == "two")
    }

    @Test func `a response that record could not load is reported`() throws {
        let url = origin.url("/a.txt")
        origin.stop()
        let ending = try record([], "curl", "-sS", "-f", url)
        #expect(ending.status == 22, "\(ending)")
        #expect(ending.errors.contains("larder: could not be loaded: \(url)\n"), "\(ending)")
        #expect(!ending.errors.contains("missed") && !ending.errors.contains("To replay"), "\(ending)")
    }

    @Test
    func `Larder's header fields from a server are removed, and a partial response is not counted as stored`()
        throws
    {
        origin.on("/a.js") { _ in
            OriginAnswer.file("alert(1)", type: "text/javascript").adding("Larder-Bundle", "verified")
                .adding("Larder", "hit")
        }
        origin.on("/part") { _ in
            OriginAnswer(
                status: 206, fields: [("ETag", "\"1\""), ("Content-Range", "bytes 0-3/8")],
                body: [1, 2, 3, 4])
        }
        let first = try record([], "curl", "-sSi", origin.url("/a.js"))
        #expect(first.output.hasSuffix("alert(1)") && !first.output.lowercased().contains("larder:"))
        #expect(!first.output.contains("verified"))
        // Other policies load the whole response.
        let part = try record(
            ["--policy", "protocol"], "curl", "-sS", "-o", "/dev/null", "-r", "0-3", origin.url("/part"))
        #expect(part.errors.contains("1 loaded, 0 of them stored"), "\(part.errors)")
        #expect(part.errors.contains("/part: only a part of it was requested"), "\(part.errors)")
        origin.stop()
        let second = try replay("curl", "-sSi", origin.url("/a.js"))
        #expect(second.output.hasSuffix("alert(1)") && !second.output.contains("verified"))
    }

    @Test func `a recorded POST gets the recorded response`() throws {
        origin.on("/api") { request in
            .file("you said \(String(decoding: request.body, as: UTF8.self))", type: "text/plain")
        }
        for word in ["plum", "quince"] {
            #expect(
                try record([], "curl", "-sS", "-d", word, origin.url("/api")).output == "you said \(word)")
        }
        origin.stop()
        #expect(try replay("curl", "-sS", "-d", "plum", origin.url("/api")).output == "you said plum")
        let missed = try replay("curl", "-sS", "-f", "-d", "fig", origin.url("/api"))
        #expect(missed.status == 22)
        #expect(missed.errors.contains("missed POST \(origin.url("/api"))"))
    }

    @Test func `JSON bodies are compared by value, and parameters in any order if a rule says so`() throws {
        origin.on("/api") { _ in .file("answered", type: "text/plain") }
        let json = ["-H", "Content-Type: application/json"]
        _ = try Command(
            ["record", "--", "curl", "-sS"] + json + [
                "-d", #"{"b": 1, "a": [true, "x"]}"#, origin.url("/api"),
            ],
            home: home, environment: store
        ).wait()
        _ = try record([], "curl", "-sS", origin.url("/api?a=1&b=2"))
        origin.stop()
        func again(_ rule: [String], _ words: [String]) throws -> String {
            try Command(["replay"] + rule + ["--", "curl", "-sS"] + words, home: home, environment: store)
                .wait().output
        }
        #expect(try again([], json + ["-d", #"{"a":[true,"x"],"b":1}"#, origin.url("/api")]) == "answered")
        #expect(try again([], json + ["-d", #"{"a":["x",true],"b":1}"#, origin.url("/api")]) != "answered")
        #expect(try again([], [origin.url("/api?b=2&a=1")]) != "answered")
        #expect(try again(["--rule", "/api any-order"], [origin.url("/api?b=2&a=1")]) == "answered")
        #expect(try again(["--rule", "/api any-order"], [origin.url("/api?b=2&a=3")]) != "answered")
    }

    @Test(arguments: ["PUT", "PATCH", "DELETE", "PROPFIND"])
    func `responses to other methods are recorded and replayed`(method: String) throws {
        origin.on("/api") { request in
            .file("\(request.method) \(String(decoding: request.body, as: UTF8.self))", type: "text/plain")
        }
        func ask(_ word: String) -> [String] {
            ["curl", "-sS", "-X", method, "-d", word, origin.url("/api")]
        }
        func run(_ command: String, _ word: String) throws -> Command.Ending {
            try Command([command, "--"] + ask(word), home: home, environment: store).wait()
        }
        for word in ["plum", "quince"] { #expect(try run("record", word).output == "\(method) \(word)") }
        origin.stop()
        #expect(try run("replay", "plum").output == "\(method) plum")
        #expect(try run("replay", "fig").errors.contains("missed \(method) \(origin.url("/api"))"))
    }

    /// The signal goes to the recorded program, whose exit status shows it. Larder waits for the program, and leaves no
    /// file behind.
    @Test(arguments: ["INT", "TERM", "HUP"])
    func `a signal goes to the recorded program, and no file is left behind`(name: String) throws {
        let temporary = home.file("tmp")
        try #require(mkdir(temporary, 0o700) == 0)
        let script = "sleep 600 & trap 'kill $!; echo got \(name); exit 9' \(name); kill -\(name) $PPID; wait"
        let ending = try Command(
            ["record", "--", "bash", "-c", script], home: home,
            environment: store.merging(["TMPDIR": temporary]) { $1 }
        ).wait()
        #expect(ending.status == 9, "\(ending.errors)")
        #expect(ending.output == "got \(name)\n")
        #expect(rmdir(temporary) == 0)
    }

    @Test func `the exit status is that of the program, and after a signal that of a shell`() throws {
        #expect(try record([], "sh", "-c", "exit 7").status == 7)
        #expect(try replay("sh", "-c", "kill -TERM $$").status == 128 + 15)
        let missing = try record([], "/nonexistent/program")
        #expect(missing.status == 127)
        #expect(missing.errors.contains("cannot run /nonexistent/program"))
    }

    @Test func `replay without a store is an error`() throws {
        let answer = try replay("true")
        #expect(answer.status == 3)
        #expect(answer.errors.contains("there is no store at"))
    }

    @Test func `clients of https get certificates that they trust, for names and for addresses`() throws {
        let server = try SecureOrigin(home, files: ["a.txt": "over TLS"])
        defer { server.stop() }
        let options = ["--ca", server.authority, "--resolve", "pantry.test:\(server.port):127.0.0.1"]
        for host in ["pantry.test", "127.0.0.1"] {
            let url = "https://\(host):\(server.port)/a.txt"
            let first = try record(options, "curl", "-sS", url)
            #expect(first.output == "over TLS", "\(first.errors)")
            // Python's strictest verification requires key identifiers and critical constraints.
            let script = """
                import ssl, sys, urllib.request
                context = ssl.create_default_context()
                context.verify_flags |= ssl.VERIFY_X509_STRICT
                print(urllib.request.urlopen(sys.argv[1], context=context).read().decode(), end="")
                """
            let second = try replay("python3", "-c", script, url)
            #expect(second.output == "over TLS", "\(second.errors)")
        }
    }

    @Test func `an untrusted server certificate is refused`() throws {
        let server = try SecureOrigin(home, files: ["a.txt": "over TLS"])
        defer { server.stop() }
        let ending = try record(
            [], "curl", "-sS", "-f", "https://127.0.0.1:\(server.port)/a.txt")
        #expect(ending.status == 22)
        #expect(ending.output.isEmpty)
    }

    @Test func `a recorded git clone is replayed`() throws {
        let script = """
            set -e; cd \(home.path); git init -q made; cd made
            git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m one
            echo jam > jar; git add jar
            git -c user.name=a -c user.email=a@example.com commit -q -m two
            git clone -q --bare . \(home.path)/site/made.git; cd \(home.path)/site/made.git; git update-server-info
            """
        #expect(mkdir(home.file("site"), 0o700) == 0)
        let made = try ChildProcess(
            "/bin/sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": home.path])
        #expect(made.wait().status == 0)
        origin.serve(folder: home.file("site"))
        let first = try record([], "git", "clone", "-q", origin.url("/made.git"), home.file("one"))
        #expect(first.status == 0, "\(first.errors)")
        origin.stop()
        let second = try replay("git", "clone", "-q", origin.url("/made.git"), home.file("two"))
        #expect(second.status == 0, "\(second.errors)")
        #expect(home.names(in: "two").contains("jar"))
    }

    @Test func `the authority is created once, and its key is readable only by its owner`() throws {
        let first = try Command(["ca", "--pem"], home: home, environment: store).wait()
        #expect(first.output.hasPrefix("-----BEGIN CERTIFICATE-----"))
        #expect(try Command(["ca", "--pem"], home: home, environment: store).wait().output == first.output)
        var status = stat()
        #expect(stat(home.file("s/authority.pem"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try Command(["ca"], home: home, environment: store).wait().output.contains("SSL_CERT_FILE"))
    }

    @Test func `a proxy for other machines requires a login`() throws {
        let ending = try Command(["proxy", "--port", "0", "--listen", "*"], home: home, environment: store)
            .wait()
        #expect(ending.status == 2)
        #expect(ending.errors.contains("--proxy-user USER:PASSWORD"))
    }
}

/// An https server for the names `pantry.test` and `127.0.0.1`: `openssl s_server`.
private struct SecureOrigin {
    let port: Int
    let authority: String
    private let server: ChildProcess

    init(_ home: TemporaryFolder, files: [String: String]) throws {
        let folder = home.file("secure")
        #expect(mkdir(folder, 0o700) == 0)
        for (name, text) in files { try home.write(text, to: "secure/\(name)") }
        authority = home.file("secure.pem")
        let environment = ["PATH": "/usr/bin:/bin"]
        let made = try ChildProcess(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout",
                home.file("secure.key"), "-out", authority, "-days", "2", "-subj", "/CN=pantry.test",
                "-addext",
                "subjectAltName=DNS:pantry.test,IP:127.0.0.1",
            ], environment: environment)
        #expect(made.wait().status == 0)
        server = try ChildProcess(
            "/bin/sh",
            [
                "-c", "cd \"$0\" && exec openssl s_server -accept 127.0.0.1:0 -cert \"$1\" -key \"$2\" -WWW",
                folder,
                authority, home.file("secure.key"),
            ], environment: environment)
        // openssl prints "ACCEPT 127.0.0.1:40123".
        let told = server.read(until: "127.0.0.1:") + server.read(until: "\n")
        port = try #require(told.split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) })
    }

    func stop() {
        server.signal(SIGKILL)
        _ = server.wait()
    }
}
