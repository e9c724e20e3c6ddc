import Testing
import Web

@testable import Store

/// Answers to other requests than a plain GET.
@Suite struct RequestKeyTests {
    private static func key(_ method: String, _ body: String = "") -> RequestKey {
        RequestKey(method: method, body: Array(body.utf8).span)
    }

    @Test(arguments: [
        ("GET", "", ""), ("HEAD", "", ""), ("POST", "", "POST d41d8cd98f00b204e9800998ecf8427e"),
        ("POST", "a", "POST 0cc175b9c0f1b6a831c399e269772661"), ("PUT", "a", "PUT 0cc175b9c0f1b6a831c399e269772661"),
        ("GET", "a", "GET 0cc175b9c0f1b6a831c399e269772661"), ("get", "", "get d41d8cd98f00b204e9800998ecf8427e"),
    ])
    func `a key is the method and the MD5 of the body, and empty for a plain GET`(
        method: String, body: String, expected: String
    ) {
        #expect(Self.key(method, body).text == expected)
        #expect((Self.key(method, body) == .get) == expected.isEmpty)
    }

    @Test func `each request has an answer of its own, in each visit`() throws {
        let store = try StockedFolder()
        let href = "http://a.test/api"
        let requests = [RequestKey.get, Self.key("POST", "a"), Self.key("POST", "b"), Self.key("PUT", "a")]
        func answers(_ edition: String) throws -> [NewResponse] {
            try requests.map { request in
                var response = try store.response(href, edition + request.text)
                response.request = request
                return response
            }
        }
        let first = try store.visit(answers("1 "))
        let second = try store.visit([answers("2 ")[1]])
        let reader = try store.reader()
        for (place, request) in requests.enumerated() {
            let body = try #require(try reader.response(for: href, request: request)?.body)
            let text = try #require(try reader.content(of: body)?.load())
            #expect(String(decoding: text, as: UTF8.self) == (place == 1 ? "2 " : "1 ") + request.text)
        }
        #expect(try reader.response(for: href, request: Self.key("POST", "c")) == nil)
        #expect(try reader.response(for: href, request: Self.key("POST")) == nil)
        let url = try #require(WebURL("https://a.test/api?_=1"))
        let found = try #require(try reader.find(url, request: requests[2]))
        #expect(found.response.request == requests[2])
        #expect(found.change == [.scheme, .busters])
        // An answer to a POST that changed is no change of the page.
        #expect(try reader.difference(from: first, to: second).changed == ["\(href) (\(requests[1].text))"])
    }
}
