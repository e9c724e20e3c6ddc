import Markup
import Testing

/// Links and fragments of Markdown documents.
@Suite struct MarkdownLinksTests {
    private static func references(_ text: String) -> [String] {
        MarkdownLinks(Array(text.utf8).span).links.map(\.reference)
    }

    private static func anchors(_ text: String) -> Set<String> {
        MarkdownLinks(Array(text.utf8).span).anchors
    }

    // MARK: - CommonMark

    /// Examples of the CommonMark specification with their numbers. The destinations are those in the HTML that the specification and cmark-gfm
    /// give, in the order of the Markdown, and each definition counts once.
    private static let examples: [(number: Int, text: String, references: [String])] = [
        (
            14,
            "\\*not emphasized*\n\\<br/> not a tag\n\\[not a link](/foo)\n\\`not code`\n1\\. not a list\n\\* not a list\n\\# not a heading\n\\[foo]: /url \"not a reference\"\n\\&ouml; not a character entity",
            []
        ),
        (20, "<https://example.com?find=\\*>", ["https://example.com?find=\\*"]),
        (22, "[foo](/bar\\* \"ti\\*tle\")", ["/bar*"]),
        (23, "[foo]\n\n[foo]: /bar\\* \"ti\\*tle\"", ["/bar*"]),
        (31, "<a href=\"&ouml;&ouml;.html\">", ["öö.html"]),
        (32, "[foo](/f&ouml;&ouml; \"f&ouml;&ouml;\")", ["/föö"]),
        (33, "[foo]\n\n[foo]: /f&ouml;&ouml; \"f&ouml;&ouml;\"", ["/föö"]),
        (41, "[a](url &quot;tit&quot;)", []),
        (159, "<div><a href=\"bar\">*foo*</a></div>", ["bar"]),
        (163, "<a href=\"foo\">\n*bar*\n</a>", ["foo"]),
        (194, "[foo]: /url \"title\"\n\n[foo]", ["/url"]),
        (195, "   [foo]: \n      /url  \n           'the title'  \n\n[foo]", ["/url"]),
        (196, "[Foo*bar\\]]:my_(url) 'title (with parens)'\n\n[Foo*bar\\]]", ["my_(url)"]),
        (197, "[Foo bar]:\n<my url>\n'title'\n\n[Foo bar]", ["my url"]),
        (198, "[foo]: /url '\ntitle\nline1\nline2\n'\n\n[foo]", ["/url"]),
        (199, "[foo]: /url 'title\n\nwith blank line'\n\n[foo]", []),
        (200, "[foo]:\n/url\n\n[foo]", ["/url"]),
        (201, "[foo]:\n\n[foo]", []),
        (202, "[foo]: <>\n\n[foo]", []),
        (203, "[foo]: <bar>(baz)\n\n[foo]", []),
        (204, "[foo]: /url\\bar\\*baz \"foo\\\"bar\\baz\"\n\n[foo]", ["/url\\bar*baz"]),
        (205, "[foo]\n\n[foo]: url", ["url"]),
        (207, "[FOO]: /url\n\n[Foo]", ["/url"]),
        (208, "[ΑΓΩ]: /φου\n\n[αγω]", ["/φου"]),
        (211, "[foo]: /url \"title\" ok", []),
        (213, "    [foo]: /url \"title\"\n\n[foo]", []),
        (214, "```\n[foo]: /url\n```\n\n[foo]", []),
        (216, "# [Foo]\n[foo]: /url\n> bar", ["/url"]),
        (217, "[foo]: /url\nbar\n===\n[foo]", ["/url"]),
        (218, "[foo]: /url\n===\n[foo]", ["/url"]),
        (
            219,
            "[foo]: /foo-url \"foo\"\n[bar]: /bar-url\n  \"bar\"\n[baz]: /baz-url\n\n[foo],\n[bar],\n[baz]",
            ["/foo-url", "/bar-url", "/baz-url"]
        ),
        (220, "[foo]\n\n> [foo]: /url", ["/url"]),
        (344, "[not a `link](/foo`)", []),
        (347, "`<https://foo.bar.`baz>`", []),
        (348, "<https://foo.bar.`baz>`", ["https://foo.bar.`baz"]),
        (484, "[link](/uri \"title\")", ["/uri"]),
        (485, "[link](/uri)", ["/uri"]),
        (486, "[](./target.md)", ["./target.md"]),
        (487, "[link]()", []),
        (488, "[link](<>)", []),
        (489, "[]()", []),
        (490, "[link](/my uri)", []),
        (491, "[link](</my uri>)", ["/my uri"]),
        (492, "[link](foo\nbar)", []),
        (493, "[link](<foo\nbar>)", []),
        (494, "[a](<b)c>)", ["b)c"]),
        (495, "[link](<foo\\>)", []),
        (496, "[a](<b)c\n[a](<b)c>\n[a](<b>c)", []),
        (497, "[link](\\(foo\\))", ["(foo)"]),
        (498, "[link](foo(and(bar)))", ["foo(and(bar))"]),
        (499, "[link](foo(and(bar))", []),
        (500, "[link](foo\\(and\\(bar\\))", ["foo(and(bar)"]),
        (501, "[link](<foo(and(bar)>)", ["foo(and(bar)"]),
        (502, "[link](foo\\)\\:)", ["foo):"]),
        (
            503,
            "[link](#fragment)\n\n[link](https://example.com#fragment)\n\n[link](https://example.com?foo=3#frag)",
            ["#fragment", "https://example.com#fragment", "https://example.com?foo=3#frag"]
        ),
        (504, "[link](foo\\bar)", ["foo\\bar"]),
        (505, "[link](foo%20b&auml;)", ["foo%20bä"]),
        (506, "[link](\"title\")", ["\"title\""]),
        (
            507, "[link](/url \"title\")\n[link](/url 'title')\n[link](/url (title))",
            ["/url", "/url", "/url"]
        ),
        (508, "[link](/url \"title \\\"&quot;\")", ["/url"]),
        (509, "[link](/url\u{A0}\"title\")", ["/url\u{A0}\"title\""]),
        (510, "[link](/url \"title \"and\" title\")", []),
        (511, "[link](/url 'title \"and\" title')", ["/url"]),
        (512, "[link](   /uri\n  \"title\"  )", ["/uri"]),
        (514, "[link [foo [bar]]](/uri)", ["/uri"]),
        (515, "[link] bar](/uri)", []),
        (516, "[link [bar](/uri)", ["/uri"]),
        (517, "[link \\[bar](/uri)", ["/uri"]),
        (518, "[link *foo **bar** `#`*](/uri)", ["/uri"]),
        (519, "[![moon](moon.jpg)](/uri)", ["moon.jpg", "/uri"]),
        (520, "[foo [bar](/uri)](/uri)", ["/uri"]),
        (521, "[foo *[bar [baz](/uri)](/uri)*](/uri)", ["/uri"]),
        (522, "![[[foo](uri1)](uri2)](uri3)", ["uri3"]),
        (523, "*[foo*](/uri)", ["/uri"]),
        (524, "[foo *bar](baz*)", ["baz*"]),
        (526, "[foo <bar attr=\"](baz)\">", []),
        (527, "[foo`](/uri)`", []),
        (528, "[foo<https://example.com/?search=](uri)>", ["https://example.com/?search=](uri)"]),
        (529, "[foo][bar]\n\n[bar]: /url \"title\"", ["/url"]),
        (530, "[link [foo [bar]]][ref]\n\n[ref]: /uri", ["/uri"]),
        (531, "[link \\[bar][ref]\n\n[ref]: /uri", ["/uri"]),
        (532, "[link *foo **bar** `#`*][ref]\n\n[ref]: /uri", ["/uri"]),
        (533, "[![moon](moon.jpg)][ref]\n\n[ref]: /uri", ["moon.jpg", "/uri"]),
        (534, "[foo [bar](/uri)][ref]\n\n[ref]: /uri", ["/uri", "/uri"]),
        (535, "[foo *bar [baz][ref]*][ref]\n\n[ref]: /uri", ["/uri"]),
        (536, "*[foo*][ref]\n\n[ref]: /uri", ["/uri"]),
        (537, "[foo *bar][ref]*\n\n[ref]: /uri", ["/uri"]),
        (541, "[foo][BaR]\n\n[bar]: /url \"title\"", ["/url"]),
        (542, "[ẞ]\n\n[SS]: /url", ["/url"]),
        (543, "[Foo\n  bar]: /url\n\n[Baz][Foo bar]", ["/url"]),
        (544, "[foo] [bar]\n\n[bar]: /url \"title\"", ["/url"]),
        (545, "[foo]\n[bar]\n\n[bar]: /url \"title\"", ["/url"]),
        (548, "[foo][ref[]\n\n[ref[]: /uri", []),
        (549, "[foo][ref[bar]]\n\n[ref[bar]]: /uri", []),
        (550, "[[[foo]]]\n\n[[[foo]]]: /url", []),
        (551, "[foo][ref\\[]\n\n[ref\\[]: /uri", ["/uri"]),
        (552, "[bar\\\\]: /uri\n\n[bar\\\\]", ["/uri"]),
        (555, "[foo][]\n\n[foo]: /url \"title\"", ["/url"]),
        (556, "[*foo* bar][]\n\n[*foo* bar]: /url \"title\"", ["/url"]),
        (557, "[Foo][]\n\n[foo]: /url \"title\"", ["/url"]),
        (558, "[foo] \n[]\n\n[foo]: /url \"title\"", ["/url"]),
        (559, "[foo]\n\n[foo]: /url \"title\"", ["/url"]),
        (560, "[*foo* bar]\n\n[*foo* bar]: /url \"title\"", ["/url"]),
        (561, "[[*foo* bar]]\n\n[*foo* bar]: /url \"title\"", ["/url"]),
        (562, "[[bar [foo]\n\n[foo]: /url", ["/url"]),
        (563, "[Foo]\n\n[foo]: /url \"title\"", ["/url"]),
        (564, "[foo] bar\n\n[foo]: /url", ["/url"]),
        (566, "[foo*]: /url\n\n*[foo*]", ["/url"]),
        (568, "[foo][]\n\n[foo]: /url1", ["/url1"]),
        (570, "[foo](not a link)\n\n[foo]: /url1", ["/url1"]),
        (571, "[foo][bar][baz]\n\n[baz]: /url", ["/url"]),
        (572, "[foo][bar][baz]\n\n[baz]: /url1\n[bar]: /url2", ["/url1", "/url2"]),
        (574, "![foo](/url \"title\")", ["/url"]),
        (575, "![foo *bar*]\n\n[foo *bar*]: train.jpg \"train & tracks\"", ["train.jpg"]),
        (576, "![foo ![bar](/url)](/url2)", ["/url2"]),
        (577, "![foo [bar](/url)](/url2)", ["/url2"]),
        (578, "![foo *bar*][]\n\n[foo *bar*]: train.jpg \"train & tracks\"", ["train.jpg"]),
        (579, "![foo *bar*][foobar]\n\n[FOOBAR]: train.jpg \"train & tracks\"", ["train.jpg"]),
        (580, "![foo](train.jpg)", ["train.jpg"]),
        (581, "My ![foo bar](/path/to/train.jpg  \"title\"   )", ["/path/to/train.jpg"]),
        (582, "![foo](<url>)", ["url"]),
        (583, "![](/url)", ["/url"]),
        (584, "![foo][bar]\n\n[bar]: /url", ["/url"]),
        (585, "![foo][bar]\n\n[BAR]: /url", ["/url"]),
        (586, "![foo][]\n\n[foo]: /url \"title\"", ["/url"]),
        (587, "![*foo* bar][]\n\n[*foo* bar]: /url \"title\"", ["/url"]),
        (588, "![Foo][]\n\n[foo]: /url \"title\"", ["/url"]),
        (589, "![foo] \n[]\n\n[foo]: /url \"title\"", ["/url"]),
        (590, "![foo]\n\n[foo]: /url \"title\"", ["/url"]),
        (591, "![*foo* bar]\n\n[*foo* bar]: /url \"title\"", ["/url"]),
        (592, "![[foo]]\n\n[[foo]]: /url \"title\"", []),
        (593, "![Foo]\n\n[foo]: /url \"title\"", ["/url"]),
        (595, "\\![foo]\n\n[foo]: /url \"title\"", ["/url"]),
        (596, "<http://foo.bar.baz>", ["http://foo.bar.baz"]),
        (
            597, "<https://foo.bar.baz/test?q=hello&id=22&boolean>",
            ["https://foo.bar.baz/test?q=hello&id=22&boolean"]
        ),
        (598, "<irc://foo.bar:2233/baz>", ["irc://foo.bar:2233/baz"]),
        (599, "<MAILTO:FOO@BAR.BAZ>", ["MAILTO:FOO@BAR.BAZ"]),
        (600, "<a+b+c:d>", ["a+b+c:d"]),
        (601, "<made-up-scheme://foo,bar>", ["made-up-scheme://foo,bar"]),
        (602, "<https://../>", ["https://../"]),
        (603, "<localhost:5001/foo>", ["localhost:5001/foo"]),
        (605, "<https://example.com/\\[\\>", ["https://example.com/\\[\\"]),
        (606, "<foo@bar.example.com>", ["mailto:foo@bar.example.com"]),
        (607, "<foo+special@Bar.baz-bar0.com>", ["mailto:foo+special@Bar.baz-bar0.com"]),
        (632, "foo <a href=\"&ouml;\">", ["ö"]),
    ]

    @Test("The examples of CommonMark have the links of the specification", arguments: examples)
    func commonMark(number: Int, text: String, references: [String]) {
        #expect(Self.references(text) == references)
    }

    // MARK: - GitHub's extensions

    private static let autolinks: [(text: String, references: [String])] = [
        ("www.commonmark.org", ["http://www.commonmark.org"]),
        ("Visit www.commonmark.org/help for more.", ["http://www.commonmark.org/help"]),
        ("Visit www.commonmark.org.", ["http://www.commonmark.org"]),
        ("(www.google.com/search?q=Markup+(business))", ["http://www.google.com/search?q=Markup+(business)"]),
        ("www.google.com/search?q=(business))+ok", ["http://www.google.com/search?q=(business))+ok"]),
        ("www.google.com/search?q=commonmark&hl;", ["http://www.google.com/search?q=commonmark"]),
        ("www.commonmark.org/he<lp", ["http://www.commonmark.org/he"]),
        ("http://commonmark.org", ["http://commonmark.org"]),
        ("See \"https://a.org\".", ["https://a.org"]), ("https://a.org/b!?", ["https://a.org/b"]),
        ("**https://a.org**", ["https://a.org"]), ("_https://a.org_", ["https://a.org"]),
        ("http://localhost:8080/x", ["http://localhost:8080/x"]), ("https://a_b.c", []),
        ("xhttps://a.org", []),
        ("awww.a.org", []), ("www.", []), ("https://", []), ("`https://a.org`", []),
        ("[https://a.org](b)", ["b"]), ("[see https://a.org]", ["https://a.org"]),
        ("<a href=x>https://a.org</a>", ["x", "https://a.org"]), ("a@b.org", []),
        ("https://a.org/b_c*d", ["https://a.org/b_c*d"]),
    ]

    @Test("URLs in text are links as on GitHub", arguments: autolinks)
    func bareURL(text: String, references: [String]) {
        #expect(Self.references(text) == references)
    }

    private static let blocks: [(text: String, references: [String])] = [
        // Tables.
        ("| [a](b) | `x` |\n|---|:-:|\n| [c](d) | ![e](f) |", ["b", "d", "f"]),
        ("| a ` | ` [b](c) |\n|---|---|", ["c"]), ("a | [b\n--|--\nc](d) | [e](f)", ["f"]),
        // Footnotes.
        ("[^1] and [^x](y)\n\n[^1]: [a](b)\n\n    [c](d)", ["y", "b", "d"]), ("[^1]: not-a-destination", []),
        // Code.
        ("```\n[a](b)\n```\n[c](d)", ["d"]), ("~~~ x\n[a](b)\n```\n~~~~\n[c](d)", ["d"]),
        ("- a\n  ```\n  [a](b)\n  ```\n- [c](d)", ["d"]), ("> ```\n> [a](b)\n\n[c](d)", ["d"]),
        ("```\n[a](b)", []),
        ("    [a](b)\n\n[c](d)", ["d"]), ("a\n    [a](b)", ["b"]), ("- a\n\n      [a](b)", []),
        ("- a\n\n  [a](b)", ["b"]),
        ("\t[a](b)", []), ("-\t[a](b)", ["b"]), ("1. a\n\n\t[a](b)", ["b"]), ("``[a](b)` [c](d)``", []),
        // Containers.
        ("> [a](b)\n> > [c](d)\n- * 1. [e](f)", ["b", "d", "f"]), ("> [a\nb](c)", ["c"]),
        ("> [a\n> b](c)", ["c"]),
        ("- [a\n- b](c)", []), ("- [ ] [a](b)\n- [x] [c](d)", ["b", "d"]),
        ("!!! note\n\n    [a](b)\n\n[c](d)", ["b", "d"]), ("=== \"Tab\"\n\n    [a](b)", ["b"]),
        // Front matter.
        ("---\nurl: https://a.org\n---\n[c](d)", ["d"]), ("+++\nurl = \"https://a.org\"\n+++\n[c](d)", ["d"]),
        ("---\nhttps://a.org", ["https://a.org"]), ("\u{FEFF}---\na: [b](c)\n---\n[c](d)", ["d"]),
        // Line ends.
        ("[a](b)\r\n\r\n[c]\r\n\r\n[c]: d\r\n", ["b", "d"]), ("# x\r[a](b)", ["b"]),
        // Texts that are not links.
        ("[[wiki]] and [[wiki|text]]", []), ("[a]({{ url }})", []),
        ("[a]({{url}}/b) ![a]({% link b.md %})", []),
        ("<a href='{{ url }}'>", []), ("<img src={url}>", []), ("https://a.org/{id}", []),
        ("![a](data:image/png;base64,AA==)", []),
        ("{/* [a](b) */} [c](d)", ["d"]), ("<!-- [a](b) --> [c](d)", []),
        ("x <!-- [a](b)\n--> [c](d)", ["d"]),
    ]

    @Test("Blocks, extensions and templates contain the links that a reader sees", arguments: blocks)
    func block(text: String, references: [String]) {
        #expect(Self.references(text) == references)
    }

    @Test(
        "HTML in Markdown has links",
        arguments: [
            ("a <a href='b'>[c](d)</a> <img src=e>", ["b", "d", "e"]),
            ("<p>\n<img src=\"a\">\n[b](c)\n\n[d](e)", ["a", "e"]),
            ("> <div>\n> <a href=\"x\">\n>\n> [a](b)", ["x", "b"]), ("a <a\n  href=\"b\">", ["b"]),
            ("<!-- <a href=x> --><a href=\"y\">", ["y"]), ("`<a href=x>` \\<a href=y>", []),
            ("<pre>\n[a](b)\n\n<a href=x></pre>", ["x"]),
            ("<a href=\"a&amp;b\">", ["a&b"]), ("a <title> <a href=b>", ["b"]),
            ("<a href=x data-larder-ignore> <a href=y>", ["y"]),
            ("```\n<a href=x>\n```", []),
        ])
    func html(text: String, references: [String]) {
        #expect(Self.references(text) == references)
    }

    @Test(
        "Ranges are those of the destinations in the document",
        arguments: [
            "# [a](*)", "> - [a\n  b](<*> 't')", "[a]: <*>\n", "> [a]:\n> *\n\n[a]",
            "é\r\n<img alt=x src='*'>", "> a <a\n> href=*>",
            "| a |\n|---|\n| [b](*) |", "---\na\n---\n![b]( * )", "-\t[a](*)",
        ])
    func ranges(text: String) throws {
        let place = try #require(text.utf8.firstIndex(of: UInt8(ascii: "*")))
        let offset = text.utf8.distance(from: text.startIndex, to: place)
        let document = text.utf8.flatMap { $0 == UInt8(ascii: "*") ? Array("path&amp;x".utf8) : [$0] }
        let links = MarkdownLinks(document.span).links
        #expect(links.map(\.range) == [offset..<offset + 10])
        #expect(links.map(\.reference) == ["path&x"])
    }

    @Test("A link is an image if only images use its definition")
    func images() {
        let text = "[![a](b)](c) <img src=d> ![e] [f] ![f]\n\n[e]: g\n[f]: h\n[i]: j"
        let links = MarkdownLinks(Array(text.utf8).span).links
        #expect(links.filter(\.isImage).map(\.reference) == ["b", "d", "g"])
        #expect(links.filter { !$0.isImage }.map(\.reference) == ["c", "h", "j"])
    }

    // MARK: - Fragments

    private static let headings: [(text: String, anchors: Set<String>)] = [
        ("## Hello, World!", ["hello-world"]), ("# A & B", ["a--b"]), ("# a -- b", ["a----b"]),
        ("# C# and C++", ["c-and-c"]),
        ("# `foo_bar` baz", ["foo_bar-baz"]), ("# `` ` `` x", ["-x"]), ("# v1.2.3 (2024)", ["v123-2024"]),
        ("# Tom &amp; Jerry", ["tom--jerry"]),
        ("# _Emphasis_, snake_case, __strong__", ["emphasis-snake_case-strong"]), ("# ___x___", ["x"]),
        ("# \\_a\\_", ["_a_"]),
        ("# [text](dest) and [ref][r]\n\n[r]: x", ["text-and-ref"]), ("# ![alt](i.png) Title", ["-title"]),
        ("# 🚀 Start", ["-start"]),
        ("# Größe ÄÖ 中文 Привет", ["größe-äö-中文-привет"]), ("# <a name=\"x\"></a>Name", ["name", "x"]),
        ("# Same\n# Same\n# Same-1\n# Same", ["same", "same-1", "same-1-1", "same-2"]),
        ("Title\n===\nSecond\n---\n", ["title", "second"]), ("## Closing ##", ["closing"]),
        ("#NoHeading", []), ("# !", []),
        ("> ## Quoted\n- # Item", ["quoted", "item"]), ("```\n# code\n```\n    # code", []),
        ("---\n# no\n---\n# Yes", ["yes"]),
        ("## Own {#my-id}", ["own", "my-id"]), ("## Own {: .class #my-id }", ["own", "my-id"]),
        ("## Own {/* #my-id */}", ["own", "my-id"]),
        ("[]{#span} [a](b){: #link }", ["span", "link"]),
        ("<div id=\"x\">\n<a name=y>\n</div>\n\n<p id=z>", ["x", "y", "z"]),
        ("`<a id=x>` <!-- <a id=y> -->", []), ("| a |\n|---|\n| b |\n---", []), ("[a]: b\n===", []),
    ]

    @Test("Headings have the fragments of GitHub, and ids of their own", arguments: headings)
    func fragments(text: String, anchors: Set<String>) {
        #expect(Self.anchors(text) == anchors)
    }

    // MARK: - Hostile documents

    @Test(
        "The cost is linear in the document",
        arguments: [
            "[", "![", "[a](", "[a](b \"", "[a][", "[a](<", "[a](((", "<", "<a b=\"", "<a b='\"", "<a@",
            "<a:", "`", "`` ` ", "<!--", "<?", "<!a",
            "<![CDATA[", "www._", "_www.a_", "[http://a", "&", "\\", "{", "{#", "{/*", "# _a ", "_", "*",
            "> ", "- ", "> - ", "- a\n\n", "- \n",
            "# a\n", "a\n=\n", "|", "a|b\n-|-\n", "[a]: b\n", "[a]: b \"\n", "[^a]: ", "!!! a\n", "\t",
            "```\n", "<div\n", "<script\n",
            "![[a](b)](c)", "---\n",
        ])
    func linear(piece: String) {
        let isLinear = Cost.isLinear(upTo: 200_000) { size in
            let text = Array(repeatElement(piece, count: size / piece.utf8.count).joined().utf8)
            _ = MarkdownLinks(text.span)
        }
        #expect(isLinear)
    }

    @Test("Every prefix of a document is read without a fault, and its ranges are in it")
    func prefixes() {
        let text = Array(
            """
            ---
            a: b
            ---
            # [a](b "c") `d` <e f='g'> ![h][i] _j_ {#k}
            > - [l]: <m> (n)
            \t- http://o.p/&amp; &#x51; www.r.s) \\t
            | u | v |
            |:-:|---|
            | [^w] | <x@y.z> <!-- --> |
            """.utf8)
        for count in 0...text.count {
            let part = Array(text[..<count])
            let links = MarkdownLinks(part.span).links
            #expect(links.allSatisfy { $0.range.upperBound <= count && !$0.range.isEmpty })
        }
    }
}
