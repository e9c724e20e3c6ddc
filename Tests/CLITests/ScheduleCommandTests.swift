import Glibc
import LarderKit
import Store
import TestOrigin
import Testing

/// Tests `larder schedule`. Its units and cron lines are split by the rules of systemd and cron, and then by a shell.
@Suite struct ScheduleCommandTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private static let stores = [
        "/srv/larder", "/srv/my larder", "/srv/100%", "/srv/$HOME", "/srv/a\"b", "/srv/it's",
        "/srv/back\\slash",
        "/srv/%h $USER \"x\" 'y' \\ `z`",
    ]

    @Test(arguments: stores, [true, false])
    func `the timer and the cron line name the store, whatever its path is`(
        store: String, isFromEnvironment: Bool
    )
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
        #expect(try words(of: command) == ["update", "example.com", "--store", store])
    }

    /// Removes quotes as described in systemd.service(5): C escapes within quotes, then `%%` and `$$`. Other uses of
    /// these characters are specifiers or variables, which the units must not contain.
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

    /// Returns the words after the name of the program, as a shell splits them.
    private func words(of command: String) throws -> [String] {
        let line = command.hasPrefix("exec ") ? String(command.dropFirst(5)) : command
        let script = try home.write("set -- \(line)\nshift\nprintf '%s\\n' \"$@\"\n", to: "words.sh")
        let ending = try Command([], home: home, shell: "exec sh '\(script)'").wait()
        return ending.output.split(separator: "\n").map(String.init)
    }

    /// Prefetches a site, and dates its snapshot long ago.
    private func prefetch(_ origin: TestOrigin) throws {
        let writer = try StoreWriter(StoreFolder(home.file("larder")))
        let snapshot = try writer.begin(site: origin.url("/"), start: [origin.url("/")], now: 1_700_000_000)
        try writer.end(snapshot, .publish(now: 1_700_000_100))
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments + ["--store", home.file("larder")], home: home).wait()
    }

    @Test func `a due site is updated once, and a failed one is retried later`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        origin.on("/", .page("<title>Home</title>"))
        try prefetch(origin)
        let nothing = try larder("update", "--due")
        #expect(nothing.status == 0 && nothing.output == "No site is due\n", "\(nothing)")
        let set = try larder("schedule", origin.url("/"), "every", "6h")
        #expect(set.status == 0, "\(set)")
        #expect(set.output.hasPrefix("\(origin.url("/")): 6h, due now\n"), "\(set)")
        #expect(try larder("status").output.contains("  now\n"))
        let first = try larder("update", "--due")
        #expect(first.status == 0 && first.output.contains("1 page"), "\(first)")
        #expect(try larder("update", "--due").output == "No site is due\n")
        let list = try larder("schedule")
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("Site "), "\(list)")
        #expect(lines[1].hasPrefix(origin.url("/")) && lines[1].contains("  6h  "), "\(list)")
        #expect(lines[2].hasPrefix("Nothing runs the scheduled updates: start a server with larder open "))
        #expect(try larder("status").output.contains("\nNothing runs the scheduled updates"))
        let timer = try larder("schedule", "--print-timer").output
        #expect(timer.contains("OnCalendar=*-*-* *:") && timer.contains("update --due --store"), "\(timer)")
        let json = try larder("schedule", "--json").output
        #expect(json.contains("\"schedule\": \"6h\"") && json.contains("\"failures\": 0"), "\(json)")

        #expect(try larder("schedule", origin.url("/"), "off").output.contains("no schedule"))
        #expect(
            try larder("schedule").output.hasPrefix("No site has a schedule; set one with: larder schedule"))
        #expect(try !larder("status").output.contains("Nothing runs"))
        #expect(try larder("update", "--due").output == "No site is due\n")
    }

    @Test func `a schedule is set and its timer printed in one command`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        try prefetch(origin)
        let set = try larder("schedule", origin.url("/"), "daily", "--print-timer")
        #expect(set.status == 0 && set.output.hasPrefix("# "), "\(set)")
        #expect(set.output.contains("update --due --store"))
        #expect(try larder("schedule", "--json", "-q").output.contains("\"schedule\": \"daily\""))
    }

    @Test func `a folder whose name begins like an address is named by its absolute path`() throws {
        let arguments = ["schedule", "example.com", "--print-timer", "--store", "postgres-notes"]
        let ending = try Command(arguments, home: home).wait()
        #expect(ending.output.contains("/postgres-notes"), "\(ending)")
    }

    @Test func `a failing site does not delay others`() throws {
        let (gone, origin) = (try TestOrigin(), try TestOrigin())
        defer {
            gone.stop()
            origin.stop()
        }
        gone.otherwise { _ in .failure(404) }
        origin.on("/", .page("<title>Home</title>"))
        for origin in [gone, origin] {
            try prefetch(origin)
            #expect(try larder("schedule", origin.url("/"), "daily").status == 0)
        }
        let ending = try larder("update", "--due")
        #expect(ending.status == 1 && ending.output.contains("\(origin.url("/")): 1 page"), "\(ending)")
        #expect(
            ending.errors.contains(
                "larder: 1 of 2 sites updated; not updated: \(gone.url("/")); its previous copy stays\n"))
        #expect(!ending.errors.contains("nothing was prefetched"))
        let json = try larder("schedule", "--json").output
        #expect(json.contains("\"failures\": 1") && json.contains("\"failures\": 0"), "\(json)")
        #expect(try larder("update", "--due").output == "No site is due\n")
    }

    @Test(arguments: [
        (["daily"], "name one with: larder schedule SITE daily"), (["every", "6h"], "SITE 6h"),
        (["https://none.test/", "daily"], "it is not stored"),
        (["https://none.test/", "off"], "it is not stored"),
        (["https://none.test/", "9m"], "neither a site nor an interval"),
        (["https://none.test/", "every", "fortnight"], "neither a site nor an interval"),
    ])
    func `a wrong site or interval is an error`(words: [String], expected: String) throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        try prefetch(origin)
        let ending = try Command(["schedule"] + words + ["--store", home.file("larder")], home: home).wait()
        #expect(ending.status == 2 && ending.errors.contains(expected), "\(ending)")
    }

    @Test func `a server with isScheduled updates due sites`() async throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        origin.on("/", .page("<title>Fresh</title>"))
        try prefetch(origin)
        let larder = Larder(at: home.file("larder"))
        try await larder.schedule(origin.url("/"), .daily)
        var options = ServeOptions()
        options.isScheduled = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let end = ContinuousClock.now + .seconds(300)
        while try await larder.snapshots().sites.first?.snapshots.last?.responses != 1 {
            try #require(ContinuousClock.now < end, "the server has not updated the site")
            try await Task.sleep(for: .milliseconds(10))
        }
        let next = try await larder.schedules().sites.first?.next ?? 0
        #expect(next > 1_700_000_000 + 2 * 86_400)
        options.isReadOnly = true
        #expect(throws: LarderError.self) { try larder.serve(port: 0, options: options) }
    }

    @Test func `a store from a variable is named in the command, and the default store is not`() throws {
        for (data, store) in [("data", home.file("data") + "/larder"), (nil, nil)] {
            let environment = data.map { ["XDG_DATA_HOME": home.file($0)] } ?? [:]
            let ending = try Command(["schedule", "--print-timer"], home: home, environment: environment)
                .wait()
            #expect(ending.status == 0, "\(ending)")
            let lines = ending.output.split(separator: "\n").filter {
                $0.contains("larder update") || $0.contains(" update ")
            }
            let named = lines.count { $0.contains(" --store ") }
            #expect(store.map { ending.output.contains("--store \($0)") } ?? true, "\(ending)")
            #expect(named == (store == nil ? 0 : 2), "\(ending)")
        }
    }

    @Test func `--hour applies only to the daily timer`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        try prefetch(origin)
        let wrong = try larder("schedule", origin.url("/"), "daily", "--hour", "6")
        #expect(
            wrong.status == 2 && wrong.errors.contains("--hour sets the time of the printed timer"),
            "\(wrong)")
        #expect(try larder("schedule", "--print-timer").output.contains("OnCalendar=*-*-* 04:"))
        #expect(try larder("schedule", "--hour", "6").output.contains("OnCalendar=*-*-* 06:"))
        #expect(try larder("schedule", origin.url("/"), "daily").status == 0)
        let told = try larder("schedule", "--hour", "6")
        #expect(told.status == 0 && told.errors.contains("--hour is ignored"), "\(told)")
    }

    @Test func `a store in the current folder is named by its absolute path`() throws {
        let ending = try Command(
            ["schedule", "--print-timer"], home: home, environment: ["LARDER_STORE": "pantry"],
            shell: "cd \"$HOME\" && exec \"$0\" \"$@\""
        ).wait()
        #expect(ending.output.contains("--store \(home.path)/pantry"), "\(ending)")
    }

    // MARK: - Programs that run the updates

    private var environment: [String: String] { ["XDG_RUNTIME_DIR": home.path] }

    /// Starts a server, and reads its first line.
    private func serve(_ words: String...) throws -> Command {
        let server = try Command(
            ["serve", "--port", "0", "--store", home.file("larder")] + words, home: home,
            environment: environment)
        #expect(server.read(until: "\n").contains("The server is at"))
        return server
    }

    private func end(_ server: Command) {
        server.signal(SIGTERM)
        #expect(server.wait().status == 0)
    }

    private func run(_ arguments: String..., path: String = "") throws -> Command.Ending {
        try Command(
            arguments + ["--store", home.file("larder")], home: home,
            environment: environment.merging(path.isEmpty ? [:] : ["PATH": path]) { $1 }
        ).wait()
    }

    @Test func `a server updates due sites unless --no-schedule is given, and the list names it`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        try prefetch(origin)
        #expect(try run("schedule", origin.url("/"), "weekly").errors.isEmpty)
        #expect(try run("update", "--due").status == 1)
        var server = try serve("--no-schedule")
        #expect(try run("schedule").output.contains("Nothing runs the scheduled updates"))
        #expect(try run("status").output.contains("Nothing runs the scheduled updates"))
        end(server)
        server = try serve()
        #expect(try run("schedule").output.contains("are run by the server at http://localhost:"))
        #expect(try run("schedule", "--json").output.contains("\"kind\": \"server\""))
        #expect(try !run("status").output.contains("Nothing runs"))
        #expect(try run("status", "--json").output.contains("\"pid\": "))
        end(server)
        let both = try run("serve", "--port", "0", "--scheduled", "--no-schedule")
        #expect(both.status == 2 && both.errors.contains("contradict each other"), "\(both)")
    }

    @Test func `two servers and a timer update a site once`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        origin.on("/", .page("<title>Fresh</title>"))
        try prefetch(origin)
        #expect(try run("schedule", origin.url("/"), "daily").status == 0)
        let servers = [try serve(), try serve()]
        let timer = try run("update", "--due")
        #expect(timer.status == 0, "\(timer)")
        #expect(origin.waitForRequests(1, to: "/"))
        for server in servers { end(server) }
        #expect(try run("update", "--due").output == "No site is due\n")
        #expect(origin.requests(to: "/").count == 1)
    }

    private func text(of name: String) throws -> String {
        try Command([], home: home, shell: "cat \"$HOME/\(name)\"").wait().output
    }

    /// A fake `systemctl` that records its arguments and enables the timer.
    private func systemctl(_ ending: String) throws -> String {
        mkdir(home.file("bin"), 0o755)
        let path = try home.write(
            """
            #!/bin/sh
            echo "$*" >> "$HOME/calls"
            units="$HOME/.config/systemd/user"
            \(ending)
            [ "$2" != enable ] || { mkdir -p "$units/timers.target.wants" && ln -s "$units/$4" "$units/timers.target.wants/$4"; }
            """, to: "bin/systemctl")
        chmod(path, 0o755)
        return home.file("bin") + ":/usr/bin:/bin"
    }

    @Test func `a timer is installed, and from then on runs the updates`() throws {
        let origin = try TestOrigin()
        defer { origin.stop() }
        try prefetch(origin)
        let path = try systemctl("")
        let none = try run("schedule", "--install", path: path)
        #expect(none.status == 0 && none.output.contains("No site has a schedule yet"), "\(none)")
        #expect(try run("schedule", origin.url("/"), "daily", path: path).status == 0)
        let list = try run("schedule", path: path)
        #expect(list.output.contains("are run by the systemd timer larder-update-"), "\(list)")
        let units = home.names(in: ".config/systemd/user").filter { $0.hasPrefix("larder") }.sorted()
        #expect(units.count == 2, "\(units)")
        let calls = try text(of: "calls")
        #expect(
            calls
                == "--user daemon-reload\n--user enable --now \(units.last ?? "")\n")
        let service = try text(of: ".config/systemd/user/\(units.first ?? "")")
        #expect(service.hasPrefix("# Due updates of \(home.file("larder"))\n[Unit]\n"), "\(service)")
        let start = "ExecStart=/bin/sh -c \""
        let line = try #require(service.split(separator: "\n").first { $0.hasPrefix(start) })
        let quoted = line.dropFirst(start.count).dropLast()
        #expect(
            try words(of: Self.unquoted(String(quoted))) == [
                "update", "--due", "--store", home.file("larder"),
            ])
    }

    @Test func `without a running systemd, a cron line is offered`() throws {
        let path = try systemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1")
        let failed = try run("schedule", "--install", path: path)
        #expect(failed.status == 3, "\(failed)")
        #expect(failed.errors.contains("Failed to connect to bus: No medium found; start it with: systemctl"))
        #expect(failed.output.contains("59/15 * * * * "), "\(failed)")
        let mistaken = try run("schedule", "--install", "--hour", "6", path: path)
        #expect(mistaken.status == 2, "\(mistaken)")
    }
}
