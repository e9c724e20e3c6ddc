import Markup
import Testing
import Web

@testable import Crawl

/// The choice of pages to render.
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

    /// Renders all due pages one after the other, and returns their numbers. `foundAssets` is the number of assets that
    /// rendering a page finds.
    private func rendered(
        _ scheduler: inout RenderScheduler, foundAssets: (UInt32) -> Int = { _ in 0 }
    ) -> [UInt32] {
        var numbers: [UInt32] = []
        while let number = scheduler.next() {
            numbers.append(number)
            scheduler.didRender(number, .init(assets: foundAssets(number)), isWhole: true)
        }
        return numbers
    }

    /// A scheduler with the pages http://a.test/p/0 to /p/19.
    private func makeScheduler(
        _ mode: RenderMode = .auto, pages: ClosedRange<UInt32> = 0...19,
        reasons: RenderReasons = .littleText,
        assets: [UInt32] = [], known: [String] = [], renderedPatterns: [String] = [],
        isUnchanged: Bool = false
    ) throws -> RenderScheduler {
        var scheduler = RenderScheduler(mode: mode, tabs: 2, known: known, renderedPatterns: renderedPatterns)
        for number in pages {
            scheduler.addPage(
                number, try url("http://a.test/p/\(number)"), reasons, assets: assets,
                isUnchanged: isUnchanged)
        }
        return scheduler
    }

    @Test(
        "One page of each pattern with scripts only is rendered, and more if that finds assets")
    func pagesWithScripts() throws {
        func makeScheduler() throws -> RenderScheduler {
            var scheduler = RenderScheduler(mode: .auto, tabs: 1)
            for number: UInt32 in 0..<30 {
                let folder = number < 5 ? "few" : "many"
                scheduler.addPage(
                    number, try url("http://a.test/\(folder)/\(number)"), .sendsRequests, assets: [])
            }
            scheduler.settle()
            return scheduler
        }
        var quiet = try makeScheduler()
        #expect(rendered(&quiet) == [5, 0], "the pattern with most pages comes first")
        var rich = try makeScheduler()
        let numbers = rendered(&rich) { $0 >= 5 ? 1 : 0 }
        #expect(numbers.count { $0 >= 5 } == 25)
        #expect(numbers.count { $0 < 5 } == 1)
    }

    @Test(
        "Controls are used on the first pages of each pattern, and on the first ones with each set of scripts"
    )
    func controls() throws {
        var scheduler = RenderScheduler(mode: .always, tabs: 1)
        let pages = try (0..<10 as Range<UInt32>).map { try url("http://a.test/p/\($0)") }
        for number: UInt32 in 0..<10 {
            scheduler.addPage(
                number, pages[Int(number)], .sendsRequests, assets: [], scripts: number == 8 ? 2 : 1)
        }
        scheduler.settle()
        var withControls: [UInt32] = []
        while let number = scheduler.next() {
            if scheduler.controlGroup(of: number, at: pages[Int(number)]) != nil {
                withControls.append(number)
            }
            scheduler.didRender(number, .init(), isWhole: true)
        }
        #expect(withControls.count == 4 && withControls.contains(8))
    }

    @Test("A page with scripts that no other page has is rendered")
    func scripts() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<30 {
            let scripts: UInt64 = [7, 21].contains(number) ? 2 : 1
            scheduler.addPage(
                number, try url("http://a.test/p/\(number)"), .sendsRequests, assets: [], scripts: scripts)
        }
        scheduler.settle()
        #expect(rendered(&scheduler) == [0, 7])
    }

    @Test(
        "A page with scripts of its own is rendered, although rendering others found nothing",
        arguments: [RenderReasons.sendsRequests, .composedURL])
    func ownScripts(reasons: RenderReasons) throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<20 {
            scheduler.addPage(
                number, try url("http://a.test/p/\(number)"), reasons, assets: [], scripts: UInt64(number) + 1
            )
        }
        scheduler.settle()
        #expect(Set(rendered(&scheduler)) == Set(0..<20))
    }

    @Test(
        "A page with inline scripts that no other page has is rendered, after those with other script files")
    func inlineScripts() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<30 {
            scheduler.addPage(
                number, try url("http://a.test/\(number < 25 ? "p" : "q")/\(number)"), .sendsRequests,
                assets: [], scripts: number == 27 ? 2 : 1, inlineScripts: [7, 21].contains(number) ? 5 : 4)
        }
        scheduler.settle()
        #expect(rendered(&scheduler) == [0, 27, 7])
    }

    @Test(
        "Few of many pages with different inline scripts are rendered if that finds nothing",
        arguments: [(false, 12), (true, 40)])
    func manyInlineScripts(isFruitful: Bool, maxPages: Int) throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<20_000 {
            scheduler.addPage(
                number, try url("http://a.test/p/\(number)"), .sendsRequests, assets: [], scripts: 1,
                inlineScripts: number + 1)
        }
        scheduler.addPage(
            20_000, try url("http://a.test/q/"), .sendsRequests, assets: [], scripts: 2, inlineScripts: 7)
        scheduler.settle()
        let numbers = rendered(&scheduler) { isFruitful && $0 == 0 ? 1 : 0 }
        #expect(numbers.count == maxPages)
        #expect(numbers.prefix(2).contains(20_000))
    }

    @Test("A page of each pattern is rendered before a second page of a fruitful pattern")
    func breadthFirst() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<30 {
            let page = try url("http://a.test/\(number % 3)x/\(number)")
            scheduler.addPage(number, page, number % 3 == 0 ? .indirectFetch : .sendsRequests, assets: [])
        }
        scheduler.settle()
        #expect(Set(rendered(&scheduler) { $0 % 3 == 0 ? 1 : 0 }.prefix(3).map { $0 % 3 }) == [0, 1, 2])
    }

    @Test("A dozen pages in folder style have patterns of their own, and the others share one")
    func slugs() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number: UInt32 in 0..<100 {
            scheduler.addPage(
                number, try url("http://a.test/posts/slug-\(number)/"), .sendsRequests, assets: [])
        }
        #expect(scheduler.patterns.count == RenderScheduler.namedFolderLimit + 1)
        #expect(scheduler.patterns[0].text == "a.test/posts/slug-0/")
        #expect(
            scheduler.patterns.last?.text == "a.test/posts/*/" && scheduler.patterns.last?.pageCount == 88)
        scheduler.settle()
        #expect(rendered(&scheduler).first == 12, "the pattern with most pages comes first")
    }

    @Test("Pages that the user names are rendered, even unchanged ones without a reason")
    func further() throws {
        var scheduler = RenderScheduler(
            mode: .auto, tabs: 1, renderedPatterns: ["a.test/p/*"],
            always: ["http://a.test/p/3", "http://a.test/p/5"])
        for number: UInt32 in 0..<10 {
            scheduler.addPage(number, try url("http://a.test/p/\(number)"), [], assets: [], isUnchanged: true)
        }
        scheduler.settle()
        #expect(Set(rendered(&scheduler)) == [3, 5])
    }

    @Test func `pages without a reason are not rendered`() throws {
        var scheduler = try makeScheduler(reasons: [])
        scheduler.settle()
        #expect(scheduler.next() == nil)
        #expect(scheduler.isIdle)
    }

    @Test func `a pattern for which rendering finds nothing gets a few pages, after all requests ended`()
        throws
    {
        var scheduler = try makeScheduler()
        #expect(scheduler.next() == nil)
        #expect(scheduler.isUnsettled)
        scheduler.settle()
        #expect(!scheduler.isUnsettled)
        #expect(rendered(&scheduler) == [0, 1, 2])
        #expect(scheduler.isIdle)
        #expect(scheduler.patterns.map(\.renderedCount) == [3])
    }

    @Test func `all pages are rendered while rendering finds something`() throws {
        var scheduler = try makeScheduler()
        scheduler.settle()
        #expect(rendered(&scheduler) { _ in 1 } == Array(0...19))
    }

    @Test func `each fruitful page allows one more fruitless page`() throws {
        var scheduler = try makeScheduler(pages: 0...99)
        scheduler.settle()
        #expect(rendered(&scheduler) { $0 < 2 ? 1 : 0 } == Array(0...6))
    }

    @Test func `running pages count as fruitless until their results arrive`() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 8)
        for number in UInt32(0)...19 {
            scheduler.addPage(number, try url("http://a.test/\(number)"), .littleText, assets: [])
        }
        scheduler.settle()
        #expect((0..<8).map { _ in scheduler.next() } == [0, 1, 2, nil, nil, nil, nil, nil])
        scheduler.didRender(1, .init(pages: 1), isWhole: true)
        #expect((0..<3).map { _ in scheduler.next() } == [3, 4, nil])
    }

    @Test func `the number of tabs limits the pages that are rendered at once`() throws {
        var scheduler = try makeScheduler(.always)
        #expect([scheduler.next(), scheduler.next(), scheduler.next()] == [0, 1, nil])
        scheduler.didRender(0, .init(), isWhole: true)
        #expect(scheduler.next() == 2)
    }

    @Test func `mode always renders every page at once, with or without a reason`() throws {
        var scheduler = try makeScheduler(.always, reasons: [])
        #expect(rendered(&scheduler) == Array(0...19))
    }

    @Test func `mode never renders no page`() throws {
        var scheduler = try makeScheduler(.never)
        scheduler.settle()
        #expect(scheduler.next() == nil)
        #expect(!scheduler.isUnsettled)
    }

    @Test func `the reason of a script applies to all pages that need it, also through other scripts`() throws
    {
        var scheduler = try makeScheduler(reasons: [], assets: [100])
        scheduler.addPart(100, [], assets: [101])
        scheduler.addPart(101, [], assets: [102, 100])
        scheduler.settle()
        #expect(scheduler.next() == nil)
        scheduler.addPart(102, .composedURL, assets: [])
        #expect(scheduler.isUnsettled)
        scheduler.settle()
        #expect(rendered(&scheduler) == [0, 1, 2])
        #expect(scheduler.patterns[0].reasons == .composedURL)
    }

    @Test func `only the pages of a pattern that have a reason are rendered`() throws {
        var scheduler = try makeScheduler(reasons: [])
        scheduler.addPage(50, try url("http://a.test/p/50"), .littleText, assets: [])
        scheduler.settle()
        #expect(rendered(&scheduler) { _ in 1 } == [50])
    }

    @Test func `a host whose pages are fruitless is given up after a few patterns, other hosts are not`()
        throws
    {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for host in ["a.test", "b.test"] {
            for number in UInt32(0)...99 {
                let page = try url("http://\(host)/f\(number / 2)/\(number)")
                scheduler.addPage(number + (host == "b.test" ? 100 : 0), page, .littleText, assets: [])
            }
        }
        scheduler.settle()
        let numbers = rendered(&scheduler) { $0 == 100 ? 1 : 0 }
        #expect(numbers.count { $0 < 100 } == RenderScheduler.firstLookLimit)
        #expect(
            RenderScheduler.fewPagesOfHost(patterns: 50) == 25
                && RenderScheduler.fewPagesOfHost(patterns: 3) == 12)
        #expect(numbers.count { $0 >= 100 } == 100)
    }

    /// Ten folders with four pages each. Only rendering the last page of a folder finds an asset.
    @Test(arguments: ["", "/"])
    func `views of many folders get a pattern of their own`(end: String) throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number in UInt32(0)...39 {
            let page = try url("http://a.test/app/runs/\(number / 4)/view-\(number % 4)\(end)")
            scheduler.addPage(number, page, .littleText, assets: [])
        }
        scheduler.settle()
        let numbers = rendered(&scheduler) { $0 % 4 == 3 ? 1 : 0 }
        #expect(numbers.filter { $0 % 4 == 3 }.count == 10)
        #expect(numbers.count == 10 + 3 * RenderScheduler.fewPagesOfView)
        #expect(scheduler.patterns.filter(\.isFruitful).map(\.text) == ["a.test/app/runs/…/view-3\(end)"])
        #expect(scheduler.patterns.reduce(0) { $0 + $1.pageCount } == 40)
    }

    @Test func `the first page of a view is not rendered twice`() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        scheduler.addPage(0, try url("http://a.test/runs/1/log"), .littleText, assets: [])
        scheduler.settle()
        #expect(rendered(&scheduler) { _ in 1 } == [0])
        for number in UInt32(1)...9 {
            scheduler.addPage(
                number, try url("http://a.test/runs/\(number + 1)/log"), .littleText, assets: [])
        }
        #expect(rendered(&scheduler) { _ in 0 } == [1, 2])
        #expect(scheduler.patterns.map(\.renderedCount) == [1, 2])
    }

    @Test func `names that occur in one folder only are not views`() throws {
        var scheduler = RenderScheduler(mode: .auto, tabs: 1)
        for number in UInt32(0)...39 {
            scheduler.addPage(number, try url("http://a.test/a/b/c?n=\(number)"), .littleText, assets: [])
        }
        scheduler.settle()
        #expect(rendered(&scheduler) == [0, 1, 2])
        #expect(scheduler.patterns.count == 1)
    }

    @Test func `patterns that were fruitful before are rendered, new pages before unchanged ones`()
        throws
    {
        var scheduler = try makeScheduler(reasons: [], known: ["a.test/p/*"], isUnchanged: true)
        for number in UInt32(50)...51 {
            scheduler.addPage(number, try url("http://a.test/p/\(number)"), [], assets: [])
        }
        scheduler.settle()
        #expect(rendered(&scheduler) == [50, 51, 0, 1, 2])
        // A page that is added later is rendered, although the earlier pages were fruitless.
        scheduler.addPage(60, try url("http://a.test/p/60"), [], assets: [])
        #expect(rendered(&scheduler) { $0 == 60 ? 1 : 0 } == [60, 3])
        #expect(scheduler.patterns[0].wasFruitful)
    }

    @Test(arguments: [[], ["a.test/p/*"]])
    func `patterns rendered before are not rendered again unless an asset changed`(known: [String]) throws {
        var scheduler = try makeScheduler(
            assets: [90], known: known, renderedPatterns: ["a.test/p/*"], isUnchanged: true)
        scheduler.addPart(90, [], assets: [91], isUnchanged: true)
        scheduler.addPart(92, [], assets: [])
        scheduler.settle()
        #expect(rendered(&scheduler) == [])
        #expect(scheduler.isIdle && scheduler.patterns[0].wasEverRendered)
        // A new page is rendered. The unchanged pages are rendered again once the script that they need indirectly changes.
        scheduler.addPage(50, try url("http://a.test/p/50"), .littleText, assets: [])
        scheduler.settle()
        #expect(rendered(&scheduler) == [50])
        scheduler.addPart(91, [], assets: [])
        #expect(scheduler.isUnsettled)
        scheduler.settle()
        #expect(rendered(&scheduler) == [0, 1, 2])
    }

    @Test func `the first page of a pattern is rendered early, once its assets are fetched`() throws {
        var scheduler = try makeScheduler(pages: 0...5, assets: [90])
        scheduler.addPart(90, [], assets: [91])
        var there: Set<UInt32> = [90]
        #expect(scheduler.nextEarly { there.contains($0) } == nil)
        there.insert(91)
        #expect(scheduler.nextEarly { there.contains($0) } == 0)
        #expect(scheduler.nextEarly { _ in true } == nil)
        #expect(scheduler.next() == nil && !scheduler.isIdle)
        scheduler.didRender(0, .init(), isWhole: true)
        #expect(scheduler.isIdle)
        scheduler.settle()
        #expect(rendered(&scheduler) == [1, 2])
    }

    @Test(arguments: [true, false])
    func `URLs found by an early page count unless a scan finds them too`(isScanned: Bool) throws {
        var scheduler = try makeScheduler(pages: 0...19)
        #expect(scheduler.nextEarly { _ in true } == 0)
        scheduler.noteFound(100, byEarly: 0)
        scheduler.noteFound(101, byEarly: 0)
        scheduler.didRender(0, .init(), isWhole: true)
        scheduler.noteScanned(100)
        if isScanned { scheduler.noteScanned(101) }
        scheduler.settle { _ in .init(pages: 1) }
        #expect(scheduler.patterns[0].foundPageCount == (isScanned ? 0 : 1))
        #expect(scheduler.patterns[0].isFruitful == !isScanned)
        #expect(rendered(&scheduler).count == (isScanned ? 2 : 4))
    }

    @Test func `an early page whose requests were answered late is rendered again after settling`()
        throws
    {
        var scheduler = try makeScheduler(pages: 0...0)
        #expect(scheduler.nextEarly { _ in true } == 0)
        scheduler.didRender(0, .init(), isWhole: false, missing: [90])
        #expect(scheduler.next() == nil)
        scheduler.settle()
        #expect(rendered(&scheduler) == [0])
    }

    @Test
    func `a page that sent requests, or whose own asset changed, is rendered in each run`()
        throws
    {
        var scheduler = RenderScheduler(
            mode: .auto, tabs: 2, known: ["a.test/p/*"], renderedPatterns: ["a.test/p/*"])
        scheduler.noteSender(7)
        for number in UInt32(0)...19 {
            scheduler.addPage(
                number, try url("http://a.test/p/\(number)"), .indirectFetch, assets: [90, 100 + number],
                isUnchanged: true)
        }
        #expect(scheduler.next() == nil && scheduler.isIdle)
        for number in [UInt32(109), 112] { scheduler.addPart(number, [], assets: []) }
        scheduler.settle()
        #expect(rendered(&scheduler) == [12, 9, 7])
    }

    @Test func `a page whose requests were answered too late is rendered again`() throws {
        var scheduler = try makeScheduler(pages: 0...0)
        scheduler.settle()
        #expect(scheduler.next() == 0)
        scheduler.didRender(0, .init(assets: 1, pages: 2), isWhole: false, missing: [90])
        #expect(!scheduler.isIdle)
        #expect(scheduler.next() == 0)
        // The second rendering finds the same asset, and no further pages.
        scheduler.didRender(0, .init(assets: 1), isWhole: false, missing: [90])
        #expect(scheduler.isIdle)
        #expect(scheduler.patterns.map(\.foundAssetCount) == [1])
        #expect(scheduler.patterns.map(\.foundPageCount) == [2])
        #expect(scheduler.patterns.map(\.renderedCount) == [1])
        #expect(scheduler.patterns.map(\.unfinishedCount) == [1])
    }

    @Test func `a retry waits for its assets while other pages are rendered`() throws {
        var scheduler = try makeScheduler(pages: 0...2)
        scheduler.settle()
        #expect(scheduler.next { _ in false } == 0)
        scheduler.didRender(0, .init(), isWhole: true, missing: [90, 91])
        #expect(scheduler.next { $0 == 90 } == 1)
        #expect(scheduler.next { _ in true } == 0)
    }

    @Test func `without a browser no page is due`() throws {
        var scheduler = try makeScheduler()
        scheduler.settle()
        #expect(scheduler.next() == 0)
        scheduler.end()
        #expect(scheduler.next() == nil)
        scheduler.didRender(0, .init(), isWhole: false, missing: [90])
        #expect(scheduler.isIdle)
    }
}
