import System
import TestOrigin
import Testing
import Web

/// Imports mirrors that wget, wget2 and HTTrack write. Programs that are not installed are left out.
@Suite struct FolderImportTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    /// Paths with characters that some file systems forbid or that have another meaning in URLs.
    private static let odd = [
        "/100%25.html", "/c%23d.html", "/a%3Fb.html", "/g%5Ch.html", "/lt%3Cgt%3E.html", "/pipe%7C.html",
        "/q?r=x%23y", "/q?n=a:b",
    ]

    /// Puts every attribute value in quotes, because wget2 1.99 reads others wrongly.
    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<title>Home</title><link rel=stylesheet href=\"/css/s.css?v=1\"><a href='/a/'>a</a> <a href='/a/page'>p</a> "
                    + "<a href='/a/page?q=1&amp;r=2'>q</a> <a href='docs/two.html#x'>2</a> <a href='/a%20b.html'>b</a>"
                    + "<img src='/i.png'>" + Self.odd.map { "<a href='\($0)'>odd</a>" }.joined()))
        for path in Self.odd { origin.on(path, .page("<title>\(path)</title>")) }
        origin.on("/a/", .page("<title>A</title><a href='../'>up</a>"))
        origin.on("/a/page", .page("<title>P</title><a href='/'>home</a>"))
        origin.on("/a/page?q=1&r=2", .page("<title>Q</title><a href='page'>p</a>"))
        origin.on("/docs/two.html", .page("<title>Two</title><b id=x></b><a href='../'>home</a>"))
        origin.on("/a%20b.html", .page("<title>B</title>"))
        origin.on("/css/s.css?v=1", .file(Array("b{background:url(../bg.png)}".utf8), type: "text/css"))
        for name in ["/i.png", "/bg.png"] {
            origin.on(name, .file([0x89, 0x50, 0x4E, 0x47], type: "image/png"))
        }
    }

    /// Mirrors the site, and returns the folder; nil if the program is not installed.
    private func mirror(_ tool: String, _ arguments: [String]) throws -> String? {
        let path = "/usr/bin/\(tool)"
        guard WholeFile.exists(path) else { return nil }
        let folder = home.file("mirror")
        let place = tool == "httrack" ? ["-O", folder] : ["-P", folder]
        // Ignores the exit status, because the programs report the missing robots.txt as an error.
        _ = try ChildProcess(path, arguments + place + [origin.url("/")], environment: ["HOME": home.path])
            .wait()
        return folder
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    @Test(arguments: [
        ("wget", ["-q", "-r", "-p"]), ("wget", ["-q", "-r", "-p", "-k"]),
        ("wget", ["-q", "-r", "-p", "-k", "-E"]),
        ("wget", ["-q", "-r", "-p", "-k", "-E", "-K"]),
        ("wget", ["-q", "-r", "-p", "-k", "-E", "--restrict-file-names=windows"]),
        ("wget", ["-q", "-r", "-p", "-k", "-E", "--protocol-directories"]),
        ("wget2", ["-q", "-m", "-k", "-E"]),
        ("wget2", ["-q", "-r"]), ("httrack", ["-q", "-%v0", "-c8", "-A100000000", "-%c50"]),
    ])
    func `the import of another tool's mirror is complete`(tool: String, arguments: [String]) throws {
        guard let folder = try mirror(tool, arguments) else { return }
        // wget2 stores only the host name, and nothing in unconverted pages contains the port.
        let told = tool == "wget2" ? ["--url", origin.url("/")] : []
        let taken = try Command(["import", folder] + told, home: home).wait()
        #expect(taken.status == 0, "\(taken)")
        #expect(taken.output.hasPrefix("\(origin.url("/")), snapshot 1: "), "\(taken.output)")
        let held = try larder("list").output
        let plain = ["/", "/a/", "/docs/two.html", "/a%20b.html", "/css/s.css?v=1", "/i.png", "/bg.png"]
        for path in plain + ["/100%25.html", "/c%23d.html", "/g%5Ch.html", "/lt%3Cgt%3E.html"] {
            #expect(held.contains("\(origin.url(path))\n"), "\(tool) \(arguments): \(path) in \(held)")
        }
        let check = try larder("check", "--offline", origin.url("/"))
        #expect(check.status == 0, "\(tool) \(arguments): \(check)")
    }

    @Test func `a folder without a URL is imported with --url`() throws {
        guard let folder = try mirror("wget", ["-q", "-r", "-p", "-k", "-nH"]) else { return }
        let without = try larder("import", folder)
        #expect(
            without.status == 2 && without.errors.contains("name that URL with --url URL"), "\(without)")
        #expect(try larder("import", folder, "--url", origin.url("/")).status == 0)
        #expect(try larder("check", "--offline", origin.url("/")).status == 0)
        #expect(try larder("import", folder, "--url", "ftp://x/").status == 2)
    }

    @Test func `a folder that larder exported is imported with the same URLs`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        for name in ["out/", "out.zip"] {
            #expect(try larder("export", origin.url("/"), home.file(name), "--verify").status == 0)
            let taken = try larder("import", home.file(name), "--store", home.file("store-\(name.prefix(5))"))
            #expect(taken.status == 0, "\(taken)")
            let store = home.file("store-\(name.prefix(5))")
            let (before, after) = (try larder("list").output, try larder("list", "--store", store).output)
            func addresses(_ list: String) -> [Substring] {
                list.split(separator: "\n").map { $0.split(separator: " ").last ?? "" }
            }
            #expect(addresses(before) == addresses(after))
            #expect(try larder("check", "--offline", origin.url("/"), "--store", store).status == 0)
        }
    }
}
