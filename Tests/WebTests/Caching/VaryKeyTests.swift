import Testing

@testable import Web

struct VaryKeyTests {
    @Test(
        "a request selects the variant with the same field values",
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
        let key = try #require(VaryKey(response: response, request: first, secrets: .unkeyed))
        #expect(key.matches(first, .unkeyed))
        #expect(key.matches(second, .unkeyed) == isSame)
        #expect((VaryKey(response: response, request: second, secrets: .unkeyed) == key) == isSame)
        #expect(VaryKey(stored: key.text) == key)
        #expect((key.key(for: second, .unkeyed) == key) == isSame)
    }

    @Test(arguments: [
        head("Vary: *"), head("Vary: *, *"), head("Vary: *", "Vary: *"), head("Vary: , *"),
        head("Vary:", "Vary: *"),
        head("Vary: *, Foo"), head("Vary: Foo, *"), head("Vary: not a name"), head("Vary: é"),
        head("Vary: \((0..<65).map { "a\($0)" }.joined(separator: ","))"),
    ]) func `a response with Vary: * has no key`(response: HTTPFields) {
        #expect(VaryKey(response: response, request: head("Foo: 1"), secrets: .unkeyed) == nil)
    }

    @Test func `a key contains the values of the request`() throws {
        let key = try #require(
            VaryKey(
                response: head("Vary: Origin, Width, Wid"),
                request: head("Origin: https://a.test:8", "Width: "), secrets: .unkeyed))
        #expect(key["Origin"] == "https://a.test:8" && key["origin"] == key["Origin"])
        #expect(key["Width"] == "" && key["Wid"] == nil && key["Other"] == nil)
    }

    @Test func `a key has one line for each field, sorted`() throws {
        let key = try #require(
            VaryKey(
                response: head("Vary: X-PJAX, dnt", "Vary: ect,DNT"),
                request: ["x-pjax": "1:\n2", "DNT": " 3 , 4"], secrets: .unkeyed))
        #expect(key.text == "dnt: 3,4\nect\nx-pjax: 1: 2")
        let plain = VaryKey(response: head("Vary: ,,"), request: [:], secrets: .unkeyed)
        #expect(try #require(plain).text.isEmpty)
    }

    @Test(arguments: ["Cookie", "Authorization", "X-Api-Key", "PRIVATE-TOKEN", "X-Anything"])
    func `a key has a hash instead of a value that may be a secret`(name: String) throws {
        let request: HTTPFields = [name: "hunter2", "Accept-Language": "de"]
        let key = try #require(
            VaryKey(response: ["Vary": "\(name), Accept-Language"], request: request, secrets: .unkeyed))
        #expect(!key.text.contains("hunter2") && key.text.contains("accept-language: de"))
        #expect(key.shown.contains("\(name.lowercased()): (withheld)"))
        #expect(key.harmlessFields == ["accept-language": "de"])
        #expect(key.matches(request, .unkeyed))
        #expect(!key.matches([name: "hunter3", "Accept-Language": "de"], .unkeyed))
        // A client cannot send the hash in place of the secret.
        let tag = try #require(key[name])
        #expect(!key.matches([name: tag, "Accept-Language": "de"], .unkeyed))
        // Another store has another key.
        #expect(!key.matches(request, .none))
        #expect(!key.matches(request, SecretHasher { _ in Array(repeating: 7, count: 32) }))
    }

    @Test func `without a hashing key, a response that varies by a secret has no key`() {
        #expect(VaryKey(response: ["Vary": "Cookie"], request: ["Cookie": "a"], secrets: .none) == nil)
        #expect(VaryKey(response: ["Vary": "Cookie"], request: [:], secrets: .none)?.text == "cookie")
    }

    @Test(arguments: [
        ("accept-language: de\ncookie", "accept-language: de\ncookie", false), ("*", "*", false),
        ("", "", false), ("cookie: #1af", nil, false), ("authorization: #1af\norigin: a", nil, false),
        ("x-api-key: #1af", "x-api-key: ", true), ("accept: a\nx-api-key: k", "accept: a\nx-api-key: ", true),
    ]) func `secrets that an earlier version stored are hashed or dropped`(
        old: String, beginning: String?, hadSecret: Bool
    ) throws {
        var found = false
        let new = VaryKey.hashingSecrets(of: old, .unkeyed, hadSecret: &found)
        #expect(found == hadSecret)
        guard let beginning else { return #expect(new == nil) }
        let text = try #require(new)
        #expect(text.hasPrefix(beginning) && !text.hasSuffix(" k"))
        #expect(hadSecret || text == old)
        var again = false
        #expect(VaryKey.hashingSecrets(of: text, .unkeyed, hadSecret: &again) == text && !again)
        if old.hasSuffix("x-api-key: k") {
            #expect(VaryKey(stored: text).matches(["Accept": "a", "X-Api-Key": "k"], .unkeyed))
        }
    }
}

extension SecretHasher {
    /// An unkeyed hash for tests (FNV-1a).
    static let unkeyed = SecretHasher { message in
        let hash = message.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return (0..<32).map { UInt8(truncatingIfNeeded: hash >> (UInt64($0) % 8 * 8)) }
    }
}
