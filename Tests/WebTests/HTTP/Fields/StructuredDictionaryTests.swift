import Testing

@testable import Web

struct StructuredDictionaryTests {
    @Test(
        arguments: [
            ("a=1", StructuredDictionary.Value.item(.integer(1))),
            ("a=-999999999999999", .item(.integer(-999_999_999_999_999))),
            ("a=1.5", .item(.decimal("1.5"))), ("a=\"x\\\"\\\\\"", .item(.string("x\"\\"))),
            ("a=tok:en/*", .item(.token("tok:en/*"))),
            ("a=:aGk=:", .item(.bytes([0x68, 0x69]))), ("a=:aGk:;p=1", .item(.bytes([0x68, 0x69]))),
            ("a", .item(.boolean(true))),
            ("a;p;q=2, b", .item(.boolean(true))), ("a=?0", .item(.boolean(false))), ("a=@-5", .item(.date(-5))),
            ("a=%\"f%c3%bc\"", .item(.displayString("fü"))),
            ("a=(1 \"x\";p  b)", .list([.integer(1), .string("x"), .token("b")])),
            ("a=()", .list([])), ("a=1, a=2", .item(.integer(2))), ("  a=1 \t,\t b=2  ", .item(.integer(1))),
        ] as [(String, StructuredDictionary.Value)]) func `a member is read`(
            text: String, expected: StructuredDictionary.Value
        )
    {
        #expect(StructuredDictionary(text)?["a"] == expected)
    }

    @Test(arguments: [
        "a=1,", "a=1 b=2", "A=1", "1=a", "a=", "a=:aGk", "a=:a:", "a=:é:", "a=\"x", "a=\"\\x\"", "a=\"é\"", "a=1.",
        "a=1.2345",
        "a=1234567890123456", "a=?2", "a=(1", "a=(1\"x\")", "a=(1,2)", "a=@1.5", "a=%\"%C3\"", "a=%\"%ff\"", "a=%x",
        "a;=1",
        "a;p=", "=1", ",a",
    ]) func `one malformed part spoils the whole`(text: String) {
        #expect(StructuredDictionary(text) == nil)
    }

    @Test func `nothing is an empty dictionary`() {
        #expect(StructuredDictionary("")?.members.isEmpty == true)
        #expect(StructuredDictionary("  ")?.members.isEmpty == true)
    }
}
