import Markup
import Testing
import Web

@testable import Crawl

/// Which pages are rendered.
@Suite struct RenderSchedulerTests {
    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    @Test(arguments: [
        ("http://a.test/", "a.test/"),
        ("http://a.test:8080/docs/", "a.test:8080/*/"),
        ("http://a.test/docs/intro.html", "a.test/docs/*.html"),
        ("http://a.test/docs/guide/setup.html", "a.test/docs/guide/*.html"),
        ("http://a.test/docs/guide/deep/er/setup.html", "a.test/docs/guide/…/*.html"),
        ("http://a.test/item/17", "a.test/item/*"),
        ("http://a.test/runs/17/log", "a.test/runs/…/*"),
        ("http://a.test/runs/17/metrics/loss", "a.test/runs/…/*"),
        ("http://a.test/r/0b2f7a3e-1d55-4c1e-9b1a-2f3f0a9d8c7b/log", "a.test/r/…/*"),
        ("http://a.test/2024/05/an-entry", "a.test/…/…/*"),
        ("http://a.test/cafe/deed/a", "a.test/cafe/deed/*"),
        ("http://a.test/show?id=7&tab=1", "a.test/*?id&tab"),
        ("http://a.test/show?tab=2&id=8", "a.test/*?id&tab"),
        ("http://a.test/nav?0.2446196311407488", "a.test/*?*"),
        ("http://a.test/v1.2.34567890", "a.test/*"),
        ("http://a.test/s?a=1&b=2&c=3&d=4&e=5", "a.test/*?a&b&c&d&…"),
        ("http://a.test/", "a.test/"), ("http://a.test/shop/", "a.test/*/"),
        ("http://a.test/posts/an.entry/", "a.test/posts/*/"),
        ("http://a.test/runs/17/log/", "a.test/runs/…/*/"),
    ])
    func `a pattern is a folder with a file extension`(text: String, pattern: String) throws {
        #expect(PagePattern.text(of: try url(text)) == pattern)
    }

    /// Pages that are rendered one after the other, each bringing so much.
    private func rendered(
        _ book: inout RenderScheduler, bringing: (UInt32) -> Int = { _ in 0 }
    ) -> [UInt32] {
        var numbers: [UInt32] = []
        while let number = book.next() {
            numbers.append(number)
            book.didRender(number, .init(assets: bringing(number)), isWhole: true)
        }
        return numbers
    }

    private func book(
        _ mode: RenderMode = .auto, pages: ClosedRange<UInt32> = 0...19,
        reasons: RenderReasons = .littleText,
        assets: [UInt32] = [], known: [String] = [], renderedPatterns: [String] = [],
        isUnchanged: Bool = false
    ) throws -> RenderScheduler {
        var book = RenderScheduler(mode: mode, tabs: 2, known: known, renderedPatterns: renderedPatterns)
        for number in pages {
            book.addPage(
                number, try url("http://a.test/p/\(number)"), reasons, assets: assets,
                isUnchanged: isUnchanged)
        }
        return book
    }

    @Test(
        "Of pages that only have scripts, one of each pattern is rendered, and more if that finds something")
    func pagesWithScripts() throws {
        func book() throws -> RenderScheduler {
            var book = RenderScheduler(mode: .auto, tabs: 1)
            for number: UInt32 in 0..<30 {
                let folder = number < 5 ? "few" : "many"
                book.addPage(number, try url("http://a.test/\(folder)/\(number)"), .sendsRequests, assets: [])
            }
            book.settle()
            return book
        }
        var quiet = try book()
        #expect(rendered(&quiet) == [5, 0], "the pattern with most pages comes first")
        var rich = try book()
        let numbers = rendered(&rich) { $0 >= 5 ? 1 : 0 }
        #expect(numbers.count { $0 >= 5 } == 25)
        #expect(numbers.count { $0 < 5 } == 1)
    }

    @Test("A page with scripts that no other page has is rendered")
    func scripts() throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<30 {
            let scripts: UInt64 = [7, 21].contains(number) ? 2 : 1
            book.addPage(
                number, try url("http://a.test/p/\(number)"), .sendsRequests, assets: [], scripts: scripts)
        }
        book.settle()
        #expect(rendered(&book) == [0, 7])
    }

    @Test("Every pattern is looked at before another page of one that brings something")
    func breadthFirst() throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<30 {
            let page = try url("http://a.test/\(number % 3)x/\(number)")
            book.addPage(number, page, number % 3 == 0 ? .indirectFetch : .sendsRequests, assets: [])
        }
        book.settle()
        #expect(Set(rendered(&book) { $0 % 3 == 0 ? 1 : 0 }.prefix(3).map { $0 % 3 }) == [0, 1, 2])
    }

    @Test("A dozen pages in folder style have patterns of their own, and the others share one")
    func slugs() throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<100 {
            book.addPage(number, try url("http://a.test/posts/slug-\(number)/"), .sendsRequests, assets: [])
        }
        #expect(book.patterns.count == RenderScheduler.namedFolderLimit + 1)
        #expect(book.patterns[0].text == "a.test/posts/slug-0/")
        #expect(book.patterns.last?.text == "a.test/posts/*/" && book.patterns.last?.pageCount == 88)
        book.settle()
        #expect(rendered(&book).first == 12, "the pattern with most pages comes first")
    }

    @Test("Named pages are rendered, although they have no reason and have not changed")
    func further() throws {
        var book = RenderScheduler(
            mode: .auto, tabs: 1, renderedPatterns: ["a.test/p/*"],
            always: ["http://a.test/p/3", "http://a.test/p/5"])
        for number: UInt32 in 0..<10 {
            book.addPage(number, try url("http://a.test/p/\(number)"), [], assets: [], isUnchanged: true)
        }
        book.settle()
        #expect(Set(rendered(&book)) == [3, 5])
    }

    @Test func `pages without a reason are not rendered`() throws {
        var book = try book(reasons: [])
        book.settle()
        #expect(book.next() == nil)
        #expect(book.isIdle)
    }

    @Test func `a pattern for which rendering finds nothing gets a few pages, after all requests ended`()
        throws
    {
        var book = try book()
        #expect(book.next() == nil)
        #expect(book.isUnsettled)
        book.settle()
        #expect(!book.isUnsettled)
        #expect(rendered(&book) == [0, 1, 2])
        #expect(book.isIdle)
        #expect(book.patterns.map(\.renderedCount) == [3])
    }

    @Test func `all pages are rendered while rendering finds something`() throws {
        var book = try book()
        book.settle()
        #expect(rendered(&book) { _ in 1 } == Array(0...19))
    }

    @Test func `each fruitful page allows one more fruitless page`() throws {
        var book = try book(pages: 0...99)
        book.settle()
        #expect(rendered(&book) { $0 < 2 ? 1 : 0 } == Array(0...6))
    }

    @Test func `running pages count as fruitless until their results arrive`() throws {
        var book = RenderScheduler(mode: .auto, tabs: 8)
        for number in UInt32(0)...19 {
            book.addPage(number, try url("http://a.test/\(number)"), .littleText, assets: [])
        }
        book.settle()
        #expect((0..<8).map { _ in book.next() } == [0, 1, 2, nil, nil, nil, nil, nil])
        book.didRender(1, .init(pages: 1), isWhole: true)
        #expect((0..<3).map { _ in book.next() } == [3, 4, nil])
    }

    @Test func `the number of tabs limits the pages that are rendered at once`() throws {
        var book = try book(.always)
        #expect([book.next(), book.next(), book.next()] == [0, 1, nil])
        book.didRender(0, .init(), isWhole: true)
        #expect(book.next() == 2)
    }

    @Test func `mode always renders every page at once, with or without a reason`() throws {
        var book = try book(.always, reasons: [])
        #expect(rendered(&book) == Array(0...19))
    }

    @Test func `mode never renders no page`() throws {
        var book = try book(.never)
        book.settle()
        #expect(book.next() == nil)
        #expect(!book.isUnsettled)
    }

    @Test func `the reason of a script applies to all pages that need it, also through other scripts`() throws
    {
        var book = try book(reasons: [], assets: [100])
        book.addPart(100, [], assets: [101])
        book.addPart(101, [], assets: [102, 100])
        book.settle()
        #expect(book.next() == nil)
        book.addPart(102, .composedURL, assets: [])
        #expect(book.isUnsettled)
        book.settle()
        #expect(rendered(&book) == [0, 1, 2])
        #expect(book.patterns[0].reasons == .composedURL)
    }

    @Test func `only the pages of a pattern that have a reason are rendered`() throws {
        var book = try book(reasons: [])
        book.addPage(50, try url("http://a.test/p/50"), .littleText, assets: [])
        book.settle()
        #expect(rendered(&book) { _ in 1 } == [50])
    }

    @Test func `a host whose pages are fruitless is given up after a few patterns, other hosts are not`()
        throws
    {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for host in ["a.test", "b.test"] {
            for number in UInt32(0)...99 {
                let page = try url("http://\(host)/f\(number / 2)/\(number)")
                book.addPage(number + (host == "b.test" ? 100 : 0), page, .littleText, assets: [])
            }
        }
        book.settle()
        let numbers = rendered(&book) { $0 == 100 ? 1 : 0 }
        #expect(numbers.count { $0 < 100 } == RenderScheduler.firstLookLimit)
        #expect(
            RenderScheduler.fewPagesOfHost(patterns: 50) == 25
                && RenderScheduler.fewPagesOfHost(patterns: 3) == 12)
        #expect(numbers.count { $0 >= 100 } == 100)
    }

    /// Ten runs with four views each, of which the last leads on.
    @Test(arguments: ["", "/"])
    func `views of many folders get a pattern of their own`(end: String) throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for number in UInt32(0)...39 {
            let page = try url("http://a.test/app/runs/\(number / 4)/view-\(number % 4)\(end)")
            book.addPage(number, page, .littleText, assets: [])
        }
        book.settle()
        let numbers = rendered(&book) { $0 % 4 == 3 ? 1 : 0 }
        #expect(numbers.filter { $0 % 4 == 3 }.count == 10)
        #expect(numbers.count == 10 + 3 * RenderScheduler.fewPagesOfView)
        #expect(book.patterns.filter(\.isFruitful).map(\.text) == ["a.test/app/runs/…/view-3\(end)"])
        #expect(book.patterns.reduce(0) { $0 + $1.pageCount } == 40)
    }

    @Test func `the first page of a view is not rendered twice`() throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        book.addPage(0, try url("http://a.test/runs/1/log"), .littleText, assets: [])
        book.settle()
        #expect(rendered(&book) { _ in 1 } == [0])
        for number in UInt32(1)...9 {
            book.addPage(number, try url("http://a.test/runs/\(number + 1)/log"), .littleText, assets: [])
        }
        #expect(rendered(&book) { _ in 0 } == [1, 2])
        #expect(book.patterns.map(\.renderedCount) == [1, 2])
    }

    @Test func `names that occur in one folder only are not views`() throws {
        var book = RenderScheduler(mode: .auto, tabs: 1)
        for number in UInt32(0)...39 {
            book.addPage(number, try url("http://a.test/a/b/c?n=\(number)"), .littleText, assets: [])
        }
        book.settle()
        #expect(rendered(&book) == [0, 1, 2])
        #expect(book.patterns.count == 1)
    }

    @Test func `patterns that were fruitful before are rendered, new pages before unchanged ones`()
        throws
    {
        var book = try book(reasons: [], known: ["a.test/p/*"], isUnchanged: true)
        for number in UInt32(50)...51 {
            book.addPage(number, try url("http://a.test/p/\(number)"), [], assets: [])
        }
        book.settle()
        #expect(rendered(&book) == [50, 51, 0, 1, 2])
        // A page that comes later is new, though those that were there brought nothing.
        book.addPage(60, try url("http://a.test/p/60"), [], assets: [])
        #expect(rendered(&book) { $0 == 60 ? 1 : 0 } == [60, 3])
        #expect(book.patterns[0].wasFruitful)
    }

    @Test(arguments: [[], ["a.test/p/*"]])
    func `patterns rendered before are not rendered again unless an asset changed`(known: [String]) throws {
        var book = try book(assets: [90], known: known, renderedPatterns: ["a.test/p/*"], isUnchanged: true)
        book.addPart(90, [], assets: [91], isUnchanged: true)
        book.addPart(92, [], assets: [])
        book.settle()
        #expect(rendered(&book) == [])
        #expect(book.isIdle && book.patterns[0].wasEverRendered)
        // What is new is: the next page, and then a script that was recalled needs another one.
        book.addPage(50, try url("http://a.test/p/50"), .littleText, assets: [])
        book.settle()
        #expect(rendered(&book) == [50])
        book.addPart(91, [], assets: [])
        #expect(book.isUnsettled)
        book.settle()
        #expect(rendered(&book) == [0, 1, 2])
    }

    @Test func `the first page of a pattern is rendered early, once its assets are fetched`() throws {
        var book = try book(pages: 0...5, assets: [90])
        book.addPart(90, [], assets: [91])
        var there: Set<UInt32> = [90]
        #expect(book.nextEarly { there.contains($0) } == nil)
        there.insert(91)
        #expect(book.nextEarly { there.contains($0) } == 0)
        #expect(book.nextEarly { _ in true } == nil)
        #expect(book.next() == nil && !book.isIdle)
        book.didRender(0, .init(), isWhole: true)
        #expect(book.isIdle)
        book.settle()
        #expect(rendered(&book) == [1, 2])
    }

    @Test(arguments: [true, false])
    func `URLs found by an early page count unless a scan finds them too`(isScanned: Bool) throws {
        var book = try book(pages: 0...19)
        #expect(book.nextEarly { _ in true } == 0)
        book.noteFound(100, byEarly: 0)
        book.noteFound(101, byEarly: 0)
        book.didRender(0, .init(), isWhole: true)
        book.noteScanned(100)
        if isScanned { book.noteScanned(101) }
        book.settle { _ in .init(pages: 1) }
        #expect(book.patterns[0].foundPageCount == (isScanned ? 0 : 1))
        #expect(book.patterns[0].isFruitful == !isScanned)
        #expect(rendered(&book).count == (isScanned ? 2 : 4))
    }

    @Test func `an early page whose requests were answered late is rendered again after settling`()
        throws
    {
        var book = try book(pages: 0...0)
        #expect(book.nextEarly { _ in true } == 0)
        book.didRender(0, .init(), isWhole: false, missing: [90])
        #expect(book.next() == nil)
        book.settle()
        #expect(rendered(&book) == [0])
    }

    @Test
    func `a page that sent requests, or whose own asset changed, is rendered in each run`()
        throws
    {
        var book = RenderScheduler(
            mode: .auto, tabs: 2, known: ["a.test/p/*"], renderedPatterns: ["a.test/p/*"])
        book.noteSender(7)
        for number in UInt32(0)...19 {
            book.addPage(
                number, try url("http://a.test/p/\(number)"), .indirectFetch, assets: [90, 100 + number],
                isUnchanged: true)
        }
        #expect(book.next() == nil && book.isIdle)
        for number in [UInt32(109), 112] { book.addPart(number, [], assets: []) }
        book.settle()
        #expect(rendered(&book) == [12, 9, 7])
    }

    @Test func `a page whose requests were answered too late is rendered again`() throws {
        var book = try book(pages: 0...0)
        book.settle()
        #expect(book.next() == 0)
        book.didRender(0, .init(assets: 1, pages: 2), isWhole: false, missing: [90])
        #expect(!book.isIdle)
        #expect(book.next() == 0)
        // Its assets are counted again, and its pages are no longer new.
        book.didRender(0, .init(assets: 1), isWhole: false, missing: [90])
        #expect(book.isIdle)
        #expect(book.patterns.map(\.foundAssetCount) == [1])
        #expect(book.patterns.map(\.foundPageCount) == [2])
        #expect(book.patterns.map(\.renderedCount) == [1])
        #expect(book.patterns.map(\.unfinishedCount) == [1])
    }

    @Test func `a retry waits for its assets while other pages are rendered`() throws {
        var book = try book(pages: 0...2)
        book.settle()
        #expect(book.next { _ in false } == 0)
        book.didRender(0, .init(), isWhole: true, missing: [90, 91])
        #expect(book.next { $0 == 90 } == 1)
        #expect(book.next { _ in true } == 0)
    }

    @Test func `without a browser no page is due`() throws {
        var book = try book()
        book.settle()
        #expect(book.next() == 0)
        book.end()
        #expect(book.next() == nil)
        book.didRender(0, .init(), isWhole: false, missing: [90])
        #expect(book.isIdle)
    }
}
