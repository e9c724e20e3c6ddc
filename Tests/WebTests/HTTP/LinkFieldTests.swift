import TestOrigin
import Testing

@testable import Web

struct LinkFieldTests {
    @Test(
        arguments: [
            ("<a.css>; rel=preload; as=style", ["a.css|preload|as=style"]),
            ("<a>; rel=\"Next  prev\", </b,c;d>;rel=x", ["a|next prev|", "/b,c;d|x|"]),
            ("<a>;rel=x;title=\"q, \\\"w\\\"; <z>\",<b>; rel=y", ["a|x|title=q, \"w\"; <z>", "b|y|"]),
            ("<a>; rel=x; rel=y", ["a|x|"]),
            ("<a> ; rel = x ; crossorigin", ["a|x|crossorigin="]),
            ("<a>;rel=x;;as=font,,<b>", ["a|x|as=font", "b||"]),
            ("junk, <a>; rel=x junk, <b>", ["a|x junk|", "b||"]),
            ("< a >", ["a||"]), ("<>", ["||"]), ("<a", []), ("a", []), ("", []), (",;,", []),
            ("\"<a>\", <b>", ["b||"]),
            ("<a>; rel=\"x", ["a|x|"]),
        ] as [(String, [String])]) func `links are parsed with their relations and parameters`(
            text: String, expected: [String]
        )
    {
        let found = LinkField.parse(text).map { link in
            let parameters = link.parameters.filter { $0.name != "rel" }.map { "\($0.name)=\($0.value)" }
            return
                "\(link.target)|\(link.relations.joined(separator: " "))|\(parameters.joined(separator: "&"))"
        }
        #expect(found == expected)
    }

    @Test func `the range of a target is its position in the field`() {
        let text = "<é>; rel=x, < /b >"
        let utf8 = Array(text.utf8)
        for link in LinkField.parse(text) {
            #expect(String(decoding: utf8[link.targetRange], as: UTF8.self) == link.target)
        }
    }

    @Test func `anchors are parsed`() {
        #expect(LinkField.parse("<a>; anchor=\"#x\"").first?.anchor == "#x")
    }

    @Test func `a hostile field is parsed in linear time, up to a limit`() {
        #expect(LinkField.parse(String(repeating: "<a>,", count: 100_000)).count == 1000)
        #expect(
            LinkField.parse("<a>" + String(repeating: ";x", count: 100_000)).first?.parameters.count == 64)
        #expect(LinkField.parse(String(repeating: "\"", count: 100_000)).isEmpty)
    }
}

struct RefreshDirectiveTests {
    @Test(
        arguments: [
            ("5", 5, nil), ("0; url=a", 0, "a"), ("0;URL='a b' c", 0, "a b"), (".5, \"x\"y", 0, "x"),
            ("1.9.2 ; u", 1, "u"), ("1; ur", 1, "ur"), ("1; url", 1, "url"), ("1; url=", 1, ""),
            ("1; url=''", 1, ""),
            ("1;url = 'a", 1, "a"), ("99999999999999; a", 1 << 31, "a"), ("  3 \n a ", 3, "a"),
            ("1; URL=é", 1, "é"),
        ] as [(String, Int, String?)]) func `the delay and URL of a refresh are parsed`(
            text: String, seconds: Int, url: String?
        ) throws
    {
        let refresh = try #require(RefreshDirective(text))
        #expect(refresh.seconds == seconds)
        #expect(refresh.url == url)
        let utf8 = Array(text.utf8)
        #expect(refresh.urlRange.map { String(decoding: utf8[$0], as: UTF8.self) } == url)
        #expect(RefreshDirective(utf8: utf8.span) == refresh)
    }

    @Test(arguments: ["", " ", "a", "-1", "+1", ";url=a", "1x", "url=a", "5\u{0B};a"])
    func `a text that is no refresh is rejected`(text: String) {
        #expect(RefreshDirective(text) == nil)
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: ConformanceData.cases("html/meta-refresh.json"))
    func `refreshes are parsed as in web-platform-tests`(row: JSONValue) throws {
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
