import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Crawls of infinite sites next to a catalogue of 1,500 products in lists of 20, without a network.
@Suite struct TrapSiteTests {
    /// A trap, which generates the text and the links of each of its pages.
    struct Trap: Sendable, CustomStringConvertible {
        var description: String
        var start: String
        var page: @Sendable (_ target: String) -> (text: String, links: [String])
        /// The maximum number of its pages that a crawl may fetch.
        var maxPages: Int
    }

    private static func number(_ target: String) -> Int { Int(target.filter(\.isNumber).suffix(9)) ?? 0 }
    private static func hash(_ text: String) -> UInt64 { Mixing.mix(text.utf8) }
    private static let words = [
        "apple", "pear", "fig", "plum", "grape", "melon", "lemon", "quince", "cherry", "peach",
    ]
    private static func word(_ hash: UInt64) -> String {
        words[Int(hash % 10)] + words[Int(hash / 10 % 10)] + words[Int(hash / 100 % 10)]
    }

    static let traps: [Trap] = [
        Trap(
            description: "months with days", start: "/cal?2024-01",
            page: { target in
                let date = target.dropFirst("/cal?".count).split(separator: "-").compactMap { Int($0) }
                guard date.count == 2 else {
                    return ("Nothing happens on this day: \(target)", ["/cal?\(date[0])-01"])
                }
                func month(_ step: Int) -> String {
                    let count = date[0] * 12 + date[1] - 1 + step
                    return "\(count / 12)-\(count % 12 < 9 ? "0" : "")\(count % 12 + 1)"
                }
                let days = (1...28).map { "/cal?\(month(0))-\($0 < 10 ? "0" : "")\($0)" }
                return ("Events of \(month(0))", ["/cal?\(month(-1))", "/cal?\(month(1))"] + days)
            }, maxPages: 1500),
        Trap(
            description: "weeks", start: "/weeks/2024-W05",
            page: { target in
                let parts = target.dropFirst("/weeks/".count).split(separator: "-W").compactMap { Int($0) }
                let week = parts[0] * 52 + parts[1] - 1 + 1
                return (
                    "Week \(parts[1]) of \(parts[0])",
                    ["/weeks/\(week / 52)-W\(week % 52 < 9 ? "0" : "")\(week % 52 + 1)"]
                )
            }, maxPages: 300),
        Trap(
            description: "times", start: "/agenda?t=1700000000",
            page: { target in
                let time = Int(target.split(separator: "=")[1]) ?? 0
                return ("Week of \(time)", ["/agenda?t=\(time + 604_800)", "/agenda?t=\(time - 604_800)"])
            }, maxPages: 300),
        Trap(
            description: "keys", start: "/x/0a1b2c3d4e5f6071.html",
            page: { target in
                (
                    "Object \(target)",
                    (0..<5).map { "/x/0a1b\(String(hash("\(target)\($0)") | 1 << 63, radix: 16)).html" }
                )
            }, maxPages: 300),
        Trap(
            description: "words in words", start: "/w/",
            page: { target in
                let links = (0..<5).map { "\(target)\(word(hash("\(target)\($0)")))/" }
                return ("Choose one of these", links)
            }, maxPages: 8000),
        Trap(
            description: "many words that differ in what they say", start: "/v/",
            page: { target in
                let links = (0..<5).map { "\(target)\(word(hash("\(target)\($0)")))/" }
                return ((0..<30).map { word(hash("\(target) \($0)")) }.joined(separator: " "), links)
            }, maxPages: .max),
    ]

    private static func product(_ number: Int) -> (String, [String]) {
        let text = (0..<40).map { word(hash("product \(number) \($0)")) }.joined(separator: " ")
        return (text, (1...3).map { "/products/\((number * 7 + $0 * 131) % 1500)" })
    }

    private static func page(_ target: String, of traps: [Trap], _ products: Int) -> (
        text: String, links: [String]
    ) {
        if target == "/" { return ("start", traps.map(\.start) + ["/list?page=0"]) }
        if target.hasPrefix("/list") {
            let page = number(target)
            let links = (page * 20..<min(products, page * 20 + 20)).map { "/products/\($0)" }
            return ("list", links + (page * 20 + 20 < products ? ["/list?page=\(page + 1)"] : []))
        }
        if target.hasPrefix("/products/") { return product(number(target)) }
        let trap = traps.first { target.hasPrefix($0.start.prefix(3)) }
        return trap?.page(target) ?? ("nothing", [])
    }

    /// Reports the text and the links of a page to the frontier, as a scan would.
    private static func scan(
        _ number: UInt32, title: String, _ text: String, _ links: [String], in frontier: TestFrontier
    ) throws {
        let html = "<title>\(title)</title><p>\(text)" + links.map { "<a href='\($0)'>\($0)</a>" }.joined()
        let wantsWords = frontier.wantsWords(of: number)
        var result = ScanResult(number: number, byteCount: 0)
        result.links = links.compactMap { link in
            WebURL("http://a.test" + link).map { FoundLink(url: $0, role: .page) }
        }
        try #require(result.links.count == links.count)
        let bytes = Array(html.utf8)
        let url = frontier.url(number)
        if url.query != nil
            || result.links.contains(where: { $0.url?.path == url.path && $0.url?.query != nil })
        {
            result.pieces = TextPieces(bytes.span)
        }
        result.print =
            wantsWords
            ? ContentPrint(text: bytes.span) : ContentPrint(digest: Mixing.mix(bytes), byteCount: bytes.count)
        frontier.apply(.scanned(result), now: .zero)
    }

    /// Crawls the site. Returns the number of fetched pages by first folder, and the number of pages that were fetched
    /// until the last product.
    ///
    /// - Parameter endsWithCatalogue: stops the crawl at the last product.
    private static func walk(
        _ traps: [Trap], products: Int, maxFetches: Int, endsWithCatalogue: Bool = false
    ) throws -> (counts: [Substring: Int], lastProduct: Int, isDone: Bool) {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        var counts: [Substring: Int] = [:]
        var (fetched, lastProduct) = (0, 0)
        while fetched < maxFetches, case .fetch(let number)? = frontier.next(now: .zero) {
            fetched += 1
            let url = frontier.url(number)
            let target = String(url.href.dropFirst("http://a.test".count))
            let kind = target.dropFirst().prefix { $0 != "/" && $0 != "?" }
            counts[kind, default: 0] += 1
            if kind == "products" { lastProduct = fetched }
            frontier.succeed(number)
            let (text, links) = page(target, of: traps, products)
            try scan(number, title: String(kind), text, links, in: frontier)
            if endsWithCatalogue, kind == "products", counts[kind] == products { break }
        }
        return (counts, lastProduct, frontier.isDone)
    }

    @Test(arguments: traps)
    func `a catalogue next to a trap is fetched completely, and the trap is stopped`(trap: Trap) throws {
        let isEndless = trap.maxPages == .max
        let (counts, lastProduct, isDone) = try Self.walk(
            [trap], products: 1500, maxFetches: isEndless ? 10_000 : 30_000, endsWithCatalogue: isEndless)
        let name = trap.start.dropFirst().prefix { $0 != "/" && $0 != "?" }
        #expect(counts["products"] == 1500)
        #expect(lastProduct < 6000, "\(lastProduct)")
        #expect(counts[name, default: 0] <= trap.maxPages, "\(counts)")
        #expect(isDone || isEndless)
    }

    @Test func `several traps together do not starve the catalogue`() throws {
        let (counts, _, _) = try Self.walk(
            Self.traps, products: 1500, maxFetches: 15_000, endsWithCatalogue: true)
        #expect(counts["products"] == 1500, "\(counts)")
    }

    /// Crawls the site until no page is left or `maxFetches` pages were fetched. Returns the number of fetched pages of
    /// each part.
    private static func walk(_ site: MixedSite, maxFetches: Int) throws -> (
        counts: [MixedSite.Part: Int], isDone: Bool
    ) {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        var counts: [MixedSite.Part: Int] = [:]
        var fetched = 0
        while fetched < maxFetches, case .fetch(let number)? = frontier.next(now: .zero) {
            fetched += 1
            let target = String(frontier.url(number).href.dropFirst("http://a.test".count))
            let (title, text, links) = try #require(site.page(target), "\(target)")
            if let part = MixedSite.part(of: target) { counts[part, default: 0] += 1 }
            frontier.succeed(number)
            try scan(number, title: title, text, links, in: frontier)
        }
        return (counts, frontier.isDone)
    }

    @Test func `real catalogues are fetched completely next to traps`() throws {
        let real = MixedSite.Part.allCases.filter(\.isReal)
        // The trap `words` is tested alone above, and with all other parts by `Soak traps`: of its rare URL shapes, only
        // one in sixteen is examined.
        let traps = MixedSite.Part.allCases.filter { !$0.isReal && $0 != .words }
        let site = MixedSite(products: 2000, topics: 600, parts: traps + real)
        let (counts, isDone) = try Self.walk(site, maxFetches: 60_000)
        let table = (real + traps).map { part in
            "\(part.rawValue) \(counts[part, default: 0])" + (part.isReal ? "/\(site.count(of: part))" : "")
        }
        print(table.joined(separator: ", "))
        for part in real { #expect(counts[part] == site.count(of: part), "\(part): \(table)") }
        for part in traps { #expect(counts[part, default: 0] < 300, "\(table)") }
        #expect(isDone)
    }

    /// `Soak traps` crawls over 100,000 pages.
    @Test func `a catalogue of 8,000 products is fetched completely`() throws {
        let (counts, _, isDone) = try Self.walk([], products: 8000, maxFetches: .max)
        #expect(counts["products"] == 8000)
        #expect(counts["list"] == 400)
        #expect(isDone)
    }
}
