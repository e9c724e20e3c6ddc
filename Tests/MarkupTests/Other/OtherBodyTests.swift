import Markup
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
        "JSON documents name what their standards say",
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
            Case(.json, #"{"imports":{"a":"/a.js"}}"#, "module /a.js"), Case(.json, #"{"url":"https://x/a.png"}"#),
            Case(.json, #"["icons"]"#), Case(.json, "{\"icons\":"),
        ])
    func json(_ example: Case) {
        check(example)
    }

    @Test(
        "XML documents name what their vocabularies say",
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
                .sitemap, "\u{FEFF}http://x/a\r\nhttp://x/b\n\nnothing\nhttps://x/c", "sitemap entry http://x/a",
                "sitemap entry http://x/b", "sitemap entry https://x/c"),
            Case(
                .feed,
                "<rss><channel><link>http://x/</link><atom:link rel='self' href='f'/><image><url>i</url><link>http://x/</link></image><item><link>a</link><guid>http://x/a</guid><enclosure url='e.mp3'/><comments>http://x/c</comments></item></channel></rss>",
                "page http://x/", "canonical f", "image i", "page http://x/", "feed entry a", "feed entry http://x/a",
                "enclosure e.mp3", "page http://x/c"),
            Case(
                .feed,
                "<rss><channel><item><guid isPermaLink='false'>http://x/1</guid><description>&lt;img src=\"a&amp;amp;b\"&gt;</description><content:encoded><![CDATA[<a href=\"c\">]]></content:encoded></item></channel></rss>",
                "feed entry http://x/1", "image a&b", "page c"),
            Case(
                .feed,
                "<feed xml:base='http://x/y/'><link href='.'/><link rel=\"next\" href=\"2\"/><id>i</id><entry><link href='e'/><link rel='enclosure' href='f'/><content type='html'>&lt;img src=g></content><content type='text'>&lt;img src=h></content></entry></feed>",
                "base http://x/y/", "page .", "navigation 2", "name i", "feed entry e", "enclosure f", "image g"),
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
            Case(.feed, "<rss><link>a<link>b", "page b"), Case(.feed, "<"), Case(.feed, "<rss><a href='x", "page x"),
            Case(.feed, "<rss><link>a", "page a"),
            Case(.feed, "<rss><!-- <link>a</link> --><link>b</link>", "page b"),
            Case(.feed, "<rss><link>a</b></rss>", "page a"),
            Case(.feed, "<rss><item><b><br></item><link>a</link>", "page a"),
            Case(.sitemap, "<!DOCTYPE a [<!ENTITY b '<loc>c</loc>'>]><urlset><loc>d</loc>", "sitemap entry d"),
        ])
    func xml(_ example: Case) {
        check(example)
    }

    @Test(
        "Playlists and captions name their media",
        arguments: [
            Case(
                .hls,
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a,b\"\nlow?x\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a,b.m3u8\",NAME=\"URI=no\"\n",
                "playlist low?x", "playlist a,b.m3u8"),
            Case(
                .hls,
                "#EXTM3U\r\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1\r\n#EXT-X-MAP:URI=\"i.mp4\"\r\n#EXTINF:9,title\r\ns1.ts\r\n# comment\r\n sub/s2.ts \r\n",
                "data k", "media i.mp4", "media s1.ts", "media sub/s2.ts"),
            Case(.hls, "#EXTM3U\n{$base}/a.ts\n#EXT-X-KEY:URI=\"{$k}\"\n#EXT-X-KEY:URI=\"open\n", "data open"),
            Case(
                .webVTT, "WEBVTT\n\nSTYLE\n::cue{background:url(a.png)}\n\n00:00 --> 00:01\nurl(b.png)\n", "image a.png"
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

    @Test("What stands in several pieces is implied")
    func implied() {
        let feed = Scan("<rss><item><link>http://x/<![CDATA[a?b&c]]></link></item></rss>", .feed)
        #expect(feed.table.implied == [ImpliedLink("http://x/a?b&c", .feedEntry)])
        let media = Scan(
            "<MPD><Period><BaseURL>p/</BaseURL><Period><BaseURL>q/</BaseURL><SegmentURL media='a'/></Period></Period></MPD>",
            .dash)
        #expect(media.table.implied == [ImpliedLink("p/q/a", .media)])
        #expect(feed.faults + media.faults == [])
    }

    @Test("The base of a feed or of a presentation is that of its root")
    func base() {
        #expect(Scan("<feed xml:base='http://x/&amp;'/>", .feed).table.base == "http://x/&")
        #expect(
            Scan("<MPD><BaseURL>http://x/</BaseURL><BaseURL>http://y/</BaseURL></MPD>", .dash).table.base == "http://x/"
        )
    }

    @Test(
        "Inline JSON of a page is read where it stands",
        arguments: [
            Case(.html, #"<script type=importmap>{"imports":{"a":"\u002fa.js"}}</script>"#, "module /a.js"),
            Case(.html, #"<script type="speculationrules">{"prefetch":[{"urls":["/a"]}]}</script>"#, "speculation /a"),
            Case(.html, #"<script type="application/ld+json">{"url":"https://x/a"}</script>"#, "metadata https://x/a"),
        ])
    func inline(_ example: Case) {
        check(example)
    }
}
