import Glibc
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit

@Suite struct CheckFolderTests {
    private let home: TemporaryFolder
    private let dist: String

    init() throws {
        home = try TemporaryFolder()
        for folder in ["dist", "dist/js", "outside"] { mkdir(home.file(folder), 0o755) }
        try home.write("a", to: "dist/js/a b.js")
        try home.write("i", to: "dist/index.html")
        try home.write("j", to: "dist/js/index.html")
        try home.write("s", to: "outside/secret")
        symlink("../outside/secret", home.file("dist/link"))
        symlink("../outside", home.file("dist/away"))
        symlink("index.html", home.file("dist/inside"))
        mkfifo(home.file("dist/pipe"), 0o644)
        dist = home.file("dist")
    }

    @Test(arguments: [
        ("https://a.test/js/a%20b.js", nil, "js/a b.js", "js/a b.js"),
        ("https://a.test/js/a%20b.js?v=1", nil, "js/a b.js", "js/a b.js"),
        ("https://a.test/", nil, "index.html", "index.html"),
        ("https://a.test/js/", nil, "js/index.html", "js/index.html"),
        ("https://a.test/js", nil, "js", "js/index.html"),
        ("https://a.test/app/js/", "https://a.test/app/", "js/index.html", "js/index.html"),
        ("https://cdn.test/js/", "https://a.test/app/", "js/index.html", "js/index.html"),
        ("https://a.test/inside", nil, "inside", "index.html"),
    ])
    func `a URL path is mapped to its file`(url: String, base: String?, path: String, file: String) throws {
        let folder = try SiteFolder(dist)
        let relative = folder.relativePath(of: try #require(WebURL(url)), base: base.flatMap { WebURL($0) })
        #expect(relative == path)
        let real = try #require(realpath(dist, nil))
        defer { free(real) }
        #expect(folder.lookUp(relative) == .file(String(cString: real) + "/" + file))
    }

    @Test(arguments: [
        ("dist", ["dist/js/a b.js"], "."), ("dist/", ["dist/index.html", "dist/no"], "."),
        ("dist/js", ["js/a b.js"], "dist"), ("dist/js/..", ["dist/index.html"], "dist/js/../.."),
        ("dist", ["dist/no"], nil), ("dist", ["dist/index.html", "index.html"], nil), ("dist", [], nil),
        ("dist", ["index.html"], nil), ("dist", ["dis/index.html"], nil), ("dist", ["dist2/index.html"], nil),
    ])
    func `names that begin with the folder's own name are explained by a note`(
        path: String, names: [String], expected: String?
    ) throws {
        let note = try SiteFolder(home.file(path)).noteAboutParent(names)
        let folder = expected.map { $0 == "." ? home.path : home.file($0) }
        #expect(note.map { String($0.split(separator: " ").last ?? "") } == folder, "\(note ?? "")")
        guard expected != nil else { return }
        #expect(note?.hasPrefix("all names begin with \(names[0].split(separator: "/")[0])/, ") == true)
    }

    @Test(arguments: [
        ("dist", "."), ("build/dist/", "build"), ("../dist", ".."), ("/x/dist", "/x"), ("/dist", "/"),
        (".", "./.."), ("x/..", "x/../.."),
    ])
    func `the folder above a path is named from the same place`(path: String, parent: String) {
        #expect(SiteFolder.parent(of: path) == parent)
    }

    @Test(arguments: [
        "https://a.test/link", "https://a.test/away/secret", "https://a.test/..%2foutside/secret",
        "https://a.test/js/..%2f..%2foutside/secret", "https://a.test/pipe", "https://a.test/a%00",
        "https://a.test/no",
    ])
    func `paths outside the folder and paths of non-files are rejected`(url: String) throws {
        let folder = try SiteFolder(dist)
        let answer = folder.lookUp(folder.relativePath(of: try #require(WebURL(url)), base: nil))
        if case .file(let path) = answer { Issue.record("\(path)") }
    }

    @Test(arguments: [
        "js/a%20b.js#x", "./js/a%20b.js", "x/../js/a%20b.js", "x/%2e%2e/js/a%20b.js", "../../js/a%20b.js",
        "HTTPS://A.TEST:443/js/a%20b.js",
    ])
    func `two spellings of one URL with different digests are an error`(spelling: String) async throws {
        for (second, isError) in [("1", true), ("0", false)] {
            let digests = ["0", second].map { String(repeating: $0, count: 64) }
            let manifest = try home.write(
                """
                {"base": "https://a.test/", "bundles": [{"url": "js/a%20b.js", "sha256": "\(digests[0])"},
                {"url": "\(spelling)", "sha256": "\(digests[1])"}]}
                """, to: "m.json")
            guard isError else {
                #expect(try await check(manifest).items.count == 2)
                continue
            }
            let error = await #expect(throws: LarderError.self) { try await check(manifest) }
            #expect(error?.kind == .input)
            #expect(
                error?.description.contains("are the same URL, with different values of sha256") == true,
                "\(error?.description ?? "")")
        }
    }

    @Test func `a path that is not a folder is an input error`() {
        for path in [home.file("none"), home.file("dist/index.html")] {
            let error = #expect(throws: LarderError.self) { try SiteFolder(path) }
            #expect(error?.kind == .input)
        }
    }

    @Test func `unreadable files are reported, and an empty folder is an error`() async throws {
        let larder = Larder(at: home.file("none"))
        var name = Array((dist + "/bad").utf8CString)
        name[name.count - 1] = -1
        name.append(0)
        let file = fopen(name, "w")
        #expect(file != nil)
        fclose(file)
        try home.write("n", to: "dist/new\nline\u{1b}.js")
        symlink("a", dist + "/esc\u{1b}")
        let written = try await larder.manifest(of: dist)
        #expect(written.text.contains("\"new%0Aline%1B.js\""))
        #expect(written.skipped.contains(.init(name: "bad\u{fffd}", reason: "its name is not UTF-8")))
        #expect(written.skipped.contains(.init(name: "esc\\u{1b}", reason: "it is a symbolic link")))
        mkdir(home.file("empty"), 0o755)
        for (path, complaint) in [
            (home.file("empty"), "has no files"), (home.file("dist/index.html"), "is a file"),
        ] {
            let error = await #expect(throws: LarderError.self) { try await larder.manifest(of: path) }
            #expect(error?.kind == .input)
            #expect(error?.description.contains(complaint) == true)
        }
    }

    @Test func `hidden files and folders are not in a manifest`() async throws {
        mkdir(home.file("dist/.git"), 0o755)
        try home.write("x", to: "dist/.git/HEAD")
        try home.write("x", to: "dist/js/.map")
        let written = try await Larder(at: home.file("none")).manifest(of: dist)
        #expect(written.bundles == 3)
        #expect(!written.text.contains("HEAD") && !written.text.contains(".map"))
    }

    @Test func `deeply nested folders are listed`() async throws {
        let deep = (0..<1500).reduce(dist) { path, _ in path + "/d" }
        var path = dist
        for _ in 0..<1500 {
            path += "/d"
            mkdir(path, 0o755)
        }
        try home.write("d", to: String(deep.dropFirst(home.path.count + 1)) + "/end.js")
        #expect(try await Larder(at: home.file("none")).manifest(of: dist).bundles == 4)
    }

    @Test func `line breaks in file names are escaped in reports`() async throws {
        try home.write("n", to: "dist/new\n::error::\u{1b}[31m.js")
        let manifest = try home.write(
            "{\"bundles\": [{\"url\": \"new%0A::error::%1b[31m.js\", \"md5\": \"7b8b965ad4bca0e41ab51de7b31363a1\"}]}",
            to: "m.json")
        let text = try await check(manifest).text(as: .text)
        let note = "note: 1 bundle verified by MD5, which detects damage, but not an attack"
        #expect(
            text == "verified \(dist)/new\\n::error::\\u{1b}[31m.js: md5\n\(note)\n\(manifest): 1 verified")
        let wrong = try home.write("{\"bundles\": [], \"a\\n::error::\": 1}", to: "w.json")
        let error = await #expect(throws: LarderError.self) { try await check(wrong) }
        #expect(error?.description.contains("\n") == false)
    }

    @Test(arguments: [("{\"start\": [\"/\"]}", nil), ("[]", "workbox")] as [(String, String?)])
    func `a manifest without bundles is an error, since its check would be clean`(
        text: String, format: String?
    ) async throws {
        let manifest = try home.write(text, to: "m.json")
        let error = await #expect(throws: LarderError.self) {
            try await check(manifest) { $0.format = format }
        }
        #expect(error?.kind == .input)
        #expect(error?.description == "\(manifest) lists no bundles: there is nothing to check")
    }

    /// Checks the folder `dist`.
    private func check(_ manifest: String, _ change: (inout CheckOptions) -> Void = { _ in }) async throws
        -> CheckReport
    {
        var options = CheckOptions()
        options.places = [.folder(dist)]
        change(&options)
        return try await Larder(at: home.file("none")).check(manifest, options: options)
    }

    @Test func `a folder matches its own manifest, and a flipped byte is found with its position`()
        async throws
    {
        let larder = Larder(at: home.file("none"))
        let written = try await larder.manifest(of: dist)
        #expect(written.bundles == 3)
        #expect(written.skipped.map(\.name).sorted() == ["away", "inside", "link", "pipe"])
        let manifest = try home.write(written.text, to: "m.json")
        let report = try await check(manifest)
        #expect(report.isClean)
        #expect(report.items.map(\.name) == ["index.html", "js/a%20b.js", "js/index.html"])
        #expect(report.items.map(\.verdict) == [.verified, .verified, .verified])
        #expect(report.items[1].url == dist + "/js/a b.js")

        let copy = home.file("copy")
        mkdir(copy, 0o755)
        mkdir(copy + "/js", 0o755)
        try home.write("x", to: "copy/js/a b.js")
        try home.write("i", to: "copy/index.html")
        let compared = try await check(manifest) { $0.places.append(.folder(copy)) }
        #expect(compared.places == [dist, copy])
        #expect(compared.items.map(\.verdict) == [.verified, .mismatch, .missing])
        #expect(compared.items[1].findings[0].verdict == .verified)
        #expect(
            compared.items[1].findings[1].explanation?.contains("compared with the copy in \(dist)") == true)
        #expect(compared.items[1].detail?.contains("byte 0") == true)
    }
}
