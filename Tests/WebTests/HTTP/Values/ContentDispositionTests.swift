import Testing

@testable import Web

struct ContentDispositionTests {
    @Test(
        arguments: [
            ("attachment", "attachment", nil),
            ("INLINE; filename=\"foo.html\"", "inline", "foo.html"),
            ("attachment; filename=foo bar.html ; size=3", "attachment", "foo bar.html"),
            ("attachment; filename=\"f\\\"o;o.html\"", "attachment", "f\"o;o.html"),
            ("attachment; filename=a; filename*=UTF-8''%e2%82%ac%20rates", "attachment", "€ rates"),
            ("attachment; filename*=iso-8859-1'en'%A3%20rates; filename=a", "attachment", "£ rates"),
            ("attachment; filename*=UTF-8''%ff; filename=a", "attachment", "a"),
            ("attachment; filename*=klingon''x; filename=a", "attachment", "a"),
            ("attachment; filename=a; filename=b", "attachment", "a"),
            ("attachment; xfilename=a", "attachment", nil),
            ("filename=a.txt", "inline", "a.txt"),
            ("; filename=a.txt", "inline", "a.txt"),
            ("attachment; foo=\"filename=x\"; filename=a", "attachment", "a"),
        ] as [(String, String, String?)]) func `kind and name are found`(text: String, kind: String, name: String?)
        throws
    {
        let disposition = try #require(ContentDisposition(text))
        #expect(disposition.kind == kind)
        #expect(disposition.rawFileName == name)
    }

    @Test func `nothing is no disposition`() {
        #expect(ContentDisposition("") == nil)
        #expect(ContentDisposition("\"x\"") == nil)
    }

    @Test(
        arguments: [
            ("../../etc/passwd", "passwd"), ("C:\\dir\\a.txt", "a.txt"), ("..", nil), (".bashrc", "bashrc"),
            ("a\u{1}b", "ab"),
            ("dir/", "dir"), ("", nil), (String(repeating: "é", count: 200), String(repeating: "é", count: 127)),
            ("a ", "a"),
        ] as [(String, String?)]) func `a file name never leaves its folder`(raw: String, expected: String?) throws
    {
        let disposition = try #require(
            ContentDisposition("attachment; filename*=UTF-8''" + raw.utf8.map { "%" + Hex.encode([$0]) }.joined()))
        #expect(disposition.rawFileName == raw)
        #expect(disposition.fileName == expected)
    }
}
