import Testing
import Web

@testable import Crawl

@Suite struct URLTableTests {
    private static func url(_ number: Int) -> WebURL {
        WebURL("http://h\(number % 7).test/p/\(number)?q") ?? .blank
    }

    @Test func `the table assigns numbers like a dictionary`() {
        var table = URLTable()
        var model: [String: UInt32] = [:]
        var random = SeededRandom(seed: 7)
        for _ in 0..<20_000 {
            let url = Self.url(Int(random.next() % 6000))
            let (number, isNew) = table.insert(url)
            #expect(isNew == (model[url.href] == nil))
            #expect(number == model[url.href, default: UInt32(model.count)])
            model[url.href] = number
        }
        #expect(table.count == model.count)
        for (href, number) in model {
            #expect(table.href(number) == href)
            #expect(table.url(number)?.href == href)
            #expect(WebURL(href).flatMap { table.find($0) } == number)
        }
        #expect(table.find(Self.url(6001)) == nil)
    }

    @Test func `long URLs and many chunks are stored completely`() throws {
        var table = URLTable()
        let long = String(repeating: "x", count: 300_000)
        var urls: [WebURL] = []
        for number in 0..<20 { urls.append(try #require(WebURL("http://a.test/\(number)/\(long)"))) }
        for (number, url) in urls.enumerated() { #expect(table.insert(url) == (UInt32(number), true)) }
        for (number, url) in urls.enumerated() { #expect(table.url(UInt32(number)) == url) }
    }
}
