import Markup
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Compares links that the cache returns as numbers with the same links resolved as URLs.
@Suite struct LinkNumberCacheTests {
    private static let pages = [
        "http://a.test/", "http://a.test/x/y.html", "http://a.test/x/z.html", "http://a.test/x/?q=1",
        "http://a.test/x/y/", "http://a.test:8080/x/y.html", "https://a.test/x/y.html",
        "http://b.test/x/y.html",
        "http://a.test/%7Ex/y", "http://u:p@a.test/x/y.html", "http://a.test/x//y.html",
        "http://a.test/a?/b/c",
        "ftp://a.test/x/y.html", "data:text/html,x",
    ]
    private static let references = [
        "", "#f", "?q=2", "?q=é", "z.html", "z.html#f", "./z.html", "../z.html", "../../../z.html", "y/", "/",
        "/z.html", "/é?é", "//b.test/z", "//b.test", "\\z.html", "/\\b.test/z", "http:z.html", "https:z.html",
        "http://a.test/x/z.html", "HTTP://A.test/x/../x/z.html", " z.html", "\tz.html", "z\n.html",
        "/\t/b.test/z",
        "a?b=é&c", "mailto:a@a.test", "javascript:void(0)", "data:,x", "http://", "http://[", "%2e%2e/z.html",
        "z.html?sid=1", "z.html;jsessionid=1", "z%zz", "é.html", "..", ".", "//", "///z", "z:z",
        "http://a.test:80/z",
    ]

    /// The links of a page. Those in `memory` have their numbers as targets.
    private static func links(
        of page: WebURL, _ encoding: TextEncoding, base: String?, _ order: [Int], _ memory: LinkNumberCache?
    ) -> [FoundLink] {
        var list = ReferenceList(maxLinks: CrawlPlan.defaultMaxLinks)
        let kinds: [LinkKind] = [.page, .image, .script]
        for number in order {
            let kind = kinds[number % kinds.count]
            let flags: LinkFlags = number % 7 == 0 ? .ignoresBase : number % 5 == 0 ? .isGuess : []
            list.append(
                LinkOccurrence(range: 0..<0, kind: kind, context: .plain, flags: flags),
                Array(references[number].utf8).span)
        }
        return list.resolve(against: page, table: LinkTable(encoding: encoding, base: base), memory: memory)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `a remembered link equals the resolved one`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let memory = LinkNumberCache()
        var numbers: [WebURL: UInt32] = [:]
        var known: [WebURL] = []
        var hits = 0
        for _ in 0..<400 {
            let page = try #require(Self.pages.randomElement(using: &random).flatMap { WebURL($0) })
            let encoding: TextEncoding = [.utf8, .windows1252].randomElement(using: &random) ?? .utf8
            let base = [nil, nil, "/base/", "sub/", "http://b.test/c/d"].randomElement(using: &random) ?? nil
            let order = Self.references.indices.shuffled(using: &random)
            let resolved = Self.links(of: page, encoding, base: base, order, nil)
            let found = Self.links(of: page, encoding, base: base, order, memory)
            try #require(found.count == resolved.count)
            for (link, expected) in zip(found, resolved) {
                #expect(link.role == expected.role && link.isGuess == expected.isGuess)
                switch link.target {
                case .number(let number):
                    hits += 1
                    #expect(known[Int(number)] == expected.url)
                case .url(let url, let key):
                    #expect(url == expected.url)
                    if numbers[url] == nil {
                        numbers[url] = UInt32(known.count)
                        known.append(url)
                    }
                    memory.keep(try #require(numbers[url]), as: key)
                }
            }
        }
        #expect(hits > 5000)
    }

    @Test func `links of pages in the same folder are numbers, those of other folders are resolved`() throws {
        let memory = LinkNumberCache()
        func first(_ page: String, _ reference: String) throws -> FoundLink.Target {
            var list = ReferenceList(maxLinks: CrawlPlan.defaultMaxLinks)
            list.append(
                LinkOccurrence(range: 0..<0, kind: .page, context: .plain),
                Array(reference.utf8).span)
            let links = list.resolve(
                against: try #require(WebURL(page)), table: LinkTable(), memory: memory)
            return try #require(links.first?.target)
        }
        guard case .url(_, let key) = try first("http://a.test/x/1", "2") else { throw TestError("a number") }
        memory.keep(7, as: key)
        #expect(try first("http://a.test/x/3?q", "2#f") == .number(7))
        for (page, reference) in [
            ("http://a.test/y/1", "2"), ("http://b.test/x/1", "2"), ("http://a.test/x/1", "3"),
        ] {
            guard case .url = try first(page, reference) else { throw TestError("\(page) \(reference)") }
        }
        guard case .url(_, let rooted) = try first("http://a.test/x/1", "/2") else {
            throw TestError("a number")
        }
        memory.keep(8, as: rooted)
        #expect(try first("http://a.test/y/1", "/2") == .number(8))
        // References that depend on the whole URL of the page have the key 0, and are not remembered.
        for reference in ["?q", "", " 2"] {
            guard case .url(_, 0) = try first("http://a.test/x/1", reference) else {
                throw TestError("\(reference) is remembered")
            }
        }
    }

    @Test func `a concurrent read returns only values of its key`() throws {
        let memory = LinkNumberCache()
        let isOver = Atomic<Bool>(false)
        // All keys use the same slot of the cache, so that each replaces the others.
        let keys = (1...8).map { UInt64($0) << 32 }
        let wrong = Atomic<Int>(0)
        let right = Atomic<Int>(0)
        let readers = try (0..<2).map { number in
            try NamedThread.start("reader-\(number)") {
                while !isOver.load(ordering: .relaxed) {
                    for key in keys {
                        guard let number = memory.number(key) else { continue }
                        if UInt64(number) == key >> 32 {
                            right.add(1, ordering: .relaxed)
                        } else {
                            wrong.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
        }
        let age = Stopwatch()
        var turn = 0
        // Continues until a reader has found a value.
        while turn < 2_000_000 || right.load(ordering: .relaxed) == 0 && age.elapsed < .seconds(300) {
            memory.keep(UInt32(keys[turn % 8] >> 32), as: keys[turn % 8])
            turn += 1
        }
        isOver.store(true, ordering: .relaxed)
        for reader in readers { reader.join() }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(right.load(ordering: .relaxed) > 0)
    }
}
