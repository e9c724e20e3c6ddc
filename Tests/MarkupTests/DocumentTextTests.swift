import Testing

@testable import Markup

@Suite struct DocumentTextTests {
    @Test(arguments: [
        ("<title>T</title><p>One<b>two</b> <p>three", "Onetwo three"), ("a<br>b<div>c</div>d", "a b c d"),
        ("<script>x<y</script><style>s</style>a<noscript>n</noscript><template><p>t</template>b", "a b"),
        ("a &lt; b &amp;&nbsp; c&#x41;&eacute;", "a < b & cAé"), ("1 < 2 <3 </ > x", "1 < 2 <3 </ > x"),
        ("<a title=\"x > y\" href='>'>link</a>", "link"), ("a<!-- > <p>no -->b", "ab"), ("<p", ""), ("<", "<"),
        ("<script>never ends", ""), ("<a title=\"never ends>x", "x"), ("\u{0}a\n\t b", "\u{0}a b"), ("", ""),
    ])
    func `the text is what a person reads`(document: String, text: String) {
        #expect(DocumentText.read(Array(document.utf8).span, charset: nil, limit: 1000) == text)
    }

    @Test func `it is read in the document's encoding, and cut between characters`() {
        #expect(DocumentText.read([0xE9, 0x20, 0x3C, 0x62, 0x3E, 0xE8].span, charset: "latin1", limit: 9) == "é è")
        #expect(DocumentText.read(Array("aéé".utf8).span, charset: "utf-8", limit: 4) == "aé")
        #expect(DocumentText.read(Array("aéé".utf8).span, charset: "utf-8", limit: 3) == "aé")
    }
}
