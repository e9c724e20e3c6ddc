import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Tests archives whose requests contain secrets: these are neither stored as text nor exported.
@Suite struct SecretRequestTests {
    private static let secret = "hunter2"

    /// A HAR with one response, whose request has the secret in this header field.
    private func har(_ name: String, caching: String = "", vary: String = "") -> String {
        """
        {"log": {"version": "1.2", "entries": [{"startedDateTime": "2020-02-02T02:02:02Z",
         "request": {"method": "GET", "url": "https://example.com/data",
          "headers": [{"name": ":path", "value": "/data"}, {"name": "User-Agent", "value": "x"},
           {"name": "Sec-Fetch-Mode", "value": "cors"}, {"name": "\(name)", "value": "\(Self.secret)"}]},
         "response": {"status": 200, "headers": [{"name": "Cache-Control", "value": "\(caching)"},
           {"name": "Vary", "value": "\(vary)"}],
          "content": {"mimeType": "text/plain", "text": "mine"}}}]}}
        """
    }

    /// Imports a HAR into a new site.
    private func importHAR(_ text: String) throws -> ArchiveTestSite {
        let site = try ArchiveTestSite()
        let path = try site.home.write(text, to: "in.har")
        _ = try site.importFiles([path], site: ArchiveTestSite.name)
        return site
    }

    @Test(arguments: [
        ("X-Api-Key", "", true), ("X-Api-Key", "public", true), ("Private-Token", "max-age=9", true),
        ("Authorization", "", true), ("Authorization", "public", false), ("Cookie", "", false),
        ("Cookie", "private", true), ("X-Requested-With", "", false), ("Referer", "", false),
    ])
    func `an imported response is private if its request carried a secret`(
        name: String, caching: String, isPrivate: Bool
    ) throws {
        let site = try importHAR(har(name, caching: caching))
        let stored = try #require(try StoreReader(site.folder).response(for: "https://example.com/data"))
        #expect(stored.flags.contains(.isPrivate) == isPrivate)
    }

    @Test(arguments: ArchiveFormat.responseFormats)
    func `a secret by which an imported response varies is not exported`(
        form: ArchiveFormat
    ) throws {
        let site = try importHAR(har("X-Api-Key", vary: "X-Api-Key, User-Agent"))
        let reader = try StoreReader(site.folder)
        let stored = try #require(try reader.response(for: "https://example.com/data"))
        #expect(!stored.variant.contains(Self.secret) && stored.variant.contains("user-agent: x"))
        #expect(stored.matches(["X-Api-Key": Self.secret, "User-Agent": "x"], reader.secrets))
        #expect(!stored.matches(["X-Api-Key": "other", "User-Agent": "x"], reader.secrets))
        // The response of the server does not contain the secret, so no exported file may.
        let report = try site.export("out\(form.suffix)", form) { $0.shouldVerify = true }
        #expect(report.responses == 1 && report.isVerified == true)
        for file in report.files {
            let bytes = try WholeFile.read(file.path, atMost: 1 << 24)
            #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.secret))
        }
        let row = try #require(try shownRow(of: site))
        #expect(ArchivedResponse(row).requestFields == ["user-agent": "x"])
    }

    @Test func `a secret that an earlier version stored is not exported`() throws {
        var answer = ArchiveTestSite.Response.page("/data", "mine")
        answer.variant = "x-api-key: \(Self.secret)"
        let old = try ArchiveTestSite([answer])
        let row = try #require(try shownRow(of: old))
        #expect(ArchivedResponse(row).notes?.variant == VaryKey.never)
        #expect(ArchivedResponse(row).requestFields.isEmpty)
    }

    /// Returns the row that reports show for the response.
    private func shownRow(of site: ArchiveTestSite) throws -> VisibleResponse? {
        var row: VisibleResponse?
        try StoreReader(site.folder).eachVisibleResponse(ofSite: try site.site().id, asOf: nil) {
            row = $0
            return false
        }
        return row
    }
}
