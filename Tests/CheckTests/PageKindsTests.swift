import Crawl
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit
@testable import Prefetch
@testable import Store

/// Tests which pages of a snapshot are of one kind.
@Suite struct PageKindsTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/all.js", .file("function load(url) { fetch(url) }", type: "text/javascript"))
    }

    /// The names of the pages of each kind.
    private func kinds() async throws -> [[String]] {
        _ = try await larder.prefetch([origin.url("/")])
        let reader = try StoreReader(larder.folder)
        let snapshot = try #require(try reader.sites().first?.published)
        var (pages, scripts): ([StoredResponse], Set<Int64>) = ([], [])
        try reader.eachResponse(ofSnapshot: snapshot) { response in
            if response.isPage { pages.append(response) }
            if response.type == "text/javascript" { scripts.insert(response.url) }
        }
        return try PageKinds(of: pages, scripts: scripts, rendered: [], start: [], reader).kinds.map {
            $0.pages.map { String($0.href.dropFirst(origin.base.count)) }.sorted()
        }
    }

    private func page(_ script: String) -> OriginAnswer {
        .page("<p>Words<script src=/all.js></script><script>\(script)</script>")
    }

    @Test("Pages with the same script files are of one kind if their inline scripts differ only in data")
    func inlineScripts() async throws {
        origin.on("/", .page("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>"))
        origin.on("/1", page("load('/a.json')"))
        origin.on("/2", page("load('/b.json')"))
        origin.on("/3", page("load(`/c/${Date.now()}.json`)"))
        origin.on("/4", .page("<p>Words<script src=/all.js></script>"))
        #expect(try await kinds() == [["/1", "/2"], ["/3"], ["/4"]])
    }

    @Test("Pages that each have inline scripts of their own are of a limited number of kinds")
    func manyInlineScripts() async throws {
        let names = (0..<60).map { number in String((0..<6).map { number >> $0 & 1 == 0 ? "a" : "b" }) }
        origin.on("/", .page(names.map { "<a href=/\($0)>\($0)</a>" }.joined()))
        for name in names { origin.on("/\(name)", page("\(name)('/a.json')")) }
        let kinds = try await kinds()
        #expect(kinds.count == 41)
        #expect(kinds.first?.count == 20)
    }
}
