import Markup
import Testing
import Web

/// The files of a Pagefind search, and files in scripts with JSON.
@Suite struct PagefindTests {
    /// The list of files that Pagefind 1.5.2 writes, with two pages, one part of the index, and one filter.
    private static let packed =
        "H4sIAAAAAAACAytITE9Ny8xLiU9JTmlLNdQz1TNqaspKzYtPTDExNk625AVzjIxNUo2SjCVONDYnJqaUZ5ZkgETN01KTks1TGptSsoEmgESMLUyMTQyTGxpTSzJLclIBZXiuUl0AAAA="
    private static let unpacked =
        "cGFnZWZpbmRfZGNkhmUxLjUuMoKCamVuX2FkNDMzYzkNgmplbl8yMzRlMmIzGMiBg2FhZHdpdGhqZW5fN2ZlYmM3ZIGCZGtpbmRqZW5fMzg0MzQxY4CBZXRpdGxl"
    private static let files = [
        "fragment/en_ad433c9.pf_fragment", "fragment/en_234e2b3.pf_fragment", "index/en_7febc7d.pf_index",
        "filter/en_384341c.pf_filter",
    ]

    @Test("The list of files is parsed, compressed or not", arguments: [packed, unpacked])
    func list(text: String) throws {
        let bytes = try #require(Base64.decode(text))
        let url = try #require(WebURL("https://a.test/pagefind/pagefind.en_bdc393f091.pf_meta"))
        let type = MediaType("application/octet-stream")
        let reading = LinkScanner().read(bytes.span, of: url, as: type)
        #expect(reading.form == "pagefindIndex;UTF-8")
        #expect(reading.table.implied.map(\.reference) == Self.files)
    }

    @Test("A truncated or damaged list is harmless")
    func hostile() throws {
        let bytes = try #require(Base64.decode(Self.unpacked))
        for count in bytes.indices {
            #expect(Scan(Array(bytes[..<count]), .pagefindIndex).faults.isEmpty)
            var changed = bytes
            changed[count] ^= 0xFF
            #expect(Scan(changed, .pagefindIndex).faults.isEmpty)
        }
        let mark = Array("pagefind_dcd".utf8)
        // Deeply nested arrays, an array that is longer than the file, and many numbers.
        for head: [UInt8] in [[0x81], [0x9A, 0xFF, 0xFF, 0xFF, 0xFF], [0x9A, 0, 0x98, 0x96, 0x80, 0]] {
            let zeros = [UInt8](repeating: head.count == 1 ? 0x81 : 0, count: 10_000_000)
            #expect(Scan(mark + head + zeros, .pagefindIndex).table.implied.isEmpty)
        }
    }

    @Test("The entry names the lists of all languages")
    func entry() {
        let text =
            #"{"version":"1.5.2","languages":{"en":{"hash":"en_bdc3","wasm":"en","page_count":30},"x":{"hash":"../x","wasm":null,"page_count":1}}}"#
        #expect(
            Scan(text, .json).table.implied.map(\.reference) == [
                "wasm.unknown.pagefind", "pagefind.en_bdc3.pf_meta", "wasm.en.pagefind",
            ])
    }

    @Test("The files that scripts name are implied beside the script and in /pagefind/")
    func scripts() {
        let interface = Scan("Q=await import(`${r}pagefind.js`)", .javaScript).table.implied
        #expect(interface.map(\.reference) == ["pagefind.js", "/pagefind/pagefind.js"])
        let search = Scan("let u=`${this.basePath}pagefind-entry.json`", .javaScript).table.implied
        #expect(search.map(\.reference) == ["pagefind-entry.json"])
        #expect((interface + search).allSatisfy { $0.flags.contains(.isGuess) })
    }

    @Test("Paths of files in a script with JSON are guesses")
    func json() {
        let text = #"""
            <script type="application/json">{"pictures":["/a/b.jpg","\/c.webp","https://x.test/d.png","//x/e.png"],
            "data":"./rows.json","page":"/next.html","odd":["/\\x.test/a.js","/{id}.png"],"text":"one/two.css or three.css","deep":[[{"f":"../g.css?v=1"}]]}
            </script><script type="text/template">{{ "/no.png" }}</script>
            """#
        let implied = Scan(text).table.implied
        #expect(implied.map(\.reference) == ["/a/b.jpg", "/c.webp", "./rows.json", "../g.css?v=1"])
        #expect(implied.allSatisfy { $0.flags.contains(.isGuess) })
    }
}
