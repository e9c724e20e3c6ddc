import Digest
import Mirror
import TestOrigin
import Testing
import Web

/// Responses that are signed for Signature-based Integrity, and the pages that demand the key.
@Suite struct ServedSignaturesTests {
    private let signer: ResponseSigner

    private static let plain = "window.hasRun = 1"
    /// A script with a link that the mirror rewrites.
    private static let linking = "import(\"https://cdn.test/x.js\")"

    init() throws {
        let key = try #require(Ed25519PrivateKey(seed: Array(repeating: 7, count: 32)))
        signer = ResponseSigner(
            key: key.publicKey.bytes, sign: { key.sign($0) },
            sha256: { DigestStream.digest(.sha256, of: $0.span).bytes })
    }

    /// The page and the script as a mirror sends them.
    private func serve(
        _ script: String, _ fields: [(String, String)], integrity: String? = nil
    ) throws -> (page: String, script: RawResponse) {
        let integrity = integrity ?? signer.word
        let store = try StockedStore([
            .init(
                href: "https://example.test/",
                text: "<script src=/a.js crossorigin integrity=\"\(integrity)\"></script>"),
            .init(
                href: "https://example.test/a.js", text: script, type: "text/javascript",
                extra: fields.map { "\($0): \($1)\r\n" }.joined()),
        ])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        return (try client.get("/", host: host).text, try client.get("/a.js", host: host))
    }

    private static let names = ["Unencoded-Digest", "Signature-Input", "Signature"]

    @Test
    func `an unchanged signed script is served with its signature, and the page goes on demanding the key`()
        throws
    {
        let fields = signer.fields(
            of: Self.plain, covering: [("\"@path\";req", "/a.js"), ("\"@status\"", "200")])
        let served = try serve(Self.plain, fields)
        #expect(served.page.contains("integrity=\"\(signer.word)\""))
        #expect(Self.names.map { served.script[$0] } == fields.map(\.1))
    }

    @Test(arguments: [
        ("\"@authority\";req", "example.test", ""), ("\"@scheme\";req", "https", ""),
        ("\"@target-uri\";req", "https://example.test/a.js", ""), ("\"x-late\"", "1", ""),
        // The time of the test's responses is 1, so that this one was valid then.
        ("\"@path\";req", "/a.js", "expires=5;"), ("\"@path\";req", "/a.js", "expires=4102444800;"),
    ])
    func `a signature that does not hold in the mirror is left out, and the page demands no key`(
        component: String, value: String, parameters: String
    ) throws {
        var fields = signer.fields(of: Self.plain, covering: [(component, value)], parameters)
        // The mirror replaces this field.
        if component == "\"x-late\"" {
            fields =
                signer.fields(of: Self.plain, covering: [("\"cache-control\"", "max-age=60")]) + [
                    ("Cache-Control", "max-age=60")
                ]
        }
        let served = try serve(Self.plain, fields)
        #expect(served.page.contains(" data-hash=\"\(signer.word)\""))
        #expect(Self.names.allSatisfy { served.script[$0] == nil })
    }

    @Test func `beside a digest only the key is removed from the page`() throws {
        let hash = "sha256-\(Base64.encode(DigestStream.digest(.sha256, of: Self.plain.utf8.span).bytes))"
        let fields = signer.fields(of: Self.plain, covering: [("\"@scheme\";req", "https")])
        let served = try serve(Self.plain, fields, integrity: "\(hash)  \(signer.word)")
        #expect(served.page.contains("integrity=\"\(hash)  ignored\(signer.word.dropFirst(7))\""))
        // A name that is written in another way cannot be replaced in place.
        let written = "\(hash) &#101;d25519\(signer.word.dropFirst(7))"
        #expect(try serve(Self.plain, fields, integrity: written).page.contains("data-hash=\"\(written)\""))
    }

    @Test func `a rewritten script is served without signature, and the page demands no key`() throws {
        let served = try serve(Self.linking, signer.fields(of: Self.linking))
        #expect(served.page.contains(" data-hash=\"\(signer.word)\""))
        #expect(
            served.script.text.contains("localhost") && Self.names.allSatisfy { served.script[$0] == nil })
    }

    @Test(arguments: [plain, linking])
    func `a demand that the original response does not meet stays`(script: String) throws {
        let others = "ed25519-\(Base64.encode([UInt8](repeating: 1, count: 32)))"
        for (fields, integrity) in [
            (signer.fields(of: script), others), ([], signer.word), (signer.fields(of: "other"), signer.word),
            (signer.fields(of: script, "expires=0;"), signer.word),
            (signer.fields(of: script), "ed25519-AAAA"),
        ] {
            let served = try serve(script, fields, integrity: integrity)
            #expect(served.page.contains("integrity=\"\(integrity)\""))
        }
    }

    @Test func `a signature that browsers refuse on the web is sent as it is`() throws {
        var fields = signer.fields(of: Self.plain)
        fields[2].1 = "sig=:\(Base64.encode([UInt8](repeating: 0, count: 64))):"
        let served = try serve(Self.plain, fields, integrity: "")
        #expect(Self.names.map { served.script[$0] } == fields.map(\.1))
    }

    @Test func `the digest of a rewritten page is left out`() throws {
        let text = "<a href=https://other.test/>x</a>"
        let digest = "sha-256=:\(Base64.encode(DigestStream.digest(.sha256, of: text.utf8.span).bytes)):"
        let store = try StockedStore([
            .init(href: "https://example.test/", text: text, extra: "Unencoded-Digest: \(digest)\r\n")
        ])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let page = try RawClient(port: Int(server.port)).get(
            "/", host: "example-test.localhost:\(server.port)")
        #expect(page["Unencoded-Digest"] == nil)
    }
}
