import Testing

@testable import Web

struct JSONValueTests {
    private static func parse(_ text: String, _ limits: JSONLimits = JSONLimits()) throws(JSONError)
        -> JSONValue
    {
        try JSONValue.parse(Array(text.utf8).span, limits: limits)
    }

    private static func compact(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return writer.text
    }

    @Test(
        arguments: [
            ("null", "null"), (" true\n", "true"), ("\u{FEFF}[false]", "[false]"), ("[ ]", "[]"),
            ("{ }", "{}"),
            ("[1 , -0.5e+10,0]", "[1,-0.5e+10,0]"),
            ("{\"b\" : 1,\"a\":{\"c\":[null]}}", "{\"b\":1,\"a\":{\"c\":[null]}}"),
            ("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"),
            ("\"\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\"/\\b\\f\\n\\r\\t\\\"\\\\\""),
            ("\"\\u00e9\\u2028\"", "\"é\u{2028}\""), ("\"\\ud83d\\ude00\"", "\"😀\""),
            ("\"\\ud83d\"", "\"\u{FFFD}\""),
            ("\"\\ud83dx\"", "\"\u{FFFD}x\""), ("\"\\ude00\\ud83d\"", "\"\u{FFFD}\u{FFFD}\""),
            ("\"\\ud83d\\u0041\"", "\"\u{FFFD}A\""), ("\"\\ud83d\\ud83d\\ude00\"", "\"\u{FFFD}😀\""),
            ("\"\\u0000\"", "\"\\u0000\""),
            ("\"\u{7F}é😀\"", "\"\u{7F}é😀\""), ("\"\"", "\"\""),
        ] as [(String, String)]) func `a JSON text is parsed`(text: String, expected: String) throws
    {
        #expect(Self.compact(try Self.parse(text)) == expected)
    }

    @Test(
        arguments: [
            ("", "1:1", "a value"), ("  ", "1:3", "a value"), ("nul", "1:1", "'null'"),
            ("1 2", "1:3", "the end of the text"),
            ("{\"a\":1,}", "1:8", "a key in quotes after ','"), ("{a:1}", "1:2", "a key in quotes or '}'"),
            ("{\"a\" 1}", "1:6", "':' after the key"),
            ("{\"a\":1 \"b\":2}", "1:8", "',' or '}' after a member"),
            ("[1,\n 2\r\n 3]", "3:2", "',' or ']' after an element"), ("[1,]", "1:4", "a value"),
            ("[", "1:2", "a value"),
            ("[01]", "1:3", "a number without leading zeros"), ("-", "1:2", "a digit"),
            ("1.", "1:3", "a digit"),
            ("1e", "1:3", "a digit"),
            (".5", "1:1", "a value"), ("+1", "1:1", "a value"), ("NaN", "1:1", "a value"),
            ("'a'", "1:1", "a value"),
            ("[\"éa", "1:2", "'\"' to end the string"), ("\"é\\x\"", "1:4", "one of \"\\/bfnrtu after '\\'"),
            ("\"\\u12g4\"", "1:6", "four hexadecimal digits after '\\u'"),
            ("\"\\u12", "1:6", "four hexadecimal digits after '\\u'"),
            ("\"\\ud800\\u12\"", "1:12", "four hexadecimal digits after '\\u'"),
            ("\"a\nb\"", "1:3", "a control character inside a string written as an escape"),
            ("[1]//x", "1:4", "the end of the text"),
            ("\u{FEFF}x", "1:1", "a value"), ("\u{FEFF}\u{FEFF}1", "1:1", "a value"),
            ("[1\r2]", "2:1", "',' or ']' after an element"),
        ] as [(String, String, String)]) func `a syntax error reports its position and the expected text`(
            text: String, place: String, expected: String
        )
    {
        let error = #expect(throws: JSONError.self) { try Self.parse(text) }
        #expect(error?.position.description == place)
        #expect(error?.expected == expected)
    }

    @Test func `the description of an error is a sentence`() {
        let error = #expect(throws: JSONError.self) { try Self.parse("{\n  \"a\": tru\n}") }
        #expect(error?.description == "line 2, column 8: expected 'true', found 't'")
        #expect(error?.offset == 9)
    }

    @Test func `every node has its byte range`() throws {
        let text = "\u{FEFF}{ \"é\" : [ 1.50, \"a\\n\" , {} ] , \"z\":null }"
        let bytes = Array(text.utf8)
        let root = try Self.parse(text)
        func source(_ range: Range<Int>?) -> String? {
            range.map { String(decoding: bytes[$0], as: UTF8.self) }
        }
        #expect(source(root.range) == String(text.unicodeScalars.dropFirst()))
        #expect(source(root["é"]?.range) == "[ 1.50, \"a\\n\" , {} ]")
        #expect(source(root["é"]?[0]?.range) == "1.50")
        #expect(source(root["é"]?[1]?.range) == "\"a\\n\"")
        #expect(source(root["é"]?[1]?.stringRange) == "a\\n")
        #expect(source(root["é"]?[2]?.range) == "{}")
        #expect(root["é"]?[0]?.stringRange == nil)
        #expect(root.members?.map { bytes[$0.keyOffset] } == [0x22, 0x22])
        #expect(source(root["z"]?.range) == "null")
    }

    @Test(
        arguments: [
            ("1", 1, 1), ("-0", 0, 0), ("2.0", 2, 2), ("1e3", 1000, 1000), ("1.5", nil, 1.5),
            ("9223372036854775807", Int.max, 0x1p63),
            ("9223372036854775808", nil, 0x1p63), ("1e999", nil, nil), ("1e18", nil, 1e18),
            ("-1E-2", nil, -0.01),
        ] as [(String, Int?, Double?)]) func `a number converts to Int only if it is exact`(
            text: String, int: Int?, double: Double?
        )
        throws
    {
        let number = try Self.parse(text)
        #expect(number.number?.text == text)
        #expect(number.int == int)
        #expect(number.double == double)
    }

    @Test func `repeated keys are preserved and reported`() throws {
        let object = try Self.parse("{\"a\":1,\"b\":2,\"a\":3,\"\\u0061\":4}")
        #expect(object["a"]?.int == 4)
        #expect(object.duplicateMembers.map(\.value.int) == [3, 4])
        #expect(object.duplicateMembers.first?.keyOffset == 13)
    }

    @Test func `an accessor for another type returns nil`() throws {
        let array = try Self.parse("[true]")
        #expect(array["a"] == nil)
        #expect(array[1] == nil)
        #expect(array[-1] == nil)
        #expect(array.string == nil)
        #expect(array.int == nil)
        #expect(array[0]?.bool == true)
        #expect(array.kindName == "an array")
        #expect(array.duplicateMembers.isEmpty)
    }

    @Test func `malformed UTF-8 in a string becomes replacement characters`() throws {
        let bytes: [UInt8] = [0x22, 0x61, 0xFF, 0x62, 0xE2, 0x82, 0x22]
        #expect(try JSONValue.parse(bytes.span).string == "a\u{FFFD}b\u{FFFD}")
    }

    @Test func `a text beyond a limit is rejected`() throws {
        let deep = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(try Self.parse(deep(512)).array?.count == 1)
        #expect(throws: JSONError.self) { try Self.parse(deep(513)) }
        #expect(throws: JSONError.self) { try Self.parse(String(repeating: "{\"a\":", count: 200_000)) }
        #expect(throws: JSONError.self) { try Self.parse("[1,2]", JSONLimits(byteCount: 4)) }
        #expect(throws: JSONError.self) { try Self.parse("[1,2]", JSONLimits(valueCount: 2)) }
        #expect(try Self.parse("[1,2]", JSONLimits(depth: 1, byteCount: 5, valueCount: 3)).array?.count == 2)
    }

    @Test func `damaged text parses or fails without a crash, and a parsed value survives a round trip`()
        throws
    {
        let seed = Array(
            "{\"a\":[1,-2.5e3,\"\\ud83d\\ude00\\u00e9x\",true,null],\"é\":{\"b\":{}}, \"c\" : false}".utf8)
        var random = TestRandom(seed: 7)
        for _ in 0..<4000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 1 {
                let at = Int.random(in: bytes.indices, using: &random)
                switch UInt8.random(in: 0...3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: at)
                case 2: bytes.insert(seed[Int.random(in: seed.indices, using: &random)], at: at)
                default: bytes.removeLast(bytes.count - max(at, 1))
                }
            }
            do {
                let value = try JSONValue.parse(bytes.span)
                #expect(try Self.parse(Self.compact(value)) == value)
                #expect(value.range.upperBound <= bytes.count)
            } catch {
                #expect(error.offset <= bytes.count)
            }
        }
    }
}

struct TextPositionTests {
    @Test(
        arguments: [
            ("abc", 0, "1:1"), ("abc", 2, "1:3"), ("abc", 3, "1:4"), ("abc", 99, "1:4"), ("abc", -1, "1:1"),
            ("", 0, "1:1"),
            ("a\nb", 1, "1:2"), ("a\nb", 2, "2:1"), ("a\r\nb", 3, "2:1"), ("a\r\nb", 2, "1:3"),
            ("a\rb", 2, "2:1"),
            ("a\n\nb", 2, "2:1"),
            ("é€😀x", 9, "1:4"), ("\u{FEFF}ab", 4, "1:2"), ("a\n", 2, "2:1"),
        ] as [(String, Int, String)]) func `an offset is converted to line and column as in editors`(
            text: String, offset: Int, expected: String
        )
    {
        #expect(TextPosition(of: offset, in: Array(text.utf8).span).description == expected)
    }
}
