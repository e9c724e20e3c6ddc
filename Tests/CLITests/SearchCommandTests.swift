import Glibc
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Tests `larder search` and `larder index` as commands.
@Suite struct SearchCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<html lang=en><title>The cellar</title><nav>shelf</nav><h1>Jars</h1><p>Plum jam and pickled beets<h2 id=cold>Cold</h2>"
                    + "<p>Butter \u{1B}[31m keeps\u{202E} here<a href=/zh>zh</a> <a href=/code>code</a>"))
        origin.on("/zh", .page("<meta charset=utf-8><title>果酱</title><p>李子果酱的制作方法"))
        origin.on("/code", .page("<title>API</title><p>Use <code>std::vec::Vec</code> or XMLHttpRequest"))
    }

    private func run(_ words: String...) throws -> Command.Ending {
        try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")]).wait()
    }

    @Test func `prefetched pages are found by their words`() throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never").status == 0)
        let found = try run("search", "BUTTER")
        #expect(found.status == 0)
        #expect(found.output.contains("The cellar · Cold\n  \(origin.url("/"))#cold\n  "))
        #expect(!found.output.contains("\u{1B}") && !found.output.contains("\u{202E}"))
        for words in [
            ["果酱"], ["方法"], ["vec::Vec"], ["xmlhttprequest"], ["http"], ["jar"], ["\"plum jam\""],
            ["title:cellar"],
            ["url:code"],
        ] {
            #expect(
                try Command(["search"] + words, home: home, environment: ["LARDER_STORE": home.file("s")])
                    .wait().status
                    == 0, "\(words)")
        }
        #expect(try run("search", "jam", "-plum").status == 1)
        #expect(try run("search", "jam", "--site", origin.url("/"), "--type", "html").status == 0)
        #expect(try run("search", "jam", "--type", "image").status == 1)
        #expect(try run("search", "jam", "--snapshot", "1").status == 0)
        #expect(try run("search", "jam", "--site", "elsewhere.test").status == 2)
        let relaxed = try run("search", "butter", "unicorns")
        #expect(relaxed.status == 0)
        #expect(relaxed.errors.contains("no page has all of these words"))
        #expect(!relaxed.output.contains("with only some of these words"))
        let slip = try run("search", "buttre")
        #expect(slip.status == 1)
        #expect(slip.errors.contains("did you mean: larder search butter"))
        let phrase = try run("search", "\"jam plum\"")
        #expect(phrase.status == 1)
        let hint = "no page has this phrase; without quotation marks: larder search jam plum\n"
        #expect(phrase.errors.contains(hint), "\(phrase)")
        #expect(try run("search", "***").status == 2)
        #expect(try run("search", "--", "-jam").status == 2)
    }

    @Test func `pages with only some of the words follow those with all, below a line of their own`() throws {
        origin.on("/", .page("<title>Both</title><p>Quince marmalade <a href=/two>two</a>"))
        origin.on("/two", .page("<title>One</title><p>Quince alone"))
        #expect(try run("prefetch", origin.url("/"), "--render", "never").status == 0)
        let found = try run("search", "quince", "marmalade")
        let parts = found.output.split(separator: "\n1 page with only some of these words:\n")
        #expect(parts.count == 2, "\(found)")
        #expect(parts.first?.hasPrefix("Both\n") == true && parts.last?.contains("One\n") == true, "\(found)")
    }

    @Test func `--max-size includes the search index`() throws {
        let links = (0..<60).map { "<a href=/page/\($0)>page</a>" }.joined()
        origin.on("/", .page("<title>Home</title>" + links))
        for page in 0..<60 {
            let words = (0..<4000).map { "w\((page * 7919 + $0 * 104_729) % 1_000_003)" }.joined(
                separator: " ")
            origin.on("/page/\(page)", .page("<title>Page \(page)</title><p>" + words))
        }
        #expect(try run("prefetch", origin.url("/"), "--render", "never").status == 0)
        #expect(try run("index").status == 0)
        let before = byteCount()
        let limit = before / 2
        let forecast = try run("gc", "--allow-incomplete", "--max-size", "\(limit)", "--dry-run")
        #expect(forecast.status == 0, "\(forecast.errors)")
        #expect(forecast.output.contains("\n  would compact the search index: "), "\(forecast)")
        let cleaned = try run("gc", "--allow-incomplete", "--max-size", "\(limit)")
        #expect(cleaned.status == 0)
        #expect(cleaned.output.contains("\n  the search index was compacted: "), "\(cleaned)")
        #expect(byteCount() <= limit, "\(byteCount()) of \(before)")
        #expect(try run("search", "page").status == 0)
    }

    /// Returns the size of the databases with their journals.
    private func byteCount() -> Int {
        let names = ["larder.db", "larder.db-wal", "search.db", "search.db-wal"]
        let own = names.reduce(0) { $0 + size(home.file("s/" + $1)) }
        return own + files(in: home.file("s/packs")) + files(in: home.file("s/bodies"))
            + files(in: home.file("s/journal"))
    }

    /// The size of all files in a folder.
    private func files(in folder: String) -> Int {
        guard let entries = opendir(folder) else { return 0 }
        defer { closedir(entries) }
        var sum = 0
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { sum += size(folder + "/" + name) }
        }
        return sum
    }

    /// Returns the size of a file on the disk, without the holes of a pack.
    private func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? min(Int(status.st_size), Int(status.st_blocks) * 512) : 0
    }

    @Test func `pages that were not indexed in time are indexed by the first search`() async throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never", "--no-index").status == 0)
        let larder = Larder(at: home.file("s"))
        #expect(try await larder.index(within: .zero).left == 3)
        #expect(try await larder.search("butter").unread == 3)
        let found = try run("search", "butter")
        #expect(found.status == 0 && found.errors.isEmpty)
        #expect(try await larder.search("butter").unread == 0)
    }

    @Test func `pages that a later run has indexed do not count as unread`() async throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never", "--no-index").status == 0)
        #expect(try await Larder(at: home.file("s")).index(within: .zero).left == 3)
        #expect(try run("update").status == 0)
        let found = try run("search", "butter")
        #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
    }

    @Test func `a server indexes in the background pages that a prefetch did not`() async throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never", "--no-index").status == 0)
        let larder = Larder(at: home.file("s"))
        #expect(try await larder.search("butter").texts == nil)
        var options = ServeOptions()
        options.indexesInBackground = true
        let service = try larder.serve(port: 0, threads: 1, options: options)
        defer { service.stop() }
        service.waitForIndex()
        let report = try await larder.search("butter")
        #expect(report.texts == 3 && report.unread == 0 && report.hits.count == 1)
        // A later prefetch without indexing is noticed by the next search.
        origin.on("/zh", .page("<title>Cellar two</title><p>Gherkins instead of plums"))
        #expect(try run("prefetch", origin.url("/"), "--render", "never", "--no-index").status == 0)
        #expect(try await larder.search("gherkins").unread > 0)
        #expect(try run("search", "gherkins").status == 0)
    }

    @Test func `changed pages are indexed, and unchanged ones are not read again`() async throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never").status == 0)
        origin.on("/zh", .page("<title>Cellar two</title><p>Gherkins instead of plums"))
        #expect(try run("update", "--render", "never").status == 0)
        #expect(try run("search", "gherkins").status == 0)
        // The bodies are indexed already; only the site is new.
        #expect(
            try run("prefetch", origin.url("/code"), "--render", "never", "--no-index").status == 0)
        let larder = Larder(at: home.file("s"))
        #expect(try await larder.index(within: .zero).left == 1)
        #expect(try run("search", "XMLHttpRequest", "--site", origin.url("/code")).status == 0)
        #expect(try await larder.index(within: .zero).left == 0)
    }

    @Test func `pages without an index entry are indexed, and a deleted index is built again`() throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never", "--no-index").status == 0)
        #expect(try run("search", "butter").status == 0)
        #expect(try run("index").output.contains("3 already indexed"))
        #expect(unlink(home.file("s") + "/search.db") == 0)
        _ = unlink(home.file("s") + "/search.db-wal")
        #expect(try run("index", origin.url("/")).output.hasPrefix("3 pages indexed"))
        #expect(try run("remove", origin.url("/")).status == 0)
        #expect(try run("search", "butter").status == 1)
        #expect(try run("gc").status == 0)
        let report = try JSONValue.parse(run("index", "--json").output.utf8.span)
        // gc has removed the entries of removed pages, so the index command finds none.
        #expect(report["forgotten"]?.int == 0)
        #expect(report["known"]?.int == 0)
    }

    @Test func `a damaged index is rebuilt`() throws {
        #expect(try run("prefetch", origin.url("/"), "--render", "never").status == 0)
        #expect(try run("index").status == 0)
        let path = home.file("s") + "/search.db"
        let sound = try WholeFile.read(path, atMost: 1 << 24)
        for page in 0..<min(12, sound.count / 4096) {
            var damaged = sound
            for place in 0..<200 { damaged[page * 4096 + 100 + place] = 0x5A }
            for suffix in ["-wal", "-shm"] { _ = unlink(path + suffix) }
            try home.write(damaged, to: "s/search.db")
            #expect(try run("index").status == 0, "page \(page)")
            // A search that finds the damage reports that there is no index yet.
            if try run("search", "butter").status != 0 { #expect(try run("index").status == 0) }
            #expect(try run("search", "butter").status == 0, "page \(page)")
        }
    }
}
