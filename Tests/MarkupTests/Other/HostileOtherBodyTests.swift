import Markup
import Testing

/// Other bodies made to be slow or to break something. The properties of ``Scan`` hold for each of them.
@Suite struct HostileOtherBodyTests {
    static let formats: [BodyFormat] = [
        .svg, .xml, .sitemap, .feed, .dash, .hls, .webVTT, .json, .webManifest, .importMap, .speculationRules, .jsonLD,
    ]

    static let pieces = [
        "<", ">", "<a ", "<a>", "</a>", "<a/>", "<a b='", "<a b=c ", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE ",
        "[", "]", "<?",
        "<?xml-stylesheet href='a'?>", "&amp;", "&", "<link>a", "<link>a</link>", "<link>a<![CDATA[b]]></link>",
        "<loc>", "<BaseURL>a/",
        "<BaseURL>a/</BaseURL>", "<SegmentURL media='a'/>", "<Period>", "<description>&lt;a href=b>", "{", "{\"a\":",
        "\"", "\\", "\n",
        "STYLE\n", "url(a)", "#EXT-X-KEY:", "URI=\"a\",", "=", ",", "a\n", "{\"icons\":[", "{\"imports\":{\"a\":\"/\",",
        "\u{FEFF}", "\0",
    ]

    @Test("The cost is linear in the body", .timeLimit(.minutes(1)), arguments: formats)
    func linear(_ format: BodyFormat) {
        let starts = ["", "<rss><item>", "#EXTM3U\n#EXT-X-KEY:", "WEBVTT\n\nSTYLE\n", "{\"icons\":["]
        for piece in Self.pieces {
            let text = String(repeating: piece, count: 6_000 / piece.utf8.count)
            for start in starts { #expect(Scan(start + text, format).faults == [], "\(start)\(piece)") }
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

    @Test("No change to a document breaks what holds for all", .timeLimit(.minutes(1)), arguments: formats)
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
