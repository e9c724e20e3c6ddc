import TestOrigin
import Testing

@testable import Web

struct MediaTypeTests {
    @Test(
        arguments: [
            ("text/html", "text/html"),
            (" Text/HTML ; Charset = x ; charset=UTF-8", "text/html;charset=UTF-8"),
            ("text/html;charset=\"utf-8\"junk;a=b", "text/html;charset=utf-8;a=b"),
            ("text/html;a=\"b\\\"c;d\";e=f", "text/html;a=\"b\\\"c;d\";e=f"),
            ("text/html;a=\"", "text/html;a=\"\""),
            ("text/html;a=\"b\\", "text/html;a=\"b\\\\\""),
            ("text/html;a=b;A=c", "text/html;a=b"),
            ("text/html;a=é", "text/html;a=\"é\""),
            ("text/html;a=\u{100}", "text/html"),
            ("\u{0B}text/html", nil), ("text", nil), ("/html", nil), ("text/", nil), ("text/ht ml", nil),
            ("", nil),
            ("text/html/x", nil), ("te xt/html", nil), ("*/*", "*/*"),
        ] as [(String, String?)]) func `a media type is parsed and serialized by the standard`(
            input: String, expected: String?
        )
    {
        #expect(MediaType(input)?.description == expected)
    }

    @Test(
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: ConformanceData.cases("encoding/mime-types.json"))
    func `media types are parsed as in web-platform-tests`(row: JSONValue) throws {
        guard let input = row["input"]?.string else { return }
        let type = MediaType(input)
        #expect(type?.description == row["output"]?.string, "\(input)")
        let encoding = type?.charset.flatMap { TextEncoding(label: $0) }
        #expect(encoding?.name == row["encoding"]?.string, "\(input)")
    }

    @Test(
        arguments: [
            ("text/html", ["html"]), ("application/xhtml+xml", ["xml"]), ("image/svg+xml", ["xml"]),
            ("text/xml", ["xml"]), ("application/rss+xml", ["xml"]), ("text/css", []),
            ("application/ld+json", ["json"]), ("application/json; charset=utf-8", ["json"]),
            ("text/json", ["json"]),
            ("TEXT/JavaScript1.5", ["js"]), ("application/x-javascript", ["js"]), ("text/livescript", ["js"]),
            ("text/javascript1.6", []), ("font/woff2", []), ("application/vnd.ms-fontobject", []),
            ("application/font-woff", []), ("audio/mpeg", []), ("application/ogg", []),
            ("video/mp4", []), ("image/png", []), ("text/plain", []),
        ] as [(String, [String])]) func `a media type is classified as HTML, XML, JSON or JavaScript`(
            input: String, kinds: [String]
        ) throws
    {
        let type = try #require(MediaType(input))
        let found = [
            (type.isHTML, "html"), (type.isXML, "xml"), (type.isJSON, "json"),
            (type.isJavaScript, "js"),
        ]
        #expect(found.filter(\.0).map(\.1) == kinds)
    }

    @Test func `all sixteen JavaScript types of the standard are recognized`() {
        let names = ["application/", "text/"].flatMap { type in
            ["ecmascript", "javascript", "x-ecmascript", "x-javascript"].map { type + $0 }
        }
        let versions = (0...5).map { "text/javascript1.\($0)" }
        let all = names + versions + ["text/jscript", "text/livescript"]
        #expect(all.count == 16)
        #expect(all.allSatisfy { MediaType($0)?.isJavaScript == true })
    }

    @Test func `type, subtype and parameters are available`() throws {
        let type = try #require(MediaType("multipart/Form-Data; boundary=\"a b\"; charset=x"))
        #expect(type.type == "multipart")
        #expect(type.subtype == "form-data")
        #expect(type["boundary"] == "a b")
        #expect(type.charset == "x")
    }
}
