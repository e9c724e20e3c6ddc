import Testing

@testable import Fetch

@Suite struct HeaderArgumentTests {
    @Test(
        "A header may begin with the host or origin that gets it",
        arguments: [
            ("X-Key: v", nil, "X-Key", "v"),
            ("X-Key:v", nil, "X-Key", "v"),
            ("Accept:text/html, a/b", nil, "Accept", "text/html, a/b"),
            ("X-Link: http://a.test/ b: c", nil, "X-Link", "http://a.test/ b: c"),
            ("example.com X-Key: v w", "example.com", "X-Key", "v w"),
            ("example.com:8080 X-Key: v", "example.com:8080", "X-Key", "v"),
            ("https://example.com X-Key: v", "https://example.com", "X-Key", "v"),
            ("https://example.com:8443 X-Key:v", "https://example.com:8443", "X-Key", "v"),
        ] as [(String, String?, String, String)])
    func parsing(_ text: String, host: String?, name: String, value: String) throws {
        let argument = try #require(HeaderArgument(text))
        #expect(argument.host == host)
        #expect(argument.name == name)
        #expect(argument.value == value)
    }

    @Test("A text without a colon is not a header", arguments: ["", "X-Key", "example.com X-Key"])
    func refused(_ text: String) {
        #expect(HeaderArgument(text) == nil)
    }
}
