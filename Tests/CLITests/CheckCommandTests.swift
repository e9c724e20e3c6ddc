import Glibc
import TestOrigin
import Testing
import Web

@Suite struct CheckCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<script src=/a.js></script><script src=/b.js></script>"))
        origin.on("/a.js", .file("a", type: "text/javascript"))
        origin.on("/b.js", .file("b", type: "text/javascript"))
        mkdir(home.file("dist"), 0o755)
        try home.write("a", to: "dist/a.js")
        try home.write("b", to: "dist/b.js")
        try home.write(
            """
            {"bundles": [{"url": "/a.js", "md5": "0cc175b9c0f1b6a831c399e269772661"},
                         {"url": "/b.js", "md5": "92eb5ffee6ae2fec3ad71c777531578f"}]}
            """, to: "m.json")
    }

    private func larder(_ arguments: String..., shell: String? = nil) throws -> Command.Ending {
        try Command(arguments, home: home, shell: shell).wait()
    }

    private var manifest: String { home.file("m.json") }

    private func text(_ name: String) -> String {
        guard let file = fopen(home.file(name), "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
    }

    @Test func `staging, production, a build and stored bundles are compared in one run`() throws {
        let staging = try TestOrigin()
        staging.on("/a.js", .file("a", type: "text/javascript"))
        staging.on("/b.js", .file("B", type: "text/javascript"))
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let all = try larder(
            "check", manifest, "--base", origin.url("/"), "--base", staging.url("/"), "--dir",
            home.file("dist"),
            "--held", "--live")
        #expect(all.status == 1, "\(all)")
        let lines = all.output.split(separator: "\n").map(String.init)
        #expect(
            lines[0].split(separator: " ").map(String.init) == [
                "bundle", home.file("dist"), "stored", "of", origin.url("/"), "stored", "of",
                staging.url("/"), origin.url("/"), staging.url("/"),
            ])
        #expect(
            lines[1].split(separator: " ") == [
                "/a.js", "verified", "verified", "missing", "verified", "verified",
            ])
        #expect(
            lines.first { $0.hasPrefix("/b.js") }?.split(separator: " ")
                == ["/b.js", "verified", "verified", "missing", "verified", "mismatch"])
        #expect(all.output.contains("\(staging.url("/b.js")): MD5 9d5ed678…, expected 92eb5ffe…"))
    }

    @Test func `all digests of a manifest are compared and named, and --quiet prints the failures`() throws {
        let sha256 = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
        func write(_ md5: String) throws {
            try home.write(
                #"{"bundles": [{"url": "/a.js", "md5": "\#(md5)", "sha256": "\#(sha256)"}]}"#, to: "both.json"
            )
        }
        func check(_ options: String...) throws -> Command.Ending {
            try Command(
                ["check", home.file("both.json"), "--dir", home.file("dist")] + options, home: home
            ).wait()
        }
        try write("0cc175b9c0f1b6a831c399e269772661")
        #expect(try check().output.contains("/a.js: sha256, md5\n"))
        let quiet = try check("--quiet")
        #expect(quiet.status == 0 && (quiet.output + quiet.errors).isEmpty, "\(quiet)")
        try write("0cc175b9c0f1b6a831c399e269772662")
        let wrong = try check("--quiet")
        #expect(wrong.status == 1 && wrong.output.isEmpty, "\(wrong)")
        #expect(wrong.errors.contains("/a.js: MD5 0cc175b9…, expected 0cc175b9…\n"), "\(wrong)")
        #expect(wrong.errors.hasSuffix("both.json: 1 mismatch\n"), "\(wrong)")
    }

    @Test func `check of the URL of a stored manifest compares the server`() throws {
        let (bundle, manifest) = ("/live/a.js", origin.url("/live/m.json"))
        origin.on(bundle, .file("a", type: "text/javascript"))
        let md5 = "0cc175b9c0f1b6a831c399e269772661"
        origin.on(
            "/live/m.json",
            .file(#"{"bundles": [{"url": "a.js", "md5": "\#(md5)"}]}"#, type: "application/json"))
        #expect(try larder("preload", manifest).status == 0)
        #expect(try larder("check", manifest).status == 0)
        origin.on(bundle, .file("b", type: "text/javascript"))
        let tampered = try larder("check", manifest)
        #expect(tampered.status == 1 && tampered.output.contains("1 mismatch"), "\(tampered)")
        #expect(try larder("check", manifest, "--stored").status == 0)
        #expect(try larder("check", "--offline", manifest).status == 0)
    }

    @Test func `check detects whether its target is a manifest or a stored site`() throws {
        let shell = "cd \"$HOME\"; exec \"$0\" \"$@\""
        let nothing = try larder("check")
        #expect(
            nothing.status == 3 && nothing.errors.contains("the store does not exist"), "\(nothing)"
        )
        let file = try larder("check", "m.json", "--base", origin.url("/"), shell: shell)
        #expect(file.status == 0 && file.output.contains("2 verified"), "\(file)")

        #expect(try larder("prefetch", origin.url("/")).status == 0)
        origin.stop()
        let proof = try larder("check", "--offline", origin.url("/")).output
        let note =
            "note: \(origin.url("/")) is stored, so its stored copy was checked and nothing was requested; to fetch what has "
        let named = try larder("check", origin.url("/")).output
        #expect(named.contains(note + "changed: larder update \(origin.url("/"))\n"), "\(named)")
        #expect(
            named.split(separator: "\n").filter { !$0.hasPrefix("note: ") }.joined(separator: "\n") + "\n"
                == proof)
        for words in [["check", "127.0.0.1@1"], ["check", "--links", origin.url("/") + "@1"]] {
            let snapshot = try Command(words, home: home).wait()
            #expect(snapshot.status == 2, "\(snapshot)")
            #expect(snapshot.errors.contains("check reads the live snapshot of a site, not "), "\(snapshot)")
        }
        let folder = try larder("check", home.path)
        #expect(
            folder.status == 2 && folder.errors.contains("\(home.path) is a folder; to compare"), "\(folder)")
        #expect(try larder("check", "127.0.0.1").output == proof)
        let stored = try larder("check", "127.0.0.1", "--stored")
        #expect(stored.status == 2 && stored.errors.contains("127.0.0.1 is a stored site"), "\(stored)")
        #expect(try larder("check").output == proof)
        let both = try larder("check", origin.url("/"), "--offline", "--stored")
        #expect(both.status == 2 && both.errors.contains("--stored is for manifests"), "\(both)")

        try home.write(
            #"{"check": {"target": "m.json", "base": ["\#(origin.url("/"))"]}}"#, to: ".larder.json")
        let configured = try larder("check", "--stored", shell: shell)
        #expect(configured.status == 0 && configured.output.contains("2 verified"), "\(configured)")
        #expect(try larder("check", "--offline", shell: shell).output == proof)
    }

    @Test func `a project names its manifest, its build and its report in .larder.json`() throws {
        try home.write(
            #"{"check": {"target": "m.json", "dir": "dist", "report": ["junit=junit.xml"]}}"#,
            to: ".larder.json")
        let ending = try larder("check", shell: "cd \"$HOME\"; exec \"$0\" \"$@\"")
        #expect(ending.status == 0 && ending.output.contains("2 verified"), "\(ending)")
        #expect(text("junit.xml").hasPrefix("<?xml"))
    }

    @Test(arguments: [
        (
            ["check", "--dir", "dist"],
            "--dir needs a manifest, for example: larder check site.json --dir dist"
        ),
        (["check", "--live"], "--live needs a manifest, for example: larder check site.json --live"),
        (["manifest", "nodir"], "there is no folder nodir: name a folder, a stored site, or a URL to fetch"),
    ])
    func `a missing operand is reported with an example`(words: [String], message: String) throws {
        let ending = try Command(words, home: home).wait()
        #expect(ending.status == 2)
        #expect(ending.errors == "larder: \(message)\n")
    }

    @Test func `stored bundles and folders are checked without network requests`() throws {
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let (requests, connections) = (origin.requests.count, origin.connectionCount)
        #expect(try larder("check", manifest, "--base", origin.url("/"), "--held").status == 0)
        #expect(try larder("check", manifest, "--dir", home.file("dist")).status == 0)
        #expect(try larder("check", "--offline", origin.url("/")).status == 0)
        #expect(origin.requests.count == requests)
        #expect(origin.connectionCount == connections)
    }

    private static let canTrace = access("/usr/bin/strace", X_OK) == 0

    @Test(
        .enabled(if: canTrace, "strace is not there"),
        arguments: [["m.json", "--held", "--base"], ["m.json", "--dir", "dist", "--base"], ["--offline"]])
    func `a check of local bundles opens no socket`(words: [String]) throws {
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let ending = try Command(
            ["check"] + words + [origin.url("/")], home: home,
            shell: "cd \"$HOME\" && exec strace -f -e trace=socket,connect -o trace \"$0\" \"$@\""
        ).wait()
        #expect(ending.status == 0, "\(ending)")
        #expect(text("trace").contains("exited with 0"))
        // A thread of the Swift runtime may report to the system's log.
        let sockets = text("trace").split(separator: "\n").filter { line in
            line.contains("connect(") && !line.contains("\"/dev/log\"")
                || line.contains("socket(") && !line.contains("AF_UNIX")
        }
        #expect(sockets == [])
    }

    @Test func `reports are written to files beside the printed one`() throws {
        let ending = try larder(
            "check", manifest, "--dir", home.file("dist"), "--report", "junit=\(home.file("j.xml"))",
            "--report",
            "sarif=\(home.file("s.sarif"))", "--report", "tap=\(home.file("t.tap"))", "--report",
            "json=\(home.file("r.json"))", "--report", "github")
        #expect(ending.status == 0, "\(ending)")
        #expect(
            ending.output == "::notice title=larder check::\(manifest): 2 verified; verified by md5 (2)\n")
        #expect(text("j.xml").hasPrefix("<?xml"))
        #expect(text("j.xml").hasSuffix("</testsuites>\n"))
        #expect(try JSONValue.parse(text("s.sarif").utf8.span)["version"]?.string == "2.1.0")
        #expect(text("t.tap").hasPrefix("TAP version 14\n1..2\nok 1 - /a.js\n"))
        #expect(try JSONValue.parse(text("r.json").utf8.span)["clean"]?.bool == true)
        #expect(home.names().filter { $0.hasSuffix(".part") }.isEmpty)

        let file = try larder(
            "check", manifest, "--dir", home.file("dist"), "--report", "tap=\(home.file("t.tap"))")
        #expect(file.output.contains("verified \(home.file("dist/a.js")): md5\n"))
        let printed = try larder("check", manifest, "--dir", home.file("dist"), "--report", "tap=-")
        #expect(printed.output.hasPrefix("TAP version "), "\(printed)")
    }

    @Test func `--fail-on chooses the verdicts that make the exit status 1`() throws {
        home.remove("dist/b.js")
        let missing = try larder("check", manifest, "--dir", home.file("dist"))
        #expect(missing.status == 1)
        #expect(missing.output.contains("missing \(home.file("dist/b.js")): the file does not exist\n"))
        #expect(
            try larder("check", manifest, "--dir", home.file("dist"), "--fail-on", "mismatch").status == 0)
        #expect(
            try larder("check", manifest, "--dir", home.file("dist"), "--fail-on", "missing,skew").status == 1
        )
    }

    /// No program listens on port 1.
    @Test(arguments: ["http://127.0.0.1:1/m.json", "http://nosuch.invalid/m.json"])
    func `an unreachable manifest is reported as missing`(address: String) throws {
        let ending = try larder(
            "check", address, "--report", "junit=\(home.file("j.xml"))", "--fail-on", "mismatch")
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.output.contains("missing \(address): cannot fetch the manifest: "), "\(ending)")
        #expect(text("j.xml").contains("<failure message=\"missing: "), "\(text("j.xml"))")
        origin.on("/gone.json", .failure(404))
        #expect(try larder("check", origin.url("/gone.json")).status == 1)
    }

    @Test func `bundles of a host that cannot be reached are missing`() throws {
        let ending = try larder("check", manifest, "--base", "http://127.0.0.1:1/")
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.output.contains("missing http://127.0.0.1:1/a.js: cannot connect"), "\(ending)")
    }

    @Test func `a report that cannot be written is an error`() throws {
        let ending = try larder(
            "check", manifest, "--dir", home.file("dist"), "--report", "junit=/no/such/j.xml")
        #expect(ending.status == 3)
        #expect(ending.errors.contains("cannot write /no/such/j.xml: No such file or directory; "))
    }

    @Test(arguments: [
        (
            ["--report", "html"],
            "--report must be one of text, json, junit, sarif, github, tap, markdown, not \"html\""
        ),
        (["--report", "juint"], "did you mean junit?"),
        (["--report", "junit="], "--report junit= needs a file name"),
        (["--report", "tap", "--json"], "only one report can be printed"),
        (
            ["--fail-on", "failure"],
            "--fail-on must be a list of verdicts (broken,not-fetched,unverifiable,skew,missing,mismatch), not \"failure\""
        ),
        (["--evidence", "name=crc"], "--evidence must be etag or one of name=md5, name=sha1,"),
        (["--quick"], "--quick applies to stored bodies; use it with --stored or with a stored site"),
        (["--offline", "--held"], "--stored is for manifests, --offline for a stored site"),
        (["--dir", "/no/such"], "cannot open the folder /no/such: No such file or directory"),
        (
            ["--held"],
            "is relative: name its base with --base URL, or the build's folder with --dir DIR"
        ),
    ])
    func `a wrong command line is rejected with a correction`(words: [String], message: String) throws {
        let ending = try Command(["check", manifest] + words, home: home).wait()
        #expect(ending.status == 2)
        #expect(ending.errors.contains(message), "\(ending.errors)")
    }

    @Test func `an offline check names a missing URL and the pages that lead to it`() throws {
        origin.on("/b.js", .failure(500))
        #expect(try larder("prefetch", origin.url("/")).status == 1)
        let ending = try larder("check", "--offline", origin.url("/"))
        #expect(ending.status == 1)
        #expect(
            ending.output == """
                missing \(origin.url("/b.js")): the server answered 500
                  via \(origin.url("/"))
                missing URLs: 0 broken on the live site, 1 failed, 0 not fetched
                not compared with the live site: 1 page with scripts, \(origin.url("/")): no browser was found
                \(origin.url("/")): 2 verified, 1 missing

                """)
        let shown = try larder("show", origin.url("/b.js"))
        #expect(shown.output.hasPrefix("\(origin.url("/b.js")) is not stored: the server answered 500\n"))
        let unknown = try larder("check", "--offline", "https://elsewhere.test/")
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("it is not stored; the stored sites are: \(origin.url("/"))"))
    }

    @Test func `a manifest is written for a folder, a stored site and a live site`() throws {
        let folder = try larder("manifest", home.file("dist"), "--output", home.file("dist.json"))
        #expect(folder.status == 0, "\(folder)")
        #expect(try larder("check", home.file("dist.json"), "--dir", home.file("dist")).status == 0)
        #expect(try larder("check", home.file("dist.json"), "--base", origin.url("/")).status == 0)

        // A manifest in the folder itself does not list itself, however often it is written.
        let inside = home.file("dist") + "/manifest.json"
        for _ in 1...2 { #expect(try larder("manifest", home.file("dist"), "--output", inside).status == 0) }
        #expect(try larder("check", inside, "--dir", home.file("dist")).status == 0)
        let redirected = try larder(
            shell: "cd ~; \"$0\" manifest dist > dist/again.json && \"$0\" check dist/again.json --dir dist")
        #expect(redirected.status == 0, "\(redirected)")
        let live = try larder("manifest", origin.url("/"))
        #expect(live.status == 0, "\(live)")
        #expect(try JSONValue.parse(live.output.utf8.span)["bundles"]?.array?.count == 3)
        #expect(home.names(in: ".local/share").isEmpty)

        #expect(try larder("prefetch", origin.url("/")).status == 0)
        origin.stop()
        #expect(try larder("manifest", origin.url("/")).output == live.output)
        let scripts = try larder(
            "manifest", origin.url("/"), "--type", "js", "--output", home.file("js.json"))
        #expect(scripts.status == 0)
        let held = try larder("check", home.file("js.json"), "--held")
        #expect(held.status == 0, "\(held)")
        #expect(held.output.contains("js.json: 2 verified"))
    }

    @Test(arguments: ["waict", "cordova"])
    func `a manifest in another format verifies the folder that it was written for`(format: String) throws {
        let file = home.file("dist") + "/manifest.out"
        let written = try larder("manifest", home.file("dist"), "--format", format, "--output", file)
        #expect(written.status == 0, "\(written)")
        let good = try larder("check", file, "--dir", home.file("dist"))
        #expect(good.status == 0, "\(good)")
        try home.write("altered", to: "dist/a.js")
        let bad = try larder("check", file, "--dir", home.file("dist"))
        #expect(bad.status == 1, "\(bad)")
        #expect(bad.output.contains("/a.js"))
    }

    @Test func `chcp.json is written beside Cordova's manifest`() throws {
        let file = home.file("dist") + "/chcp.manifest"
        for _ in 1...2 {
            let written = try larder(
                "manifest", home.file("dist"), "--format", "cordova", "--output", file, "--release", "1.2",
                "--base", origin.url("/"))
            #expect(written.status == 0, "\(written)")
        }
        let live = try larder("check", home.file("dist") + "/chcp.json")
        #expect(live.status == 0, "\(live)")
        #expect(live.output.contains("verified"))
    }

    @Test(arguments: [
        (["--format", "chcp"], "--format must be one of larder, waict, cordova"),
        (["--format", "cordova", "--release", "1"], "name its file with --output"),
        (
            ["--format", "cordova", "--release", "1", "--output", "chcp.manifest"],
            "chcp.json needs a version and the URL of the files"
        ),
        (["--format", "waict", "--release", "1"], "manifests of WAICT have no version"),
        (["--base", "www"], "the base www is not a URL"),
    ])
    func `options of a manifest that have no effect together are rejected`(
        options: [String], complaint: String
    ) throws {
        let run = try Command(["manifest", home.file("dist")] + options, home: home).wait()
        #expect(run.status == 2, "\(run)")
        #expect(run.errors.contains(complaint), "\(run)")
    }
}
