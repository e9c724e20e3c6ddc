import Markup
import Testing
import Web

@Suite struct PatchTests {
    /// Documents with links in every context.
    static let documents: [(format: BodyFormat, text: String)] = [
        (.html, "<a href=x><a href='x'><a href=\"x\"><a href = x\n><a href=x/>"),
        (.html, "<img srcset='x 1x, x 2x'><object archive='x x' data=x>"),
        (.html, "<p style=\"b:url(x) url('x')\"><p style='b:url(&quot;x&quot;)'><p style=b:url(x)>"),
        (.html, "<style>a{b:url(x);c:url(\"x\")}@import 'x';</style><base href=x>"),
        (
            .html,
            "<iframe srcdoc=\"<a href='x'><p style='b:url(&quot;x&quot;)'>\"><iframe srcdoc='&lt;a href=x&gt;'>"
        ),
        (.html, "<iframe srcdoc='<iframe srcdoc=\"<a href=&amp;quot;x&amp;quot;>\">'>"),
        (.html, "<svg><style>a{b:url(x)}&amp;b{c:url(x)}</style><style><![CDATA[a{b:url(x)}]]></style>"),
        (
            .html,
            "<script>document.write('<a href=\"x\"><a href=x >');document.writeln(\"<a href=\\\"x\\\">\")</script>"
        ),
        (.css, "a{b:url(x);c:url('x');d:url( \"x\" );e:image-set('x' 1x)}@import url(x) print;"),
    ]

    @Test(
        "A replacement decodes to the new reference in every context, and nothing else changes",
        arguments: documents,
        [
            "http://example.com/a/b?c=d&e=f&copy=g#h", "/", "'", "\"", "<script>", "</style>", "a&amp;b",
            "a(b)c",
            "a\\b",
            "a`b=c", "&#39;", "\\26x", "x/", "a,b", "%20",
        ])
    func replacement(_ document: (format: BodyFormat, text: String), _ replacement: String) {
        let body = Array(document.text.utf8)
        let before = Scan(body, document.format)
        #expect(before.faults == [])
        #expect(!before.found.isEmpty && before.references.allSatisfy { $0 == "x" || $0 == "x/" })
        let output = patched(body, before.table) { _, _ in replacement }
        let after = Scan(output, document.format)
        #expect(after.faults == [])
        #expect(
            after.references == before.references.map { _ in replacement },
            "\(String(decoding: output, as: UTF8.self))"
        )
        #expect(after.found.map(\.kind) == before.found.map(\.kind))
        // Replacing the new references with the old ones restores the document.
        var index = 0
        let again = patched(output, after.table) { _, _ in
            defer { index += 1 }
            return before.references[index]
        }
        #expect(String(decoding: again, as: UTF8.self) == document.text)
    }

    @Test("A replacement does not continue a character reference before it")
    func unfinishedReference() {
        let body = Array(
            "<p style=b:url(&quot/x&quot)><p style=b:url(&#39/x')><iframe srcdoc='&lt;p style=b:url(&ampquot/x)>'>"
                .utf8
        )
        for replacement in ["http://a/b", "0/1", "=", ";a", "/b"] {
            let output = patched(body, Scan(body).table) { _, _ in replacement }
            #expect(Scan(output).references == [replacement, replacement, replacement])
        }
    }

    @Test("A line end that belongs to an escape is replaced with the reference")
    func lineEnd() {
        let body = Array("a{b:url('x\\\n')}".utf8)
        let output = patched(body, Scan(body, .css).table) { _, _ in "y" }
        #expect(String(decoding: output, as: UTF8.self) == "a{b:url('y')}")
    }

    @Test("A reference replaced by itself keeps its spelling")
    func itself() {
        let body = Array(
            "<a href=a?b&c=d><a href='&#x61;'><p style='b:url(\\61 )'><img srcset='a,b 1x'>".utf8)
        let output = patched(body, Scan(body).table) { _, reference in
            reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        #expect(output == body)
    }

    @Test("White space is percent-encoded where it would end the reference")
    func space() {
        let body = Array(
            "<img srcset='x 1x'><a href='x'><a href=x><a ping='x'><meta http-equiv=refresh content='1;url=x'>"
                .utf8)
        let output = patched(body, Scan(body).table) { _, _ in ",a b," }
        let expected =
            "<img srcset='%2Ca%20b%2C 1x'><a href=',a b,'><a href=,a&#32;b,><a ping=',a%20b,'>"
            + "<meta http-equiv=refresh content='1;url=,a%20b,'>"
        #expect(String(decoding: output, as: UTF8.self) == expected)
    }

    @Test("A body keeps its character set")
    func encoding() {
        let body = Array("<p>".utf8) + [0xE4] + Array("<a href=x>".utf8)
        let table = Scan(body, charset: "windows-1252").table
        let output = patched(body, table) { _, _ in "\u{E4}" }
        #expect(output == Array("<p>".utf8) + [0xE4] + Array("<a href=%C3%A4>".utf8))
    }

    @Test("Only occurrences with the given flags are replaced")
    func selection() {
        let body = Array("<a href=a><a href=//b/c><a href=d>".utf8)
        var seen: [String] = []
        let output = patched(body, Scan(body).table, only: .namesOrigin) { _, reference in
            seen.append(reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            return "e"
        }
        #expect(seen == ["//b/c"])
        #expect(String(decoding: output, as: UTF8.self) == "<a href=a><a href=e><a href=d>")
    }

    // MARK: - Changes, and ranges of the patched body

    private static func applied(_ changes: [Patch.Change], to bytes: [UInt8]) -> [UInt8] {
        var output = bytes
        for change in changes.reversed() { output.replaceSubrange(change.range, with: change.text) }
        return output
    }

    @Test(
        arguments: [
            [], [(0, 0, "start")], [(0, 3, "")], [(97, 100, "end")], [(100, 100, "behind")],
            [(10, 60, "x")], [(10, 11, String(repeating: "long", count: 20))],
            [(5, 5, "a"), (5, 9, "b"), (9, 9, "c"), (9, 30, "")], [(0, 100, "all")],
            [(0, 50, ""), (50, 100, "")],
            [(1, 2, "same"), (4, 7, "same"), (20, 90, "same")],
        ] as [[(Int, Int, String)]])
    func `every range of a patched body has its replacements`(changes: [(Int, Int, String)]) {
        let bytes = (0..<100).map { UInt8($0) }
        let changes = changes.map { Patch.Change($0.0..<$0.1, Array($0.2.utf8)) }
        let expected = Self.applied(changes, to: bytes)
        let patch = Patch(changes, of: bytes.count)
        #expect(patch.isEmpty == changes.isEmpty)
        for patch in [patch, patch.compactCopy()] {
            #expect(patch.byteCount == expected.count)
            #expect(patch.apply(to: bytes) == expected)
            for start in expected.indices {
                for end in start..<expected.count {
                    let part = patch.part(start..<end + 1) { Array(bytes[$0]) }
                    #expect(part == Array(expected[start...end]), "\(start)...\(end)")
                }
            }
        }
    }

    @Test func `a body that is shorter than expected gives no patched range`() {
        let patch = Patch([Patch.Change(2..<3, Array("x".utf8))], of: 10)
        let file = Array("0123".utf8)
        func read(_ range: Range<Int>) -> [UInt8]? {
            range.upperBound <= file.count ? Array(file[range]) : nil
        }
        #expect(patch.part(0..<4, read: read) == Array("01x3".utf8))
        #expect(patch.part(0..<10, read: read) == nil)
    }

    @Test func `a change that overlaps another or exceeds the body is ignored`() {
        let changes = [Patch.Change(2..<5, [1]), Patch.Change(4..<6, [2]), Patch.Change(9..<12, [3])]
        #expect(Patch(changes, of: 10).byteCount == 8)
    }

    @Test func `replaced links and other changes are applied in the order of the body`() {
        let body = Array("<a href=x><b><a href=x>".utf8)
        let changes = [
            Patch.Change(at: 1, "b"), Patch.Change(8..<8, Array("0".utf8)),
            Patch.Change(8..<9, Array("lost".utf8)),
            Patch.Change(10..<13, Array("-".utf8)), Patch.Change(23..<23, Array("!".utf8)),
        ]
        var scanned = Scan(body).table
        let patch = Patch(body.span, scanned, changes: changes) { _, _ in "y" }
        #expect(String(decoding: patch.apply(to: body), as: UTF8.self) == "<b href=0lost>-<a href=y>!")
        scanned.occurrences.removeFirst()
        let later = Patch(body.span, scanned, changes: Array(changes.prefix(2))) { _, _ in "y" }
        #expect(String(decoding: later.apply(to: body), as: UTF8.self) == "<b href=0x><b><a href=y>")
    }
}
