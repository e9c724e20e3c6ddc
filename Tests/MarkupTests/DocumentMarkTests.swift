import Markup
import Testing
import Web

/// Parts of a document that are not links but change when it is served under another URL. Test texts have a `|` before
/// each mark.
@Suite struct DocumentMarkTests {
    /// The text without its bars, and the offsets of the bars.
    private static func read(_ text: String) -> (body: [UInt8], offsets: [Int]) {
        var body: [UInt8] = []
        var offsets: [Int] = []
        for byte in text.utf8 {
            if byte == UInt8(ascii: "|") { offsets.append(body.count) } else { body.append(byte) }
        }
        return (body, offsets)
    }

    private static func marks(_ text: String, _ format: BodyFormat, _ kinds: Set<DocumentMark.Kind>) -> [Int]
    {
        let scan = Scan(read(text).body, format)
        #expect(scan.faults == [], "\(text)")
        return scan.table.marks.filter { kinds.contains($0.kind) }.map(\.offset)
    }

    @Test(arguments: [
        // Content security policies count only in a `<meta>`.
        "<meta http-equiv=|Content-Security-Policy content=\"default-src 'self'\">",
        "<META content=x HTTP-EQUIV='|content-security-policy-report-only'>",
        "<meta name=content-security-policy content=x><p title=content-security-policy>content-security-policy",
        "<!-- <meta http-equiv=content-security-policy> --><title><meta http-equiv=content-security-policy></title>",
        "<script>'<meta http-equiv=content-security-policy>'</script>",
        "<script>document.write('<meta http-equiv=\"|content-security-policy\" content=x>')</script>",
        "<iframe srcdoc=\"<meta http-equiv='|content-security-policy'>\">",
        "<iframe srcdoc='&lt;meta http-equiv=|content-security-policy&gt;'>",
        "<meta http-equiv='content&#45;security-policy'>",
        // Referrer policies.
        "<meta name=|referrer content=no-referrer><meta content=origin name=\"|REFERRER\">",
        "<meta name=referrer-of><meta property=referrer><a name=referrer>",
        "<a |referrerpolicy=no-referrer href=x><img src=x |ReferrerPolicy='origin'><script |referrerpolicy></script>",
        "<a title='referrerpolicy=x' href=x>referrerpolicy=x",
        "<svg><a |referrerpolicy=x href=y></svg>",
    ])
    func `content security policies and referrer policies are marked`(text: String) {
        #expect(Self.marks(text, .html, [.policy, .referrer, .referrerPolicy]) == Self.read(text).offsets)
    }

    @Test(arguments: [
        ("<script src=a |integrity=sha384-x></script>", ["a"]),
        (
            "<script |INTEGRITY='sha384-x' crossorigin src='a'></script><link href=b rel=stylesheet |integrity=x>",
            ["a", "b"]
        ),
        ("<link rel=preload as=image imagesrcset='a 1x, b 2x' |integrity=x>", ["a"]),
        ("<a href=a integrity=x><script integrity=x>1</script><link integrity=x rel=canonical href=c>", []),
        ("<script data-integrity=x src=a></script><p>integrity=x <script>'integrity=\"x\"'</script>", []),
        ("<script src=a integrity=x |integrity=y></script>", ["a"]),
        ("<script>document.write('<script src=\"/a\" |integrity=\"x\"><\\/script>')</script>", ["/a"]),
        ("<iframe srcdoc=\"<script src='a' |integrity='x'></script>\">", ["a"]),
        ("<script src=data:,1 integrity=x></script><script src=b |integrity=x></script>", ["b"]),
    ])
    func `an integrity attribute is marked with the link of the same tag`(text: String, references: [String])
    {
        var (body, offsets) = Self.read(text)
        let scan = Scan(body)
        let marks = scan.table.marks.filter { $0.kind == .integrity }
        // The first of two attributes counts.
        if text.contains("integrity=x |integrity") {
            offsets = [body.firstRange(of: Array("integrity".utf8))?.lowerBound ?? 0]
        }
        #expect(marks.map(\.offset) == offsets)
        #expect(marks.map { scan.found[$0.occurrence].reference } == references)
        #expect(scan.faults == [])
    }

    @Test(arguments: [
        ("<!DOCTYPE html><html lang=en><HEAD a=b>|<script>1</script>", BodyFormat.html),
        ("<!-- <head> --><!doctype html>\n|<title>T</title><script src=x></script>", .html),
        ("\u{FEFF}<!DOCTYPE html>|<body onload=go()>", .html),
        ("<html>|<body><a href=' JavaScript:go()'>", .html),
        ("<html><html a='>'>|<p OnClick = 'x'>", .html),
        ("<?xml version='1.0'?><!doctype html><html/><head/>|<script></script>", .html),
        ("<head>|<svg><script/></svg>", .html),
        ("<html>|text<head><script></script>", .html),
        (
            "<html>|<!doctype html><iframe srcdoc='<script>1</script>'></iframe>", .html
        ),
        // No script runs.
        ("<!doctype html><html><head><title>script</title><p title=script>onload=x script</p>", .html),
        ("<!doctype html><!-- <script>1</script> --><a on=x once onclick href=javascript.html>", .html),
        ("<!doctype html><!--[if IE]><script>1</script><![endif]-->", .html),
        // XML: inside the root, or inside the head.
        (
            "<?xml version='1.0'?>\n<!DOCTYPE svg [<!ENTITY a '>'>]><svg xmlns='http://www.w3.org/2000/svg'>|<script/></svg>",
            .svg
        ),
        (
            "<html xmlns=\"http://www.w3.org/1999/xhtml\"><!-- a --><head>|<script src='a'/></head></html>",
            .xhtml
        ),
        ("<html xmlns=\"http://www.w3.org/1999/xhtml\">|<head/><body onload='x'/></html>", .xhtml),
        ("<a xmlns:s='http://www.w3.org/2000/svg'>|<s:script>1</s:script></a>", .xml),
        ("<a xmlns:s='http://www.w3.org/2000/svg'>|<s:g onclick='x'/></a>", .xml),
        ("<a xmlns:s='http://www.w3.org/2000/svg'>|<s:script>1</s:script></a>", .svg),
        ("<svg><script/></svg>", .svg), ("<rss><title>a script</title></rss>", .xml),
        ("<svg xmlns='http://www.w3.org/2000/svg'><a href='x'>script</a></svg>", .svg),
        ("<svg xmlns='http://www.w3.org/2000/svg' onload='x'/>", .svg),
    ])
    func `a document that runs scripts has a mark for a first script`(
        text: String, format: BodyFormat
    ) {
        #expect(Self.marks(text, format, [.start]) == Self.read(text).offsets)
        #expect(Self.marks(text, format, [.startOfFragment]) == [])
    }

    @Test(arguments: [
        "|<div><script>1</script></div>", " <!-- doctype -->|<script>1</script>",
        "|text<html><script>1</script>",
    ])
    func `a body without doctype, html and head is marked as a possible fragment`(text: String) {
        #expect(Self.marks(text, .html, [.startOfFragment]) == Self.read(text).offsets)
        #expect(Self.marks(text, .html, [.start]) == [])
    }

    @Test func `offsets of marks count in the same form of the body as links`() {
        let text =
            "<!doctype html>\u{E4}<meta http-equiv=content-security-policy><script src=a integrity=x></script>"
        var wide: [UInt8] = [0xFF, 0xFE]
        for unit in text.utf16 { wide += [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)] }
        let scan = Scan(wide, charset: nil)
        #expect(scan.table.isTranscoded)
        #expect(scan.table.marks.map(\.kind) == [.start, .policy, .integrity])
        let source = scan.table.source(of: wide.span) ?? []
        let words = zip(scan.table.marks, ["\u{E4}", "content-security-policy", "integrity"]).map {
            mark, word in
            String(decoding: source.dropFirst(mark.offset).prefix(word.utf8.count), as: UTF8.self)
        }
        #expect(words == ["\u{E4}", "content-security-policy", "integrity"])
    }

    @Test func `scripts, style sheets and JSON have no marks`() {
        for format in BodyFormat.allCases where !format.isDocument {
            let text =
                "<meta http-equiv=content-security-policy><script src=a integrity=x>document.write('<script integrity=x src=/a>')"
            #expect(Scan(text, format).table.marks == [], "\(format)")
        }
    }

    @Test(arguments: [
        ("<script src=a integrity='|ed25519-AAAA sha256-x  |ED25519-BBBB'></script>"),
        ("<script src=a integrity=|ed25519-AAAA></script>"),
        ("<script src=a integrity='xed25519-A ed25519 ed2551-A &#101;d25519-A'></script>"),
        ("<script src=a integrity></script>"), ("<script src=a integrity='ed25519'></script>"),
    ])
    func `the names of words in an integrity attribute are found`(text: String) throws {
        let (body, offsets) = Self.read(text)
        let table = LinkScanner().scan(body.span, as: .html, charset: nil) { _, _ in }
        let ranges = table.marks.filter { $0.kind == .integrity }.flatMap {
            IntegrityScanner.ranges(ofName: "ed25519", in: $0, body.span)
        }
        #expect(ranges == offsets.map { $0..<$0 + 7 })
    }
}
