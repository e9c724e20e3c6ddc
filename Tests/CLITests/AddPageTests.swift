import TestOrigin
import Testing

/// Tests `larder add URL --page`.
@Suite struct AddPageTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/article",
            .page("<title>Article</title><p>penguins</p><a href=/other>other</a><img src=/a.svg>"))
        origin.on("/other", .page("<title>Other</title>"))
        origin.on(
            "/a.svg", .file(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), type: "image/svg+xml"))
        origin.on(
            "/robots.txt", .file(Array("Sitemap: \(origin.url("/sitemap.txt"))\n".utf8), type: "text/plain"))
        origin.on("/sitemap.txt", .file(Array("\(origin.url("/other"))\n".utf8), type: "text/plain"))
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    @Test func `only the page and its assets are fetched, and are found by the search`() throws {
        for _ in 1...2 {
            let ending = try larder("add", origin.url("/article"), "--page")
            #expect(ending.status == 0, "\(ending)")
        }
        #expect(Set(origin.requests.map(\.target)) == ["/robots.txt", "/article", "/a.svg"])
        origin.stop()
        let found = try larder("search", "penguins")
        #expect(found.status == 0 && found.output.contains(origin.url("/article")), "\(found)")
        #expect(try larder("check", origin.url("/article")).status == 0)
    }

    @Test func `a site with more pages is not reduced to one`() throws {
        #expect(try larder("prefetch", origin.url("/article"), "--quiet").status == 0)
        let ending = try larder("add", origin.url("/article"), "--page")
        #expect(ending.status == 2, "\(ending)")
        #expect(
            ending.errors.contains("is stored as a site with all its pages")
                && ending.errors.contains("larder update \(origin.url("/article"))"), "\(ending)")
    }

    @Test(arguments: [["--depth", "1"], ["--sitemap", "https://example.com/sitemap.xml"]])
    func `options that follow links are refused`(options: [String]) throws {
        let ending = try Command(["add", origin.url("/article"), "--page"] + options, home: home).wait()
        #expect(ending.status == 2 && ending.errors.contains("follows none; leave out one"), "\(ending)")
        #expect(origin.requests.isEmpty)
    }
}
