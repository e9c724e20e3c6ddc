import Testing
import Web

@testable import Crawl

@Suite struct PageTemplatesTests {
    private var templates = PageTemplates()

    /// Returns whether a template was confirmed.
    private mutating func note(_ page: String, _ requests: String...) -> Bool {
        _ = templates.note(
            WebURL("https://shop.test\(page)")!,
            requests: requests.map { WebURL($0, base: WebURL("https://shop.test/")!)! })
        return templates.takeHasNewTemplates()
    }

    private func requests(of page: String) -> [String] {
        templates.requests(of: WebURL("https://shop.test\(page)")!).map(\.href)
    }

    @Test("Two pages that request URLs with their own names make a template for other pages")
    mutating func twoPages() {
        #expect(!note("/products/3", "/api/products/3/reviews", "/app.js"))
        #expect(requests(of: "/products/7").isEmpty)
        #expect(note("/products/4", "/api/products/4/reviews", "/app.js"))
        #expect(requests(of: "/products/7") == ["https://shop.test/api/products/7/reviews"])
        #expect(requests(of: "/about").isEmpty, "the template applies only to pages like these")
    }

    @Test("The same page twice makes no template")
    mutating func samePage() {
        #expect(!note("/products/3", "/api/products/3/reviews"))
        #expect(!note("/products/3", "/api/products/3/reviews"))
        #expect(requests(of: "/products/7").isEmpty)
    }

    @Test("Names are whole components, without file extensions, or whole query values")
    mutating func names() {
        #expect(
            !note("/item/12.html?lang=en", "/data/12.json", "/thumb?id=12&w=9", "/data/123.json", "/x12/y"))
        #expect(
            note("/item/45.html?lang=en", "/data/45.json", "/thumb?id=45&w=9", "/data/456.json", "/x45/y"))
        #expect(
            requests(of: "/item/6.html?lang=en") == [
                "https://shop.test/data/6.json", "https://shop.test/thumb?id=6&w=9",
            ])
        #expect(!note("/view?doc=a", "/text/a"))
        #expect(note("/view?doc=b", "/text/b"))
        #expect(requests(of: "/view?doc=c%20d") == ["https://shop.test/text/c%20d"])
    }

    @Test("Requests to other origins make no templates")
    mutating func otherOrigin() {
        #expect(!note("/products/3", "https://tracker.test/3"))
        #expect(!note("/products/4", "https://tracker.test/4"))
    }

    @Test("A template of one page is tried on a second page, and a page as its response does not confirm it")
    mutating func trial() throws {
        for (isPage, expected) in [(true, []), (false, ["https://shop.test/api/9"])] {
            templates = PageTemplates()
            let noted = templates.note(
                WebURL("https://shop.test/products/3")!, requests: [WebURL("https://shop.test/api/3")!])
            let template = try #require(noted.new.first)
            templates.noteTrial(
                7, template, of: WebURL("https://shop.test/products/4")!, pattern: noted.pattern)
            templates.noteAnswer(7, isPage: isPage)
            #expect(requests(of: "/products/9") == expected)
        }
    }

    @Test("A component of the path counts more than a value of the query, and dots in a name belong to it")
    mutating func places() {
        #expect(!note("/products/1", "/api/products/1/reviews?page=1"))
        #expect(note("/products/2", "/api/products/2/reviews?page=1"))
        #expect(requests(of: "/products/7") == ["https://shop.test/api/products/7/reviews?page=1"])
        #expect(!note("/releases/v1.9.0", "/files/v1.9.0.json"))
        #expect(note("/releases/v2.0.0", "/files/v2.0.0.json"))
        #expect(requests(of: "/releases/v3.1.0") == ["https://shop.test/files/v3.1.0.json"])
    }
}
