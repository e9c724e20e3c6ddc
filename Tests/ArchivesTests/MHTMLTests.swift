import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct MHTMLTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    /// Returns a short text for each item that the reader returns.
    private func readItems(_ text: String, limits: ArchiveLimits = ArchiveLimits()) throws -> [String] {
        try home.write(text.replacing("\n", with: "\r\n"), to: "in.mhtml")
        let reader = try ArchiveFiles.reader(of: home.file("in.mhtml"), .inMemory, limits)
        var items: [String] = []
        while let item = try reader.next() {
            switch item {
            case .response(let response):
                let body = try response.body?.content?.load() ?? []
                let type = response.fields["Content-Type"] ?? "-"
                items.append(
                    "\(response.url) \(type) \(String(decoding: body, as: UTF8.self).debugDescription)")
            case .fault(let fault): items.append(fault.reason)
            case .revisit, .other: items.append("?")
            }
        }
        return items
    }

    /// An MHTML file with these parts, and the head as Chromium writes it.
    private static func message(_ parts: String..., boundary: String = "=_b", end: String = "\n--=_b--\n")
        -> String
    {
        """
        From: <Saved by Blink>
        Snapshot-Content-Location: http://a.test/page
        MIME-Version: 1.0
        Content-Type: multipart/related;
        \ttype="text/html";
        \tboundary="\(boundary)"
        Date: Fri, 20 Nov 2026 13:00:00 +0100


        """ + parts.map { "\n--=_b\n\($0)" }.joined() + end
    }

    @Test func `transfer encodings are decoded, and cid links become URLs`() throws {
        let all = try readItems(
            Self.message(
                """
                Content-Type: text/html; charset=utf-8
                Content-ID: <frame-1@mhtml.blink>
                Content-Transfer-Encoding: quoted-printable
                Content-Location: http://a.test/page

                <link rel=3Dstylesheet href=3D"cid:css-1@mhtml.blink"><iframe src=3Dcid:fr=
                ame-2@mhtml.blink></iframe>=C3=A4 =3D\t
                end=
                """,
                """
                Content-Type: text/css
                Content-Transfer-Encoding: quoted-printable
                Content-Location: cid:css-1@mhtml.blink

                b { background: url("http://a.test/i.png") }
                """,
                """
                content-type: text/html
                CONTENT-ID: <frame-2@mhtml.blink>
                Content-Location: http://b.test/frame#x

                --=_bc
                """,
                """
                Content-Type: image/png
                Content-Transfer-Encoding: base64
                Content-Location: i.png

                b2
                5l
                """))
        #expect(
            all == [
                "http://a.test/page text/html;charset=utf-8 "
                    + ("<link rel=stylesheet href=\"http://a.test/~cid/css-1@mhtml%2eblink\">"
                    + "<iframe src=http://b.test/frame></iframe>ä =\r\nend").debugDescription,
                "http://a.test/~cid/css-1@mhtml%2eblink text/css "
                    + "b { background: url(\"http://a.test/i.png\") }".debugDescription,
                "http://b.test/frame text/html \"--=_bc\"", "http://a.test/i.png image/png \"one\"",
            ])
    }

    @Test(arguments: [
        ("Content-Location: http://a.test/x\nContent-Transfer-Encoding: base64\n\n?", "it is not base64"),
        (
            "Content-Location: http://a.test/x\nContent-Transfer-Encoding: base64\n\nb25l=\nb25l",
            "it is not base64"
        ),
        ("Content-Location: file:///etc/passwd\n\nx", "it has no http or https URL"),
        (
            "Content-Location: http://a.test/x\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\n--x--",
            "it has nested parts"
        ),
        (
            "Content-Location: http://a.test/x\n\n" + String(repeating: "x", count: 2000),
            "it is over 1000 bytes"
        ),
        (
            "Content-Location: http://a.test/" + String(repeating: "x", count: 70000) + "\n\nx",
            "it has no readable headers"
        ),
    ])
    func `an invalid part is reported, and the parts after it are read`(part: String, reason: String) throws {
        var limits = ArchiveLimits()
        limits.maxBodyBytes = 1000
        let all = try readItems(Self.message(part, "Content-Location: http://a.test/y\n\ny"), limits: limits)
        #expect(all.first == reason)
        #expect(reason.contains("head") || all.last == "http://a.test/y - \"y\"")
    }

    @Test func `a wrong or missing boundary ends with a fault`() throws {
        let whole = Self.message(
            "Content-Location: http://a.test/x\n\nx", "Content-Location: http://a.test/y\n\ny")
        #expect(try readItems(whole).count == 2)
        let bytes = Array(whole.utf8)
        let head = whole.utf8.count - 90
        for count in head..<bytes.count - 4 {
            #expect(
                try readItems(String(decoding: bytes[..<count], as: UTF8.self)).last?.contains("it ") == true,
                "\(count)")
        }
        #expect(try readItems(Self.message("x", boundary: "")).first == "it is not MHTML: it has no parts")
        #expect(
            try readItems(Self.message("x", boundary: "other")).first == "it is truncated: it has no part")
    }

    @Test func `ten thousand parts and parts with the same name are read one by one`() throws {
        let part = "\n--=_b\nContent-Location: http://a.test/../../etc/%00\u{1}x\n\ny"
        let all = try readItems(
            Self.message(
                "Content-Location: http://a.test/x\n\nx",
                end: String(repeating: part, count: 10_000) + "\n--=_b--\n"))
        #expect(all.count == 10_001)
        #expect(all.last == "http://a.test/etc/%00%01x - \"y\"")
    }

    @Test(arguments: [
        "", "a", "--=_b", "a\r\nb", "a\nb\rc", "\r\n", "\r\n\r\n", "a ", "a \r\n \t\r\n", "=", "=3D", "-",
        "\n-\n--x\r\n--y",
        String(repeating: "long ", count: 100), String(repeating: "-", count: 300), "\0\u{1}ä\u{2603}",
        "ends\n",
    ])
    func `quoted-printable text decodes to the original bytes`(text: String) throws {
        let quoted = QuotedPrintable.encode(Array(text.utf8))
        for line in String(decoding: quoted, as: UTF8.self).split(separator: "\r\n") {
            #expect(line.utf8.count <= 76 && !line.hasPrefix("-"))
        }
        let part =
            "Content-Location: http://a.test/x\nContent-Transfer-Encoding: quoted-printable\n\n"
            + String(decoding: quoted, as: UTF8.self).replacing("\r\n", with: "\n")
        #expect(try readItems(Self.message(part)) == ["http://a.test/x - \(text.debugDescription)"])
    }

    @Test func `a page exported as MHTML is imported with its assets`() throws {
        let site = try ArchiveTestSite([
            .page(
                "/",
                "<title>Ein Märchen</title><img src=i.png><link rel=stylesheet href=/s.css><a href=/b>b</a>"),
            .page("/b", "not of it"), .file("/i.png", "image/png", [UInt8](0...255)),
            .file("/s.css", "text/css; charset=utf-8", Array("b{background:url(j.png)}\n/* ä */".utf8)),
            .file("/j.png", "image/png", [7, 8, 9]),
        ])
        let report = try site.export("page.mhtml", .mhtml)
        #expect(report.isVerified == true && report.responses == 4 && report.missing.isEmpty)
        #expect(try site.export("again.mht", .mhtml).files[0].byteCount == report.files[0].byteCount)
        let other = try ArchiveTestSite()
        let taken = try other.importFiles([site.home.file("page.mhtml")])
        #expect(taken.responses == 4 && taken.pages == 1 && taken.refused.isEmpty)
        let names = { (line: String) in
            let words = line.split(separator: " ")
            return "\(words[0]) \(words.first { $0.utf8.count == 64 && $0 != words[0] } ?? "-")"
        }
        let held = try other.storedResponses().map(names)
        #expect(Set(held).isSubset(of: Set(try site.storedResponses().map(names))) && held.count == 4)
        #expect(taken.site == "https://example.com/")
    }

    @Test(arguments: [
        // The declared encoding of plain ASCII is not written into the text.
        ("text/html; charset=utf-16le", "", "one"),
        // Browsers see the encoding by the byte order mark only.
        ("text/html", "\u{FEFF}", "\u{E4}"),
    ])
    func `a page in UTF-16 is exported without its content security policy`(
        type: String, mark: String, word: String
    ) throws {
        let policy = "<meta http-equiv=content-security-policy content=\"img-src 'self'\">"
        let text = "\(mark)<!doctype html>\(policy)<p>\(word)<img src=/i.png>"
        let bytes = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let site = try ArchiveTestSite([
            .init(path: "/", type: type, body: bytes), .file("/i.png", "image/png", [1, 2, 3]),
        ])
        let report = try site.export("page.mhtml", .mhtml)
        #expect(report.isVerified == true && report.responses == 2)
        let reader = try ArchiveFiles.reader(of: site.home.file("page.mhtml"), .inMemory)
        guard case .response(let page)? = try reader.next() else {
            Issue.record("the file has no page")
            return
        }
        let expected = text.replacing("content-security-policy", with: "original-content-policy")
        #expect(try page.body?.content?.load() == Array(expected.utf8))
        #expect(page.fields["Content-Type"] == "text/html;charset=utf-8")
    }

    @Test func `a page in UTF-16 that needs no changes is exported as it is`() throws {
        let text = "\u{FEFF}<!doctype html><p>\u{E4}"
        let bytes = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let site = try ArchiveTestSite([.init(path: "/", type: "text/html", body: bytes)])
        _ = try site.export("page.mhtml", .mhtml)
        let reader = try ArchiveFiles.reader(of: site.home.file("page.mhtml"), .inMemory)
        guard case .response(let page)? = try reader.next() else {
            Issue.record("the file has no page")
            return
        }
        #expect(try page.body?.content?.load() == bytes)
    }

    @Test func `a damaged asset is reported, and not counted as exported`() throws {
        // A body of this size has a file of its own.
        let large = [UInt8](repeating: 7, count: 3_000_000)
        let site = try ArchiveTestSite([
            .page("/", "<!doctype html><img src=/large.png><img src=/i.png>"),
            .file("/large.png", "image/png", large), .file("/i.png", "image/png", [1, 2, 3]),
        ])
        try site.damageBodyFiles()
        let report = try site.export("page.mhtml", .mhtml)
        #expect(report.damaged == ["https://example.com/large.png"])
        #expect(report.responses == 2 && report.byteCount < 1000)
        #expect(report.isVerified == true)
    }

    @Test func `a damaged page is not exported`() throws {
        let text = "<!doctype html>" + String(repeating: "<p>word", count: 500_000)
        let site = try ArchiveTestSite([.page("/", text)])
        try site.damageBodyFiles()
        let error = #expect(throws: ArchiveError.self) { try site.export("page.mhtml", .mhtml) }
        #expect(error?.description.contains("https://example.com/ is damaged") == true)
    }
}
