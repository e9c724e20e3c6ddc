import Testing
import Web

@testable import Markup

@Suite struct DocumentTextTests {
    private static func html(_ text: String) -> DocumentText {
        DocumentText(Array(text.utf8).span, form: "html;utf-8")
    }

    private static func bodyText(_ document: DocumentText) -> String {
        String(decoding: document.body, as: UTF8.self)
    }

    /// libxml2 alone would compare each attribute with all before it.
    @Test(arguments: ["a%", "a%=x", "a%='>'", "a%=\"/\"/"])
    func `a tag with very many attributes is read in linear time`(attribute: String) {
        let isLinear = Cost.isLinear(upTo: 200_000) { count in
            let many = (0..<count).map { attribute.replacing("%", with: "\($0)") }.joined(separator: " ")
            let document = Self.html("<p>before<p id=here \(many)>within<p title='a < b' class=x>after")
            #expect(Self.bodyText(document) == "before\nwithin\nafter\n")
        }
        #expect(isLinear)
    }

    @Test func `title, language, description and blocks are extracted`() {
        let document = Self.html(
            """
            <!doctype html><html lang=de><head><title>Ein &amp; Titel</title><meta name=Description content="Worum es geht">
            <style>p{}</style><script>var hidden = "script"</script></head>
            <body><p>Ein <b>Satz</b> hier.<p>Noch<br>einer<ul><li>eins<li>zwei</ul><table><tr><td>a<td>b</table>
            <img src=x alt="ein Bild"><p hidden>fort</p><div style="display: none">fort</div><noscript>fort</noscript></body>
            """)
        #expect(document.title == "Ein & Titel")
        #expect(document.language == "de")
        #expect(document.description == "Worum es geht")
        #expect(Self.bodyText(document) == "Ein Satz hier.\nNoch einer\neins\nzwei\na\nb\nein Bild\n")
        #expect(document.aside.isEmpty)
    }

    @Test func `navigation, header and footer are separate from the main text`() {
        let document = Self.html(
            """
            <header>Logo</header><nav>Menu</nav><div class="sphinxsidebar x">Side</div><main><header>Own</header>Text</main>
            <div role=navigation>More</div><footer>Foot</footer>
            """)
        #expect(Self.bodyText(document) == "Own\nText\n")
        #expect(String(decoding: document.aside, as: UTF8.self) == "Logo\nMenu\nSide\nMore\nFoot\n")
    }

    @Test(arguments: [
        ("<h1>A</h1>x<h2 id=b>B</h2>y", [("", "A"), ("b", "B")]),
        ("<section id=s><h2>Sec<a class=headerlink href=#s>¶</a></h2>t</section>", [("s", "Sec")]),
        ("<a name=old></a><h3>Old</h3>", [("old", "Old")]),
        ("<h3><a name=in>In</a></h3>", [("in", "In")]),
        ("<form><input id=query><button id=go></button></form><h1>Next</h1>", [("", "Next")]),
        ("<dl><dt id=os.path>os.path<dd>x<dt>no</dl>", [("os.path", "os.path")]),
        ("<h2 id=open>Open<p>text that is no heading", [("open", "Open")]),
    ])
    func `headings become sections with their anchors`(text: String, sections: [(String, String)]) {
        let found = Self.html(text)
        #expect(found.sections.map(\.anchor) == sections.map(\.0))
        #expect(found.sections.map(\.title) == sections.map(\.1))
        for section in found.sections {
            #expect(found.body[section.start...].starts(with: section.title.utf8.prefix(2)))
        }
    }

    @Test func `text is extracted from other encodings, Markdown, feeds and plain text`() {
        #expect(
            Self.bodyText(DocumentText([0x63, 0x61, 0x66, 0xE9].span, form: "html;windows-1252")) == "café\n")
        let markdown = DocumentText(
            markdown: Array("# Title\n\nSome *text* and [a link](http://x/).\n\n## Next Part\nmore".utf8).span
        )
        #expect(markdown.title == "Title")
        #expect(markdown.sections.map(\.anchor) == ["title", "next-part"])
        #expect(Self.bodyText(markdown) == "Title\nSome text and a link.\nNext Part\nmore\n")
        let feed = DocumentText(
            Array(
                """
                <rss><channel><title>Feed</title><item><title>One</title><description>&lt;p&gt;Said &amp;amp; done&lt;/p&gt;</description></item>
                <item><title><![CDATA[Two]]></title></item></channel></rss>
                """.utf8
            ).span, form: "feed;utf-8")
        #expect(feed.title == "Feed")
        #expect(Self.bodyText(feed) == "One\nSaid & done\nTwo\n")
        #expect(
            DocumentText(Array("First line\n\nsecond".utf8).span, form: "plainText;utf-8").title
                == "First line")
        #expect(DocumentText(Array("{}".utf8).span, form: "json;utf-8").isEmpty)
    }

    @Test func `a body is decoded by its own encoding, and an excerpt is cut between characters`() {
        let latin = DocumentText(html: [0xE9, 0x20, 0x3C, 0x62, 0x3E, 0xE8].span, charset: "latin1")
        #expect(Self.bodyText(latin) == "é è\n")
        #expect(Self.html("aéé").beginning(atMost: 3) == "aé")
        #expect(Self.html("aéé").beginning(atMost: 2) == "a")
    }

    @Test func `hostile documents are read quickly and up to the limits`() {
        let nested = Self.html(String(repeating: "<div>", count: 1_000_000) + "deep")
        #expect(nested.body.count <= DocumentText.maxTextBytes)
        let word = Self.html("<p>" + String(repeating: "w", count: 20_000_000))
        #expect(word.body.count <= DocumentText.maxTextBytes + 2048)
        let bytes: [UInt8] = Array("<p>a\u{0}b<p>".utf8) + [0xFF, 0xC3, 0x28, 0x00] + Array("<p>end".utf8)
        #expect(Self.bodyText(DocumentText(bytes.span, form: "html;utf-8")).contains("end"))
        let sections = Self.html(String(repeating: "<h1>x", count: 50_000))
        #expect(sections.sections.count <= DocumentText.maxSections)
    }
}
