import Markup
import Testing
import Web

@Suite struct LinkTableTests {
    private static let page: String = (0..<1000).map {
        $0 % 3 == 0
            ? "<p>Some words <a class='x' href='https://example.com/a/page-\($0).html?b=c'>a link</a>\n"
            : "<img alt='a picture' src='/images/\($0).png'> and text\n"
    }.joined()

    @Test("A thousand links take less than 8 KB")
    func size() {
        let scan = Scan(Self.page)
        #expect(scan.found.count == 1000)
        #expect(scan.table.encoded().count < 8 << 10)
        #expect(scan.faults == [])
    }

    @Test("Arbitrary bytes decode to a valid table or are rejected")
    func damage() throws {
        var table = Scan("<title>t</title><base href=b><p style='x:url(y)'><a href='//z/'>").table
        table.isTranscoded = true
        let whole = table.encoded()
        for length in 0..<whole.count {
            #expect(throws: MarkupError.self) { try LinkTable(decoding: Array(whole[..<length]).span) }
        }
        #expect(throws: MarkupError.self) { try LinkTable(decoding: (whole + [0]).span) }
        for place in whole.indices {
            for value in stride(from: UInt8(0), to: 255, by: 3) {
                var bytes = whole
                bytes[place] = value
                guard let read = try? LinkTable(decoding: bytes.span) else { continue }
                var end = 0
                for occurrence in read.occurrences {
                    #expect(occurrence.range.lowerBound >= end && !occurrence.range.isEmpty)
                    end = occurrence.range.upperBound
                }
                #expect(try LinkTable(decoding: read.encoded().span) == read)
            }
        }
    }

    @Test func `every flag survives encoding with every context`() throws {
        let contexts = [
            LinkContext.plain, .attribute, LinkContext(levels: 5, isUnquoted: true, isXML: true, .line),
            LinkContext(levels: 4, .srcset),
        ]
        let flags = (0..<9).map { LinkFlags(rawValue: 1 << $0) } + [LinkFlags(rawValue: 511), []]
        var table = LinkTable()
        for context in contexts {
            for flags in flags {
                let start = 2 * table.occurrences.count
                table.occurrences.append(
                    LinkOccurrence(range: start..<start + 1, kind: .script, context: context, flags: flags))
            }
        }
        #expect(try LinkTable(decoding: table.encoded().span) == table)
        #expect(LinkFlags(rawValue: 256) == .isCORS)
    }

    @Test func `loader notes and render reasons survive encoding, and the version marks a table with notes`()
        throws
    {
        let kinds = (UInt8.min...UInt8.max).compactMap(LoaderNote.Kind.init)
        for reasons in [RenderReasons(), .littleText, [.uninterpretedLoader, .indirectFetch, .composedURL]] {
            var table = LinkTable(renderReasons: reasons)
            #expect(try LinkTable(decoding: table.encoded().span) == table)
            #expect(table.encoded().first == LinkTable.version)
            table.notes = kinds.map {
                LoaderNote($0, "v\($0)", name: $0 == .loader ? "" : "n", link: .worker)
            }
            let stored = table.encoded()
            #expect(try LinkTable(decoding: stored.span) == table)
            // A different version byte makes readers scan the body again, because its links depend on other bodies.
            #expect(stored.first != LinkTable.version)
            for length in stored.indices {
                #expect(throws: MarkupError.self) { try LinkTable(decoding: Array(stored[..<length]).span) }
            }
        }
    }

    @Test(
        "The hash of inline scripts survives encoding, and is read with the render reasons from the ends of a table",
        arguments: [RenderReasons(), .littleText], [UInt32(0), 0x1020_3040])
    func ends(reasons: RenderReasons, hash: UInt32) throws {
        var table = Scan("<p>Words").table
        (table.renderReasons, table.inlineScripts) = (reasons, hash)
        for notes in [[], [LoaderNote(.loader, "")]] {
            table.notes = notes
            let stored = table.encoded()
            #expect(try LinkTable(decoding: stored.span) == table)
            let summary = try #require(LinkTable.readSummary(fromEnds: stored.prefix(2) + stored.suffix(5)))
            #expect(summary.isCurrent == notes.isEmpty)
            #expect(summary.renderReasons == reasons)
            #expect(summary.inlineScripts == hash)
        }
    }

    @Test(
        "Inline scripts that differ only in data have the same hash",
        arguments: [
            ("load('a.json', 1)", "load(\"b.json\", 2.5) // two"), ("a = [1, 2]", "a = ['x']"),
            ("x = {a: 1, b: [true, null]}", "x = { c: 'd', 'e': undefined }"), ("a(/x/)", "a(/y[/]/g)"),
            ("f(`a`)", "f('b')"), ("push([1])", "push([1]); push([2, 'a'])"),
            ("a = ['x', 'y']", "a = ['z']"), ("a = ['Two words', 'x.y']", "a = ['Three words here', 'x.z']"),
            ("f(['x.y'])", "f(['x.z'])"), ("a = ['x.y', 'z']", "a = ['z', \"x.y\"] // comment"),
            ("var map_3f2a = L.map('3f2a')", "var map_99ce = L.map('99ce')"), ("a(); b()", "b(); a()"),
        ])
    func sameInlineScripts(one: String, other: String) {
        func hash(_ script: String) -> UInt32 {
            let data = "<script type=application/json>{\"\(script.utf8.count)\": a}</script>"
            return Scan("<script>\(script)</script>\(data)").table.inlineScripts
        }
        #expect(hash(one) == hash(other))
        #expect(hash(one) != 0)
        #expect(hash("\(one); g()") != hash(one))
    }

    @Test(
        "Inline scripts that load other modules have another hash",
        arguments: ["['site', 'page.toc']", "[\"site\", 'lib/sort', 'page.ready',]"])
    func listsOfModules(list: String) {
        let script = "MODULES=\(list)"
        #expect(
            Scan("<script>\(script)</script>").table.inlineScripts
                != Scan("<script>MODULES=['site', 'page.ready']</script>").table.inlineScripts)
    }

    @Test("A document without inline scripts has no hash of them, nor has a script")
    func noInlineScripts() {
        for page in [
            "<p>Words", "<script src=/a.js></script>", "<script type=text/template>a()</script>",
            "<!--[if lt IE 9]><script>a()</script><![endif]-->",
        ] {
            #expect(Scan(page).table.inlineScripts == 0)
        }
        #expect(Scan("a()", .javaScript).table.inlineScripts == 0)
    }

    /// The table of version 8, which had only eight flags.
    @Test func `a table of an earlier version is decoded`() throws {
        let earlier: [UInt8] = [8, 0, 0, 2, 1, 0, 1, 129, 33, 1, 9, 0, 2, 9, 4, 0, 3, 4, 1]
        let expected = LinkTable(occurrences: [
            LinkOccurrence(
                range: 9..<13, kind: .page, context: .attribute, flags: [.namesOrigin, .isNofollow]),
            LinkOccurrence(
                range: 16..<20, kind: .module, context: LinkContext(levels: 1, isUnquoted: true, .cssString),
                flags: []),
        ])
        // Since then, only the version has changed and a checksum was added.
        var stored = expected.encoded()
        stored.removeSubrange(3..<7)
        stored[0] = 8
        #expect(stored == earlier)
        #expect(try LinkTable(decoding: earlier.span) == expected)
        // Bits without a meaning are rejected.
        for bit in [0x40, 0x80] as [UInt8] {
            var bytes = earlier
            bytes[6] |= bit
            #expect(throws: MarkupError.self) { try LinkTable(decoding: bytes.span) }
        }
    }

    @Test func `each flipped bit of a table is detected by its checksum`() throws {
        let body = Array("<base href=/x/><title>t</title><script src=/a.js></script><a href=/b>".utf8)
        let stored = LinkScanner().scan(body.span, as: .html, charset: "utf-8") { _, _ in }.encoded()
        #expect(LinkTable.isDecodable(stored))
        for bit in 0..<stored.count * 8 {
            var bytes = stored
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: MarkupError.self) { try LinkTable(decoding: bytes.span) }
        }
    }

    @Test("A body whose table is damaged or has another version is scanned again")
    func earlierVersion() throws {
        let body = Array("<script>window.open('/a.bin')</script><a href=/b>".utf8)
        let scanner = LinkScanner()
        let table = scanner.scan(body.span, as: .html, charset: "utf-8") { _, _ in }
        var stored = LinkTable().encoded()
        stored[0] = LinkTable.version - 1
        func read(_ bytes: [UInt8], form: String = "html;utf-8", _ body: [UInt8]?) -> LinkTable? {
            scanner.table(stored: bytes, form: form) { body }
        }
        #expect(read(stored, body) == table)
        #expect(table.occurrences.count == 2)
        #expect(read(stored, nil) == nil)
        #expect(read(stored, form: "opaque", nil) == LinkTable())
        #expect(read(stored, form: "nothing;utf-8", body) == nil)
        #expect(read(LinkTable().encoded(), nil) == LinkTable())
        #expect(read(Array(stored.dropLast(2)) + [], body) == table)
        #expect(read([LinkTable.version], body) == table)
        #expect(read([], body) == table)
        #expect(read([LinkTable.version], nil) == nil)
    }

    @Test("Decoding a table of another version reports that version")
    func version() {
        var bytes = LinkTable().encoded()
        bytes[0] = LinkTable.version + 2
        #expect(throws: MarkupError.otherVersion(LinkTable.version + 2)) {
            try LinkTable(decoding: bytes.span)
        }
    }

    @Test("An occurrence outside of the body has an empty reference and is not replaced")
    func outside() {
        let table = LinkTable(occurrences: [LinkOccurrence(range: 2..<9, kind: .page, context: .plain)])
        let body: [UInt8] = [1, 2, 3]
        #expect(table.reference(table.occurrences[0], in: body.span).isEmpty)
        let output = patched(body, table) { _, _ in "x" }
        #expect(output == body)
    }
}
