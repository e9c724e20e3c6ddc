import Digest
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct WACZTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private static let record = Array(
        ("WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2020-02-02T02:02:02Z\r\nWARC-Target-URI: http://a.test/\r\n"
            + "Content-Length: 22\r\n\r\nHTTP/1.1 200 OK\r\n\r\none\r\n\r\n").utf8)

    /// Packs entries as a WACZ, and returns a short text for each item that the reader returns.
    private func readItems(_ entries: [(String, [UInt8])]) throws -> [String] {
        let output = try ArchiveOutput(home.file("in.wacz"))
        let zip = ZipWriter(output, date: 0)
        for (name, bytes) in entries { _ = try zip.add(name, bytes, isDeflated: name.hasSuffix(".json")) }
        try zip.finish()
        _ = try output.finish()
        let reader = try ArchiveFiles.reader(
            of: home.file("in.wacz"), .inFiles(folder: home.path), ArchiveLimits())
        var items: [String] = reader.start.map { ["begins at \($0)"] } ?? []
        while let item = try reader.next() {
            switch item {
            case .response(let response): items.append("\(response.url) \(response.body?.byteCount ?? 0)")
            case .fault(let fault): items.append("\(fault.severity.rawValue): \(fault.reason)")
            case .revisit, .other: items.append("other")
            }
        }
        return items
    }

    @Test func `every WARC in a WACZ is read, and its metadata is verified`() throws {
        let package = #"""
            {"mainPageURL": "http://a.test/", "resources": [{"path": "archive/a.warc", "bytes": 7},
             {"path": "archive/none.warc.gz", "bytes": 1}, {"path": 5}]}
            """#
        #expect(
            try readItems([
                ("archive/a.warc", Self.record), ("archive/../../b.warc", Self.record),
                ("pages/x.warc", Self.record),
                ("datapackage.json", Array(package.utf8)),
            ]) == [
                "begins at http://a.test/", "doubtful: archive/a.warc does not have the size that it lists",
                "refused: it lists archive/none.warc.gz, which it does not contain", "http://a.test/ 3",
                "http://a.test/ 3",
            ])
        // Entries with paths outside the archive do no harm.
        #expect(Set(home.names()) == ["in.wacz"])
    }

    @Test func `a zip file without WARCs is not a WACZ, and a WACZ without datapackage.json is read`() throws
    {
        #expect(throws: ArchiveError.self) { try readItems([("a.txt", [1])]) }
        #expect(
            try readItems([("archive/a.warc", Self.record)]) == [
                "doubtful: it has no readable datapackage.json", "http://a.test/ 3",
            ])
    }

    @Test func `the index of a WACZ has the position of each response`() throws {
        let site = try ArchiveTestSite([.page("/", "home"), .page("/b?x=1", "b")])
        try site.export("out.wacz", .wacz)
        let zip = try ZipFile(site.home.file("out.wacz"))
        func entry(_ name: String) throws -> (ZipFile.Entry, [UInt8]) {
            let entry = try #require(zip.entries.first { $0.name == name })
            return (entry, try #require(try zip.bytes(entry, atMost: 1 << 20)))
        }
        let (warc, bytes) = try entry("archive/data.warc.gz")
        #expect(!warc.isDeflated)
        let lines = String(decoding: try entry("indexes/index.cdx").1, as: UTF8.self).split(separator: "\n")
        #expect(lines.map { $0.split(separator: " ")[0] } == ["com,example)/", "com,example)/b?x=1"])
        for line in lines {
            let json = try JSONValue.parse(Array(line.split(separator: " ", maxSplits: 2)[2].utf8).span)
            let offset = try #require(json["offset"]?.string.flatMap { Int($0) })
            let length = try #require(json["length"]?.string.flatMap { Int($0) })
            try home.write(Array(bytes[offset..<offset + length]), to: "one.warc.gz")
            let reader = try ArchiveFiles.reader(of: home.file("one.warc.gz"), .inMemory)
            guard case .response(let response)? = try reader.next() else {
                Issue.record("there is no response")
                continue
            }
            #expect(response.url == json["url"]?.string)
            let rest = try reader.next()
            #expect(rest.map { "\($0)" } == nil)
        }
        let pages = String(decoding: try entry("pages/pages.jsonl").1, as: UTF8.self).split(separator: "\n")
        #expect(pages.count == 3)
    }

    @Test func `pages have their text, and a signature is valid until a byte changes`() throws {
        let site = try ArchiveTestSite([
            .page("/", "<title>T</title><p>Some <b>text</b> to find"), .page("/b", "b"),
        ])
        let key = try ArchiveSigningKey.open(in: site.folder)
        let report = try site.export("s.wacz", .wacz) { $0.signingKey = key }
        #expect(report.isVerified == true && report.signer?.count == 64)
        let zip = try ZipFile(site.home.file("s.wacz"))
        let pages = try #require(zip.entries.first { $0.name == "pages/pages.jsonl" })
        let text = String(decoding: try #require(try zip.bytes(pages, atMost: 9999)), as: UTF8.self)
        #expect(text.contains("\"text\":\"Some text to find\"") && text.contains("\"hasText\":true"))
        #expect(
            try site.importFiles([site.home.file("s.wacz")], site: ArchiveTestSite.name).signers
                == [report.signer].compactMap { $0 })
        #expect(try ArchiveSigningKey.open(in: site.folder).publicKey == key.publicKey)

        // Changes a byte of the WARC, and one of a signed entry. The sizes stay the same.
        let bytes = try WholeFile.read(site.home.file("s.wacz"), atMost: 1 << 20)
        for (mark, reason) in [
            ("\"software\"", "its signature is not valid"), ("data.warc.gz", "does not cover"),
        ] {
            var changed = bytes
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: mark.utf8) })
            changed[place + (mark == "data.warc.gz" ? 40 : 1)] ^= 0x20
            try site.home.write(changed, to: "x.wacz")
            let taken = try site.importFiles([site.home.file("x.wacz")], site: ArchiveTestSite.name)
            #expect(
                taken.signers.isEmpty && taken.doubtful.contains { $0.reason.contains(reason) }, "\(taken)")
        }
    }

    @Test func `a signature covers the index and the list of pages too`() throws {
        let site = try ArchiveTestSite([.page("/", "<title>T</title>a")])
        let key = try ArchiveSigningKey.open(in: site.folder)
        _ = try site.export("s.wacz", .wacz) { $0.signingKey = key }
        let bytes = try WholeFile.read(site.home.file("s.wacz"), atMost: 1 << 20)
        var changed = bytes
        // Changes the beginning of the index, which only the verification reads.
        let mark = try #require(bytes.indices.first { bytes[$0...].starts(with: "com,example)/ ".utf8) })
        changed[mark] ^= 0x20
        try site.home.write(changed, to: "x.wacz")
        let taken = try site.importFiles([site.home.file("x.wacz")], site: ArchiveTestSite.name)
        #expect(
            taken.signers.isEmpty && taken.doubtful.contains { $0.reason.contains("index.cdx") }, "\(taken)")
    }
}
