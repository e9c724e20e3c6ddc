import Glibc
import TestOrigin
import Testing
import Web

@Suite struct CheckLinksCommandTests {
    private let home: TemporaryFolder

    /// A folder with one dead link and one missing fragment.
    init() throws {
        home = try TemporaryFolder()
        for folder in ["dist", "good"] { mkdir(home.file(folder), 0o755) }
        try home.write("<a href=about.html#team>a</a>\n<a href=gone.html>b</a>", to: "dist/index.html")
        try home.write("<p id=x><a href=/>home</a>", to: "dist/about.html")
        try home.write("<p id=x><a href=#x>x</a>", to: "good/index.html")
        try home.write("# Read me\n[a](#read-me) [b](dist/about.html#x)\n", to: "README.md")
    }

    /// Runs `larder` in the folder `home`.
    private func larder(_ arguments: String...) throws -> Command.Ending { try larder(arguments) }

    private func larder(_ arguments: [String]) throws -> Command.Ending {
        try Command(arguments, home: home, shell: "cd \"$HOME\"; exec \"$0\" \"$@\"").wait()
    }

    private func text(_ name: String) -> String {
        guard let file = fopen(home.file(name), "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
    }

    @Test func `dead links of a folder lead to exit status 1`() throws {
        let ending = try larder("check", "--links", "--dir", "dist")
        #expect(ending.status == 1, "\(ending)")
        #expect(
            ending.output == """
                The page exists, but the fragment does not (1)
                  /about.html#team: dist/about.html has no element with the id "team"
                    dist/index.html:1:9

                Dead (1)
                  /gone.html: the file does not exist
                    dist/index.html:2:9

                dist: 3 links in 2 documents: 1 verified, 1 fragment-missing, 1 dead

                """)
        #expect(try larder("check", "--links", "dist").output == ending.output)
        #expect(Set(home.names()) == ["dist", "good", "README.md"])
    }

    @Test func `a folder and files without faults lead to exit status 0`() throws {
        let folder = try larder("check", "--links", "--dir", "good")
        #expect(folder.status == 0, "\(folder)")
        #expect(folder.output == "good: 1 link in 1 document: 1 verified\n")
        let files = try larder("check", "--links", "README.md", "good")
        #expect(files.status == 0, "\(files)")
        #expect(
            files.output == """
                good: 1 link in 1 document: 1 verified
                README.md: 2 links in 1 document: 2 verified

                """)
    }

    @Test(arguments: [
        ("dead", 1), ("fragment-missing", 1), ("dead,fragment-missing", 1), ("redirected", 0),
        ("blocked,failed,timed-out", 0),
    ])
    func `--fail-on chooses the verdicts that make the exit status 1`(verdicts: String, status: Int) throws {
        let ending = try larder("check", "--links", "--dir", "dist", "--fail-on", verdicts)
        #expect(ending.status == Int32(status), "\(ending)")
    }

    @Test(arguments: [
        // A verdict on bundles has no effect on links.
        "verified", "gone", "missing", "dead,gone",
    ])
    func `a wrong verdict is a usage error`(verdicts: String) throws {
        let ending = try larder("check", "--links", "--dir", "dist", "--fail-on", verdicts)
        #expect(ending.status == 2, "\(ending)")
        let wrong = verdicts.split(separator: ",").last ?? ""
        #expect(ending.errors.hasSuffix("not \"\(wrong)\"\n"), "\(ending)")
        #expect(ending.errors.contains("fragment-missing,dead"), "\(ending)")
    }

    @Test(arguments: [
        (
            ["--links", "--stored", "dist"],
            "--stored does not apply to links; leave out one of --stored and --links"
        ),
        (
            ["--links", "--offline"],
            "--offline does not apply to links; leave out one of --offline and --links"
        ),
        (
            ["--links", "dist", "--quick"],
            "--quick does not apply to links; leave out one of --quick and --links"
        ),
        (["--no-external"], "--no-external is for links; add --links"),
        (["m.json", "--baseline", "b.json"], "--baseline is for links; add --links"),
        (["m.json", "--ignore", "x", "--dir", "dist"], "--ignore is for links; add --links"),
        (
            ["a.json", "b.json"],
            "check takes one manifest or site; to check the links of files: larder check --links FILE..."
        ),
        (
            ["--links"],
            "--links needs a folder, files, a site or a URL, for example: larder check --links --dir dist"
        ),
        (
            ["--links", "nosuch"],
            "nosuch is neither a file, a folder nor a stored site; give a URL with http:// or https://"
        ),
        (
            ["--links", "dist", "nosuch.html"],
            "nosuch.html is neither a file, a folder nor a stored site; give a URL with http:// or https://"
        ),
    ])
    func `a wrong combination is a usage error with advice`(words: [String], message: String) throws {
        let ending = try larder(["check"] + words)
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors == "larder: \(message)\n")
        #expect(ending.output == "")
    }

    @Test(arguments: [
        (
            ["--dir", "none"],
            "cannot open the folder none: No such file or directory; name the build's output folder"
        ),
        (
            ["--dir", "good", "--baseline", "README.md"],
            "README.md is not a baseline; write a new one"
        ),
        (
            ["--dir", "good", "--ignore-file", "README.md"],
            "README.md:2: \"[b](dist/about.html#x)\" is not understood; "
        ),
    ])
    func `a wrong folder or file is an error with status 2`(words: [String], message: String) throws {
        let ending = try larder(["check", "--links"] + words)
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors.hasPrefix("larder: \(message)"), "\(ending)")
    }

    @Test func `a text from standard input is checked`() throws {
        try home.write("[a](dist/about.html#x) [b](gone.md)\n", to: "input.txt")
        let ending = try Command(
            ["check", "--links", "-"], home: home, shell: "cd \"$HOME\"; exec \"$0\" \"$@\" <input.txt"
        ).wait()
        #expect(ending.status == 1, "\(ending)")
        #expect(
            ending.output.contains("\n  /gone.md: the file does not exist\n    standard input:1:28\n"),
            "\(ending)")
        #expect(ending.output.hasSuffix("standard input: 2 links in 1 document: 1 verified, 1 dead\n"))
    }

    @Test func `files are left out by their paths`() throws {
        let ending = try larder("check", "--links", "dist", "--exclude-path", "index.html")
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output == "dist: 1 link in 1 document: 1 verified\n")
        let all = try larder("check", "--links", "dist", "--exclude-path", "*")
        #expect(all.status == 2)
        #expect(all.errors == "larder: all documents of dist are excluded: name fewer files to leave out\n")
    }

    @Test(arguments: [("403", 0), ("400..=499", 0), ("404", 0), ("500..=599", 1)])
    func `statuses that are accepted do not fail`(statuses: String, status: Int32) throws {
        let origin = try TestOrigin()
        origin.on("/x", .failure(statuses == "403" ? 403 : 404))
        try home.write("[a](\(origin.url("/x")))\n", to: "out.md")
        let ending = try larder(
            "check", "--links", "out.md", "--accept", statuses, "--fail-on", "dead,blocked,failed")
        #expect(ending.status == status, "\(ending)")
    }

    @Test func `results of other sites are kept in a file`() throws {
        let origin = try TestOrigin()
        origin.on("/x", .page("x"))
        try home.write("[a](\(origin.url("/x")))\n", to: "out.md")
        #expect(try larder("check", "--links", "out.md", "--cache", "links.json").status == 0)
        origin.stop()
        #expect(try larder("check", "--links", "out.md", "--cache", "links.json").status == 0)
        #expect(home.names().contains("links.json") && !home.names().contains(".larder"))
        let other = try larder("check", "--links", "out.md", "--cache", "README.md")
        #expect(other.status == 2)
        #expect(other.errors.hasPrefix("larder: README.md is not a cache of links"))
    }

    @Test(arguments: ["", "x", "4xx", "200-299"])
    func `a wrong list of statuses is a usage error`(text: String) throws {
        let ending = try larder("check", "--links", "dist", "--accept", text)
        #expect(ending.status == 2)
        #expect(ending.errors.hasPrefix("larder: "))
    }

    @Test func `reports go to files, and the text is still printed`() throws {
        let ending = try larder(
            "check", "--links", "--dir", "dist", "--report", "markdown=summary.md", "--report",
            "junit=junit.xml")
        #expect(ending.status == 1)
        #expect(
            ending.output.hasSuffix("dist: 3 links in 2 documents: 1 verified, 1 fragment-missing, 1 dead\n"))
        let summary = text("summary.md")
        #expect(
            summary.hasPrefix("### ❌ larder check: dist\n\n3 links: 1 verified, 1 fragment-missing, 1 dead\n")
        )
        #expect(summary.hasSuffix("| dist/index.html:1:9 |\n"))
        #expect(text("junit.xml").contains("<testsuite name=\"links\" tests=\"2\" failures=\"2\""))
        let printed = try larder("check", "--links", "--dir", "dist", "--report", "markdown")
        #expect(printed.output == summary)
    }

    @Test func `JSON has the report, or the list of several`() throws {
        let one = try JSONValue.parse(try larder("check", "--links", "dist", "--json").output.utf8.span)
        #expect(one["target"]?.string == "dist")
        #expect(one["counts"]?["dead"]?.int == 1)
        let two = try JSONValue.parse(
            try larder("check", "--links", "dist", "good", "--json").output.utf8.span)
        #expect(two["clean"]?.bool == false)
        #expect(two["checks"]?.array?.compactMap { $0["target"]?.string } == ["dist", "good"])
    }

    @Test func `rules of .larderignore are used`() throws {
        try home.write("/gone.html # soon\n/about.html* in dist/*\n", to: ".larderignore")
        let ending = try larder("check", "--links", "--dir", "dist")
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output == "dist: 3 links in 2 documents: 1 verified, 2 ignored\n")
        let option = try larder(
            "check", "--links", "--dir", "dist", "--ignore-file", "/dev/null", "--ignore", "/gone*")
        #expect(option.status == 1)
        #expect(option.output.hasSuffix(": 1 verified, 1 ignored, 1 fragment-missing\n"))
    }

    @Test func `a baseline holds the links of all folders`() throws {
        mkdir(home.file("more"), 0o755)
        try home.write("<a href=away.html>x</a>", to: "more/index.html")
        let folders = ["--dir", "dist", "--dir", "more"]
        let written = try larder(["check", "--links", "--write-baseline", "baseline.json"] + folders)
        #expect(written.status == 0, "\(written)")
        let json = text("baseline.json")
        for target in ["about.html#team", "gone.html", "away.html"] {
            #expect(json.contains(target), "\(json)")
        }
        let known = try larder(["check", "--links", "--baseline", "baseline.json"] + folders)
        #expect(known.status == 0, "\(known)")
        try home.write("<a href=away.html>x</a><a href=new.html>y</a>", to: "more/index.html")
        let new = try larder(["check", "--links", "--baseline", "baseline.json"] + folders)
        #expect(new.status == 1)
        #expect(new.output.contains("/new.html: the file does not exist"))
        #expect(!new.output.contains("/away.html"))
    }

    // MARK: - Configuration

    private func writeManifest() throws {
        try home.write("a", to: "dist/a.js")
        try home.write(
            #"{"bundles": [{"url": "/a.js", "md5": "0cc175b9c0f1b6a831c399e269772661"}]}"#, to: "m.json")
    }

    @Test func `.larder.json adds links to the target`() throws {
        try writeManifest()
        try home.write(
            #"{"check": {"target": "m.json", "dir": "dist", "links": true, "report": ["junit=junit.xml"]}}"#,
            to: ".larder.json")
        let both = try larder("check")
        #expect(both.status == 1, "\(both)")
        let lines = both.output.split(separator: "\n")
        #expect(lines.contains("m.json: 1 verified"))
        #expect(lines.last == "dist: 3 links in 2 documents: 1 verified, 1 fragment-missing, 1 dead")
        let junit = text("junit.xml")
        #expect(
            junit.contains("<testsuite name=\"dist\"") && junit.contains("<testsuite name=\"links\""),
            "\(junit)")

        // An argument names the only thing to check.
        let manifest = try larder("check", "m.json")
        #expect(manifest.status == 0, "\(manifest)")
        #expect(!manifest.output.contains("links"))
        let links = try larder("check", "--links")
        #expect(links.status == 1)
        #expect(!links.output.contains("m.json"))
        // Verdicts of both kinds can be mixed.
        #expect(try larder("check", "--fail-on", "missing,redirected").status == 0)
    }

    @Test func `.larder.json can ask for links alone`() throws {
        try home.write(
            #"{"check": {"dir": ["dist", "good"], "links": true, "no-external": true, "fail-on": "dead"}}"#,
            to: ".larder.json")
        let ending = try larder("check")
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.output.contains("dist: 3 links") && ending.output.contains("good: 1 link"))
        try home.write("<a href=about.html#team>a</a>", to: "dist/index.html")
        #expect(try larder("check").status == 0)
    }

    // MARK: - Sites

    @Test func `links of a stored site and of a URL are checked`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("<a href=/page#x>1</a><a href=/gone>2</a>"))
        origin.on("/page", .page("<p id=x>"))
        origin.on("/gone", .failure(404))
        let fetched = try larder("check", "--links", "--no-external", origin.url("/"))
        #expect(fetched.status == 1, "\(fetched)")
        let ending = "2 links in 2 documents: 1 verified, 1 dead\n"
        #expect(fetched.output.contains("\(origin.url("/gone")): the server answered 404\n"))
        #expect(fetched.output.hasSuffix(ending), "\(fetched)")
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        origin.stop()
        for words in [[origin.url("/")], ["127.0.0.1"], []] {
            let stored = try larder(["check", "--links"] + words)
            #expect(stored.status == 1, "\(stored)")
            #expect(stored.output == fetched.output, "\(words)")
        }
    }
}
