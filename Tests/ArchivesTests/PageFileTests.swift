import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Tests the export of one page as one file. `InBrowserTests` test what a browser shows of it.
@Suite struct PageFileTests {
    private static func document(
        _ page: String, _ files: [ArchiveTestSite.Response] = [],
        change: (inout ExportPlan) -> Void = { _ in }
    ) throws -> (text: String, report: ExportReport) {
        let site = try ArchiveTestSite([.page("/", page)] + files)
        let report = try site.export("page.html", .html, change: change)
        #expect(report.isVerified == true)
        let bytes = try WholeFile.read(site.home.file("page.html"), atMost: 64 << 20)
        return (String(decoding: bytes, as: UTF8.self), report)
    }

    private static func css(_ path: String, _ text: String) -> ArchiveTestSite.Response {
        .file(path, "text/css", Array(text.utf8))
    }

    @Test(arguments: [
        ("<a href=/b#c>b</a>", "<a href=https://example.com/b#c>"), ("<a href=/#c>b</a>", "<a href=#c>"),
        ("<a href=#c>b</a>", "<a href=#c>"),
        ("<base href=/x/><a href=y>", "<a href=https://example.com/x/y>"),
        ("<base href=/x/><a href=y>", "<base href=#>"),
        ("<img src=/i.png>", "<img src=\"data:image/png;base64,AQID\">"),
        ("<img src=/none.png>", "<img src=about:invalid>"),
        ("<script src=/none.js></script>", "src=about:invalid>"),
        ("<iframe src=/none></iframe>", "<iframe src=about:blank>"),
        ("<link rel=preconnect href=//else.test>", "href=data:,>"),
        ("<link rel=preload as=image href=/i.png>", "href=data:,>"),
        ("<link rel=preload as=style onload=x() href=/s.css>", "onload=x() href=data:text/css,b{}>"),
        ("<meta http-equiv=refresh content='3;url=/b'>", "content='3;url=#'"),
        (
            "<meta http-equiv=content-security-policy content=x>",
            "http-equiv=original-content-policy content=x"
        ),
        (
            "<script integrity=sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s= src=/s.js></script>",
            "<script data-hash=sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s= src="
        ),
        // A script that browsers already blocked on the live site stays blocked.
        ("<script integrity=sha256-x src=/s.js></script>", "<script integrity=sha256-x src="),
        ("<script integrity=later src=/s.js></script>", "<script data-hash=later src="),
        ("<model-viewer src=/i.png>", "<model-viewer src=\"data:image/png;base64,AQID\">"),
        ("<model-viewer src=/none.glb>", "<model-viewer src=about:invalid>"),
        ("<form action=/f>", "<form action=https://example.com/f>"),
        ("<img src=/big.png>", "<img src=about:invalid>"),
        ("<p style=\"background: url('/i.png')\">", "url('data:image/png;base64,AQID')"),
        (
            "<img srcset='/i.png 1x,/none.png 2x'>",
            "<img srcset='data:image/png;base64,AQID 1x,about:invalid 2x'>"
        ),
    ])
    func `each link becomes a data URL or an absolute URL`(page: String, expected: String) throws {
        let (text, _) = try Self.document(
            page,
            [
                .file("/i.png", "image/png", [1, 2, 3]),
                .file("/big.png", "image/png", [UInt8](repeating: 1, count: 5000)),
                Self.css("/s.css", "b{}"), .file("/s.js", "text/javascript", Array("1".utf8)),
            ]
        ) { $0.pageLimits.maxBodyBytes = 4000 }
        // In a value without quotes, some bytes are written as character references.
        let read = text.replacing("&#61;", with: "=").replacing(
            "src=data:image/png;base64,AQID", with: "src=\"data:image/png;base64,AQID\"")
        #expect(read.contains(expected), "\(text)")
    }

    @Test func `missing and too large assets are reported`() throws {
        let page = "<img src=/none.png><img src=/big.png><link rel=stylesheet href=/s.css>"
        let (_, report) = try Self.document(
            page,
            [
                .file("/big.png", "image/png", [UInt8](repeating: 1, count: 5000)),
                Self.css("/s.css", "b{background:url(n)}"),
            ]
        ) { $0.pageLimits.maxBodyBytes = 4000 }
        #expect(report.missing.map(\.url) == ["https://example.com/n", "https://example.com/none.png"])
        #expect(report.missing.map(\.neededBy) == ["https://example.com/s.css", "https://example.com/"])
        #expect(
            report.tooLarge == [.init(url: "https://example.com/big.png", byteCount: 5000)]
                && !report.isComplete)
    }

    @Test func `cycles of style sheets and of frames end`() throws {
        let (text, report) = try Self.document(
            "<!doctype html><link rel=stylesheet href=/a.css><iframe src=/f></iframe>",
            [
                Self.css("/a.css", "@import '/b.css';@import '/a.css';a{}"),
                Self.css("/b.css", "@import '/a.css';b{}"),
                .page("/f", "<!doctype html><iframe src=/></iframe><iframe src=/f></iframe>f"),
            ])
        #expect(text.utf8.count < 4000 && report.responses == 4)
    }

    @Test
    func
        `a chain of a thousand sheets, frames or modules is cut, or carried out, and does not break the stack`()
        throws
    {
        var files: [ArchiveTestSite.Response] = []
        for number in 0..<1000 {
            files.append(Self.css("/\(number).css", "@import '/\(number + 1).css';"))
            files.append(.page("/\(number)", "<!doctype html><iframe src=/\(number + 1)></iframe>"))
            files.append(.file("/\(number).js", "text/javascript", Array("import '/\(number + 1).js';".utf8)))
        }
        let page =
            "<!doctype html><link rel=stylesheet href=/0.css><iframe src=/0></iframe><script type=module src=/0.js></script>"
        let (text, report) = try Self.document(page, files)
        #expect(text.contains("\"https://example.com/999.js\":\"data:text/javascript,"))
        #expect(report.missing.map(\.url) == ["https://example.com/1000.js"])
    }

    @Test func `content that doubles at each level stays below the size limit`() throws {
        var files: [ArchiveTestSite.Response] = []
        for number in 0..<40 {
            files.append(
                Self.css("/\(number).css", "@import '/\(number + 1).css';@import '/\(number + 1).css?';"))
            files.append(
                Self.css("/\(number).css?", "@import '/\(number + 1).css';@import '/\(number + 1).css?';"))
        }
        let (text, _) = try Self.document("<link rel=stylesheet href=/0.css>", files) {
            $0.pageLimits.maxDepth = 30
            $0.pageLimits.maxTotalBytes = 1 << 20
            $0.pageLimits.maxBodyBytes = 1 << 20
        }
        #expect(text.utf8.count < 4 << 20)
    }

    @Test func `a module is inserted once, in an import map that cannot end its script element`() throws {
        let (text, _) = try Self.document(
            "<!doctype html><script type=module src=/a.js></script><script type=module>import '/b.js'; '</script'</script>",
            [
                .file("/a.js", "text/javascript", Array("import './b.js'; import './a.js'".utf8)),
                .file("/b.js", "text/javascript", Array("import './a.js'; '</script>'".utf8)),
            ])
        #expect(text.components(of: "\"https://example.com/b.js\":") == 1)
        #expect(
            text.contains("src=\"data:text/javascript,import%20%22https://example.com/a.js%22\"")
                || text.contains("import%20%22https://example.com/a.js%22"))
        #expect(text.contains("import 'https://example.com/b.js'"))
    }

    @Test func `a page without scripts contains none of their bytes, and its policy forbids scripts`() throws
    {
        let (text, _) = try Self.document(
            "<script src=/a.js></script><script type=module src=/a.js></script>",
            [.file("/a.js", "text/javascript", Array("secret".utf8))]
        ) { $0.keepsScripts = false }
        #expect(!text.contains("secret") && text.contains("script-src 'none'"))
    }

    @Test func `a URL that is not a page is refused with advice`() throws {
        let site = try ArchiveTestSite([.page("/", "x"), .file("/i.png", "image/png", [1])])
        for (url, words) in [
            ("https://example.com/i.png", "is not HTML but image/png; name a page"),
            ("https://example.com/no", "it is not stored; prefetch it"),
        ] {
            let error = #expect(throws: ArchiveError.self) {
                try site.export("x.html", .html) { $0.page = WebURL(url) }
            }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        }
        #expect(site.home.names(in: "").allSatisfy { !$0.hasPrefix("x.html") })
    }

    @Test(arguments: [ArchiveFormat.warc, .wacz, .har, .zip, .folder])
    func `an export of one page in any format contains the page and its assets only`(form: ArchiveFormat)
        throws
    {
        let site = try ArchiveTestSite([
            .page("/", "start"), .page("/p", "<link rel=stylesheet href=/s.css><a href=/>x</a>"),
            Self.css("/s.css", "b{background:url(i.png)}"),
            .file("/i.png", "image/png", [1]), .file("/other.png", "image/png", [2]),
        ])
        let report = try site.export("p" + form.suffix, form) { $0.page = WebURL("https://example.com/p") }
        #expect(
            report.responses == 3 && report.pages == 1 && report.isVerified == true && report.missing.isEmpty)
        if form == .folder {
            let names: Set = [
                ".nojekyll", "START-HERE.html", "i.png", "index.html", "p.html", "s.css", "~larder.jsonl",
            ]
            #expect(Set(site.home.names(in: "p")) == names)
        }
    }

    @Test(arguments: [
        ("<a  SRC = yy b>", "a", ["src", "b"]), ("<i t=\"<b src=\" src=\"yy\">", "i", ["t", "src"]),
        ("<i t='>' src= yy >", "i", ["t", "src"]),
    ])
    func `the start tag around a link is found`(text: String, element: String, names: [String]) throws {
        let bytes = Array(text.utf8)
        let place = try #require(bytes.firstRange(of: Array("yy".utf8)))
        let tag = try #require(EnclosingTag(around: place, in: bytes, mustBeWholeValue: true))
        #expect(tag.element == element && tag.attributes.map(\.name) == names)
        #expect(tag.attribute(at: place.lowerBound)?.name == "src")
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
