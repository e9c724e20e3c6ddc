import Testing

@testable import Markup

@Suite struct PageAnchorsTests {
    private static func anchors(_ text: String, _ format: BodyFormat = .html, charset: String? = nil)
        -> PageAnchors
    {
        PageAnchors(of: Array(text.utf8).span, as: format, charset: charset)
    }

    private static func littleEndianUTF16(_ text: String) -> [UInt8] {
        [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    }

    @Test(
        arguments: [
            ("", []),
            ("<h2 id=a>A</h2><p ID='b'>B</p><div id=\"c d\">", ["a", "b", "c d"]),
            // Only the names of links are fragments.
            ("<a name=old></a><A NAME=\"x\"></A>", ["old", "x"]),
            ("<input name=field><meta name=description content=x><img name=i><form name=f>", []),
            (
                "<p id=&#x41;><p id='a&amp;b'><p id=\"caf&eacute;\"><a name='&lt;'>",
                ["A", "a&b", "café", "<"]
            ),
            ("<p id><p id=\"\"><p data-id=x><p idx=y>", []),
            ("<p id=Case><p id=case>", ["Case", "case"]),
            ("<!-- <p id=a> --><!--[if IE]><p id=b><![endif]-->", []),
            ("<script>'<p id=a>'</script><style>/* <p id=b> */</style>", []),
            ("<title><p id=a></title><textarea><p id=b></textarea><p id=c>", ["c"]),
            (
                "<noscript><p id=a></noscript><svg><g id=b /></svg><iframe srcdoc='<p id=c>'></iframe>",
                ["a", "b"]
            ),
            ("<p id=a><p id=b", ["a"]),
            ("<script id=s>1</script><textarea id=t></textarea>", ["s", "t"]),
        ] as [(String, [String])])
    func `the ids and the names of links are fragments`(html: String, names: [String]) {
        #expect(Self.anchors(html).names == Set(names))
    }

    @Test(
        arguments: [
            (
                .svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"><symbol id=\"icon\"/><path id='p'/></svg>",
                ["icon", "p"]
            ),
            (
                .xhtml,
                "<html xmlns=\"http://www.w3.org/1999/xhtml\"><h2 id=\"a\"/><![CDATA[<p id=\"b\"/>]]><a name=\"c\"/></html>",
                ["a", "c"]
            ),
        ] as [(BodyFormat, String, [String])])
    func `XML documents have fragments`(format: BodyFormat, text: String, names: [String]) {
        #expect(Self.anchors(text, format).names == Set(names))
    }

    @Test(
        arguments: [
            (Array("<p id=café>".utf8), "utf-8", "café"),
            (Array("<meta charset=utf-8><p id=café>".utf8), nil, "café"),
            (Array("<p id=caf".utf8) + [0xE9] + Array(">".utf8), nil, "café"),
            (Array("<p id='".utf8) + [0x82, 0xA0] + Array("'>".utf8), "shift_jis", "あ"),
            (littleEndianUTF16("<p id=café>"), nil, "café"),
            (littleEndianUTF16("<p id='&#x3042;'>"), nil, "あ"),
        ] as [([UInt8], String?, String)])
    func `names are read in the encoding of the document`(body: [UInt8], charset: String?, name: String) {
        #expect(PageAnchors(of: body.span, as: .html, charset: charset).names == [name])
    }

    @Test(
        arguments: [
            ("<a href=x>x</a>", []),
            ("<p><a href=x data-larder-ignore>x</a>", ["<a href=x data-larder-ignore>"]),
            (
                "<img DATA-LARDER-IGNORE='it is a test' src=y><p><a data-larder-ignore=\"\" href='a>b'>",
                ["<img DATA-LARDER-IGNORE='it is a test' src=y>", "<a data-larder-ignore=\"\" href='a>b'>"]
            ),
            ("<a href=x data-larder-ignored><a href=y larder-ignore><!-- <a data-larder-ignore> -->", []),
        ] as [(String, [String])])
    func `tags with data-larder-ignore are found`(html: String, tags: [String]) {
        let text = Array(html.utf8)
        let found = Self.anchors(html).ignoredTags.map { String(decoding: text[$0], as: UTF8.self) }
        #expect(found == tags)
    }

    @Test(
        arguments: [
            ("<p>text</p><a href=#x>", false),
            ("<script>start()</script>", true),
            ("<script src=app.js></script>", true),
            ("<script type=module src=app.js></script>", true),
            ("<p onclick='start()'>", true),
            ("<!-- <script>start()</script> --><textarea><script>start()</script></textarea>", false),
        ])
    func `scripts and event handlers are noticed`(html: String, hasScripts: Bool) {
        #expect(Self.anchors(html).hasScripts == hasScripts)
    }

    @Test(
        arguments: [
            // The beginning of the document.
            ("", true), ("top", true), ("TOP", true), ("%74op", true), ("toplevel", false),
            // As written, and decoded.
            ("café", true), ("caf%C3%A9", true), ("caf%c3%a9", true), ("cafe", false), ("Caf%C3%A9", false),
            ("a%20b", true), ("a%2520b", true), ("a b", false),
            ("x%20y", true), ("x y", true),
            ("%", false), ("%zz", false), ("%FF", false),
        ])
    func `a fragment names an element as written or decoded, or the top`(fragment: String, isFound: Bool) {
        let anchors = Self.anchors("<p id=café><p id='a%20b'><p id='x y'>", charset: "utf-8")
        #expect(anchors.contains(fragment) == isFound)
    }

    @Test func `a document that is not markup has the names that it is given`() {
        let anchors = PageAnchors(ofMarkdown: ["set-up"])
        #expect(anchors.contains("set-up") && anchors.contains("") && !anchors.contains("gone"))
        #expect(!anchors.hasScripts && anchors.ignoredTags.isEmpty)
    }
}
