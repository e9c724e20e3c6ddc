import Reports
import Testing
import Web

@testable import Check

/// Situations that the tests of other link checkers cover: lychee, linkchecker, html-proofer, muffet, broken-link-checker and
/// hyperlink. Where these disagree, browsers decide.
@Suite struct LinkPeerCasesTests {
    // MARK: - HTML

    /// The page is the only file, so that each of its links is dead, not checked, or a missing fragment.
    private func targets(inPage text: String) throws -> [String] {
        let folder = try LinkedFolder(["sub/page.html": "<!doctype html><meta charset=utf-8>" + text])
        return try folder.check().findings.map(\.target).sorted()
    }

    @Test(
        arguments: [
            // Attributes.
            ("<a href=a>", ["/sub/a"]), ("<a href='a'>", ["/sub/a"]), ("<a HREF=\"a\">", ["/sub/a"]),
            ("<A href = a >", ["/sub/a"]), ("<a title=x href=a rel=y>", ["/sub/a"]),
            ("<a href=a href=b>", ["/sub/a"]), ("<a data-href=a>", []), ("<a name=a>", []), ("<a href>", []),
            ("<a href=>", []), ("<a href=\"\">", []), ("<a href=\" a \">", ["/sub/a"]),
            ("<a href=\"\na\n\">", ["/sub/a"]), ("<a href=\"a\tb\">", ["/sub/ab"]),
            ("<a href='a?b=1&amp;c=2'>", ["/sub/a?b=1&c=2"]), ("<a href='a?b=1&c=2'>", ["/sub/a?b=1&c=2"]),
            ("<a href='a&#x62;'>", ["/sub/ab"]), ("<a href=a/>", ["/sub/a/"]),
            ("<a href=a><b>x</b></a>", ["/sub/a"]),
            ("<a href=a>x<a href=b>y", ["/sub/a", "/sub/b"]), ("<custom-tag href=a>", []),
            ("<div href=a>", []), ("<a itemtype=t ping=p href=a>", ["/sub/a"]),
            ("<a href='//a.test/x'>", ["https://a.test/x"]), ("<a href='javascript:go()'>", []),
            ("<a href='data:,x'>", []), ("<a href='about:blank'>", []), ("<a href='tel:+49 30 1'>", []),
            // Other elements.
            ("<area href=a>", ["/sub/a"]), ("<img src=a>", ["/sub/a"]),
            ("<img alt=a>", []), ("<img longdesc=a src=b>", ["/sub/a", "/sub/b"]),
            ("<iframe src=a></iframe>", ["/sub/a"]), ("<iframe srcdoc='<a href=a>'></iframe>", ["/sub/a"]),
            ("<frameset><frame src=a></frameset>", ["/sub/a"]), ("<script src=a></script>", ["/sub/a"]),
            ("<script type=module src=a></script>", ["/sub/a"]), ("<link rel=stylesheet href=a>", ["/sub/a"]),
            ("<link rel=icon href=a>", ["/sub/a"]), ("<link rel='shortcut icon' href=a>", ["/sub/a"]),
            ("<link rel=preload as=font href=a>", ["/sub/a"]), ("<link rel=manifest href=a>", ["/sub/a"]),
            ("<link rel=alternate href=a>", ["/sub/a"]), ("<link rel=next href=a>", ["/sub/a"]),
            ("<link rel=dns-prefetch href=//a.test>", []), ("<link rel=preconnect href=//a.test>", []),
            ("<link rel=pingback href=a>", []), ("<source src=a>", ["/sub/a"]),
            ("<video src=a poster=b></video>", ["/sub/a", "/sub/b"]),
            ("<video><source src=a><track src=b></video>", ["/sub/a", "/sub/b"]),
            ("<audio src=a></audio>", ["/sub/a"]), ("<embed src=a>", ["/sub/a"]),
            ("<object data=a></object>", ["/sub/a"]), ("<input type=image src=a>", ["/sub/a"]),
            ("<input src=a>", []), ("<body background=a>", ["/sub/a"]), ("<td background=a>", ["/sub/a"]),
            ("<blockquote cite=a>", ["/sub/a"]), ("<q cite=a>", ["/sub/a"]), ("<del cite=a>", ["/sub/a"]),
            ("<form action=a method=post></form>", []), ("<button formaction=a>", []),
            ("<svg><image href=a /><use href=b /></svg>", ["/sub/a", "/sub/b"]),
            ("<svg><a xlink:href=a>x</a></svg>", ["/sub/a"]),
            ("<meta http-equiv=refresh content='0;url=a'>", ["/sub/a"]),
            ("<meta http-equiv=refresh content=\"0; URL='a'\">", ["/sub/a"]),
            ("<meta http-equiv=refresh content=5>", []),
            ("<meta property=og:image content=/a>", ["/a"]), ("<meta property=og:title content=a>", []),
            ("<meta name=twitter:image content=/a>", ["/a"]),
            // Lists of images.
            ("<img srcset='a 1x, b 2x'>", ["/sub/a", "/sub/b"]),
            ("<img srcset='a 100w,\n b 200w'>", ["/sub/a", "/sub/b"]),
            ("<img srcset='a'>", ["/sub/a"]), ("<img srcset='a, b'>", ["/sub/a", "/sub/b"]),
            ("<img srcset='a,b 2x'>", ["/sub/a,b"]), ("<img srcset=', a 1x,, b 2x,'>", ["/sub/a", "/sub/b"]),
            ("<img srcset='data:image/png;base64,AA= 1x, a 2x'>", ["/sub/a"]),
            ("<picture><source srcset='a 2x'><img src=b></picture>", ["/sub/a", "/sub/b"]),
            ("<link rel=preload as=image imagesrcset='a 1x, b 2x'>", ["/sub/a", "/sub/b"]),
            // Styles.
            ("<style>p { background: url(a) }</style>", ["/sub/a"]),
            ("<p style='background:url(a)'>", ["/sub/a"]),
            ("<style>@import 'a';</style>", ["/sub/a"]),
            ("<style>@import url(\"a\") screen;</style>", ["/sub/a"]),
            ("<style>/* url(a) */ p::before { content: 'url(b)' }</style>", []),
            ("<style>p { background: image-set('a' 1x, url(b) 2x) }</style>", ["/sub/a", "/sub/b"]),
            ("<style>p { fill: url(#x) }</style>", ["/sub/page.html#x"]),
            // Content that is no markup, or is not active.
            ("<!-- <a href=a> -->", []), ("<!--><a href=a>-->", ["/sub/a"]),
            ("<script>'<a href=a>'</script>", []),
            ("<textarea><a href=a></textarea>", []), ("<title><a href=a></title>", []),
            ("<xmp><a href=a></xmp>", []), ("<noscript><a href=a></noscript>", ["/sub/a"]),
            ("<template><a href=a></template>", ["/sub/a"]), ("<pre><a href=a></pre>", ["/sub/a"]),
            ("<code>https://a.test/</code>", []), ("https://a.test/", []),
            // Markup with errors.
            ("<a href=a", []), ("<a href='a>b", []), ("<a href=\"a\"href=\"b\">", ["/sub/a"]),
            ("</a href=a>", []), ("<a\nhref=a\n>", ["/sub/a"]), ("<a/href=a>", ["/sub/a"]),
            ("<a href=a<b>", ["/sub/a%3Cb"]), ("< a href=a>", []), ("<a href='http://[/'>", ["http://[/"]),
            ("<a href='http://127.0.0.1:____'>", ["http://127.0.0.1:____"]), ("<a href=':'>", ["/sub/:"]),
            // Placeholders of templates.
            ("<a href='{{ page.url }}'>", ["{{ page.url }}"]), ("<a href='/x/{{id}}'>", ["/x/{{id}}"]),
            ("<a href='{% url \"x\" %}'>", ["{% url \"x\" %}"]), ("<a href='<%= x %>'>", ["<%= x %>"]),
            ("<a href='/a{b}'>", ["/a%7Bb%7D"]),
        ] as [(String, [String])])
    func `links are found in HTML as browsers find them`(page: String, expected: [String]) throws {
        #expect(try targets(inPage: page) == expected)
    }

    // MARK: - Resolution

    @Test(
        arguments: [
            ("x", nil, "https://a.test/dir/x"), ("./x", nil, "https://a.test/dir/x"),
            ("../x", nil, "https://a.test/x"), ("../../x", nil, "https://a.test/x"),
            ("/x", nil, "https://a.test/x"), ("//b.test/x", nil, "https://b.test/x"),
            ("///b.test/x", nil, "https://b.test/x"), ("\\\\b.test\\x", nil, "https://b.test/x"),
            ("http:x", nil, "http://x/"), ("https:x", nil, "https://a.test/dir/x"),
            ("https:/x", nil, "https://a.test/x"), ("https:///b.test/", nil, "https://b.test/"),
            ("HTTP://B.test/X", nil, "http://b.test/X"), ("https://b.test", nil, "https://b.test/"),
            ("https://b.test:443/", nil, "https://b.test/"),
            ("https://b.test:8443/", nil, "https://b.test:8443/"),
            ("https://b.test/a/../b", nil, "https://b.test/b"),
            ("https://b.test/a b", nil, "https://b.test/a%20b"),
            ("https://b.test/ü", nil, "https://b.test/%C3%BC"),
            ("https://bücher.test/", nil, "https://xn--bcher-kva.test/"),
            ("https://user:secret@b.test/", nil, "https://b.test/"),
            ("https://b.test/?q=ü", nil, "https://b.test/?q=%C3%BC"),
            ("https://b.test/?a|b", nil, "https://b.test/?a|b"),
            ("https://0x7f.1/", nil, "https://127.0.0.1/"),
            ("x", "sub/", "https://a.test/dir/sub/x"), ("x", "/sub/", "https://a.test/sub/x"),
            ("x", "/sub", "https://a.test/x"), ("x", "https://b.test/c/", "https://b.test/c/x"),
            ("x", "//b.test/c/", "https://b.test/c/x"), ("/x", "https://b.test/c/", "https://b.test/x"),
            ("?q", "https://b.test/c/", "https://b.test/c/?q"), ("x", "", "https://a.test/dir/x"),
            ("x", "data:,y", "https://a.test/dir/x"), ("x", "javascript:y", "https://a.test/dir/x"),
            ("x", "http://[/", "https://a.test/dir/x"),
            ("https://c.test/", "https://b.test/", "https://c.test/"),
        ] as [(String, String?, String)])
    func `references are resolved as browsers resolve them`(reference: String, base: String?, url: String)
        throws
    {
        let folder = try LinkedFolder([
            "dir/page.html": "<!doctype html><meta charset=utf-8>"
                + (base.map { "<base href='\($0)'>" } ?? "") + "<a href='\(reference)'>x</a>"
        ])
        let findings = try folder.check { $0.base = "https://a.test/" }.findings
        #expect(findings.map(\.target) == [url])
    }

    @Test func `only the first base with a URL counts`() throws {
        #expect(
            try targets(inPage: "<base target=_blank><base href=one/><base href=two/><a href=x>") == [
                "/sub/one/x"
            ])
        #expect(try targets(inPage: "<a href=x></a><base href=one/>") == ["/sub/one/x"])
    }

    // MARK: - Markdown

    private func targets(inMarkdown text: String) throws -> [String] {
        let folder = try LinkedFolder()
        try folder.write("", to: ".git/HEAD")
        try folder.write(text, to: "sub/page.md")
        return try folder.check().findings.map(\.target).sorted()
    }

    @Test(
        arguments: [
            ("[a](x)", ["/sub/x"]), ("[a](<x y>)", ["/sub/x%20y"]), ("[a](x \"title\")", ["/sub/x"]),
            ("[a](x 'title')", ["/sub/x"]), ("[a](x (title))", ["/sub/x"]), ("![a](x)", ["/sub/x"]),
            ("[![a](x)](y)", ["/sub/x", "/sub/y"]), ("[a]( x )", ["/sub/x"]), ("[a](x_(y))", ["/sub/x_(y)"]),
            ("[a](x\\))", ["/sub/x)"]), ("[a] (x)", []), ("\\[a](x)", []), ("[a](x y)", []), ("[a]()", []),
            ("[a][b]\n\n[b]: x", ["/sub/x"]), ("[a][]\n\n[a]: x", ["/sub/x"]), ("[a]\n\n[a]: x", ["/sub/x"]),
            ("[a]: x\n[b]: y", ["/sub/x", "/sub/y"]), ("[A]\n\n[a]: <x y> 'title'", ["/sub/x%20y"]),
            ("[a]: x\n[a]: y\n\n[a]", ["/sub/x", "/sub/y"]), ("<https://a.test/>", ["https://a.test/"]),
            ("https://a.test/x.", ["https://a.test/x"]), ("(https://a.test/x)", ["https://a.test/x"]),
            ("www.a.test/x", ["http://www.a.test/x"]), ("https://a.test/x_(y)", ["https://a.test/x_(y)"]),
            ("`[a](x)`", []), ("``[a](x) ` ``", []), ("```\n[a](x)\n```", []), ("~~~\n[a](x)\n~~~\n", []),
            ("    [a](x)", []), ("- [a](x)\n  - [b](y)", ["/sub/x", "/sub/y"]), ("> [a](x)", ["/sub/x"]),
            ("1. a\n\n   [a](x)", ["/sub/x"]), ("| a |\n| - |\n| [a](x) |", ["/sub/x"]),
            ("# [a](x)", ["/sub/x"]),
            ("[a](x)\n===", ["/sub/x"]), ("*[a](x)*", ["/sub/x"]), ("<a href=x>a</a>", ["/sub/x"]),
            ("<img src=\"x\">", ["/sub/x"]), ("<!-- [a](x) -->", []),
            ("<div>\n\n[a](x)\n\n</div>", ["/sub/x"]),
            ("a[^1]\n\n[^1]: see [a](x)", ["/sub/x"]), ("---\na: '[a](x)'\n---\n[b](y)", ["/sub/y"]),
            ("[a]({{ x }})", []), ("[a](<% x %>)", []), ("[a](/x)", ["/sub/../x"]),
            ("[a](#b)", ["/sub/page.md#b"]), ("# B\n[a](#b)", []), ("# B c\n[a](#b-c)", []),
            ("# B\n# B\n[a](#b-1)", []), ("# `b`\n[a](#b)", []), ("# *B*\n[a](#b)", []),
            ("# B {#own}\n[a](#own)", []), ("<a id=own></a>\n\n[a](#own)", []), ("B\n-\n[a](#b)", []),
            ("# Ärger\n[a](#ärger)", []), ("# B!\n[a](#b)", []), ("# B & c\n[a](#b--c)", []),
            ("# B & c\n[a](#b-c)", ["/sub/page.md#b-c"]),
        ] as [(String, [String])])
    func `links are found in Markdown as GitHub finds them`(text: String, expected: [String]) throws {
        let expected = expected.map { $0.replacing("/sub/..", with: "") }
        #expect(try targets(inMarkdown: text) == expected)
    }

    // MARK: - Fragments

    @Test(
        arguments: [
            ("<p id=x>", "#x", .verified), ("<p id='x'>", "#X", .fragmentMissing),
            ("<p id=X>", "#X", .verified),
            ("<a name=x></a>", "#x", .verified), ("<p name=x>", "#x", .fragmentMissing),
            ("<p id='a b'>", "#a%20b", .verified), ("<p id='a%20b'>", "#a%20b", .verified),
            ("<p id=ü>", "#ü", .verified),
            ("<p id=ü>", "#%C3%BC", .verified), ("<p id='%C3%BC'>", "#ü", .verified),
            ("<p id=x:y>", "#x:y", .verified),
            ("<p id='a&amp;b'>", "#a&b", .verified), ("", "#", .verified), ("", "#top", .verified),
            ("", "#ToP", .verified), ("<!-- <p id=x> -->", "#x", .fragmentMissing),
            ("<script>'<p id=x>'</script>", "#x", .fragmentMissing),
            ("<template><p id=x></template>", "#x", .verified),
            ("<svg><g id=x /></svg>", "#x", .verified), ("<p id>", "#x", .fragmentMissing),
            ("<p id=x id=y>", "#y", .fragmentMissing),
            ("<p>Some words</p>", "#:~:text=some%20words", .verified),
            ("<p>Some words</p>", "#:~:text=other", .fragmentMissing),
            ("<p>One two three</p>", "#:~:text=one,three", .verified),
            ("<p>One two</p>", "#:~:text=two,one", .fragmentMissing),
            ("<p>One two three</p>", "#:~:text=one-,two,-three", .verified),
            ("<script>a()</script>", "#/route", .verified),
        ] as [(String, String, LinkCheckReport.Verdict)])
    func `fragments are found in pages as browsers find them`(
        page: String, fragment: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let folder = try LinkedFolder(["other.html": "<!doctype html><meta charset=utf-8>" + page])
        let result = try folder.verdict(on: "/other.html\(fragment)")
        #expect(result.0 == verdict, "\(result.detail)")
    }

    // MARK: - Addresses

    @Test(
        arguments: [
            ("a@b.test", .verified), ("a.b+c@d.e.test", .verified), ("a@b.test?subject=x", .verified),
            ("a@b.test,c@d.test", .verified), ("a%40b.test", .verified), ("?to=a@b.test", .verified),
            ("\"a b\"@c.test", .verified), ("%22a%20b%22@c.test", .verified), ("a@[127.0.0.1]", .verified),
            ("a@localhost", .verified), ("ä@b.test", .verified), ("a@bücher.test", .verified), ("", .dead),
            ("a", .dead),
            ("a@", .dead), ("@b.test", .dead), ("a@@b.test", .dead), ("a b@c.test", .dead), ("a@b", .dead),
            ("a@b.test,", .dead), (".a@b.test", .dead), ("a@b..test", .dead), ("a@b.test/c", .dead),
            ("a@b:25", .dead),
        ] as [(String, LinkCheckReport.Verdict)])
    func `the syntax of e-mail addresses is checked`(address: String, verdict: LinkCheckReport.Verdict) throws
    {
        let result = try LinkedFolder().verdict(on: "mailto:" + address.replacing("\"", with: "&quot;"))
        #expect(result.0 == verdict, "\(result.detail)")
    }

    // MARK: - Folders

    @Test(
        arguments: [
            ("/folder/", .verified), ("/folder", .verified), ("/folder/index.html", .verified),
            ("/folder//", .verified),
            ("/bare/", .dead), ("/bare", .dead), ("/page.html", .verified), ("/page", .verified),
            ("/page/", .dead),
            ("/page.htm", .dead), ("/Page.html", .dead), ("/page.html?x=1", .verified),
            ("/a%20b.pdf", .verified),
            ("/a%2520b.pdf", .dead), ("/100%25.html", .verified), ("/100%.html", .verified),
            ("/x%2Fy.html", .verified),
            ("/gr%C3%BC%C3%9Fe.html", .verified), ("/grüße.html", .verified), ("/file.pdf#page=3", .verified),
            ("/.hidden.html", .verified), ("/name.with.dots", .verified), ("/folder/../page.html", .verified),
            ("/./page.html", .verified), ("/same", .verified), ("/same/", .dead),
        ] as [(String, LinkCheckReport.Verdict)])
    func `paths mean the files that a web server would send`(
        reference: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let folder = try LinkedFolder([
            "folder/index.html": "x", "bare/x.txt": "x", "page.html": "x", "a b.pdf": "x", "100%.html": "x",
            "x/y.html": "x", "grüße.html": "x", "file.pdf": "x", ".hidden.html": "x", "name.with.dots": "x",
            "same.html": "x", "same/x.txt": "x",
        ])
        let result = try folder.verdict(on: reference)
        #expect(result.0 == verdict, "\(result.detail)")
    }
}
