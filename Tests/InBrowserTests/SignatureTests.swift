import Digest
import LarderKit
import TestOrigin
import Testing
import Web

/// Signature-based Integrity in Chromium, which enforces it from version 141 on: the mirror accepts and refuses the
/// same scripts as the original site.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct SignatureTests {
    /// An origin and another one with its signed scripts. Each script sets `ran.NAME`.
    private struct Scripts {
        let origin: TestOrigin
        let cdn: TestOrigin
        let signer: ResponseSigner
        private(set) var tags: [String] = []

        init() throws {
            (origin, cdn) = (try TestOrigin(), try TestOrigin())
            let key = try #require(Ed25519PrivateKey())
            signer = ResponseSigner(
                key: key.publicKey.bytes, sign: { key.sign($0) },
                sha256: { DigestStream.digest(.sha256, of: $0.span).bytes })
        }

        static func text(_ name: String) -> String { "(window.ran ??= {}).\(name) = 1" }

        mutating func add(_ name: String, _ answer: OriginAnswer, integrity: String? = nil) {
            cdn.on("/\(name).js", answer)
            tags.append(
                "<script crossorigin integrity='\(integrity ?? signer.word)' src='\(cdn.url("/\(name).js"))'></script>"
            )
        }

        var page: String { "<!DOCTYPE html><title>T</title><h1>T</h1>" + tags.joined(separator: "\n") }
    }

    private static let names = "Object.keys(window.ran ?? {}).sort().join(' ')"

    /// Scripts of all kinds.
    private static func scripts() throws -> Scripts {
        var scripts = try Scripts()
        let signer = scripts.signer
        func add(
            _ name: String, _ text: String? = nil, signed: String? = nil,
            covering components: [(identifier: String, value: String)] = [], with parameters: String = "",
            integrity: String? = nil
        ) {
            let text = text ?? Scripts.text(name)
            scripts.add(
                name, signer.script(text, signed: signed, covering: components, parameters),
                integrity: integrity)
        }
        let authority = scripts.cdn.base.replacing("http://", with: "")
        func hash(_ text: String) -> String {
            "sha256-\(Base64.encode(DigestStream.digest(.sha256, of: text.utf8.span).bytes))"
        }
        add("good")
        add("path", covering: [("\"@path\";req", "/path.js")])
        add("host", covering: [("\"@authority\";req", authority)])
        add("late", with: "expires=4102444800;")
        let linking = Scripts.text("linking") + "; fetch('\(scripts.cdn.url("/data"))')"
        add("linking", linking)
        add("hashed", integrity: hash(Scripts.text("hashed")) + " " + signer.word)
        add(
            "both", covering: [("\"@scheme\";req", "http")],
            integrity: signer.word + " " + hash(Scripts.text("both")))
        add("undemanded", covering: [("\"@authority\";req", authority)], integrity: "")
        // Browsers refuse all others.
        add("flipped", signed: "another text")
        add("wrongHash", integrity: hash("another text") + " " + signer.word)
        add("wrongPath", covering: [("\"@path\";req", "/other.js")])
        add("expired", with: "expires=1000000000;")
        add("wrongKey", integrity: "ed25519-\(Base64.encode([UInt8](repeating: 1, count: 32)))")
        add("refused", covering: [("\"@path\";req", "/other.js")], integrity: "")
        scripts.add(
            "unsigned",
            .file(Scripts.text("unsigned"), type: "text/javascript").adding(
                "Access-Control-Allow-Origin", "*"))
        scripts.cdn.on("/data", .file("1", type: "text/plain").adding("Access-Control-Allow-Origin", "*"))
        return scripts
    }

    private static let accepted = "both good hashed host late linking path undemanded"

    @Test func `a mirrored page runs the same signed scripts as the original, and a folder does too`()
        async throws
    {
        let scripts = try Self.scripts()
        scripts.origin.on("/", .page(scripts.page))
        let original = try Chromium().open(scripts.origin.url("/"))
        let ran = try original.evaluate(Self.names)?.string
        #expect(ran == Self.accepted)
        let wanted = "keyid=\"\(scripts.signer.word.dropFirst(8))\""
        #expect(scripts.cdn.requests(to: "/good.js").first?["Accept-Signature"]?.contains(wanted) == true)

        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.file("store"))
        _ = try await larder.prefetch([scripts.origin.url("/")])
        _ = try await larder.export(scripts.origin.url("/"), to: folder.file("out/"))
        #expect(scripts.cdn.requests(to: "/good.js").last?["Accept-Signature"]?.contains(wanted) == true)
        scripts.origin.stop()
        scripts.cdn.stop()
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(try #require(service.address(of: scripts.origin.url("/"))))
        let ranInMirror = try visit.evaluate(Self.names)?.string
        #expect(ranInMirror == Self.accepted)
        // The browser still checks what it can check.
        let checked =
            "[...document.querySelectorAll('[integrity*=ed25519]')].map(s => s.src.match(/(\\w+)\\.js/)[1]).sort()"
        let demands = try visit.evaluate(checked + ".join(' ')")?.string ?? ""
        #expect(
            demands.contains("good") && demands.contains("path") && !demands.contains("host"), "\(demands)")
        #expect(visit.escapes.isEmpty)

        // A folder has no header fields, so that only what an attribute demands can be refused there.
        let files = try Chromium().open("file://" + folder.file("out/index.html"))
        let ranInFolder = try files.evaluate(Self.names)?.string
        #expect(ranInFolder == Self.accepted.replacing("undemanded", with: "refused undemanded"))
    }
}
