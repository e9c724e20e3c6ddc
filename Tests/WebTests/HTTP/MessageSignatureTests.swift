import Testing
import Web

struct StructuredFieldTextTests {
    @Test(arguments: [
        ("a=1,   b=2", "a=1, b=2"), ("a=-0", "a=0"), ("a=01.50", "a=1.5"), ("a=0.000", "a=0.0"),
        ("a=-0.50", "a=-0.5"), ("a=100.0", "a=100.0"), ("a=-0.0", "a=0.0"),
        ("a=\"x\\\"\\\\\"", "a=\"x\\\"\\\\\""), ("a=tok:en/*", "a=tok:en/*"), ("a=:aGk:", "a=:aGk=:"),
        ("a=?1", "a"), ("a=?0", "a=?0"), ("a;p;q=?1;r=2", "a;p;q;r=2"), ("a=@-5", "a=@-5"),
        ("a=%\"f%c3%bc%25\"", "a=%\"f%c3%bc%25\""), ("a=( 1   \"x\";p  b );q=1", "a=(1 \"x\";p b);q=1"),
        ("a=()", "a=()"),
        ("a=1, b=2, a=3", "a=3, b=2"), ("a=1;p=1;q=2;p=3", "a=1;p=3;q=2"), ("", ""),
    ])
    func `a dictionary is written in its canonical form`(text: String, canonical: String) {
        let dictionary = StructuredDictionary(text)
        #expect(dictionary?.text == canonical)
        #expect(StructuredDictionary(canonical)?.text == canonical)
    }

    @Test func `parameters are parsed with their items and lists`() throws {
        let list = try #require(
            StructuredDictionary("a=(\"x\";sf \"y\");keyid=\"k\";created=5")?.members.first)
        #expect(list.value == .list([.string("x"), .string("y")]))
        #expect(list.parameters.map(\.key) == ["keyid", "created"])
        #expect(list.parameters.map(\.value) == [.string("k"), .integer(5)])
        #expect(list.listParameters.map { $0.map(\.key) } == [["sf"], []])
    }

    @Test func `more parameters than the limit make the dictionary invalid`() {
        let some = (0..<256).map { ";p\($0)" }.joined()
        #expect(StructuredDictionary("a" + some) != nil)
        #expect(StructuredDictionary("a" + some + ";q") == nil)
        #expect(StructuredDictionary("a=(1" + some + ";q)") == nil)
    }
}

struct MessageSignatureTests {
    private func message(_ fields: HTTPFields, _ url: String = "https://example.com/") -> SignedMessage? {
        WebURL(url).map { SignedMessage(url: $0, status: 200, fields: fields) }
    }

    /// The base of a signature that covers the components, without its last line. A text that begins with "!" is the
    /// reason why there is none.
    private func base(
        _ components: String, _ fields: HTTPFields = [:], _ url: String = "https://example.com/"
    ) throws -> [String] {
        var all = fields
        all.append("Signature-Input", "s=(\(components))")
        all.append("Signature", "s=:AA==:")
        let signature = try #require(MessageSignature.list(from: all).first)
        let message = try #require(self.message(all, url))
        do throws(MessageSignature.Unusable) {
            let text = String(decoding: try signature.base(of: message), as: UTF8.self)
            return Array(text.split(separator: "\n").map(String.init).dropLast())
        } catch {
            return ["!\(error.reason)"]
        }
    }

    /// The response of RFC 9421, section B.2.4.
    @Test func `the signature base of the standard's response is exact`() throws {
        let digest =
            "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"
        let fields: HTTPFields = [
            "Date": "Tue, 20 Apr 2021 02:07:56 GMT", "Content-Type": "application/json",
            "Content-Digest": digest, "Content-Length": "23",
            "Signature-Input":
                "sig-b24=(\"@status\" \"content-type\" \"content-digest\" \"content-length\");created=1618884473;keyid=\"test-key-ecc-p256\"",
            "Signature": "sig-b24=:AAAA:",
        ]
        let signature = try #require(MessageSignature.list(from: fields).first)
        let message = try #require(self.message(fields))
        let base = try signature.base(of: message)
        let expected = """
            "@status": 200
            "content-type": application/json
            "content-digest": \(digest)
            "content-length": 23
            "@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"
            """
        #expect(String(decoding: base, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        ("\"@method\";req", "GET"), ("\"@authority\";req", "www.example.com:8080"),
        ("\"@scheme\";req", "http"),
        ("\"@target-uri\";req", "http://www.example.com:8080/path?param=value&a=b+c"),
        ("\"@request-target\";req", "/path?param=value&a=b+c"), ("\"@path\";req", "/path"),
        ("\"@query\";req", "?param=value&a=b+c"), ("\"@query-param\";name=\"a\";req", "b%20c"),
        ("\"@query-param\";req;name=\"param\"", "value"), ("\"@status\"", "200"),
    ])
    func `derived components have the values of the request and response`(component: String, value: String)
        throws
    {
        let url = "http://www.Example.com:8080/path?param=value&a=b+c#part"
        #expect(try base(component, url: url) == ["\(component): \(value)"])
    }

    private func base(_ components: String, url: String) throws -> [String] { try base(components, [:], url) }

    /// The examples of RFC 9421, section 2.2.8.
    @Test(arguments: [
        ("var", "this%20is%20a%20big%0Amultiline%20value"), ("bar", "with%20plus%20whitespace"),
        ("fa%C3%A7ade%22%3A%20", "something"),
    ])
    func `a query parameter is encoded again`(name: String, value: String) throws {
        let component = "\"@query-param\";name=\"\(name)\";req"
        let url =
            "https://example.com/p?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something"
        #expect(try base(component, url: url) == ["\(component): \(value)"])
    }

    @Test func `fields are joined, trimmed, wrapped or written in canonical form`() throws {
        let fields: HTTPFields = [
            "X-List": "  one ", "x-list": "two,  three", "Unencoded-Digest": "sha-256=:aGk:,   md5=:aGk=:",
            "X-Empty": "",
        ]
        #expect(try base("\"x-list\"", fields) == ["\"x-list\": one, two,  three"])
        #expect(try base("\"x-list\";bs", fields) == ["\"x-list\";bs: :b25l:, :dHdvLCAgdGhyZWU=:"])
        #expect(
            try base("\"unencoded-digest\";sf", fields) == [
                "\"unencoded-digest\";sf: sha-256=:aGk=:, md5=:aGk=:"
            ])
        #expect(try base("\"x-empty\"", fields) == ["\"x-empty\": "])
        #expect(try base("\"@query\";req", fields) == ["\"@query\";req: ?"])
    }

    @Test(arguments: [
        "\"x-none\"", "\"x-one\" \"x-one\"", "\"x-one\";bs \"x-one\";bs", "\"x-one\";sf", "\"x-one\";req",
        "\"x-one\";key=\"a\"", "\"@path\"", "\"@path\";req;x", "\"@status\";req", "\"@unknown\";req",
        "\"@query-param\";req", "\"@query-param\";name=\"none\";req", "\"@query-param\";name=1;req",
        "\"unencoded-digest\";sf", "\"x-bad\"",
        "\"@query-param\";name=\"a\";req \"@query-param\";req;name=\"a\"",
    ])
    func `a component without a value gives no signature base`(component: String) throws {
        let fields: HTTPFields = ["X-One": "1", "Unencoded-Digest": "sha-256", "X-Bad": "é"]
        let url = "https://example.com/?a=1&b=2&b=3"
        #expect(
            try base(component, component.contains("x-") ? fields : [:], url).first?.hasPrefix("!") == true)
    }

    @Test func `a repeated query parameter has no value`() throws {
        let component = "\"@query-param\";name=\"b\";req"
        #expect(try base(component, url: "https://example.com/?b=2&b=3").first?.hasPrefix("!") == true)
    }

    @Test(arguments: [
        ("a=:AA==:", "a=()", 1), ("a=:AA==:, b=:AA==:", "a=(), b=()", 2), ("a=:AA==:", "b=()", 0),
        ("a=1", "a=()", 0), ("a=:AA==:;p", "a=()", 0), ("a=:AA==:", "a=1", 0), ("a=:AA==:", "a=(x)", 0),
        ("a=:AA==:", "a=(", 0), ("a=:AA==", "a=()", 0), ("", "a=()", 0),
    ])
    func `signatures need a byte sequence and a list of names under one label`(
        signature: String, input: String, count: Int
    ) {
        let fields: HTTPFields = ["Signature": signature, "Signature-Input": input]
        #expect(MessageSignature.list(from: fields).count == count)
    }
}
