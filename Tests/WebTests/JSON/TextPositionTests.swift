import Testing

@testable import Web

struct TextPositionTests {
    @Test(
        arguments: [
            ("abc", 0, "1:1"), ("abc", 2, "1:3"), ("abc", 3, "1:4"), ("abc", 99, "1:4"), ("abc", -1, "1:1"),
            ("", 0, "1:1"),
            ("a\nb", 1, "1:2"), ("a\nb", 2, "2:1"), ("a\r\nb", 3, "2:1"), ("a\r\nb", 2, "1:3"), ("a\rb", 2, "2:1"),
            ("a\n\nb", 2, "2:1"),
            ("é€😀x", 9, "1:4"), ("\u{FEFF}ab", 4, "1:2"), ("a\n", 2, "2:1"),
        ] as [(String, Int, String)]) func `a byte is told as an editor tells it`(
            text: String, offset: Int, expected: String
        )
    {
        #expect(TextPosition(of: offset, in: Array(text.utf8).span).description == expected)
    }
}
