import Testing

@testable import Web

struct HTTPFieldsTests {
    private let fields: HTTPFields = ["Accept": "a", "X-One": "1", "accept": "b", "X-Two": "2"]

    @Test func `names are compared regardless of case, and fields keep their order`() {
        #expect(fields["ACCEPT"] == "a")
        #expect(fields.all("aCCept") == ["a", "b"])
        #expect(fields.joinedValues("Accept") == "a, b")
        #expect(fields.joinedValues("missing") == nil)
        #expect(!fields.contains("Accep"))
        #expect(fields.list.map(\.name) == ["Accept", "X-One", "accept", "X-Two"])
    }

    @Test func `setting a field replaces all fields of its name at the position of the first`() {
        var fields = fields
        fields.set("ACCEPT", "c")
        #expect(fields.list.map(\.name) == ["ACCEPT", "X-One", "X-Two"])
        fields.set("New", "n")
        #expect(fields.list.last == HTTPFields.Field(name: "New", value: "n"))
        fields.remove("accept")
        #expect(fields["Accept"] == nil)
    }

    @Test(
        arguments: [
            ("A: 1\r\nB:2\r\n\r\n", [("A", "1"), ("B", "2")]),
            ("A: 1\nB : 2 \t\n", [("A", "1"), ("B", "2")]),
            ("HTTP/1.1 200 OK\r\nA: 1", [("A", "1")]),
            ("no field\n: empty\nbad name: 1\nA:\n", [("A", "")]),
            ("A: 1\r\n  folded\r\n\ton\r\nB: 2", [("A", "1 folded on"), ("B", "2")]),
            (" folds nothing\r\nA: 1", [("A", "1")]),
            ("HTTP/1.1 200 OK\r\n folds nothing\r\n", []),
            ("A: b: c", [("A", "b: c")]),
            ("", []),
        ] as [(String, [(String, String)])])
    func `a header block is parsed line by line, without lines that are not fields`(
        block: String, expected: [(String, String)]
    ) {
        let list = HTTPFields(block: Array(block.utf8).span).list
        #expect(list == expected.map { HTTPFields.Field(name: $0.0, value: $0.1) })
    }

    @Test(
        arguments: [
            [0x22, 0x61, 0xFC, 0x22], [0xFF], [0x80, 0xC3, 0xBC, 0x20, 0xFF], Array("é ü".utf8),
            Array("plain".utf8),
            [0xEE, 0xBE, 0x80], [0xEE, 0xBF, 0xBF, 0x41], [0xED, 0xA0, 0x80], Array("日本語".utf8), [0xC3],
        ] as [[UInt8]])
    func `the bytes of a value are preserved, even if they are not UTF-8`(value: [UInt8]) throws {
        let fields = HTTPFields(block: (Array("ETag: ".utf8) + value + [0x0D, 0x0A]).span, isReceived: true)
        #expect(HTTPGrammar.bytes(of: try #require(fields["ETag"])) == value)
        // The store keeps header fields as text.
        let again = HTTPFields(block: fields.block.utf8.span)
        #expect(HTTPGrammar.bytes(of: try #require(again["ETag"])) == value)
    }

    @Test func `control characters become spaces, and the other bytes of their value stay`() throws {
        let value: [UInt8] = [0x63, 0xE9, 0x01, 0x09, 0x7F, 0xC3, 0xBC]
        let fields = HTTPFields(block: (Array("A: ".utf8) + value + [0x0D, 0x0A]).span, isReceived: true)
        let cleaned = try #require(fields.withoutControls["A"])
        #expect(HTTPGrammar.bytes(of: cleaned) == [0x63, 0xE9, 0x20, 0x09, 0x20, 0xC3, 0xBC])
        #expect(self.fields.withoutControls == self.fields)
    }

    @Test func `every scalar of a value is preserved or stands for a byte`() {
        for value in (0xEF70...0xF010 as ClosedRange<UInt32>) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let bytes = HTTPGrammar.bytes(of: String(Character(scalar)))
            #expect(
                bytes == (HTTPGrammar.byte(of: scalar).map { [$0] } ?? Array(String(Character(scalar)).utf8)))
        }
    }

    @Test func `URLs that are not UTF-8 are decoded as ISO 8859-1`() {
        let block = Array("Location: /caf".utf8) + [0xE9, 0x0D, 0x0A] + Array("Server: é".utf8)
        let fields = HTTPFields(block: block.span)
        #expect(fields["location"] == "/café")
        #expect(fields["server"] == "é")
    }

    @Test func `lists are split at commas outside quotes`() {
        let fields: HTTPFields = ["Vary": "a, \"b,c\" d ,,", "vary": " e"]
        #expect(fields.elements("VARY") == ["a", "\"b,c\" d", "e"])
        #expect(fields.elements("missing").isEmpty)
    }

    @Test(
        arguments: [
            (["text/html"], "text/html"), (["text/plain", "text/html;charset=x"], "text/html;charset=x"),
            (["text/html;charset=x", "text/html"], "text/html;charset=x"),
            (["text/html;charset=x, text/html;a=b"], "text/html;a=b;charset=x"),
            (["text/html;charset=x", "text/plain", "text/html"], "text/html"),
            (["text/html;charset=x", "text/html;charset=y"], "text/html;charset=y"),
            (["text/html", "*/*", "junk", ""], "text/html"),
            (["text/html;a=\"b,text/plain\""], "text/html;a=\"b,text/plain\""),
            (["junk"], nil), ([], nil),
        ] as [([String], String?)]) func `the last of several content types counts`(
            values: [String], expected: String?
        )
    {
        let fields = HTTPFields(values.map { HTTPFields.Field(name: "Content-Type", value: $0) })
        #expect(fields.contentType?.description == expected)
    }

    @Test(
        arguments: [
            (["12"], 12), (["12", "12"], 12), (["12, 12"], 12), (["12", "13"], nil), (["-1"], nil),
            (["1x"], nil),
            (["99999999999999999999"], nil), ([], nil), (["9223372036854775807"], .max),
        ] as [([String], Int?)]) func `a content length is nil unless all values are the same number`(
            values: [String], expected: Int?
        )
    {
        let fields = HTTPFields(values.map { HTTPFields.Field(name: "content-length", value: $0) })
        #expect(fields.contentLength == expected)
    }

    @Test func `age, dates and entity tag are parsed`() {
        let fields: HTTPFields = [
            "Age": "5, 6", "Last-Modified": "Thu, 01 Jan 1970 00:00:09 GMT", "Expires": "0",
            "ETag": "W/\"x\"",
        ]
        #expect(fields.age == 5)
        #expect(fields.date("last-modified")?.secondsSinceEpoch == 9)
        #expect(fields.date("Expires") == nil)
        #expect(fields.entityTag?.isWeak == true)
        #expect(HTTPFields(["Age": "x"].map { HTTPFields.Field(name: $0.key, value: $0.value) }).age == nil)
    }

    @Test func `a value folded over many lines is parsed in linear time`() {
        let fields = HTTPFields(block: Array(("A: x\n" + String(repeating: " y\n", count: 50_000)).utf8).span)
        #expect(fields["A"]?.utf8.count == 100_001)
    }

    @Test func `a header block survives a round trip`() {
        #expect(fields.block == "Accept: a\r\nX-One: 1\r\naccept: b\r\nX-Two: 2\r\n")
        #expect(HTTPFields(block: Array(fields.block.utf8).span) == fields)
    }

    @Test func `a value with line ends cannot inject a field`() {
        let fields: HTTPFields = ["A": "1\r\nEvil: 2\0", "B\r\nEvil": "3", "": "4", "C": "5\r\n"]
        #expect(fields.block == "A: 1  Evil: 2 \r\nC: 5  \r\n")
    }
}

struct StructuredDictionaryTests {
    @Test(
        arguments: [
            ("a=1", StructuredDictionary.Value.item(.integer(1))),
            ("a=-999999999999999", .item(.integer(-999_999_999_999_999))),
            ("a=1.5", .item(.decimal("1.5"))), ("a=\"x\\\"\\\\\"", .item(.string("x\"\\"))),
            ("a=tok:en/*", .item(.token("tok:en/*"))),
            ("a=:aGk=:", .item(.bytes([0x68, 0x69]))), ("a=:aGk:;p=1", .item(.bytes([0x68, 0x69]))),
            ("a", .item(.boolean(true))),
            ("a;p;q=2, b", .item(.boolean(true))), ("a=?0", .item(.boolean(false))),
            ("a=@-5", .item(.date(-5))),
            ("a=%\"f%c3%bc\"", .item(.displayString("fü"))),
            ("a=(1 \"x\";p  b)", .list([.integer(1), .string("x"), .token("b")])),
            ("a=()", .list([])), ("a=1, a=2", .item(.integer(2))), ("  a=1 \t,\t b=2  ", .item(.integer(1))),
        ] as [(String, StructuredDictionary.Value)]) func `a member of a structured dictionary is parsed`(
            text: String, expected: StructuredDictionary.Value
        )
    {
        #expect(StructuredDictionary(text)?["a"] == expected)
    }

    @Test(arguments: [
        "a=1,", "a=1 b=2", "A=1", "1=a", "a=", "a=:aGk", "a=:a:", "a=:é:", "a=\"x", "a=\"\\x\"", "a=\"é\"",
        "a=1.",
        "a=1.2345",
        "a=1234567890123456", "a=?2", "a=(1", "a=(1\"x\")", "a=(1,2)", "a=@1.5", "a=%\"%C3\"", "a=%\"%ff\"",
        "a=%x",
        "a;=1",
        "a;p=", "=1", ",a",
    ]) func `one malformed part makes the whole dictionary invalid`(text: String) {
        #expect(StructuredDictionary(text) == nil)
    }

    @Test func `an empty text is an empty dictionary`() {
        #expect(StructuredDictionary("")?.members.isEmpty == true)
        #expect(StructuredDictionary("  ")?.members.isEmpty == true)
    }
}
