import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct HARReaderTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    /// Returns a short text for each item that the reader returns.
    private func readItems(_ text: String) throws -> [String] {
        let file = try File(home.file("in.har"), 0o1101)
        try file.write(Array(text.utf8))
        try file.close()
        let reader = try HARReader(home.file("in.har"), .inMemory, ArchiveLimits())
        var items: [String] = []
        while let item = try reader.next() {
            switch item {
            case .response(let response):
                let body = try response.body?.content?.load() ?? []
                let type = response.fields["Content-Type"] ?? "-"
                items.append(
                    "\(response.url) \(response.status) \(type) \(String(decoding: body, as: UTF8.self))")
            case .fault(let fault): items.append(fault.reason)
            case .revisit, .other: items.append("?")
            }
        }
        return items
    }

    /// An entry whose response has this content.
    private static func entry(_ content: String, status: Int = 200, headers: String = "") -> String {
        """
        {"startedDateTime": "2020-02-02T02:02:02.123+01:00", "request": {"method": "GET", "url": "http://a.test/",
         "headers": [{"name": ":authority", "value": "x"}]},
         "response": {"status": \(status), "headers": [\(headers)], "content": \(content)}}
        """
    }

    /// A HAR with these entries, after members whose text looks like the end of the list.
    private static func har(_ entries: String...) -> String {
        #"{"log": {"version": "1.2", "pages": [{"entries": [1, {"a": "]}"}]}], "creator": {"name": "\"}"}, "entries": ["#
            + entries.joined(separator: ",") + "]}}"
    }

    @Test func `text and base64 bodies are read, and an entry without a body is reported`() throws {
        let all = try readItems(
            Self.har(
                Self.entry(#"{"mimeType": "text/html", "text": "<p>{}[]\"ä"}"#),
                Self.entry(#"{"mimeType": "image/png", "text": "b25l", "encoding": "base64"}"#),
                Self.entry(#"{"mimeType": "image/png", "size": 70}"#), Self.entry("{}", status: 0),
                Self.entry("{}", status: 301, headers: #"{"name": "Location", "value": "/x"}"#),
                Self.entry(#"{"mimeType": "image/png", "text": "?", "encoding": "base64"}"#), "{}",
                "{\"request\": 1}"))
        #expect(
            all == [
                "http://a.test/ 200 text/html; charset=utf-8 <p>{}[]\"ä", "http://a.test/ 200 image/png one",
                "it does not contain its body: save the HAR with content", "it has no response",
                "http://a.test/ 301 - ",
                "its body is not base64", "it has no request or no response",
                "it has no request or no response",
            ])
    }

    @Test(arguments: [
        "", "[]", "{", "null", "{}}", "{\"log\": {\"entries\": [{\"a\": 1", "{]",
        "{\"log\": {\"entries\": 5}}",
    ])
    func `a file that is not a HAR or is truncated ends with a fault`(text: String) throws {
        #expect(try readItems(text).count <= 1)
    }

    @Test(arguments: [(#""text":"jam""#, #""text":"ham""#), (#""text":"AQID""#, #""text":"AQIE""#)])
    func `a body that does not match the digest by Larder is reported`(written: String, changed: String)
        throws
    {
        let site = try ArchiveTestSite([.page("/", "jam"), .file("/a.png", "image/png", [1, 2, 3])])
        try site.export("out.har", .har)
        let bytes = try WholeFile.read(site.home.file("out.har"), atMost: 99_999)
        let text = String(decoding: bytes, as: UTF8.self)
        try #require(text.contains(written))
        try site.home.write(text.replacing(written, with: changed), to: "bad.har")
        let report = try ArchiveTestSite().importFiles(
            [site.home.file("bad.har")], site: ArchiveTestSite.name)
        #expect(report.refused.map(\.reason) == ["its body does not match its digest"], "\(report)")
    }

    @Test func `a truncation at any byte is reported`() throws {
        let text = Array(Self.har(Self.entry("{}"), Self.entry("{}")).utf8)
        for count in 1..<text.count - 1 {
            #expect(
                try readItems(String(decoding: text[..<count], as: UTF8.self)).last?.contains("it ") == true,
                "\(count)")
        }
    }
}
