import Testing
import Web

@testable import Crawl

@Suite struct TrapsTests {
    private var traps = Traps()

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private static func unique(_ number: Int, byteCount: Int = 20_000) -> ContentPrint {
        ContentPrint(digest: Mixing.mix(UInt64(bitPattern: Int64(number))), byteCount: byteCount)
    }

    private static func text(_ words: String) -> ContentPrint {
        let frame = (0..<150).map { "frame\($0)" }.joined(separator: " ")
        return ContentPrint(text: Array("<p>\(frame) \(words)".utf8).span)
    }

    /// Fetches pages until their pattern is stopped. Returns the numbers of the pages at which it was slowed and stopped.
    private mutating func walk(
        _ count: Int, _ address: (Int) -> String, _ content: (Int) -> ContentPrint,
        links: (Int) -> [String] = { _ in [] }
    ) throws -> (slowed: Int?, stopped: Int?) {
        var slowed: Int?
        for number in 0..<count {
            let url = try url(address(number))
            switch traps.verdict(on: url) {
            case .fine: break
            case .slowed: slowed = slowed ?? number
            case .stopped: return (slowed, number)
            }
            traps.didFetch(url, content(number), newPages: try links(number).map(self.url))
        }
        return (slowed, nil)
    }

    @Test mutating func `an endless calendar is slowed, and then stopped with its pattern and counts`()
        throws
    {
        let end = try walk(
            500, { "http://a.test/cal/\(2000 + $0 / 12)/\($0 % 12 + 1)/" },
            { Self.text("no events in month \($0)") },
            links: { ["http://a.test/cal/\(2000 + ($0 + 1) / 12)/\(($0 + 1) % 12 + 1)/"] })
        #expect(end.slowed.map { $0 < 40 } == true)
        #expect(end.stopped == 96)
        #expect(
            traps.stopped.map(\.description)
                == ["an endless calendar: 95 of 96 pages like a.test/cal/{year}/{month}/ are alike"])
        #expect(traps.verdict(on: try url("http://a.test/blog/2024/")) == .fine)
    }

    @Test mutating func `an archive by date with content is not a trap`() throws {
        let end = try walk(
            5000, { "http://a.test/\(1990 + $0 / 336)/\($0 / 28 % 12 + 1)/\($0 % 28 + 1)/" },
            { day in Self.text((0..<60).map { "w\(day * 60 + $0)" }.joined(separator: " ")) },
            links: { ["http://a.test/articles/\($0)", "http://a.test/\(1990 + $0 / 336)/1/2/"] })
        #expect(end.slowed == nil)
        #expect(traps.stopped.isEmpty)
    }

    @Test mutating func `the same pages under new session IDs are stopped`() throws {
        let end = try walk(
            1000,
            { "http://a.test/shop?visitor=a1" + Hex.encode([UInt8($0 & 0xFF), UInt8($0 >> 8), 7, 8, 9]) },
            { Self.unique($0 % 5) })
        #expect(end.stopped.map { $0 < 120 } == true)
    }

    @Test mutating func `nested folders with repeated names are stopped, at any depth and in any order`()
        throws
    {
        let end = try walk(
            200,
            { number in
                "http://a.test/"
                    + (0..<6 + number % 14).map { "\(number >> ($0 % 7) & 1 == 0 ? "img" : "css")/" }.joined()
            }, { Self.unique($0 % 10) })
        #expect(end.stopped.map { $0 < 100 } == true)
        #expect(traps.stopped.first?.kind == .depth)
    }

    @Test mutating func `22,000 pages of documentation are not a trap`() throws {
        let end = try walk(
            22_000,
            { "http://a.test/std/module\(["a", "b", "c"][$0 % 3])/struct.Name\(Self.letters($0)).html" },
            { Self.unique($0, byteCount: 10_000 + $0 % 50) },
            links: { ["http://a.test/std/modulea/struct.Name\(Self.letters($0 + 1)).html"] })
        #expect(end == (nil, nil))
    }

    @Test(arguments: [
        ("http://a.test/item/", 50_000), ("http://a.test/show?id=", 10_000), ("http://a.test/2031-", 10_000),
    ])
    mutating func `a catalogue of equally large pages that link to the next one is not a trap`(
        prefix: String, count: Int
    ) throws {
        let end = try walk(
            count, { "\(prefix)\($0 + 100)" }, { Self.unique($0) }, links: { ["\(prefix)\($0 + 101)"] })
        #expect(end == (nil, nil))
    }

    @Test mutating func `products that differ in a name and a price are not a trap`() throws {
        let end = try walk(
            3000, { "http://a.test/item/\($0)" }, { Self.text("product \($0) costs \($0 * 7)") },
            links: { ["http://a.test/item/\($0 + 1)"] })
        #expect(end == (nil, nil))
    }

    @Test mutating func `pages beyond the end of a list are stopped, earlier ones are not`() throws {
        let end = try walk(
            5000, { "http://a.test/list/\($0)" }, { $0 < 3000 ? Self.unique($0) : Self.text("nothing") },
            links: { ["http://a.test/list/\($0 + 1)"] })
        #expect(end.stopped.map { $0 > 3060 && $0 < 3120 } == true)
    }

    @Test mutating func `a slowed pattern is normal again once its pages have new content`() throws {
        for number in 0..<60 {
            traps.didFetch(try url("http://a.test/p/\(number)"), Self.unique(0), newPages: [])
        }
        let page = try url("http://a.test/p/1")
        if case .slowed = traps.verdict(on: page) {} else { Issue.record("it is not slowed") }
        for number in 0..<60 {
            traps.didFetch(try url("http://a.test/p/\(number)"), Self.unique(number + 1), newPages: [])
        }
        #expect(traps.verdict(on: page) == .fine)
    }

    @Test mutating func `combinations of filters that link to little else are slowed, but never stopped`()
        throws
    {
        let end = try walk(
            5000, { "http://a.test/shop?color=\($0 % 7)&size=\($0 % 11)&sort=\($0 % 13)&page=\($0)" },
            { Self.unique($0) },
            links: {
                [
                    "http://a.test/shop?color=\($0)&size=1&sort=2&page=3",
                    "http://a.test/shop?a=\($0)&b=2&c=1&d=3",
                ]
            })
        #expect(end.slowed == 500)
        #expect(end.stopped == nil)
    }

    @Test mutating func `a trap is found among thousands of other patterns, in bounded memory`() throws {
        var stopped: Int?
        for number in 0..<40_000 where stopped == nil {
            traps.didFetch(
                try url("http://a.test/post/\(Self.letters(number))"), Self.unique(number), newPages: [])
            guard number % 20 == 0 else { continue }
            let trap = try url("http://a.test/login?back=\(number)")
            if case .stopped = traps.verdict(on: trap) { stopped = number / 20 }
            traps.didFetch(trap, Self.unique(-1), newPages: [])
        }
        #expect(stopped.map { $0 < 200 } == true)
    }

    @Test
    mutating func `the text is examined if the URL looks like a trap, or if many pages have one size`()
        throws
    {
        #expect(traps.wantsWords(of: try url("http://a.test/2031/05/")))
        #expect(!traps.wantsWords(of: try url("http://a.test/std/struct.Vec.html")))
        let product = try url("http://a.test/item/5")
        #expect(!traps.wantsWords(of: product))
        for number in 0..<100 {
            traps.didFetch(try url("http://a.test/item/\(number)"), Self.unique(number), newPages: [])
        }
        #expect(traps.wantsWords(of: product))
    }

    /// The number in base 26, with letters as digits.
    private static func letters(_ number: Int) -> String {
        String(number, radix: 26).utf8.map { byte in
            String(UnicodeScalar(byte < 0x3A ? byte - 0x30 + 0x61 : byte - 0x61 + 0x6B))
        }.joined()
    }
}
