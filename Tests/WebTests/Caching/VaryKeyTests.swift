import Testing

@testable import Web

struct VaryKeyTests {
    @Test(
        "a request selects the variant whose fields it repeats",
        arguments: [
            ("", head("Foo: 1"), head("Foo: 2"), true), ("Foo", head("Foo: 1"), head("Foo: 1"), true),
            ("Foo", head("Foo: 1"), head("Foo: 2"), false), ("Foo", head("Foo: 1"), head(), false),
            ("Foo", head(), head("Foo: 1"), false), ("Foo", head(), head(), true),
            ("Foo", head("Foo:"), head(), false),
            ("foo", head("FOO: 1"), head("fOO: 1"), true), ("Foo", head("Foo: a"), head("Foo: A"), false),
            ("Foo", head("Foo: 1", "X: 2"), head("Foo: 1", "X: 3"), true),
            ("Foo, Bar", head("Foo: 1", "Bar: a"), head("Bar: a", "Foo: 1"), true),
            ("Foo, Bar", head("Foo: 1", "Bar: a"), head("Foo: 1"), false),
            ("Foo,Bar,Baz", head("Foo: 1", "Baz: 9"), head("Baz: 9", "Foo: 1"), true),
            (
                "Foo,Bar,Baz", head("Foo: 1", "Bar: abc", "Baz: 9"), head("Foo: 1", "Baz: 9", "Bar: abcde"),
                false
            ),
            ("Foo", head("Foo: 1, 2"), head("Foo: 1", "Foo: 2"), true),
            ("Foo", head("Foo: 1,2"), head("Foo:  1, 2 "), true),
            ("Foo", head("Foo: 1, 2"), head("Foo: 2, 1"), false),
            ("Foo", head("Foo: 1 2"), head("Foo: 12"), false),
            ("Foo", head("Foo: \"1,2\""), head("Foo: \"1, 2\""), false),
            ("Accept-Language", head("Accept-Language: en, de"), head("Accept-Language: De ,eN"), true),
            ("Accept-Language", head("Accept-Language: en;q=1.0"), head("Accept-Language: en"), true),
            ("Accept-Language", head("Accept-Language: en; q=0.5"), head("Accept-Language: en;q=0.5"), true),
            ("Accept-Language", head("Accept-Language: en;q=0.5"), head("Accept-Language: en"), false),
            ("Accept-Encoding", head("Accept-Encoding: gzip, br"), head("Accept-Encoding: br,gzip"), true),
            ("Accept", head("Accept: text/html, */*;q=0.8"), head("Accept: */*; q=0.8,text/html"), true),
            ("Accept", head("Accept: a/b;c=D"), head("Accept: a/b;c=d"), false),
        ]) func selection(vary: String, first: HTTPFields, second: HTTPFields, isSame: Bool) throws
    {
        let response: HTTPFields = vary.isEmpty ? [:] : ["Vary": vary]
        let key = try #require(VaryKey(response: response, request: first))
        #expect(key.matches(first))
        #expect(key.matches(second) == isSame)
        #expect((VaryKey(response: response, request: second) == key) == isSame)
        #expect(VaryKey(stored: key.text) == key)
        #expect((key.rekeyed(for: second) == key) == isSame)
    }

    @Test(arguments: [
        head("Vary: *"), head("Vary: *, *"), head("Vary: *", "Vary: *"), head("Vary: , *"),
        head("Vary:", "Vary: *"),
        head("Vary: *, Foo"), head("Vary: Foo, *"), head("Vary: not a name"), head("Vary: é"),
        head("Vary: \((0..<65).map { "a\($0)" }.joined(separator: ","))"),
    ]) func `a response that varies by everything is selected by nothing`(response: HTTPFields) {
        #expect(VaryKey(response: response, request: head("Foo: 1")) == nil)
    }

    @Test func `a key tells what the request said`() throws {
        let key = try #require(
            VaryKey(
                response: head("Vary: Origin, Foo, Fo"), request: head("Origin: https://a.test:8", "Foo: ")))
        #expect(key["Origin"] == "https://a.test:8" && key["origin"] == key["Origin"])
        #expect(key["Foo"] == "" && key["Fo"] == nil && key["Other"] == nil)
    }

    @Test func `a key has one line for each field, sorted`() throws {
        let key = try #require(
            VaryKey(response: head("Vary: X-B, a", "Vary: c,A"), request: ["x-b": "1:\n2", "A": " 3 , 4"]))
        #expect(key.text == "a: 3,4\nc\nx-b: 1: 2")
        #expect(try #require(VaryKey(response: head("Vary: ,,"), request: [:])).text.isEmpty)
    }
}
