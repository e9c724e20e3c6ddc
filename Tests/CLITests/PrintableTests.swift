import Testing
import Web

@testable import larder

@Suite struct PrintableTests {
    @Test(
        arguments: [
            ("a title", "a title"), ("two\nlines\tand a tab", "two\nlines\tand a tab"),
            ("Grüße, 日本語 👩‍👩‍👧", "Grüße, 日本語 👩‍👩‍👧"),
            ("\u{1B}]0;mine\u{07}", "\\u001b]0;mine\\u0007"), ("a\rb\u{7F}", "a\\u000db\\u007f"),
            ("\u{9B}31m", "\\u009b31m"), ("\0", "\\u0000"),
            ("invoice\u{202E}fdp.exe", "invoice\\u202efdp.exe"), ("\u{2066}x\u{2069}", "\\u2066x\\u2069"),
            ("\u{200F}\u{061C}\u{2028}", "\\u200f\\u061c\\u2028"),
        ] as [(String, String)])
    func `control characters are escaped`(text: String, shown: String) {
        #expect(text.printable == shown)
        #expect(shown.printable == shown)
    }

    @Test func `escaping does not change the meaning of JSON`() throws {
        let text = "{\"title\":\"a\u{202E}b\u{9B}\"}"
        let shown = text.printable
        #expect(shown != text)
        let (before, after) = (
            try JSONValue.parse(Array(text.utf8).span), try JSONValue.parse(Array(shown.utf8).span)
        )
        #expect(before["title"]?.string == after["title"]?.string)
    }

    @Test(
        arguments: [
            ("short", "short"), ("  one two three four five", "  one two three four\n    five"),
            ("a 0123456789abcdefghijkl b", "a 0123456789abcdefghijkl\n  b"),
            ("exactly twenty chars", "exactly twenty chars"),
            ("exactly twenty chars more", "exactly twenty chars\n  more"),
            (
                "To go on: larder update https://example.com/",
                "To go on:\n  larder update https://example.com/"
            ),
            ("first line that is long\n\nlast", "first line that is\n  long\n\nlast"),
            ("Ä ö ü ä ö ü ä ö ü ä ö ü ä", "Ä ö ü ä ö ü ä ö ü ä\n  ö ü ä"), ("", ""),
        ] as [(String, String)])
    func `reports are broken between words, and commands and long words stay whole`(
        text: String, shown: String
    ) {
        #expect(Wrapping.fit(text, to: 20, program: "larder") == shown)
    }
}
