import Glibc
import Store
import TestOrigin
import Testing
import Web

@Suite struct SnapshotCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<a href=/two>2</a>"))
        origin.on("/two", .page("one"))
        origin.on("/old", .page("moving"))
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    private var site: String { origin.url("/") }

    @Test func `snapshots are listed, compared and rolled back`() throws {
        #expect(try larder("prefetch", site).status == 0)
        origin.on("/", .page("<a href=/two>2</a><a href=/three>3</a>"))
        origin.on("/two", .failure(404))
        origin.on("/three", .page("three"))
        #expect(try larder("prefetch", site).status == 0)

        let snapshots = try larder("snapshots").output
        let rows = snapshots.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.first == [site])
        #expect(rows[1] == ["Snapshot", "Date", "Responses", "State"])
        #expect(rows[2].first == "1" && rows[2].count == 4)
        #expect(rows[3].first == "2" && rows[3].suffix(2) == ["3", "live"])

        let diff = try larder("diff", site)
        #expect(diff.output.contains("added   \(origin.url("/three"))\n"))
        #expect(diff.output.contains("changed \(site)\n"))
        #expect(diff.output.contains("gone    \(origin.url("/two"))\n"))
        #expect(diff.output.contains("snapshot 1 to 2: 1 added, 1 changed, 1 gone, 0 moved"))
        let json = try larder("diff", site, "2", "1", "--json").output
        #expect(try JSONValue.parse(json.utf8.span)["gone"]?[0]?.string == origin.url("/three"))

        let rolledBack = try larder("rollback", "127.0.0.1").output
        #expect(rolledBack == "127.0.0.1: snapshot 1 is live now, until the next update of the site\n")
        #expect(try larder("snapshots", "127.0.0.1").output == larder("snapshots", site).output)
        #expect(try live() == "1")
        #expect(try larder("rollback", "\(site)@2").output.hasPrefix("\(site): snapshot 2 is live now"))
        #expect(try live() == "2")
        #expect(try larder("rollback", site, "1").status == 0)
        #expect(try larder("rollback", site, "2").status == 0)
        #expect(try larder("remove", "\(site)@1").output.hasPrefix("Removed snapshot 1 of \(site)\n"))
        #expect(try larder("remove", "\(site)@2").errors.contains("snapshot 2 is live; it is the only one"))
        #expect(try larder("snapshots").output.split(separator: "\n").count == 3)
    }

    @Test func `diff prints the lines of a page that changed`() throws {
        let page = origin.url("/ferry")
        origin.on("/", .page("<p>Front page<p><a href=/ferry>Ferry</a>"))
        origin.on("/ferry", .page("<p>1<p>2<p>3<p>4<p>A ticket costs 4.20<p>end"))
        #expect(try larder("prefetch", site).status == 0)
        #expect(
            try larder("diff", page).errors.contains("there is no complete one before snapshot 1"))
        origin.on("/", .page("<p>Front page of Monday<p><a href=/ferry>Ferry</a>"))
        origin.on("/ferry", .page("<p>1<p>2<p>3<p>4<p>A ticket costs 5.10<p>end"))
        #expect(try larder("prefetch", site).status == 0)

        let difference = """
              (2 equal lines)
              3
              4
            - A ticket costs 4.20
            + A ticket costs 5.10
              end
            \(page), snapshot 1 to 2: 1 line removed, 1 added

            """
        #expect(try larder("diff", page).output == difference)
        #expect(try larder("diff", page, "1", "latest").output == difference)
        #expect(
            try larder("diff", page, "2", "2").output == "\(page), snapshot 2 to 2: the text is the same\n")
        // The start page has the URL of the site, so that an option says that the page is meant.
        #expect(try larder("diff", site).output.contains("2 changed"))
        #expect(
            try larder("diff", site, "--text").output.hasPrefix("- Front page\n+ Front page of Monday\n"))
        let json = try larder("diff", page, "--json").output
        #expect(try JSONValue.parse(json.utf8.span)["lines"]?[3]?["text"]?.string == "A ticket costs 4.20")
        #expect(try larder("diff", origin.url("/none")).status == 2)
        #expect(try larder("diff", page, "--text", "--pictures").errors.contains("exclude each other"))
    }

    @Test func `on a terminal, a removal is confirmed first`() throws {
        #expect(try larder("prefetch", site).status == 0)
        let host = String(site.dropFirst("http://".count).dropLast())
        func remove(_ options: String, answer: String, _ name: String? = nil) throws -> Command.Ending {
            let program = ChildProcess.built("larder")
            return try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    "echo \(answer) | script -qec '\"$PROGRAM\" remove \(options) \(name ?? site)' /dev/null",
                ],
                environment: ["HOME": home.path, "PATH": "/usr/bin:/bin", "PROGRAM": "\(program)"]
            ).wait()
        }
        let refused = try remove("", answer: "n")
        #expect(refused.status == 1)
        #expect(refused.output.contains("\(site): 1 snapshot, 2 pages"), "\(refused)")
        #expect(refused.output.contains("Remove it? [y/N]"))
        #expect(try remove("", answer: "n", host).output.contains("  \(site): 1 snapshot, 2 pages"))
        #expect(try remove("", answer: "n", "\(site)@1").output.contains("  snapshot 1 of \(site): "))
        #expect(try remove("", answer: "n", "\(site)*").output.contains("  \(site)*: from all snapshots"))
        #expect(try larder("status").output.contains(site))
        let confirmed = try remove("", answer: "y")
        #expect(confirmed.status == 0 && confirmed.output.contains("Removed \(site)"), "\(confirmed)")
        #expect(try larder("prefetch", site).status == 0)
        let unasked = try remove("--yes", answer: "n")
        #expect(unasked.status == 0 && !unasked.output.contains("[y/N]"), "\(unasked)")
    }

    /// Returns the number of the live snapshot, as `larder status` shows it.
    private func live() throws -> String? {
        let rows = try larder("status").output.split(separator: "\n").map { $0.split(separator: " ") }
        return rows.first { $0.first == site[...] }.map { String($0[1]) }
    }

    @Test func `a site below a path is found by host and port, and removed by its whole name`() throws {
        origin.on("/docs/", .page("docs"))
        let docs = origin.url("/docs/")
        let host = String(site.dropFirst("http://".count).dropLast())
        #expect(try larder("prefetch", docs).status == 0)
        let listed = try larder("snapshots", docs)
        #expect(listed.status == 0, "\(listed)")
        #expect(try larder("snapshots", host).output == listed.output)
        #expect(try larder("snapshots", site).output == listed.output)
        #expect(try larder("list", site).output == larder("list", docs).output)
        #expect(try larder("update", host).status == 0)
        for name in [host, site] {
            let refused = try larder("remove", name)
            #expect(
                refused.status == 2 && refused.errors.contains("to remove it: larder remove \(docs)"),
                "\(refused)")
        }
        #expect(try larder("remove", docs).status == 0)
    }

    @Test func `a removal with a wrong name removes nothing, and one undo reverses a whole removal`()
        throws
    {
        #expect(try larder("prefetch", site).status == 0)
        origin.on("/b/", .page("b"))
        #expect(try larder("prefetch", origin.url("/b/")).status == 0)
        let unmatched = try larder("remove", site + "old/**")
        #expect(
            unmatched.status == 2 && unmatched.errors.contains(": no stored URL matches; "), "\(unmatched)")
        let wrong = try larder("remove", site, "https://elsewhere.test/")
        #expect(wrong.status == 2, "\(wrong)")
        for operands in [[site, "\(origin.url("/b/"))@1"], [site, "\(site)@9"]] {
            #expect(try Command(["remove"] + operands, home: home).wait().status == 2)
        }
        #expect(try larder("list", "--sites").output.contains(site))
        #expect(try larder("remove", site, origin.url("/b/")).status == 0)
        #expect(try larder("list", "--sites").output == "")
        let undone = try larder("undo")
        #expect(undone.output.contains("Restored \(site)\n"), "\(undone)")
        #expect(undone.output.contains("Restored \(origin.url("/b/"))\n"), "\(undone)")
    }

    @Test func `list, export and search take a snapshot of a site, other commands say what to name`() throws {
        origin.on("/", .page("<title>Old</title>first <a href=/gone>g</a>"))
        origin.on("/gone", .page("gone"))
        #expect(try larder("prefetch", site).status == 0)
        origin.on("/", .page("<title>New</title>second <a href=/new>n</a>"))
        origin.on("/new", .page("new"))
        #expect(try larder("prefetch", site).status == 0)
        let old = try larder("list", "\(site)@1")
        #expect(old.status == 0 && old.output.contains("/gone\n"), "\(old)")
        #expect(!old.output.contains("/new\n"), "\(old)")
        #expect(try larder("list", "\(site)@2").output.contains("/new\n"))
        #expect(try larder("search", "first", "--site", "\(site)@1").output.contains("Old"))
        let file = home.file("old.warc.gz")
        let export = try larder("export", "\(site)@1", file)
        #expect(export.status == 0 && export.output.contains(", snapshot 1: "), "\(export)")
        let update = try larder("update", "\(site)@1")
        #expect(update.status == 2, "\(update)")
        #expect(
            update.errors.contains("this command takes whole sites, and 1 is a snapshot of \(site)"),
            "\(update)")
        let page = try larder("snapshots", origin.url("/gone"))
        #expect(page.errors.contains("which may be one of its pages; name the site: \(site)"), "\(page)")
    }

    @Test func `an update with an unreachable site updates the others, and names it`() throws {
        let sites = ["/a", "/b", "/c"].map { origin.url($0) }
        for path in ["/a", "/b", "/c"] { origin.on(path, .page(path)) }
        for site in sites { #expect(try larder("prefetch", site).status == 0) }
        try StoreWriter(StoreFolder(home.file(".local/share/larder"))).storeSettings(
            #"{"rules": ["what is this"]}"#, ofSite: sites[1])
        let ending = try larder("update")
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors.contains("\(sites[1]): "), "\(ending)")
        for site in [sites[0], sites[2]] {
            #expect(ending.output.contains("\(site): nothing has changed (1 URL checked, "), "\(ending)")
        }
        let json = try larder("update", "--json")
        #expect(try JSONValue.parse(json.output.utf8.span)[1]?["site"]?.string == sites[2])
    }

    /// Snapshots of different days cannot be made here, so that all dates mean the last one, or none.
    @Test(arguments: ["1", "2026-01-01", "today", "latest", "2099-12-31"])
    func `the version of a page can be a number or a date`(version: String) throws {
        #expect(try larder("prefetch", site).status == 0)
        origin.on("/two", .page("later"))
        #expect(try larder("prefetch", site).status == 0)
        let isEarly = version == "2026-01-01"
        for target in [site, origin.url("/two"), String(site.dropFirst("http://".count).dropLast())] {
            let ending = try larder("cat", "\(target)@\(version)")
            guard isEarly else {
                // The name of a site is no URL.
                if target.hasPrefix("http") { #expect(ending.status == 0, "\(ending)") }
                continue
            }
            #expect(ending.status == 2, "\(ending)")
            #expect(
                ending.errors.contains("has no snapshot of \(version) or before; it has: 1 ("), "\(ending)")
        }
        let page = try larder("cat", "\(origin.url("/two"))@\(version)")
        let option = try larder("cat", origin.url("/two"), "--snapshot", version)
        if !isEarly {
            #expect(page.output.contains(version == "1" ? "one" : "later"), "\(page)")
            #expect(option.output == page.output, "\(option)")
        }
        #expect(option.status == page.status)
        #expect(try larder("list", "\(site)@\(version)").status == (isEarly ? 2 : 0))
    }

    @Test func `a wrong version names the snapshots that exist, and a stored URL with @ is no version`()
        throws
    {
        origin.on("/", .page("<a href=/two>2</a><a href=/two@1>pack</a>"))
        origin.on("/two@1", .page("package"))
        #expect(try larder("prefetch", site).status == 0)
        let host = String(site.dropFirst("http://".count).dropLast())
        for command in ["open", "list", "cat"] {
            for (text, reason) in [
                (
                    "\(host)@2026-13-40",
                    "\"2026-13-40\" is neither the number nor the date of a snapshot of \(site)"
                ),
                ("\(host)@9", "\(site) has no snapshot 9"),
                ("\(origin.url("/two"))@9", "\(site) has no snapshot 9"),
                (
                    "\(host)@yesteday",
                    "\"yesteday\" is neither the number nor the date of a snapshot of \(site)"
                ),
            ] {
                let ending = try larder(command, text)
                #expect(ending.status == 2, "\(ending)")
                #expect(ending.errors.contains("\(reason); it has: 1 ("), "\(ending)")
            }
        }
        #expect(try larder("cat", origin.url("/two@1")).output.contains("package"))
    }

    @Test func `an unknown site or snapshot is named, with those that exist`() throws {
        #expect(try larder("prefetch", site).status == 0)
        let unknown = try larder("rollback", "https://elsewhere.test/")
        #expect(unknown.status == 2)
        #expect(
            unknown.errors.contains(
                "https://elsewhere.test/: it is not stored; the stored sites are: \(site)")
        )
        #expect(
            try larder("rollback", site).errors.contains(
                "there is no complete one before snapshot 1; list its snapshots with"))
        #expect(try larder("rollback", site, "9").status == 2)
        #expect(try larder("diff", site, "1", "9").errors.contains("it has no snapshot 9"))
        #expect(try larder("diff", site, "x").errors.contains("\"x\" is neither the number nor the date of"))
        let snapshots = try larder("snapshots", "https://elsewhere.test/")
        #expect(snapshots.status == 2)
        #expect(snapshots.errors == unknown.errors)
    }

    @Test func `a flipped bit is found, taken out of service, and fetched again`() throws {
        origin.on("/two", .file([UInt8](repeating: 3, count: 200_000), type: "image/png"))
        #expect(try larder("prefetch", site).status == 0)
        #expect(try larder("fsck").output.contains("2 bodies, 200.0 kB: all intact"))

        let folder = ".local/share/larder/packs/"
        let name = try #require(home.names(in: folder).first)
        var bytes = [UInt8](repeating: 3, count: 200_000)
        let sha256 = "ebd166f9bb58194b65fcdb9d1cd67f4f653fed0ab188830e9ea6cedbcba1c39b"
        bytes[100_000] = 2
        try home.write(bytes, to: folder + name)
        let found = try larder("fsck")
        #expect(found.status == 1)
        #expect(found.output.contains("damaged \(sha256): its bytes have changed\n  \(origin.url("/two"))\n"))
        #expect(found.output.contains("To take damaged bodies out of service: larder fsck --repair"))
        #expect(try larder("fsck", "--repair", "--json").status == 1)
        #expect(try larder("fsck").status == 0)
        #expect(try larder("prefetch", site).status == 0)
        #expect(home.names(in: folder).count == 1)
        #expect(try larder("fsck").output.contains(": all intact\n"))
    }

    @Test(arguments: [
        ["snapshots"], ["status"], ["list"], ["diff", "SITE"], ["rollback", "SITE"], ["drop", "SITE", "1"],
        ["remove", "SITE"],
        ["show", "SITE"], ["explain", "SITE"], ["pins"], ["check", "--offline", "SITE"],
    ])
    func `every command reports a damaged database as a machine error`(words: [String]) throws {
        #expect(try larder("prefetch", site).status == 0)
        let database = home.file(".local/share/larder/larder.db")
        let file = open(database, O_WRONLY)
        #expect(pwrite(file, "no database", 11, 0) == 11)
        close(file)
        let ending = try Command(words.map { $0 == "SITE" ? site : $0 }, home: home).wait()
        #expect(ending.status == 3, "\(ending)")
        #expect(ending.errors.contains("larder fsck --repair"), "\(ending)")
    }
}
