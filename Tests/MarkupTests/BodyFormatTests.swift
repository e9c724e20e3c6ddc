import Markup
import Testing
import Web

@Suite struct BodyFormatTests {
    @Test(
        "The media type determines the format, or else the file name and the first bytes",
        arguments: [
            ("text/html; charset=x", "/a.css", "", .html), ("text/css", "/a", "<html>", .css),
            ("image/png", "/a.html", "", .opaque),
            ("application/x-javascript", "/", "", .javaScript), ("image/svg+xml", "/", "", .svg),
            ("text/xml", "/", "<urlset>", .sitemap),
            ("application/xml", "/a", "<?xml version='1.0'?><rss>", .feed), (nil, "/a.mjs", "", .javaScript),
            (nil, "/", "<!DOCTYPE html>", .html),
            (nil, "/", "\u{FEFF} <html>", .html), (nil, "/", "GIF89a", .opaque),
            ("text/plain", "/a.js", "", .javaScript),
            ("text/plain", "/a.html", "<html>", .plainText), ("text/plain", "/robots.txt", "x", .plainText),
            ("application/octet-stream", "/a.m3u8", "", .hls), (nil, "/", "#EXTM3U", .hls),
            ("application/json", "/", "{}", .json),
            ("application/xhtml+xml", "/", "", .xhtml), ("application/problem+json", "/", "", .json),
            (nil, "/", "", .opaque),
            ("text/xsl", "/a", "", .xml),
            (
                "text/xml", "/a.xsl",
                "<?xml version='1.0'?><!-- <feed> --><xsl:stylesheet><xsl:template><html><svg/></html>",
                .xml
            ),
            (
                "application/xml", "/a", "<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><svg/>",
                .xhtml
            ),
            ("text/xml", "/a", "<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>", .svg),
        ] as [(String?, String, String, BodyFormat)])
    func formats(_ type: String?, _ path: String, _ body: String, _ format: BodyFormat) throws {
        let url = try #require(WebURL("http://example.com" + path))
        let found = BodyFormat(
            mediaType: type.flatMap { MediaType($0) }, url: url, body: Array(body.utf8).span)
        #expect(found == format)
    }

    @Test func `a format is found by its stored name`() {
        for format in BodyFormat.allCases { #expect(BodyFormat(name: format.name) == format) }
        #expect(BodyFormat(name: "of a later larder") == nil)
    }

    @Test("In XHTML no element's content is special, and CDATA is text")
    func xhtml() {
        let text =
            "<title>a &amp; b</title><script src='x'/><style><![CDATA[a{b:url(y)}]]></style><img src='z'/>"
        let scan = Scan(text, .xhtml)
        #expect(scan.references == ["x", "y", "z"])
        #expect(scan.table.title == "a & b")
        #expect(scan.faults == [])
    }
}
