import Markup
import Testing
import Web

@Suite struct SplicerTests {
    /// Documents in which links stand in every context.
    static let documents: [(format: BodyFormat, text: String)] = [
        (.html, "<a href=x><a href='x'><a href=\"x\"><a href = x\n><a href=x/>"),
        (.html, "<img srcset='x 1x, x 2x'><object archive='x x' data=x>"),
        (.html, "<p style=\"b:url(x) url('x')\"><p style='b:url(&quot;x&quot;)'><p style=b:url(x)>"),
        (.html, "<style>a{b:url(x);c:url(\"x\")}@import 'x';</style><base href=x>"),
        (.html, "<iframe srcdoc=\"<a href='x'><p style='b:url(&quot;x&quot;)'>\"><iframe srcdoc='&lt;a href=x&gt;'>"),
        (.html, "<iframe srcdoc='<iframe srcdoc=\"<a href=&amp;quot;x&amp;quot;>\">'>"),
        (.html, "<svg><style>a{b:url(x)}&amp;b{c:url(x)}</style><style><![CDATA[a{b:url(x)}]]></style>"),
        (
            .html,
            "<script>document.write('<a href=\"x\"><a href=x >');document.writeln(\"<a href=\\\"x\\\">\")</script>"
        ),
        (.css, "a{b:url(x);c:url('x');d:url( \"x\" );e:image-set('x' 1x)}@import url(x) print;"),
    ]

    @Test(
        "Whatever a reference is replaced by, it is read back, and nothing else changes", arguments: documents,
        [
            "http://example.com/a/b?c=d&e=f&copy=g#h", "/", "'", "\"", "<script>", "</style>", "a&amp;b", "a(b)c",
            "a\\b",
            "a`b=c", "&#39;", "\\26x", "x/", "a,b", "%20",
        ])
    func replacement(_ document: (format: BodyFormat, text: String), _ replacement: String) {
        let body = Array(document.text.utf8)
        let before = Scan(body, document.format)
        #expect(before.faults == [])
        #expect(!before.found.isEmpty && before.references.allSatisfy { $0 == "x" || $0 == "x/" })
        var output: [UInt8] = []
        Splicer.splice(body.span, before.table, into: &output) { _, _ in replacement }
        let after = Scan(output, document.format)
        #expect(after.faults == [])
        #expect(
            after.references == before.references.map { _ in replacement }, "\(String(decoding: output, as: UTF8.self))"
        )
        #expect(after.found.map(\.kind) == before.found.map(\.kind))
        // Put back what was there, and everything is as it was.
        var again: [UInt8] = []
        var index = 0
        Splicer.splice(output.span, after.table, into: &again) { _, _ in
            defer { index += 1 }
            return before.references[index]
        }
        #expect(String(decoding: again, as: UTF8.self) == document.text)
    }

    @Test("A replacement does not run into a character reference in front of it")
    func unfinishedReference() {
        let body = Array(
            "<p style=b:url(&quot/x&quot)><p style=b:url(&#39/x')><iframe srcdoc='&lt;p style=b:url(&ampquot/x)>'>".utf8
        )
        for replacement in ["http://a/b", "0/1", "=", ";a", "/b"] {
            var output: [UInt8] = []
            Splicer.splice(body.span, Scan(body).table, into: &output) { _, _ in replacement }
            #expect(Scan(output).references == [replacement, replacement, replacement])
        }
    }

    @Test("A line end that an escape takes with it goes with the reference")
    func lineEnd() {
        let body = Array("a{b:url('x\\\n')}".utf8)
        var output: [UInt8] = []
        Splicer.splice(body.span, Scan(body, .css).table, into: &output) { _, _ in "y" }
        #expect(String(decoding: output, as: UTF8.self) == "a{b:url('y')}")
    }

    @Test("A reference that is replaced by itself stays as it is written")
    func itself() {
        let body = Array("<a href=a?b&c=d><a href='&#x61;'><p style='b:url(\\61 )'><img srcset='a,b 1x'>".utf8)
        var output: [UInt8] = []
        Splicer.splice(body.span, Scan(body).table, into: &output) { _, reference in
            reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        #expect(output == body)
    }

    @Test("White space is percent-encoded where it would end the reference")
    func space() {
        let body = Array(
            "<img srcset='x 1x'><a href='x'><a href=x><a ping='x'><meta http-equiv=refresh content='1;url=x'>".utf8)
        var output: [UInt8] = []
        Splicer.splice(body.span, Scan(body).table, into: &output) { _, _ in ",a b," }
        let expected =
            "<img srcset='%2Ca%20b%2C 1x'><a href=',a b,'><a href=,a&#32;b,><a ping=',a%20b,'>"
            + "<meta http-equiv=refresh content='1;url=,a%20b,'>"
        #expect(String(decoding: output, as: UTF8.self) == expected)
    }

    @Test("A body keeps its character set")
    func encoding() {
        let body = Array("<p>".utf8) + [0xE4] + Array("<a href=x>".utf8)
        var output: [UInt8] = []
        let table = Scan(body, charset: "windows-1252").table
        Splicer.splice(body.span, table, into: &output) { _, _ in "\u{E4}" }
        #expect(output == Array("<p>".utf8) + [0xE4] + Array("<a href=%C3%A4>".utf8))
    }

    @Test("Only what is selected is read and replaced")
    func selection() {
        let body = Array("<a href=a><a href=//b/c><a href=d>".utf8)
        var output: [UInt8] = []
        var seen: [String] = []
        Splicer.splice(body.span, Scan(body).table, only: .namesOrigin, into: &output) { _, reference in
            seen.append(reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            return "e"
        }
        #expect(seen == ["//b/c"])
        #expect(String(decoding: output, as: UTF8.self) == "<a href=a><a href=e><a href=d>")
    }
}
