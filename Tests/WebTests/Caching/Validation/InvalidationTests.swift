import Testing

@testable import Web

struct InvalidationTests {
    @Test(
        arguments: [
            ("POST", 200, head(), ["/a?b"]), ("PUT", 201, head(), ["/a?b"]), ("DELETE", 204, head(), ["/a?b"]),
            ("M-SEARCH", 200, head(), ["/a?b"]), ("PATCH", 303, head(), ["/a?b"]), ("GET", 200, head(), []),
            ("HEAD", 200, head(), []), ("OPTIONS", 200, head(), []), ("PROPFIND", 207, head(), []),
            ("POST", 404, head(), []), ("POST", 500, head(), []), ("POST", 100, head(), []),
            ("POST", 201, head("Location: c", "Content-Location: /d#x"), ["/a?b", "/c", "/d"]),
            ("POST", 201, head("Location: https://example.com:443/c"), ["/a?b", "/c"]),
            ("POST", 201, head("Location: /a?b"), ["/a?b"]),
            ("POST", 201, head("Location: //evil.example/c"), ["/a?b"]),
            ("POST", 201, head("Location: http://example.com/c"), ["/a?b"]),
            ("POST", 201, head("Location: https://example.com:8443/c"), ["/a?b"]),
            ("POST", 201, head("Location: https://[/", "Content-Location: data:,x"), ["/a?b"]),
        ] as [(String, Int, HTTPFields, [String])])
    func `an unsafe request that succeeds makes its URL doubtful, and others of its origin`(
        method: String, status: Int, fields: HTTPFields, expected: [String]
    ) {
        let request = CacheRequest(method: method, url: webURL("https://example.com/a?b#c"))
        let found = Invalidation.targets(of: request, status: status, fields: fields)
        #expect(found.map(\.href) == expected.map { "https://example.com\($0)" })
    }
}
