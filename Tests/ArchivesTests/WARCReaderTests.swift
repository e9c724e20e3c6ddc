import Codings
import Digest
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// WARC and ARC files as other programs write them, and hostile ones.
@Suite struct WARCReaderTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    /// A WARC record. `length` replaces its correct length.
    private static func record(
        _ type: String, _ url: String?, _ block: String, _ fields: [(String, String)] = [],
        length: Int? = nil,
        version: String = "WARC/1.0"
    ) -> [UInt8] {
        var text = "\(version)\r\nWARC-Type: \(type)\r\nWARC-Date: 2020-02-02T02:02:02Z\r\n"
        if let url { text += "WARC-Target-URI: \(url)\r\n" }
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        text += "Content-Length: \(length ?? block.utf8.count)\r\n\r\n"
        return Array((text + block + "\r\n\r\n").utf8)
    }

    private static func answer(_ body: String, _ head: String = "Content-Type: text/html\r\n") -> String {
        "HTTP/1.1 200 OK\r\n\(head)\r\n\(body)"
    }

    private static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var compressed: [UInt8] = []
        guard let deflater = Deflater(.gzip, level: 6) else { return [] }
        bytes.withUnsafeBytes { deflater.compress($0) { (piece) throws(Never) in compressed += piece } }
        deflater.finish { (piece) throws(Never) in compressed += piece }
        return compressed
    }

    /// Returns a short text for each item that a reader returns.
    private func readItems(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) throws -> [String] {
        let path = home.file("in")
        let file = try File(path, 0o1101)
        try file.write(bytes)
        try file.close()
        let reader = try ArchiveFiles.reader(of: path, .inFiles(folder: home.path), limits)
        var items: [String] = []
        while let item = try reader.next() {
            switch item {
            case .response(let response):
                let text = try response.body?.content?.load() ?? []
                items.append(
                    "\(response.method) \(response.url) \(response.status) \(String(decoding: text, as: UTF8.self))"
                )
            case .revisit(let response, let original):
                items.append("\(response.url) as \(original.url ?? "-")")
            case .other: items.append("other")
            case .fault(let fault): items.append("\(fault.severity.rawValue): \(fault.reason)")
            }
        }
        return items
    }

    private static let two =
        record("warcinfo", nil, "software: x\r\n") + record("response", "http://a.test/", answer("one"))
        + record("response", "http://a.test/2", answer("two"))

    @Test func `plain, record-compressed and wholly compressed WARCs give the same responses`() throws {
        let expected = ["other", "GET http://a.test/ 200 one", "GET http://a.test/2 200 two"]
        #expect(try readItems(Self.two) == expected)
        #expect(try readItems(Self.gzip(Self.two)) == expected)
        let members =
            Self.gzip(Self.record("warcinfo", nil, "software: x\r\n"))
            + Self.gzip(Self.record("response", "http://a.test/", Self.answer("one"))) + [0, 0]
            + Self.gzip(Self.record("response", "http://a.test/2", Self.answer("two")))
        #expect(try readItems(members) == expected)
    }

    @Test(arguments: [
        ("<http://a.test/>", "", "one"),
        ("http://a.test/", "Transfer-Encoding: chunked\r\n", "3\r\none\r\n0\r\n\r\n"),
        ("http://a.test/", "Transfer-Encoding: chunked\r\n", "one"),
        ("http://a.test/", "Content-Encoding: gzip\r\nContent-Length: 900\r\n", "one"),
        ("http://a.test/", "Content-Encoding: br\r\n", "one"),
    ])
    func `a body that a tool has decoded is read unchanged despite its headers`(
        url: String, head: String, body: String
    )
        throws
    {
        let record = Self.record("response", url, Self.answer(body, head))
        #expect(try readItems(record) == ["GET http://a.test/ 200 one"])
    }

    @Test func `a body with a content coding is decoded`() throws {
        let body = Self.gzip(Array("one".utf8))
        let head = Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8)
        func record(_ body: [UInt8]) -> [UInt8] {
            let start = Self.record("response", "http://a.test/", "", length: head.count + body.count)
            return Array(start.dropLast(4)) + head + body + [13, 10, 13, 10]
        }
        #expect(try readItems(record(body)) == ["GET http://a.test/ 200 one"])
        #expect(
            try readItems(record(Array(body.dropLast(3)))) == [
                "refused: the body ends before its coding does, gzip"
            ])
    }

    @Test(arguments: [true, false])
    func `a request record before or after its response gives the method`(isRequestLast: Bool) throws {
        let request = Self.record(
            "request", "http://a.test/", "POST / HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}",
            [("WARC-Record-ID", "<urn:q>"), ("WARC-Concurrent-To", "<urn:r>")])
        let response = Self.record(
            "response", "http://a.test/", Self.answer("one"), [("WARC-Record-ID", "<urn:r>")])
        let last = Self.record("response", "http://a.test/2", Self.answer("two"))
        let items = try readItems(isRequestLast ? response + request + last : request + response + last)
        #expect(
            items.filter { $0 != "other" } == ["POST http://a.test/ 200 one", "GET http://a.test/2 200 two"])
    }

    @Test func `digests in WARC records are verified`() throws {
        let block = Self.answer("one")
        let (sha1, other) = (
            ArchiveDigest.text(DigestStream.digest(.sha1, of: Array(block.utf8).span)),
            ArchiveDigest.text(DigestStream.digest(.sha1, of: [1].span))
        )
        let payload = DigestStream.digest(.sha256, of: Array("one".utf8).span)
        func record(_ fields: [(String, String)]) -> [UInt8] {
            Self.record("response", "http://a.test/", block, fields)
        }
        let good = "GET http://a.test/ 200 one"
        #expect(try readItems(record([("WARC-Block-Digest", sha1)])) == [good])
        #expect(try readItems(record([("WARC-Block-Digest", sha1.lowercased())])) == [good])
        #expect(try readItems(record([("WARC-Payload-Digest", "sha256:\(payload.hex)")])) == [good])
        #expect(
            try readItems(record([("WARC-Payload-Digest", "sha-256:\(Base64.encode(payload.bytes))")])) == [
                good
            ])
        #expect(try readItems(record([("WARC-Payload-Digest", "whirl:pool")])) == [good])
        #expect(
            try readItems(record([("WARC-Block-Digest", other)])) == [
                "refused: its bytes do not match its digest"
            ])
        #expect(
            try readItems(record([("WARC-Payload-Digest", other)])) == [
                "refused: its body does not match its digest"
            ])
        let doubtful = try readItems(record([("WARC-Block-Digest", sha1), ("WARC-Payload-Digest", other)]))
        #expect(doubtful.count == 2 && doubtful[0].hasPrefix("doubtful: ") && doubtful[1] == good)
    }

    @Test func `a damaged gzip member is reported, and the next one is read`() throws {
        var members = [Self.gzip(Self.record("response", "http://a.test/", Self.answer("one")))]
        members += [Self.gzip(Self.record("response", "http://a.test/2", Self.answer("two")))]
        members += [Self.gzip(Self.record("response", "http://a.test/3", Self.answer("three")))]
        members[1][40] ^= 0xFF
        let all = try readItems(members.flatMap { $0 })
        #expect(all.first == "GET http://a.test/ 200 one")
        #expect(all.last == "GET http://a.test/3 200 three")
        #expect(all.contains { $0.hasPrefix("refused: ") })
        #expect(
            try readItems(members[0] + Array(members[2].dropLast(9))).last?.hasPrefix("refused: ") == true)
        #expect(
            try readItems(members[0] + Array("not compressed".utf8) + members[2]).last
                == "GET http://a.test/3 200 three")
    }

    @Test(arguments: 0...6)
    func `after a wrong length, a record whose beginning lies across two read buffers is read whole`(
        bytesBeforeEnd: Int
    ) throws {
        let bufferBytes = 256 << 10
        // The declared length ends before the line break. The line after it begins no record, so the reader searches for
        // the next one from the line after that.
        let first = Self.record("response", "http://a.test/", Self.answer("one"))
        let start = first.dropLast(4) + Array("\nnot a record\n".utf8)
        let filler = [UInt8](repeating: UInt8(ascii: "x"), count: bufferBytes - bytesBeforeEnd - start.count)
        // The record is longer than a buffer, so that the second buffer is full.
        let body = (0..<60_000).map { "line \($0)\n" }.joined()
        let last = Self.record("response", "http://a.test/2", Self.answer(body))
        let items = try readItems(start + filler + last)
        #expect(items.count == 3)
        #expect(items.first == "GET http://a.test/ 200 one")
        #expect(items.dropFirst().first == "refused: there is no record here")
        #expect(items.last == "GET http://a.test/2 200 \(body)")
    }

    @Test(arguments: [-3, 5, 100_000, Int.max])
    func `a wrong length damages its record only`(change: Int) throws {
        let (length, _) = Self.answer("one").utf8.count.addingReportingOverflow(change)
        let falseRecord = Self.record("response", "http://a.test/", Self.answer("one"), length: length)
        let all = try readItems(
            falseRecord + Self.record("response", "http://a.test/2", Self.answer("two")) + Self.two)
        #expect(!all.isEmpty)
        if change < 100 { #expect(all.last == "GET http://a.test/2 200 two", "\(all)") }
    }

    @Test func `records with impossible values are refused`() throws {
        #expect(try readItems(Array("<html>".utf8)) == ["refused: it is not a WARC"])
        #expect(try readItems([]) == ["refused: it is empty"])
        #expect(try readItems(Self.record("response", nil, Self.answer("x"))).count == 1)
        #expect(
            try readItems(Array("WARC/1.0\r\nWARC-Type: response\r\n\r\n\r\n".utf8)) == [
                "refused: a record does not declare its length"
            ])
        #expect(
            try readItems(Array("WARC/1.0\r\nWARC-Type: resp".utf8)) == [
                "refused: it ends in the headers of a record"
            ])
        #expect(
            try readItems(Self.record("response", "dns:a.test", "20200202\r\na.test 1 IN A 1.2.3.4")) == [
                "other"
            ])
        let bomb = Self.gzip(
            Self.record("response", "http://a.test/", Self.answer(String(repeating: "0", count: 3_000_000))))
        var limits = ArchiveLimits()
        limits.expansionAllowanceBytes = 1_000_000
        let items = try readItems(
            bomb + Self.gzip(Self.record("response", "http://a.test/2", Self.answer("two"))), limits: limits)
        #expect(
            items == [
                "refused: it expands to more than 200 times its size plus 1000000 bytes",
                "GET http://a.test/2 200 two",
            ])
    }

    @Test func `records beyond the total expansion limit are refused, and small ones after them are read`()
        throws
    {
        var limits = ArchiveLimits()
        (limits.expansionFactor, limits.expansionAllowanceBytes) = (1, 1_000_000)
        func bomb(_ number: Int, _ coding: String = "") -> [UInt8] {
            let zeros = [UInt8](repeating: 0x30, count: 900_000)
            let body = coding.isEmpty ? zeros : Self.gzip(zeros)
            let head = Array(Self.answer("", coding).utf8)
            let record = Self.record(
                "response", "http://a.test/\(number)", "", length: head.count + body.count)
            return Self.gzip(Array(record.dropLast(4)) + head + body + Array("\r\n\r\n".utf8))
        }
        let small = Self.gzip(Self.record("response", "http://a.test/", Self.answer("one")))
        for coding in ["", "Content-Encoding: gzip\r\n"] {
            let items = try readItems(bomb(1, coding) + bomb(2, coding) + small, limits: limits)
            #expect(items.map { $0.prefix(8) } == ["GET http", "refused:", "GET http"], "\(items)")
        }
        let many = try readItems((0..<30).flatMap { bomb($0) } + small, limits: limits)
        #expect(many.count == 18 && many.last?.hasSuffix("nothing after it is read") == true, "\(many)")
    }

    @Test(arguments: [
        ("Content-Length: 9\r\n", "its headers declare 9 bytes, but it has 3"),
        ("Content-Length: 3\r\n", nil), ("Content-Length: 2\r\n", nil),
        (
            "Content-Encoding: quux\r\n",
            "its content coding quux is not supported: its body is stored encoded"
        ),
        ("Content-Encoding: utf-8\r\nContent-Length: 3\r\n", nil), ("Content-Encoding: identity\r\n", nil),
    ])
    func `wrong headers about a body are reported, and the body is imported`(
        head: String, doubt: String?
    ) throws {
        let record = Self.record("response", "http://a.test/", Self.answer("one", head))
        #expect(
            try readItems(record) == (doubt.map { ["doubtful: \($0)"] } ?? []) + [
                "GET http://a.test/ 200 one"
            ])
    }

    @Test(arguments: [true, false])
    func `a response to HEAD may declare a length without a body`(isRequestLast: Bool) throws {
        let request = Self.record(
            "request", "http://a.test/", "HEAD / HTTP/1.1\r\n\r\n",
            [("WARC-Record-ID", "<urn:q>"), ("WARC-Concurrent-To", "<urn:r>")])
        let response = Self.record(
            "response", "http://a.test/", Self.answer("", "Content-Length: 90\r\n"),
            [("WARC-Record-ID", "<urn:r>")])
        let items = try readItems(isRequestLast ? response + request : request + response)
        #expect(Set(items) == ["other", "HEAD http://a.test/ 200 "])
        #expect(try self.readItems(response).count == 2)
    }

    /// The number of items does not exceed the number of records either.
    @Test func `reading ends after any truncation or changed byte`() throws {
        let members =
            Self.gzip(Self.record("response", "http://a.test/", Self.answer("one"))) + Self.gzip(Self.two)
        for (number, bytes) in [Self.two, members].enumerated() {
            for place in stride(from: number, to: bytes.count, by: 5) {
                #expect(try readItems(Array(bytes[..<place])).count < 20)
                var changed = bytes
                changed[place] ^= 0x15
                #expect(try readItems(changed).count < 20)
            }
        }
    }

    @Test(arguments: [false, true])
    func `an error response that is not stored replaces no other response`(isFirst: Bool) throws {
        let good = Self.record("response", "http://a.test/", Self.answer("one"))
        let failure = String(decoding: good, as: UTF8.self).replacing("200 OK", with: "503 No")
            .replacing("WARC-Date: 2020", with: "WARC-Date: 2021")
        let bytes = isFirst ? Array(failure.utf8) + good : good + Array(failure.utf8)
        try home.write(bytes, to: "in.warc")
        let report = try ArchiveTestSite().importFiles([home.file("in.warc")])
        #expect(
            report.responses == 1 && report.skippedByStatus == [503: 1] && report.superseded == 0, "\(report)"
        )
    }

    @Test(arguments: [[2020, 2021, 2022], [2022, 2021, 2020], [2021, 2022, 2021], [2020, 2020, 2020]])
    func `one of several responses with the same key is imported, in any order of their dates`(years: [Int])
        throws
    {
        var bytes = Self.record("response", "http://a.test/b", Self.answer("other"))
        for year in years {
            let record = String(
                decoding: Self.record("response", "http://a.test/", Self.answer("in \(year)")),
                as: UTF8.self)
            bytes += Array(record.replacing("WARC-Date: 2020", with: "WARC-Date: \(year)").utf8)
        }
        try home.write(bytes, to: "in.warc")
        let site = try ArchiveTestSite()
        let report = try site.importFiles([home.file("in.warc")])
        #expect(report.responses == 2 && report.pages == 2 && report.superseded == 2, "\(report)")
        #expect(report.byteCount == 12)
        #expect(try site.storedResponses().count == report.responses)
    }

    /// An older response is imported too if it is for requests with another language.
    @Test func `responses for different languages do not replace each other`() throws {
        let head = "Content-Type: text/html\r\nVary: Accept-Language\r\n"
        var bytes: [UInt8] = []
        for (language, year) in [("de", 2022), ("en", 2020)] {
            let id = "<urn:\(language)>"
            let request = "GET / HTTP/1.1\r\nAccept-Language: \(language)\r\n\r\n"
            let records =
                Self.record(
                    "request", "http://a.test/", request,
                    [("WARC-Record-ID", "<urn:q\(language)>"), ("WARC-Concurrent-To", id)])
                + Self.record(
                    "response", "http://a.test/", Self.answer(language, head), [("WARC-Record-ID", id)])
            let text = String(decoding: records, as: UTF8.self)
            bytes += Array(text.replacing("WARC-Date: 2020", with: "WARC-Date: \(year)").utf8)
        }
        try home.write(bytes, to: "in.warc")
        let report = try ArchiveTestSite().importFiles([home.file("in.warc")])
        #expect(report.responses == 2 && report.superseded == 0, "\(report)")
    }

    @Test(arguments: [("", "it is empty"), ("\r\n\r\n", "it is empty")])
    func `a file without responses is reported among others`(text: String, reason: String) throws {
        let site = try ArchiveTestSite([.page("/", "home")])
        try site.export("out.warc.gz", .warc)
        try site.home.write(text, to: "empty.warc")
        let report = try ArchiveTestSite().importFiles(["out.warc.gz", "empty.warc"].map(site.home.file))
        #expect(report.responses == 1 && report.refused.map(\.reason) == [reason], "\(report)")
    }

    @Test func `an ARC file is read`() throws {
        let answer = Self.answer("one")
        let arc =
            "filedesc://IA.arc 0.0.0.0 19960923142103 text/plain 20\n1 0 Alexa\nURL IP-a\n\n\n"
            + "http://a.test/ 1.2.3.4 19961104142103 text/html \(answer.utf8.count)\n\(answer)\n"
        #expect(try readItems(Array(arc.utf8)) == ["other", "GET http://a.test/ 200 one"])
    }

    @Test func `a revisit gets the body of the record that it refers to`() throws {
        let site = try ArchiveTestSite()
        let body = "<a href=/x>x</a> \(String(repeating: "y", count: 100))"
        let sum = ArchiveDigest.text(DigestStream.digest(.sha1, of: Array(body.utf8).span))
        let bytes =
            Self.record(
                "revisit", "http://a.test/2", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
                [("WARC-Payload-Digest", sum), ("WARC-Refers-To-Target-URI", "http://a.test/")])
            + Self.record("response", "http://a.test/", Self.answer(body), [("WARC-Payload-Digest", sum)])
            + Self.record(
                "revisit", "http://a.test/3", "HTTP/1.1 200 OK\r\n\r\n",
                [("WARC-Payload-Digest", "sha1:AAAA")])
        let file = try File(site.home.file("in.warc"), 0o1101)
        try file.write(bytes)
        try file.close()
        let report = try site.importFiles([site.home.file("in.warc")])
        #expect(report.site == "http://a.test/")
        #expect(report.revisits == 1 && report.responses == 2 && report.refusedCount == 1)
        let reader = try StoreReader(site.folder)
        let revisit = try #require(try reader.response(for: "http://a.test/2"))
        #expect(try revisit.body.flatMap { try reader.content(of: $0) } == .bytes(Array(body.utf8)))
        #expect(revisit.fetched == 1_580_608_922)
        let first = try #require(try reader.response(for: "http://a.test/"))
        #expect(try reader.storedLinks(of: first)?.pages == ["http://a.test/x"])
    }
}
