import TUF
import Testing
import Web

@Suite struct CanonicalJSONTests {
    @Test(arguments: [
        (#"{"b": 1, "a" : [true, false, null] }"#, #"{"a":[true,false,null],"b":1}"#),
        // Names are sorted by code points: upper case comes first, and U+FF5E before U+1F600, unlike in UTF-16.
        (#"{"é":1,"a":2,"Z":3,"😀":4,"～":5}"#, #"{"Z":3,"a":2,"é":1,"～":5,"😀":4}"#),
        // Only quotes and backslashes are escaped.
        (#""a\"b\\c\/dé""#, #""a\"b\\c/dé""#),
        (#""\n\t\u0001""#, "\"\n\t\u{1}\""),
        ("-0", "0"), ("-12", "-12"), ("18446744073709551616", "18446744073709551616"),
        ("{}", "{}"), ("[]", "[]"), (#""""#, #""""#),
    ])
    func `a value has one encoding`(source: String, canonical: String) throws {
        let value = try CanonicalJSON(Array(source.utf8), file: "f")
        #expect(String(decoding: value.bytes, as: UTF8.self) == canonical)
    }

    @Test(arguments: ["1.5", "1e3", "2.0", "[0.1]", #"{"a": 1E400}"#])
    func `floats are refused`(source: String) {
        #expect(throws: TUFError.self) { try CanonicalJSON(Array(source.utf8), file: "f") }
    }

    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"[{"x":{"y":1,"y":2}}]"#, "{\"é\":1,\"e\u{301}\":2}",
    ])
    func `members with the same name are refused`(source: String) {
        #expect(throws: TUFError.self) { try CanonicalJSON(Array(source.utf8), file: "f") }
    }

    @Test func `deep nesting is refused`() {
        for depth in [65, 100_000] {
            let source = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect(throws: TUFError.self) { try CanonicalJSON(Array(source.utf8), file: "f") }
        }
    }

    @Test func `a file is valid JSON with the same value`() throws {
        let value = CanonicalJSON.object([
            "b": .string("\n\"\u{1}"), "a": .array([.integer(-3), .null, .bool(true)]),
        ])
        var writer = JSONWriter(.pretty)
        writer.value(value)
        #expect(try CanonicalJSON(writer.bytes, file: "f") == value)
    }
}
