import Testing
import Web

@testable import Crawl

@Suite struct SearchIndexFileTests {
    private func url(_ path: String) throws -> WebURL { try #require(WebURL("http://a.test" + path)) }

    @Test(arguments: [
        (["/docs/_static/doctools.js"], "", ["/docs/searchindex.js"]),
        (["/docs/assets/javascripts/bundle.1a2b.min.js"], "", ["/docs/search/search_index.json"]),
        (["/docs/search/main.js"], "", ["/docs/search/search_index.json"]),
        (["/docs/navtreedata.js"], "", ["/docs/navtreedata.js"]),
        (
            [], #"<div id="rustdoc-vars" data-root-path="../" data-resource-suffix="1.63.0">"#,
            ["/search-index1.63.0.js"]
        ),
        (["/docs/app.js"], "<p>text</p>", []),
    ])
    func `the scripts or attributes of a page name its search index`(
        scripts: [String], body: String, files: [String]
    ) throws {
        let found = SearchIndexFile.files(
            of: try url("/docs/page.html"), links: try scripts.map(url), body: Array(body.utf8))
        #expect(try found == files.map(url))
    }

    @Test(arguments: [
        (
            "/d/searchindex.js", #"Search.setIndex({docnames:["index","a/b","a/index"],terms:{}})"#, true,
            ["/d/index.html", "/d/a/b.html", "/d/a/index.html"]
        ),
        (
            "/d/searchindex.js", #"Search.setIndex({"docnames": ["index", "a/b", "a/index"]})"#, false,
            ["/d/", "/d/a/b/", "/d/a/"]
        ),
        (
            "/d/search/search_index.json",
            #"{"config":{},"docs":[{"location":"a/","title":"A"},{"location":"a/#x"},{"location":""}]}"#,
            false, ["/d/a/", "/d/"]
        ),
        (
            "/d/search-index.json", #"[{"documents":[{"i":1,"u":"x"}]},{"url":"/d/one","title":"1"}]"#, false,
            ["/d/one"]
        ),
        (
            "/d/navtreeindex0.js",
            "var NAVTREEINDEX0 =\n{\n\"a.html\":[1],\n\"a.html#x\":[1,0],\n\"b.html\":[2]\n};\n",
            true, ["/d/a.html", "/d/b.html"]
        ),
        (
            "/search-index1.63.0.js",
            #"var searchIndex = JSON.parse('{\"# + "\n"
                + #""std":{"doc":"it\'s","t":[0,3,11,5,0],"n":["std","Vec","push","swap","io"],"q":["std","std::vec","","std::mem","std"]}\"#
                + "\n"
                + #"}'); if (typeof window !== 'undefined') {}"#,
            true,
            ["/std/index.html", "/std/vec/struct.Vec.html", "/std/mem/fn.swap.html", "/std/io/index.html"]
        ),
        (
            "/search-index.js",
            #"var searchIndex = new Map(JSON.parse('[["a",{"t":"ADF","n":["a","S","f"],"q":[[0,"a"],[2,"a::b"]]}]]'));"#,
            true, ["/a/index.html", "/a/struct.S.html", "/a/b/fn.f.html"]
        ),
        ("/d/searchindex.js", "Search.setIndex({docnames:[\"a", true, []),
        ("/search-index.js", "JSON.parse('{]", true, []),
    ])
    func `a search index lists pages`(path: String, body: String, namesFiles: Bool, pages: [String]) throws {
        let listing = SearchIndexFile.listing(in: Array(body.utf8), at: try url(path), namesFiles: namesFiles)
        #expect(try listing.pages == pages.map(url))
        #expect(listing.files.isEmpty)
    }

    @Test func `the index of Doxygen lists further files`() throws {
        let body = "var NAVTREE = [];\nvar NAVTREEINDEX =\n[\n\"a.html\",\n\"b.html\"\n];\n"
        let listing = SearchIndexFile.listing(
            in: Array(body.utf8), at: try url("/d/navtreedata.js"), namesFiles: true)
        #expect(try listing.files == ["/d/navtreeindex0.js", "/d/navtreeindex1.js"].map(url))
    }
}
