import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// The requests of module loaders, wherever their configuration is.
@Suite struct LoaderCrawlTests {
    private let bench: CrawlBench

    init() throws {
        bench = try CrawlBench()
        script("/js/require.js", "var require")
    }

    private func page(_ target: String, _ markup: String) { bench.origin.on(target, .page(markup)) }

    private func script(_ target: String, _ text: String) {
        bench.origin.on(
            target, OriginAnswer.file(text, type: "text/javascript").validated(entityTag: "\"\(text.count)\"")
        )
    }

    /// The requested targets in this folder, sorted and without repetitions.
    private func requested(_ folder: String) -> [String] {
        Set(bench.origin.requests.map(\.target).filter { $0.hasPrefix(folder) }).sorted()
    }

    private func guesses(of target: String) throws -> [String] {
        let response = try #require(try bench.stored(target))
        let links = try #require(try StoreReader(bench.folder).storedLinks(of: response))
        return links.guesses.compactMap { WebURL($0)?.path }.sorted()
    }

    @Test func `module names are resolved by the configuration of their page`() throws {
        page(
            "/",
            "<script src=/js/require.js></script><script>require.config({baseUrl:'/m/'})</script><script src=/app.js></script>"
        )
        script("/app.js", "require(['a', 'b/c'])")
        script("/m/a.js", "define(['./d'], f)")
        #expect(try bench.crawl().misses == [])
        #expect(requested("/m/") == ["/m/a.js", "/m/b/c.js", "/m/d.js"])
        #expect(try guesses(of: "/app.js") == ["/m/a.js", "/m/b/c.js"])
    }

    @Test(arguments: ["/a-config.js", "/z-config.js"])
    func `a configuration can arrive before or after the names`(config: String) throws {
        page("/", "<script src=/app.js></script><script src=\(config)></script>")
        script("/app.js", "require(['a'])")
        script(config, "requirejs.config({baseUrl: '/m'})")
        #expect(try bench.crawl().misses == [])
        #expect(requested("/m/") == ["/m/a.js"])
        #expect(try guesses(of: "/app.js") == ["/m/a.js"])
    }

    @Test func `without a configuration, modules are resolved relative to the page at the end`() throws {
        page("/", "<a href=/d/p.html>d</a>")
        page("/d/p.html", "<script src=/js/require.js></script><script src=/app.js></script>")
        script("/app.js", "require(['a', '/abs.js'])")
        #expect(try bench.crawl().misses == [])
        #expect(requested("/d/") == ["/d/a.js", "/d/p.html"])
        #expect(requested("/abs") == ["/abs.js"])
        #expect(try guesses(of: "/app.js") == ["/abs.js", "/d/a.js"])
    }

    @Test func `without a loader, a library is not a module`() throws {
        page("/", "<script src=/lib.js></script>")
        script("/lib.js", "define.amd ? define(['jquery'], f) : f(jQuery)")
        _ = try bench.crawl()
        #expect(requested("/j") == [])
    }

    @Test func `a module of a shared script is requested for one page only`() throws {
        page("/", "<script src=/s/app.js></script><a href=/a/>a</a><a href=/b/>b</a>")
        page("/a/", "<script src=/s/app.js></script>")
        page("/b/", "<script src=/s/app.js></script>")
        script("/s/app.js", "fetch('data.json')")
        #expect(try bench.crawl().misses == [])
        #expect(bench.origin.requests.map(\.target).filter { $0.hasSuffix("data.json") } == ["/data.json"])
    }

    @Test func `an update uses the configuration of an unchanged page`() throws {
        page("/", "<script>require.config({baseUrl:'/m/'})</script><script src=/app.js></script>")
        bench.origin.on(
            "/",
            OriginAnswer.page("<script>require.config({baseUrl:'/m/'})</script><script src=/app.js></script>")
                .validated(entityTag: "\"1\""))
        script("/app.js", "require(['a'])")
        script("/m/a.js", "define([], f)")
        _ = try bench.crawl { $0.policy = .revalidate }
        script("/app.js", "require(['a', 'new'])")
        script("/m/new.js", "define([], f)")
        #expect(try bench.crawl { $0.policy = .revalidate }.misses == [])
        #expect(requested("/m/") == ["/m/a.js", "/m/new.js"])
        #expect(try guesses(of: "/app.js") == ["/m/a.js", "/m/new.js"])
    }
}
