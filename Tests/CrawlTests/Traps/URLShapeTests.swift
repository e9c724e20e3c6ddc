import Testing
import Web

@testable import Crawl

@Suite struct URLShapeTests {
    private func shape(_ text: String) throws -> URLShape { URLShape(try #require(WebURL(text))) }

    @Test(arguments: [
        ("http://a.test/", "a.test/"), ("http://a.test:81/x", "a.test:81/x"),
        ("http://a.test/std/vec/struct.Vec.html#x", "a.test/std/vec/struct.Vec.html"),
        ("http://a.test/item/12345", "a.test/item/{n}"),
        ("http://a.test/item-12.html", "a.test/item-{n}.html"),
        ("http://a.test/page2/h264", "a.test/page{n}/h{n}"),
        ("http://a.test/v1.20.3/x", "a.test/v{n}.{n}.{n}/x"),
        ("http://a.test/2031/05/", "a.test/{year}/{month}/"),
        ("http://a.test/2031/5/17/x", "a.test/{year}/{month}/{day}/x"),
        ("http://a.test/2031/may/3", "a.test/{year}/{month}/{day}"), ("http://a.test/2031/x", "a.test/{n}/x"),
        ("http://a.test/2031", "a.test/{n}"), ("http://a.test/2031/13/", "a.test/{n}/{n}/"),
        ("http://a.test/d/2031-05-17", "a.test/d/{date}"),
        ("http://a.test/d/20310517.html", "a.test/d/{date}.html"),
        ("http://a.test/d/2031_05", "a.test/d/{date}"), ("http://a.test/d/20319999", "a.test/d/{n}"),
        ("http://a.test/d/2031-05-17x", "a.test/d/{n}-{n}-{n}x"),
        ("http://a.test/550e8400-e29b-41d4-a716-446655440000/x", "a.test/{uuid}/x"),
        ("http://a.test/app.4fa8b23c.js", "a.test/app.{hex}.js"),
        ("http://a.test/deadbeef", "a.test/deadbeef"),
        ("http://a.test/lit3py55t21z5v55vlm25s55", "a.test/{key}"),
        ("http://a.test/internationalization", "a.test/internationalization"),
        ("http://a.test/a%20b%31c", "a.test/a%20b%31c"),
        ("http://a.test/x;jsessionid=0A1B2C3D4E5F", "a.test/x;jsessionid={hex}"),
        ("http://a.test/?b=1&a=word", "a.test/?a={text}&b={n}"),
        ("http://a.test/?a=1&a=2&a=3", "a.test/?a={n}"),
        ("http://a.test/?a&b=", "a.test/?a&b="), ("http://a.test/?", "a.test/?"),
        ("http://a.test/?1699999999", "a.test/?{n}"),
        ("http://a.test/?f[12]=x", "a.test/?f[{n}]={text}"),
        ("http://a.test/?year=2031&month=5", "a.test/?month={month}&year={year}"),
        ("http://a.test/?m=203105", "a.test/?m={date}"),
        ("http://a.test/?date=2031-05-17", "a.test/?date={date}"),
        ("http://a.test/?a=1&b=2&c=3&d=4", "a.test/?{many}"), ("http://a.test/?q=a+b", "a.test/?q={text}"),
        ("http://a.test/docs/docs/docs/docs/x.html", "a.test/docs…/x.html"),
        ("http://a.test/a/b/a/b/a/b/", "a.test/a…/b…/"), ("http://a.test/a/b/b/a/a/b/", "a.test/a…/b…/"),
        ("http://a.test/1/2/3/4/x", "a.test/{n}…/x"), ("http://a.test/a/b/a/x", "a.test/a/b/a/x"),
    ])
    func `numbers, dates and keys are replaced by their kind`(url: String, text: String) throws {
        #expect(try shape(url).text == text)
    }

    @Test(
        arguments: [
            ("http://a.test/2031/05/", URLShape.Traits.dates), ("http://a.test/x?date=2031-05-17", .dates),
            ("http://a.test/a/a/a/a/", .loops), ("http://a.test/a.html", []),
            ("http://a.test/item/5", .numbers),
            ("http://a.test/1/2/3/4", .numbers), ("http://a.test/x?sid=4fa8b23c11", .keys),
            ("http://a.test/x?a=b&c=d&e=f&g=h", .manyParameters),
            ("http://a.test" + (0..<40).map { "/x\(String(repeating: "a", count: $0))" }.joined(), .loops),
        ] as [(String, URLShape.Traits)])
    func `URLs that look like traps have the traits`(url: String, traits: URLShape.Traits) throws {
        #expect(try shape(url).traits == traits)
    }

    @Test func `any URL has a shape`() throws {
        for path in ["/%", "/%2", "/;;", "//", "/…", "/\u{0}", "/" + String(repeating: "a/", count: 5000)] {
            let url = try #require(WebURL("http://a.test" + path + "?&&=&;=%&" + path))
            #expect(URLShape(url).text.utf8.count < 12_000)
        }
    }
}
