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
        ] as [(String, [String])]) func `links are read with their relations and parameters`(
            text: String, expected: [String]
        )
    {
        let found = LinkField.parse(text).map { link in
            let parameters = link.parameters.filter { $0.name != "rel" }.map { "\($0.name)=\($0.value)" }
            return "\(link.target)|\(link.relations.joined(separator: " "))|\(parameters.joined(separator: "&"))"
        }
        #expect(found == expected)
    }

    @Test func `the range of a target is where it stands`() {
        let text = "<é>; rel=x, < /b >"
        let utf8 = Array(text.utf8)
        for link in LinkField.parse(text) {
            #expect(String(decoding: utf8[link.targetRange], as: UTF8.self) == link.target)
        }
    }

    @Test func `anchor and extended titles are understood`() throws {
        let link = try #require(
            LinkField.parse("<a>; anchor=\"#x\"; title=\"plain\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel").first)
        #expect(link.anchor == "#x")
        #expect(link.title == "nächstes Kapitel")
        #expect(LinkField.parse("<a>; title=\"plain\"; title*=UTF-8'de'%zz").first?.title == "plain")
    }

    @Test func `a hostile field is read in linear time up to a limit`() {
        #expect(LinkField.parse(String(repeating: "<a>,", count: 100_000)).count == 1000)
        #expect(LinkField.parse("<a>" + String(repeating: ";x", count: 100_000)).first?.parameters.count == 64)
        #expect(LinkField.parse(String(repeating: "\"", count: 100_000)).isEmpty)
    }
}
