import Digest
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit

/// Pages whose `integrity` attributes demand that a key has signed their scripts.
@Suite struct CheckSignatureTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let signer: ResponseSigner

    private static let script = "window.hasRun = 1"

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        let key = try #require(Ed25519PrivateKey(seed: Array(repeating: 7, count: 32)))
        signer = ResponseSigner(
            key: key.publicKey.bytes, sign: { key.sign($0) },
            sha256: { DigestStream.digest(.sha256, of: $0.span).bytes })
        origin.on("/", .page("<script src=/a.js crossorigin integrity=\"\(signer.word)\"></script>"))
    }

    private func finding() async throws -> CheckReport.Finding {
        try #require(try await larder.check(origin.url("/")).items.first?.findings.first)
    }

    @Test func `a script that the demanded key has signed is verified, with its signer`() async throws {
        origin.on("/a.js", signer.script(Self.script, covering: [("\"@path\";req", "/a.js")]))
        let finding = try await finding()
        #expect(
            finding.verdict == .verified && finding.signer == signer.word && finding.algorithm == "sha256")
        #expect(finding.detail == "signed by \(signer.word)")
        #expect(try await larder.check(origin.url("/")).json.contains("\"signer\": \"\(signer.word)\""))
        let wanted =
            "sig0=(\"unencoded-digest\";sf);keyid=\"\(signer.word.dropFirst(8))\";tag=\"ed25519-integrity\""
        #expect(origin.requests(to: "/a.js").allSatisfy { $0["Accept-Signature"] == wanted })
    }

    @Test func `a script that a browser would refuse is a mismatch`() async throws {
        origin.on("/a.js", .file(Self.script, type: "text/javascript"))
        #expect(
            try await finding().detail?.contains("expected a signature by \(signer.word), found none") == true
        )
        origin.on("/a.js", signer.script(Self.script, signed: "another"))
        #expect(try await finding().detail?.hasPrefix("Unencoded-Digest: expected SHA-256") == true)
        origin.on("/a.js", signer.script(Self.script, "expires=1;"))
        #expect(
            try await finding().detail?.contains("found a signature that expired on Thu, 01 Jan 1970") == true
        )
        origin.on("/a.js", signer.script(Self.script, covering: [("\"@path\";req", "/b.js")]))
        let finding = try await finding()
        #expect(finding.verdict == .mismatch && finding.signer == nil)
        #expect(
            finding.detail?.contains("found a signature that is not by \(signer.word), which it names")
                == true)
    }

    @Test func `the digest of a compressed script is that of the decoded body`() async throws {
        // The text "hello", compressed by `gzip -n`.
        let gzip: [UInt8] = [
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10,
            0x36, 0x05, 0, 0, 0,
        ]
        var answer = OriginAnswer.file(gzip, type: "text/javascript").adding("Content-Encoding", "gzip")
        for (name, value) in signer.fields(of: "hello") { answer = answer.adding(name, value) }
        origin.on("/a.js", answer)
        #expect(try await finding().verdict == .verified)
    }

    @Test func `after a redirect the signature covers the URL of the last request`() async throws {
        origin.on("/a.js", .redirect(to: "/b.js"))
        origin.on("/b.js", signer.script(Self.script, covering: [("\"@path\";req", "/b.js")]))
        #expect(try await finding().verdict == .verified)
    }

    @Test func `a stored script is verified by its stored header fields, for which the crawl asks`()
        async throws
    {
        origin.on("/a.js", signer.script(Self.script, covering: [("\"@path\";req", "/a.js")]))
        _ = try await larder.prefetch([origin.url("/")])
        var options = CheckOptions()
        options.places = [.stored]
        let report = try await larder.check(origin.url("/"), options: options)
        #expect(report.items.first?.findings.first?.verdict == .verified)
        #expect(report.items.first?.findings.first?.signer == signer.word)
        let wanted = try #require(origin.requests(to: "/a.js").first?["Accept-Signature"])
        #expect(wanted.contains("keyid=\"\(signer.word.dropFirst(8))\""))
    }

    @Test func `a build folder has no signatures, so its script is not verified`() async throws {
        let page = try folder.write(
            "<script src=a.js integrity=\"\(signer.word)\"></script>", to: "index.html")
        _ = try folder.write(Self.script, to: "a.js")
        var options = CheckOptions()
        options.places = [.folder(folder.path)]
        options.bases = ["https://example.com/"]
        let report = try await larder.check(page, options: options)
        #expect(report.items.first?.findings.first?.verdict == .unverifiable)
    }

    @Test func `the check of a site names the scripts that browsers refuse, and does not fail for them`()
        async throws
    {
        let script = { (name: String, integrity: String) in
            "<script src=/\(name).js crossorigin integrity=\"\(integrity)\"></script>"
        }
        let wrong = "sha256-\(Base64.encode([UInt8](repeating: 0, count: 32)))"
        let page = script("a", signer.word) + script("b", signer.word) + script("c", wrong)
        origin.on("/", .page("<a href=/other>x</a>" + page))
        origin.on("/other", .page("<p>other" + page))
        origin.on("/a.js", signer.script(Self.script))
        origin.on("/b.js", signer.script("b", signed: "another"))
        origin.on("/c.js", .file("c", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean && report.count(.mismatch) == 0)
        let refused = report.notes.filter { $0.hasPrefix("browsers refuse") }
        #expect(refused.count == 2)
        #expect(refused.allSatisfy { $0.contains("/b.js on ") || $0.contains("/c.js on ") })
        #expect(refused.contains { $0.contains("found none") || $0.contains("expected SHA-256") })
    }
}
