import TestOrigin
import Testing
import Web

@testable import Markup

@Suite struct HTMLScannerTests {
    @Test(
        arguments: [
            ("<form method=post action=a><button formaction=b><input type=submit formaction=c></form>", []),
            ("<form METHOD=' POST' action=a><button formaction=b></form><button formaction=c>", ["c"]),
            ("<form method='p&#111;st'><button formaction=b></form>", []),
            ("<form method=dialog><button formaction=b></form>", []),
            ("<form action=a><button formaction=b></form>", ["a", "b"]),
            ("<form><button formaction=b></form>", ["b"]),
            ("<form method=post><button formmethod=get formaction=b></form>", ["b"]),
            ("<form><button formmethod=post formaction=b></form>", []),
            // A nested form does not exist: its buttons belong to the outer form.
            (
                "<form method=post><form action=a method=get><button formaction=b></form><button formaction=c>",
                ["a", "c"]
            ),
            ("<form method=post></form><form action=a><button formaction=b></form>", ["a", "b"]),
            ("<form method=post><p></form ><button formaction=b>", ["b"]),
            // A button with `form` may be anywhere.
            ("<button form=x formaction=a><form id=x method=post></form>", []),
            ("<button form=x formmethod=get formaction=a>", ["a"]),
            ("<form method=post><!--[if IE]><button formaction=b><![endif]--></form>", []),
            ("<form method=post><iframe srcdoc='<button formaction=b>'></iframe></form>", ["b"]),
            // Links that scripts send with another method.
            (
                "<a href=a data-method=delete><a href=b data-turbo-method=POST><a href=c data-method=get>",
                ["c"]
            ),
        ] as [(String, [String])])
    func `the URLs of a form that is sent with POST are never fetched`(html: String, references: [String]) {
        let scan = Scan(html)
        #expect(scan.faults == [])
        #expect(scan.found.filter { $0.kind != .submission }.map(\.reference) == references)
        #expect(LinkKind.submission.role == .other)
    }

    @Test(
        arguments: [
            (
                "<frameset><frame src=a></frameset><noframes><body><a href=b>b</a><img src=c></body></noframes>",
                ["a", "b", "c"]
            ),
            ("<noframes><a href=a></noframes><a href=b>", ["a", "b"]),
            ("<noembed><img src=a></noembed>", ["a"]),
            ("<noframes><title>t</title><noframes><a href=a>", ["a"]),
            ("<noframes></noframes><xmp><a href=a></xmp>", []),
            ("<script>document.write('<a href=\"a\">')</script><a href=b>", ["a", "b"]),
            ("<p onclick='window.open(&quot;a.bin&quot;)'><script>window.open('b')</script>", ["b"]),
        ] as [(String, [String])])
    func `links in noframes, in markup that scripts write, and in window.open are found`(
        html: String, references: [String]
    ) {
        let scan = Scan(html)
        #expect(scan.faults == [])
        #expect(scan.references == references)
    }

    @Test(
        arguments: [
            ("<script src=a crossorigin></script><script src=b></script>", ["a"]),
            ("<link rel=stylesheet href=a crossorigin=anonymous><link rel=stylesheet href=b>", ["a"]),
            ("<link rel=preload as=script href=a CROSSORIGIN='use-credentials'>", ["a"]),
            ("<link rel=preload as=image imagesrcset='a 1x, b 2x' crossorigin>", ["a", "b"]),
            ("<img src=a srcset='b 1x' data-src=c.png crossorigin><img src=d>", ["a", "b", "c.png"]),
            ("<svg><image href=a crossorigin /><image href=b /></svg>", ["a"]),
            // A poster is requested without CORS, like an image.
            ("<video src=a poster=b crossorigin><source src=c><track src=d></video>", ["a", "c", "d"]),
            (
                "<audio crossorigin><source src=a></audio><video src=b><source src=c><track src=d></video>",
                ["a"]
            ),
            (
                "<video crossorigin><source src=a></video><picture><source srcset=b><img src=c></picture>",
                ["a"]
            ),
            // Assets that are always requested with CORS.
            ("<script type=module src=a></script><link rel=modulepreload href=b>", ["a", "b"]),
            (
                "<script>import 'https://x/a'; import('/b'); fetch('/c')</script>",
                ["https://x/a", "/b", "/c"]
            ),
            ("<link rel=preload as=font href=a><link rel=preload as=fetch href=b>", ["a", "b"]),
            (
                "<link rel=manifest href=a><script type=importmap>{\"imports\":{\"x\":\"/b\"}}</script>",
                ["a", "/b"]
            ),
            (
                "<svg><font-face><font-face-src><font-face-uri href=a /></font-face-src></font-face></svg>",
                ["a"]
            ),
            ("<style>@font-face{src:url(a)}b{background:url(c)}</style>", ["a"]),
            ("<model-viewer src=a skybox-image=b poster=c></model-viewer>", ["a", "b"]),
            // Images in masks and filters, which need CORS.
            ("<p style='mask:url(a)'><p style='background:url(b)'>", ["a"]),
            (
                "<svg><rect mask='url(a#m)' fill='url(b#f)' filter='url(c#x)' clip-path=url(d#y) /></svg>",
                ["a#m", "c#x", "d#y"]
            ),
            // Links to pages.
            (
                "<a href=a crossorigin><iframe src=b crossorigin></iframe><link rel=next href=c crossorigin>",
                []
            ),
        ] as [(String, [String])])
    func `links that a browser requests in CORS mode are marked`(html: String, references: [String]) {
        let scan = Scan(html)
        #expect(scan.faults == [])
        #expect(scan.found.filter { $0.kind.isCORS($0.flags) }.map(\.reference) == references)
    }

    @Test(
        "Links are found where a browser would find them, and nowhere else",
        arguments: [
            ("<noscript><img src=a></noscript>", ["a"]),
            ("<template shadowrootmode=open><img src=a></template>", ["a"]),
            ("<!--[if lt IE 9]><script src=a></script><![endif]--><img src=b>", ["a", "b"]),
            ("<!--[if !IE]><!--><img src=a><!--<![endif]-->", ["a"]),
            ("<!-- <img src=a> -->", []),
            ("<title><img src=a></title><img src=b>", ["b"]),
            ("<textarea><img src=a></textarea ><img src=b>", ["b"]),
            ("<style><img src=a></style><xmp><img src=c></xmp><img src=b>", ["b"]),
            ("<iframe src=f><img src=a></iframe><img src=b>", ["f", "b"]),
            ("<script><!--<script></script><img src=a>--></script><img src=b>", ["b"]),
            ("<script><!-- </script><img src=b>", ["b"]),
            ("<plaintext><img src=a>", []),
            ("<svg><style><a href=x></style></svg>", ["x"]),
            ("<svg><![CDATA[<a href=x>]]><image href=a /></svg><![CDATA[<a href=b>]]>", ["a"]),
            ("<svg><title><a href=x></title></svg>", ["x"]),
            (
                "<svg><style>a{fill:url(a)}</style><style><![CDATA[b{fill:url(b)}]]></style></svg>",
                ["a", "b"]
            ),
            ("<svg><p><style><img src=a></style>", []),
            ("<math><mi><svg></svg></mi><style><c href=a></style></math>", ["a"]),
            ("<a href=x><svg><path></a><script src=y></script>", ["x", "y"]),
            ("<svg><g></a><use href=x /></g></svg>", ["x"]),
            ("<math><annotation-xml encoding='TEXT/html'><style><a href=x></style>", []),
            ("<math><annotation-xml><style><a href=x></style>", ["x"]),
            ("<script type=x src=a></script><script></script>", ["a"]),
            ("<style type=x>a{b:url(b)}</style><style>a{b:url(c)}</style>", ["c"]),
            ("<img src=a/>", ["a/"]), ("<img src=>", []), ("<img src=''>", []), ("<img src=' a\n'>", ["a"]),
            ("<img src=data:,x><a href='javascript:x()'><a href=mailto:a@b>", ["mailto:a@b"]),
            ("<img srcset='a,b 1x, c 2x,d'>", ["a,b", "c", "d"]),
            ("<iframe srcdoc='<img src=&quot;a?b&amp;amp;c&quot;>'></iframe>", ["a?b&c"]),
            ("<iframe srcdoc=\"<iframe srcdoc='<img src=&amp;quot;a&amp;quot;>'>\">", ["a"]),
            (
                "<p style='background:url(a);color:red'><p style=\"background:url(&quot;b&quot;)\">",
                ["a", "b"]
            ),
            ("<input src=a><input type=IMAGE src=b>", ["b"]),
            (
                "<img data-src=true data-srcset='a 1x'><div data-bg=\"url('b')\"><div data-bg=c.png>",
                ["a", "b", "c.png"]
            ),
            ("<div data-bg='a.php?x=1&y=2'><div data-bg='url&#40;b)'>", ["a.php?x=1&y=2", "b"]),
            ("<a href='?copy=1&copy=2&amp=3&lt;'>", ["?copy=1&copy=2&amp=3<"]),
            (
                "<a href='&notit;&notin;&nGt;&#150;&#0;&copy'>",
                ["&notit;\u{2209}\u{226B}\u{20D2}\u{2013}\u{FFFD}\u{A9}"]
            ),
            ("<meta http-equiv=refresh content=\"3; URL='a b'\">", ["a b"]),
            ("<object data=a archive='b c' codebase=d></object>", ["a", "b", "c", "d"]),
            (
                "<meta property=og:image content=http://a/b><meta name=description content=http://a/c>",
                ["http://a/b"]
            ),
            ("<a href=a href=b>", ["a"]),
            (
                "<model-viewer src=a ios-src=b environment-image=c skybox-image='d' poster=e></model-viewer>",
                ["a", "b", "c", "d", "e"]
            ),
            ("<model src=a><model-viewer src=''>", []),
        ] as [(String, [String])])
    func places(_ html: String, _ references: [String]) {
        let scan = Scan(html)
        #expect(scan.references == references)
        #expect(scan.faults == [])
    }

    @Test(
        "The URL of a refresh is parsed as in the standard",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"))
    func refresh() {
        let cases = ConformanceData.cases("html/meta-refresh.json")
        #expect(cases.count == 69)
        for test in cases {
            let value = (test["input"]?.string ?? "").replacing("&", with: "&amp;").replacing(
                "\"", with: "&quot;")
            let scan = Scan("<meta http-equiv=refresh content=\"\(value)\">")
            let address = test["expected"]?[1]?.string
            let expected = address.map { $0 == "(document itself)" ? [] : [$0] } ?? []
            let found = scan.references.map { $0.filter { $0 != "\t" && $0 != "\n" && $0 != "\r" } }
            #expect(found == expected, "\(test["input"]?.string ?? "")")
            #expect(scan.faults == [])
        }
    }

    @Test(
        "The relation determines the kind of a link element",
        arguments: [
            ("rel=stylesheet", .style), ("rel='alternate stylesheet'", .style),
            ("rel='SHORTCUT ICON'", .icon),
            ("rel=preload as=font", .font), ("rel=preload as=fetch", .data), ("rel=preload", .preload),
            ("rel=modulepreload", .module), ("rel=dns-prefetch", .origin), ("rel=alternate", .alternate),
            ("rel='n&#101;xt'", .navigation), ("", .metadata), ("rel=nofollow", .metadata),
            ("rel=manifest", .manifest),
        ] as [(String, LinkKind)])
    func relations(_ attributes: String, _ kind: LinkKind) {
        #expect(Scan("<link \(attributes) href=x>").found.map(\.kind) == [kind])
    }

    @Test("The first base and the title are decoded")
    func base() {
        let scan = Scan("<title> a &amp;\n b </title><base target=x><base href=' /a&amp;b '><base href=c>")
        #expect(scan.table.base == "/a&b")
        #expect(scan.table.title == "a & b")
    }

    @Test(
        "Only references with their own origin have that flag",
        arguments: [
            ("http:a", true), ("//a", true), ("\\\\a", true), ("/\t/a", true), ("a:b", true), ("/a", false),
            ("a/b:c", false),
            ("?a:b", false), ("./a:b", false),
        ])
    func origins(_ reference: String, _ namesOrigin: Bool) {
        #expect(
            Scan("<a href='\(reference)'>").found.map { $0.flags.contains(.namesOrigin) } == [namesOrigin])
    }

    @Test("Conditional comments and lazy attributes are marked")
    func flags() {
        #expect(Scan("<!--[if IE]><img src=a><![endif]-->").found.first?.flags == .isConditional)
        #expect(Scan("<img data-src=a.png>").found.first?.flags == .isLazy)
        #expect(Scan("<a href=#x>").found.first?.flags == .isFragment)
    }

    @Test(arguments: [
        ("<a rel=nofollow href=x>", true), ("<a href=x rel='noopener UGC'>", true),
        ("<a rel=sponsored href=x>", true),
        ("<area rel=nofollow href=x>", true), ("<a rel=nofollowed href=x>", false), ("<a href=x>", false),
        ("<img rel=nofollow src=x>", false), ("<link rel='stylesheet nofollow' href=x>", false),
    ])
    func `links with rel=nofollow, ugc or sponsored are marked`(html: String, isMarked: Bool) {
        #expect(Scan(html).found.map { $0.flags.contains(.isNofollow) } == [isMarked])
    }

    @Test(arguments: [
        ("<meta name=robots content='noindex, nofollow'>", "noindex, nofollow"),
        ("<META NAME=Robots CONTENT=none><meta name=larder content=nofollow>", "none,nofollow"),
        ("<meta name=googlebot content=nofollow>", nil), ("<!--<meta name=robots content=none>-->", nil),
        ("<iframe srcdoc='<meta name=robots content=none>'></iframe>", nil), ("<meta name=robots>", nil),
        ("<!--[if IE]><meta name=robots content=none><![endif]-->", nil),
    ])
    func `robots directives of the head are in the link table`(html: String, expected: String?) {
        let scan = Scan(html)
        #expect(scan.table.robots == expected)
        #expect(scan.faults == [])
    }
}

@Suite struct SourceSetTests {
    struct Case: Sendable, CustomStringConvertible {
        var srcset: String
        var chosen: String
        var description: String { srcset.debugDescription }
    }

    private static func cases(_ name: String) -> [Case] {
        ConformanceData.cases("srcset/\(name).json").map {
            Case(srcset: $0["srcset"]?.string ?? "", chosen: $0["expect_url"]?.string ?? "")
        }
    }

    static func addresses(_ srcset: String) -> [String] {
        Array(srcset.utf8).withUnsafeBufferPointer { bytes in
            var found: [String] = []
            SourceSet.forEachURL(bytes) { found.append(String(decoding: bytes[$0], as: UTF8.self)) }
            return found
        }
    }

    /// The data contain the candidate that a browser chooses. The scanner finds all candidates, including that one.
    @Test(
        "The candidate that a browser chooses is found",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: cases("albell-srcset") + cases("wpt-srcset"))
    func conformance(_ test: Case) {
        let found = Self.addresses(test.srcset)
        #expect(test.chosen.isEmpty || found.contains(test.chosen), "\(found) \(test.chosen)")
        // Candidates with an unknown descriptor, which browsers reject, are found too.
        #expect(found.allSatisfy { test.srcset.contains($0) && !$0.isEmpty })
    }

    @Test(
        "The candidates of a srcset are split as in the standard",
        arguments: [
            ("a", ["a"]), (" a , b ", ["a", "b"]), ("a,b", ["a,b"]), ("a, b", ["a", "b"]),
            ("a,,b 1x,c", ["a,,b", "c"]),
            (",a 1x,, b 2x,", ["a", "b"]), ("a (x, y) 1x, b", ["a", "b"]), ("a 1x b, c", ["a", "c"]),
            ("a 9q, b", ["a", "b"]),
            ("data:,a 1x, data:image/png;base64,x= 2x", ["data:,a", "data:image/png;base64,x="]), (", ,", []),
            ("", []),
        ] as [(String, [String])])
    func candidates(_ srcset: String, _ addresses: [String]) {
        #expect(Self.addresses(srcset) == addresses)
    }
}
