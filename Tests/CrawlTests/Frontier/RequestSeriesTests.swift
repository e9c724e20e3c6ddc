import Testing
import Web

@testable import Crawl

@Suite struct RequestSeriesTests {
    private var series = RequestSeries()
    private var urls: [WebURL] = []

    /// Adds the response to a request. Returns the request that continues its list.
    private mutating func answer(_ path: String, _ body: String) -> String? {
        let number = UInt32(urls.count)
        urls.append(WebURL("https://forum.test\(path)")!)
        let fingerprint = UInt64(truncatingIfNeeded: body.hashValue)
        series.noteAnswer(number, ListPlaces(Array(body.utf8).span, fingerprint: fingerprint, isJSON: true))
        return series.next(after: number, urls[Int(number)]).map { String($0.href.dropFirst(18)) }
    }

    /// Reports a rendered page with all requests so far. Returns whether it made a rule.
    private mutating func render() -> Bool {
        series.note(urls.enumerated().map { (UInt32($0.offset), $0.element) })
    }

    /// The request after the one that was answered last.
    private mutating func next() -> String? {
        series.next(after: UInt32(urls.count - 1), urls[urls.count - 1]).map { String($0.href.dropFirst(18)) }
    }

    @Test func `pages that differ only in their own number and its neighbours have the same fingerprint`()
        throws
    {
        func fingerprint(_ page: Int, _ text: String) throws -> UInt64 {
            let url = try #require(WebURL("https://forum.test/list?n=5&page=\(page)"))
            return ListPlaces.fingerprint(of: Array(text.utf8).span, at: url)
        }
        let end = try fingerprint(8, "page 8, next 9, back 7")
        #expect(try fingerprint(9, "page 9, next 10, back 8") == end)
        #expect(try fingerprint(9, "page 9, next 10, back 8, 17 more") != end)
        #expect(try fingerprint(9, "page 9, next 10, home 8") != end)
    }

    @Test(
        "A parameter that counts pieces is counted on",
        arguments: [
            ("/posts?page=1", "/posts?page=2", "/posts?page=3", "/posts?page=4"),
            ("/list?n=5&offset=0", "/list?n=5&offset=10", "/list?n=5&offset=20", "/list?n=5&offset=30"),
            ("/t/3/part?start=1", "/t/3/part?start=21", "/t/3/part?start=41", "/t/3/part?start=61"),
        ])
    mutating func numbers(first: String, second: String, third: String, fourth: String) {
        #expect(answer(first, "[1]") == nil)
        #expect(answer(second, "[2]") == nil)
        #expect(render())
        #expect(next() == third)
        #expect(answer(third, "[3]") == fourth)
        #expect(answer(fourth, "[3]") == nil, "the end, because the body comes again")
    }

    @Test(
        "A value in the response is the place where the list continues",
        arguments: [
            (#"{"posts": [], "next": "a1"}"#, "a1", #"{"posts": [], "next": "b=2"}"#, "b%3D2"),
            (#"{"posts": [], "next": "a="}"#, "a=", #"{"posts": [], "next": "b="}"#, "b="),
            (#"{"page": {"cursor": 917}}"#, "917", #"{"page": {"cursor": 801}}"#, "801"),
            (#"[{"id": 8}, {"id": 9}]"#, "9", #"[{"id": 3}, {"id": 40}]"#, "40"),
        ])
    mutating func members(first: String, second: String, body: String, third: String) {
        #expect(answer("/api/threads/1/posts", first) == nil)
        #expect(answer("/api/threads/1/posts?after=\(second)", body) == nil)
        #expect(render())
        #expect(next() == "/api/threads/1/posts?after=\(third)")
        #expect(
            answer("/api/threads/7/posts", first) == "/api/threads/7/posts?after=\(second)", "another thread")
        #expect(answer("/api/threads/1/posts?after=\(third)", "{}") == nil, "the end")
    }

    @Test(
        "Requests that are no pieces of a list make no rule",
        arguments: [
            ("/poll?since=1700000000", "/poll?since=1700000009"), ("/item?id=1", "/item?id=2"),
            ("/a?page=1&q=x", "/a?page=2&q=y"), ("/a?page=1", "/b?page=2"), ("/tile?x=3", "/tile?x=4"),
        ])
    mutating func others(first: String, second: String) {
        _ = answer(first, "[1]")
        _ = answer(second, "[2]")
        #expect(!render())
    }

    @Test(
        "Requests for two elements of a list are followed by those for the others",
        arguments: [
            (
                "/replies/?uri=a&offset=0", "/replies/?uri=a&parent=3&offset=5",
                "/replies/?uri=a&parent=8&offset=5",
                "/replies/?uri=b&offset=0", "/replies/?uri=b&parent=21&offset=5"
            ),
            ("/posts?t=1", "/replies?post=3", "/replies?post=8", "/posts?t=7", "/replies?post=21"),
        ])
    mutating func elements(list: String, first: String, second: String, other: String, its: String) {
        #expect(answer(list, #"{"posts": [{"id": 3}, {"id": 5}, {"id": 8}]}"#) == nil)
        #expect(answer(first, "[1]") == nil)
        #expect(answer(second, "[2]") == nil)
        #expect(render())
        let third = first.replacing("=3", with: "=5")
        #expect(elements(of: 0) == [first, third, second])
        #expect(elements(of: 0) == [], "they are derived once")
        #expect(answer(other, #"{"posts": [{"id": 21}]}"#) == nil)
        #expect(elements(of: 3) == [its])
        #expect(!render(), "the rule is known")
    }

    /// The requests for the elements of the list in a response.
    private mutating func elements(of number: Int) -> [String] {
        series.elementRequests(after: UInt32(number), urls[number]).map { String($0.href.dropFirst(18)) }
    }

    @Test("Values that are in no response make no rule for elements")
    mutating func unknownElements() {
        _ = answer("/posts?t=1", #"{"posts": [{"id": 3}, {"count": 8}]}"#)
        _ = answer("/replies?post=3", "[1]")
        _ = answer("/replies?post=8", "[2]")
        #expect(!render())
    }

    @Test("A list without an end is continued up to a limit")
    mutating func endless() {
        _ = answer("/posts?page=1", "[1]")
        _ = answer("/posts?page=2", "[2]")
        #expect(render())
        var (count, following) = (0, next())
        while let path = following {
            count += 1
            following = answer(path, "[\(path)]")
        }
        #expect(count == RequestSeries.maxRequestsOfRule)
    }
}
