import Testing

@testable import Crawl

@Suite struct ContentPrintTests {
    private static let words = (0..<200).map { "word\($0)" }

    private static func page(_ words: [String], link: String = "/a", extra: String = "") -> ContentPrint {
        let text = "<!doctype html><p><a href=\"\(link)\">\(words.joined(separator: " "))</a>\(extra)"
        return ContentPrint(text: Array(text.utf8).span)
    }

    @Test func `links, scripts and styles are not part of the text`() {
        let page = Self.page(Self.words)
        #expect(page.digest == Self.page(Self.words, link: "/b?session=123").digest)
        #expect(
            page.digest
                == Self.page(Self.words, extra: "<script>nonce('x<y')</script><STYLE>a{}</style >").digest)
        #expect(page.digest != Self.page(Self.words, extra: "more").digest)
    }

    @Test func `pages that differ in a few words are alike, in many are not`() {
        let page = Self.page(Self.words)
        var near = Self.words
        near[100] = "other"
        var far = Self.words
        for index in stride(from: 0, to: 200, by: 4) { far[index] = "other\(index)" }
        #expect(page.isAlike(Self.page(near), differingBits: 6, differingSize: 0.1))
        #expect(!page.isAlike(Self.page(far), differingBits: 6, differingSize: 0.1))
        #expect(!page.isAlike(Self.page(Self.words + Self.words), differingBits: 64, differingSize: 0.1))
    }

    @Test func `pages without words are compared by their bytes`() {
        let (one, two) = (Self.page([], link: "/a"), Self.page([], link: "/b"))
        #expect(one.words == nil)
        #expect(one.digest != two.digest)
        #expect(one == Self.page([], link: "/a"))
    }

    @Test(arguments: [
        "", "<", "<script", "<script>", "<script><", "<script></", "<script></scriptx>", "<!--",
        "\u{0}<\u{0}>",
        "<<<<>>>>",
        "</script>", "<style></STYLE",
    ])
    func `broken markup is read completely`(text: String) {
        let body = Array((text + String(repeating: " word", count: 20) + text).utf8)
        #expect(ContentPrint(text: body.span).byteCount == body.count)
    }

    @Test func `a fingerprint counts every bit, however many words there are`() {
        var counter = SimHash.Counter()
        for _ in 0..<700 { counter.add(0xF0F0_0000_0000_0001) }
        for _ in 0..<300 { counter.add(0x0F0F_FFFF_FFFF_FFFE) }
        #expect(counter.finish() == SimHash(bits: 0xF0F0_0000_0000_0001))
        #expect(SimHash(bits: 0b1011).distance(to: SimHash(bits: 0b0110)) == 3)
    }
}
