import Testing

@testable import Web

struct RefreshDirectiveTests {
    @Test(
        arguments: [
            ("5", 5, nil), ("0; url=a", 0, "a"), ("0;URL='a b' c", 0, "a b"), (".5, \"x\"y", 0, "x"),
            ("1.9.2 ; u", 1, "u"), ("1; ur", 1, "ur"), ("1; url", 1, "url"), ("1; url=", 1, ""), ("1; url=''", 1, ""),
            ("1;url = 'a", 1, "a"), ("99999999999999; a", 1 << 31, "a"), ("  3 \n a ", 3, "a"), ("1; URL=é", 1, "é"),
        ] as [(String, Int, String?)]) func `seconds and URL are found`(text: String, seconds: Int, url: String?) throws
    {
        let refresh = try #require(RefreshDirective(text))
        #expect(refresh.seconds == seconds)
        #expect(refresh.url == url)
        let utf8 = Array(text.utf8)
        #expect(refresh.urlRange.map { String(decoding: utf8[$0], as: UTF8.self) } == url)
        #expect(RefreshDirective(utf8: utf8.span) == refresh)
    }

    @Test(arguments: ["", " ", "a", "-1", "+1", ";url=a", "1x", "url=a", "5\u{0B};a"])
    func `what is no refresh is refused`(text: String) {
        #expect(RefreshDirective(text) == nil)
    }

    @Test(.enabled(if: HTTPConformance.isPresent), arguments: HTTPConformance.json("html/meta-refresh.json"))
    func `the refreshes of web-platform-tests are read`(row: JSONValue) throws {
        let input = try #require(row["input"]?.string)
        let expected = try #require(row["expected"]?.array)
        let refresh = RefreshDirective(input)
        #expect(refresh?.seconds == expected.first?.int, "\(input)")
        guard expected.count == 2, let refresh else { return }
        let url = refresh.url.map { text in
            String(String.UnicodeScalarView(text.unicodeScalars.filter { !["\t", "\n", "\r"].contains($0) }))
        }
        #expect((url ?? "(document itself)") == expected[1].string, "\(input)")
    }
}
