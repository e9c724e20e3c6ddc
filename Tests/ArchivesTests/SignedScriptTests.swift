import Digest
import System
import TestOrigin
import Testing

@testable import Archives

/// Exported files have no header fields, so that a browser cannot find the signature that a page demands.
@Suite struct SignedScriptTests {
    private let signer: ResponseSigner
    private static let script = "window.hasRun = 1"

    init() throws {
        let key = try #require(Ed25519PrivateKey(seed: Array(repeating: 7, count: 32)))
        signer = ResponseSigner(
            key: key.publicKey.bytes, sign: { key.sign($0) },
            sha256: { DigestStream.digest(.sha256, of: $0.span).bytes })
    }

    /// The page in an exported file.
    private func page(_ form: ArchiveFormat, _ file: String, _ fields: [(String, String)]) throws -> String {
        var script = ArchiveTestSite.Response.file("/s.js", "text/javascript", Array(Self.script.utf8))
        script.fields = fields
        let site = try ArchiveTestSite([
            .page("/", "<script crossorigin integrity=\"\(signer.word)\" src=/s.js></script>"), script,
        ])
        try site.export(file, form)
        let path = form == .folder ? file + "index.html" : file
        return String(decoding: try WholeFile.read(site.home.file(path), atMost: 1 << 20), as: UTF8.self)
    }

    private static let forms: [(ArchiveFormat, String)] = [
        (.folder, "out/"), (.html, "page.html"), (.mhtml, "page.mhtml"),
    ]

    @Test(arguments: forms)
    func `a page demands no key of a script that was signed`(form: ArchiveFormat, file: String) throws {
        let text = try page(
            form, file, signer.fields(of: Self.script, covering: [("\"@path\";req", "/s.js")]))
        #expect(text.contains("data-hash="), "\(text)")
        #expect(!text.contains("integrity=\"") && !text.contains("integrity=3D"), "\(text)")
    }

    @Test(arguments: forms)
    func `a page goes on demanding a key of a script that was not signed by it`(
        form: ArchiveFormat, file: String
    ) throws {
        let text = try page(form, file, signer.fields(of: "another script"))
        #expect(!text.contains("data-hash") && text.contains("integrity="), "\(text)")
    }
}
