import Markup
import TestOrigin
import Testing

@Suite struct OtherBodyTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var format: BodyFormat
        var body: String
        var links: [String]
        var testDescription: String { "\(format) \(body)" }

        init(_ format: BodyFormat, _ body: String, _ links: String...) {
            self.format = format
            self.body = body
            self.links = links
        }
    }

    private static func links(_ scan: Scan) -> [String] {
        scan.found.map { "\($0.kind.name) \($0.reference)" }
    }

    @Test(
        "The links of JSON documents are those of their standards",
        arguments: [
            Case(
                .webManifest,
                #"{"start_url":"/?a","scope":"/","icons":[{"src":"a.png"},{"src":"b\u002epng","sizes":"1x1"}]}"#,
                "page /?a", "name /", "icon a.png", "icon b.png"),
            Case(
                .webManifest,
                #"{"shortcuts":[{"icons":[{"src":"i.png"}],"url":"/s"}],"screenshots":[{"src":"s.png"}],"id":"x"}"#,
                "icon i.png", "page /s", "image s.png", "name x"),
            Case(
                .webManifest,
                #"{"share_target":{"action":"/share","method":"POST"},"file_handlers":[{"action":"/open"}]}"#,
                "submission /share", "page /open"),
            Case(.webManifest, #"{"icons":[{"src":"a.png"}"#),
            Case(.webManifest, #"{"icons":{"src":1},"start_url":null}"#),
            Case(.webManifest, "\u{FEFF}{\"start_url\" : \" a.html \"}", "page a.html"),
            Case(
                .importMap, #"{"imports":{"a":"./a.js","b/":"/b/","./c.js":"https://x/c.js","d":"bare"}}"#,
                "module ./a.js", "name /b/", "name ./c.js", "module https://x/c.js"),
            Case(
                .importMap, #"{"scopes":{"/s/":{"a":"/s/a.js"}},"integrity":{"/s/a.js":"sha384-x"}}"#,
                "name /s/", "module /s/a.js", "name /s/a.js"),
            Case(
                .speculationRules,
                #"{"prerender":[{"urls":["a.html","/b"]},{"where":{"href_matches":"/*"}}],"prefetch":[]}"#,
                "speculation a.html", "speculation /b"),
            Case(
                .jsonLD,
                #"{"@context":"https://schema.org","@type":"A","url":"https://x/","image":["https://x/a.png","b"]}"#,
                "name https://schema.org", "metadata https://x/", "metadata https://x/a.png"),
            Case(.json, #"{"name":"x","icons":[{"src":"a.png"}]}"#, "icon a.png"),
            Case(.json, #"{"imports":{"a":"/a.js"}}"#, "module /a.js"),
            Case(.json, #"{"url":"https://x/a.png"}"#),
            Case(.json, #"["icons"]"#), Case(.json, "{\"icons\":"),
        ])
    func json(_ example: Case) {
        check(example)
    }

    @Test(
        "The links of XML documents are those of their vocabularies",
        arguments: [
            Case(
                .sitemap,
                "<urlset><url><loc> http://x/?a&amp;b\n</loc><lastmod>1</lastmod></url><url><loc><![CDATA[http://x/c?d&e]]></loc></url></urlset>",
                "sitemap entry http://x/?a&b", "sitemap entry http://x/c?d&e"),
            Case(
                .sitemap,
                "<s:sitemapindex><s:sitemap><s:loc>/a</s:loc></s:sitemap><s:sitemap>\n/b\n</s:sitemap></s:sitemapindex>",
                "sitemap entry /a", "sitemap entry /b"),
            Case(
                .sitemap,
                "<urlset><url><loc>/a</loc><image:image><image:loc>/i</image:loc><image:license>/l</image:license></image:image><xhtml:link href='/d'/><video:video><video:content_loc>/v</video:content_loc></video:video></url></urlset>",
                "sitemap entry /a", "image /i", "about /l", "alternate /d", "media /v"),
            Case(
                .sitemap, "\u{FEFF}http://x/a\r\nhttp://x/b\n\nnothing\nhttps://x/c",
                "sitemap entry http://x/a",
                "sitemap entry http://x/b", "sitemap entry https://x/c"),
            Case(
                .feed,
                "<rss><channel><link>http://x/</link><atom:link rel='self' href='f'/><image><url>i</url><link>http://x/</link></image><item><link>a</link><guid>http://x/a</guid><enclosure url='e.mp3'/><comments>http://x/c</comments></item></channel></rss>",
                "page http://x/", "canonical f", "image i", "page http://x/", "feed entry a",
                "feed entry http://x/a",
                "enclosure e.mp3", "page http://x/c"),
            Case(
                .feed,
                "<rss><channel><item><guid isPermaLink='false'>http://x/1</guid><description>&lt;img src=\"a&amp;amp;b\"&gt;</description><content:encoded><![CDATA[<a href=\"c\">]]></content:encoded></item></channel></rss>",
                "feed entry http://x/1", "image a&b", "page c"),
            Case(
                .feed,
                "<feed xml:base='http://x/y/'><link href='.'/><link rel=\"next\" href=\"2\"/><id>i</id><entry><link href='e'/><link rel='enclosure' href='f'/><content type='html'>&lt;img src=g></content><content type='text'>&lt;img src=h></content></entry></feed>",
                "base http://x/y/", "page .", "navigation 2", "name i", "feed entry e", "enclosure f",
                "image g"),
            Case(
                .dash,
                "<MPD><BaseURL>http://x/</BaseURL><Period><AdaptationSet><SegmentTemplate media='$Number$.m4s' initialization='i.mp4'/><Representation><BaseURL>v.mp4</BaseURL></Representation><Representation><SegmentList><Initialization sourceURL='j'/><SegmentURL media='s1'/></SegmentList></Representation></AdaptationSet></Period></MPD>",
                "base http://x/", "media i.mp4", "media v.mp4", "media j", "media s1"),
            Case(
                .dash,
                "<MPD><Period><BaseURL>p/</BaseURL><SegmentURL media='a'/><SegmentURL media='/b'/></Period><Period><SegmentURL media='c'/></Period></MPD>",
                "codebase p/", "media /b", "media c"),
            Case(
                .svg,
                "<?xml version='1.0'?><?xml-stylesheet type='text/css' href='a.css'?><!DOCTYPE svg><svg xmlns='x' xmlns:xlink='y'><image xlink:href='b.png'/><use href='c.svg#d'/><style><![CDATA[a{b:url(e.png)}]]></style><a href='f&amp;g'/><rect style='fill:url(h.svg#i)'/><script href='j.js'/></svg>",
                "style a.css", "image b.png", "drawing c.svg#d", "image e.png", "page f&g", "image h.svg#i",
                "script j.js"),
            // Elements of XHTML, with any prefix, at any position.
            Case(
                .svg,
                "<svg xmlns='http://www.w3.org/2000/svg'><h:meta xmlns:h='http://www.w3.org/1999/xhtml' http-equiv='refresh' content='0;url=a'/><meta/></svg>",
                "refresh a"),
            Case(
                .xhtml,
                "<?xml-stylesheet href='a.css'?><html><body><img src='b'/><script><![CDATA[import('./c.js')]]></script></body></html>",
                "style a.css", "image b", "module ./c.js"),
            Case(
                .xml,
                "<?xml-stylesheet type='text/xsl' href='a.xsl'?><r><?xml-stylesheet href='no'?><b xlink:href='c'/></r>",
                "transform a.xsl", "citation c"),
            Case(.xml, "<xsl:stylesheet><xsl:import href='a.xsl'/></xsl:stylesheet>", "transform a.xsl"),
            Case(
                .xml, "<tile><square150x150logo src='/a.png'/><TileImage src='b.png'/></tile>", "icon /a.png",
                "icon b.png"),
            Case(
                .xml,
                "<OpenSearchDescription><Image>a.ico</Image><Url template='http://x/?q={searchTerms}'/></OpenSearchDescription>",
                "sharing a.ico", "submission http://x/?q={searchTerms}"),
            Case(.feed, "<rss><link>a<link>b", "page b"), Case(.feed, "<"),
            Case(.feed, "<rss><a href='x", "page x"),
            Case(.feed, "<rss><link>a", "page a"),
            Case(.feed, "<rss><!-- <link>a</link> --><link>b</link>", "page b"),
            Case(.feed, "<rss><link>a</b></rss>", "page a"),
            Case(.feed, "<rss><item><b><br></item><link>a</link>", "page a"),
            Case(
                .sitemap, "<!DOCTYPE a [<!ENTITY b '<loc>c</loc>'>]><urlset><loc>d</loc>", "sitemap entry d"),
        ])
    func xml(_ example: Case) {
        check(example)
    }

    @Test(
        "The links of playlists and captions are found",
        arguments: [
            Case(
                .hls,
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a,b\"\nlow?x\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a,b.m3u8\",NAME=\"URI=no\"\n",
                "playlist low?x", "playlist a,b.m3u8"),
            Case(
                .hls,
                "#EXTM3U\r\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1\r\n#EXT-X-MAP:URI=\"i.mp4\"\r\n#EXTINF:9,title\r\ns1.ts\r\n# comment\r\n sub/s2.ts \r\n",
                "data k", "media i.mp4", "media s1.ts", "media sub/s2.ts"),
            Case(
                .hls, "#EXTM3U\n{$base}/a.ts\n#EXT-X-KEY:URI=\"{$k}\"\n#EXT-X-KEY:URI=\"open\n", "data open"),
            Case(
                .webVTT, "WEBVTT\n\nSTYLE\n::cue{background:url(a.png)}\n\n00:00 --> 00:01\nurl(b.png)\n",
                "image a.png"
            ),
            Case(.webVTT, "WEBVTT\n\nSTYLE", ""),
        ])
    func lines(_ example: Case) {
        check(example)
    }

    private func check(_ example: Case) {
        let scan = Scan(example.body, example.format)
        #expect(Self.links(scan) == example.links.filter { !$0.isEmpty })
        #expect(scan.faults == [])
    }

    @Test("A URL in several pieces of text is implied")
    func implied() {
        let feed = Scan("<rss><item><link>http://x/<![CDATA[a?b&c]]></link></item></rss>", .feed)
        #expect(feed.table.implied == [ImpliedLink("http://x/a?b&c", .feedEntry)])
        let media = Scan(
            "<MPD><Period><BaseURL>p/</BaseURL><Period><BaseURL>q/</BaseURL><SegmentURL media='a'/></Period></Period></MPD>",
            .dash)
        #expect(media.table.implied == [ImpliedLink("p/q/a", .media)])
        #expect(feed.faults + media.faults == [])
    }

    @Test("The base of a feed or DASH presentation is that of its root element")
    func base() {
        #expect(Scan("<feed xml:base='http://x/&amp;'/>", .feed).table.base == "http://x/&")
        #expect(
            Scan("<MPD><BaseURL>http://x/</BaseURL><BaseURL>http://y/</BaseURL></MPD>", .dash).table.base
                == "http://x/"
        )
    }

    @Test(
        "Links in the inline JSON of a page are found",
        arguments: [
            Case(.html, #"<script type=importmap>{"imports":{"a":"\u002fa.js"}}</script>"#, "module /a.js"),
            Case(
                .html, #"<script type="speculationrules">{"prefetch":[{"urls":["/a"]}]}</script>"#,
                "speculation /a"),
            Case(
                .html, #"<script type="application/ld+json">{"url":"https://x/a"}</script>"#,
                "metadata https://x/a"),
        ])
    func inline(_ example: Case) {
        check(example)
    }
}

/// Sitemaps and feeds of crawler-commons' tests: namespaces that are wrong, missing or renamed, byte
/// order marks, plain lists.
@Suite struct SitemapConformanceTests {
    struct File: Sendable, CustomTestStringConvertible {
        var name: String
        var format: BodyFormat
        /// The expected number of links of each kind.
        var counts: [LinkKind: Int]
        var testDescription: String { name }
    }

    static let files: [File] = [
        File(
            name: "atom.xml", format: .feed,
            counts: [.canonical: 1, .feedEntry: 2, .name: 2, .page: 1, .ping: 1]),
        File(name: "feed.rss", format: .feed, counts: [.feedEntry: 3, .name: 1, .page: 1]),
        File(name: "xmlRss_pubDate.xml", format: .feed, counts: [.feedEntry: 7, .page: 1]),
        File(name: "sitemap.badns.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap.ns.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap.index.xml", format: .sitemap, counts: [.sitemapEntry: 15]),
        File(name: "sitemap.txt", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap-with-bom.txt", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(
            name: "extension/hebdenbridgetimes-articles-sitemap.xml", format: .sitemap,
            counts: [.sitemapEntry: 74, .image: 100, .frame: 6]),
        File(name: "extension/pagemaps-sitemap.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "extension/shinpaideshou-news-sitemap.xml", format: .sitemap, counts: [.sitemapEntry: 3]),
        File(
            name: "extension/sitemap-images.xml", format: .sitemap,
            counts: [.sitemapEntry: 1, .image: 2, .about: 1]),
        File(
            name: "extension/sitemap-links.xml", format: .sitemap, counts: [.sitemapEntry: 3, .alternate: 9]),
        File(name: "extension/sitemap-mobile.xml", format: .sitemap, counts: [.sitemapEntry: 3]),
        File(name: "extension/sitemap-news.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(
            name: "extension/sitemap-videos-tvshow.xml", format: .sitemap,
            counts: [.sitemapEntry: 1, .image: 1, .media: 1, .frame: 1]),
        File(
            name: "extension/sitemap-videos.xml", format: .sitemap,
            counts: [.sitemapEntry: 3, .image: 3, .media: 3, .frame: 1]),
    ]

    @Test(
        "Each file's links are found",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: files)
    func file(_ file: File) {
        let scan = Scan(ConformanceData.bytes("sitemaps/" + file.name), file.format)
        #expect(Dictionary(grouping: scan.found, by: \.kind).mapValues(\.count) == file.counts)
        #expect(scan.faults == [])
        // All URLs in the files are absolute.
        #expect(scan.found.allSatisfy { $0.flags.contains(.namesOrigin) || $0.kind == .name })
    }
}

/// Other bodies that try to slow down or break a scanner. The checks of ``Scan`` must pass for each of them.
@Suite struct HostileOtherBodyTests {
    static let formats: [BodyFormat] = [
        .svg, .xml, .sitemap, .feed, .dash, .hls, .webVTT, .json, .webManifest, .importMap, .speculationRules,
        .jsonLD,
    ]

    static let pieces = [
        "<", ">", "<a ", "<a>", "</a>", "<a/>", "<a b='", "<a b=c ", "<!--", "-->", "<![CDATA[", "]]>",
        "<!DOCTYPE ",
        "[", "]", "<?",
        "<?xml-stylesheet href='a'?>", "&amp;", "&", "<link>a", "<link>a</link>",
        "<link>a<![CDATA[b]]></link>",
        "<loc>", "<BaseURL>a/",
        "<BaseURL>a/</BaseURL>", "<SegmentURL media='a'/>", "<Period>", "<description>&lt;a href=b>", "{",
        "{\"a\":",
        "\"", "\\", "\n",
        "STYLE\n", "url(a)", "#EXT-X-KEY:", "URI=\"a\",", "=", ",", "a\n", "{\"icons\":[",
        "{\"imports\":{\"a\":\"/\",",
        "\u{FEFF}", "\0",
    ]

    @Test("The cost is linear in the body", arguments: formats)
    func linear(_ format: BodyFormat) {
        let starts = ["", "<rss><item>", "#EXTM3U\n#EXT-X-KEY:", "WEBVTT\n\nSTYLE\n", "{\"icons\":["]
        for piece in Self.pieces {
            for start in starts {
                let isLinear = Cost.isLinear(upTo: 6_000) { size in
                    let text = String(repeating: piece, count: size / piece.utf8.count)
                    #expect(Scan(start + text, format).faults == [], "\(start)\(piece)")
                }
                #expect(isLinear, "\(start)\(piece)")
            }
        }
    }

    static let documents = [
        "<?xml-stylesheet href='a.css'?><rss xml:base='b/'><channel><item><link>c&amp;d</link><guid>e</guid><enclosure url=\"f\"/></item>",
        "<feed><entry><link rel='enclosure' href='g'/><content type='html'>&lt;img src='h&amp;amp;i'></content></entry></feed>",
        "<urlset><url><loc>http://a/&#98;</loc><image:image><image:loc><![CDATA[c]]></image:loc></image:image></url></urlset>",
        "<MPD><BaseURL>a</BaseURL><Period><BaseURL>b/</BaseURL><SegmentTemplate media='$c$' initialization='d'/></Period></MPD>",
        "<svg><image xlink:href='a'/><style><![CDATA[b{c:url(d)}]]></style><script>import('./e')</script></svg>",
        #"{"icons":[{"src":"a"}],"start_url":"\/b","imports":{"c":"./d"},"prefetch":[{"urls":["e"]}],"@id":"https://f/"}"#,
        "#EXTM3U\n#EXT-X-MEDIA:URI=\"a,b\",NAME=\"c\"\n#EXT-X-STREAM-INF:A=1\nd\ne.ts\n",
        "WEBVTT\n\nSTYLE\na{b:url(c)}\n\nd",
    ]

    @Test("The invariants hold for randomly changed documents", arguments: formats)
    func mutations(_ format: BodyFormat) {
        var dice = MutationTests.Dice(state: UInt64(format.rawValue))
        let scanner = LinkScanner()
        for document in Self.documents {
            for _ in 0..<10 {
                var body = Array(document.utf8)
                for _ in 0..<10 {
                    let piece = Array(Self.pieces[dice.roll(Self.pieces.count)].utf8)
                    body.insert(contentsOf: piece, at: dice.roll(body.count + 1))
                    body = MutationTests.mutated(body, &dice)
                    #expect(Scan(body, format, scanner: scanner).faults == [], "\(body)")
                }
            }
        }
    }
}
