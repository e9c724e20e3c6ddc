import Glibc
import TestOrigin
import Testing
import Web

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
    func `a path leads to its file`(url: String, base: String?, path: String, file: String) throws {
        let folder = try SiteFolder(dist)
        let relative = folder.relativePath(of: try #require(WebURL(url)), base: base.flatMap { WebURL($0) })
        #expect(relative == path)
        let real = try #require(realpath(dist, nil))
        defer { free(real) }
        #expect(folder.answer(for: relative) == .file(String(cString: real) + "/" + file))
    }

    @Test(arguments: [
        "https://a.test/link", "https://a.test/away/secret", "https://a.test/..%2foutside/secret",
        "https://a.test/js/..%2f..%2foutside/secret", "https://a.test/pipe", "https://a.test/a%00", "https://a.test/no",
    ])
    func `nothing leads out of the folder, nor to what is no file`(url: String) throws {
        let folder = try SiteFolder(dist)
        let answer = folder.answer(for: folder.relativePath(of: try #require(WebURL(url)), base: nil))
        if case .file(let path) = answer { Issue.record("\(path)") }
    }

    @Test func `what is no folder is refused as input`() {
        for path in [home.file("none"), home.file("dist/index.html")] {
            let error = #expect(throws: LarderError.self) { try SiteFolder(path) }
            #expect(error?.kind == .input)
        }
    }

    private func check(_ manifest: String, _ change: (inout CheckOptions) -> Void = { _ in }) async throws
        -> CheckReport
    {
        var options = CheckOptions()
        options.places = [.folder(dist)]
        change(&options)
        return try await Larder(at: home.file("none")).check(manifest, options: options)
    }

    @Test func `a manifest of a folder proves the folder, and a flipped byte is found with its place`() async throws {
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
        #expect(compared.items[1].findings[1].explanation?.contains("compared with what is in \(dist)") == true)
        #expect(compared.items[1].detail?.contains("byte 0") == true)
    }
}
