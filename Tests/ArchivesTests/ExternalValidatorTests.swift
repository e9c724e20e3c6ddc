import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Validates exports with tools of other projects from PyPI: `warcio`, `wacz` and `pywb`.
@Suite struct ExternalValidatorTests {
    /// A site with responses of every kind: pages, encoded, empty and duplicate bodies, redirects, 410, other requests.
    private static func site() throws -> ArchiveTestSite {
        let picture = [UInt8](repeating: 7, count: 300_000)
        let page = "<title>Ä page</title><p>\u{FEFF}\r\n\r\nWARC/1.1\r\n</p><a href=/b>b</a>"
        var old = ArchiveTestSite.Response(path: "/old", status: 301)
        old.fields = [("Location", "/b"), ("Set-Cookie", "a=b"), ("Transfer-Encoding", "chunked")]
        var coded = ArchiveTestSite.Response.file("/coded", "text/plain", [0x1F, 0x8B, 8, 0, 1, 2, 3])
        (coded.fields, coded.flags) = ([("Content-Encoding", "gzip")], .isCoded)
        var posted = ArchiveTestSite.Response.page("/search", "found")
        posted.request = RequestKey(method: "POST", body: Array("q=x".utf8).span)
        return try ArchiveTestSite([
            .page("/", page), .page("/same", page), .page("/b?x=%20&y=\u{E4}", "<p>b"), old, coded, posted,
            .file("/i.png", "image/png", picture), .file("/j.png", "image/png", picture),
            .file("/empty.js", "text/javascript", []), ArchiveTestSite.Response(path: "/gone", status: 404),
        ])
    }

    private func ask(_ tool: String, _ words: [String]) throws -> ChildProcess.Ending {
        try ChildProcess(
            try #require(ExternalProgram.find(tool)), words, environment: ["PYTHONWARNINGS": "ignore"]
        )
        .wait()
    }

    @Test(
        .enabled(if: ExternalProgram.find("warcio") != nil, "warcio is not installed"),
        arguments: [nil, 1000],
        ["out.warc.gz", "out.warc"])
    func `warcio confirms every digest`(split: Int64?, name: String) throws {
        let site = try Self.site()
        let report = try site.export(name, .warc) { $0.maxFileBytes = split }
        #expect(report.isVerified == true && (report.files.count > 1) == (split != nil))
        for file in report.files {
            let check = try ask("warcio", ["check", "-v", file.path])
            #expect(check.status == 0 && check.output.contains("digest pass"), "\(check)")
            // warcio prints each record with its position and type.
            let index = try ask("warcio", ["index", "-f", "offset,warc-type,http:status", file.path])
            #expect(index.status == 0 && index.output.contains("\"warc-type\": \"warcinfo\""), "\(index)")
        }
    }

    @Test(
        .enabled(if: ExternalProgram.find("wacz") != nil, "wacz is not installed"), arguments: [false, true])
    func `the wacz tool validates the archive`(isSigned: Bool) throws {
        let site = try Self.site()
        let key = isSigned ? try ArchiveSigningKey.open(in: site.folder) : nil
        _ = try site.export("out.wacz", .wacz) { $0.signingKey = key }
        let check = try ask("wacz", ["validate", "-f", site.home.file("out.wacz")])
        #expect(check.status == 0 && check.output.contains("Validation succeeded"), "\(check)")
    }
}
