import Markup
import TestOrigin
import Testing
import Web

@Suite struct EncodingTests {
    struct Case: Sendable, CustomStringConvertible {
        var body: [UInt8]
        var label: String
        var description: String { String(decoding: body.prefix(60), as: UTF8.self).debugDescription }
    }

    /// `#data` and `#encoding` lines.
    private static func cases(_ name: String) -> [Case] {
        guard ConformanceData.isThere else { return [] }
        var cases: [Case] = []
        var body: [[UInt8]] = []
        var isData = false
        let lines = ConformanceData.bytes("encoding/\(name).dat").split(
            separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if line.elementsEqual("#data".utf8) {
                isData = true
                body = []
            } else if line.elementsEqual("#encoding".utf8) {
                isData = false
                let label = String(decoding: lines[index + 1], as: UTF8.self)
                cases.append(Case(body: Array(body.joined(separator: [0x0A])), label: label))
            } else if isData {
                body.append(Array(line))
            }
        }
        return cases
    }

    @Test(
        "A document's encoding is the one that a browser detects",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: cases("tests1") + cases("tests2") + cases("test-yahoo-jp"))
    func conformance(_ test: Case) {
        let scan = Scan(test.body, .html, charset: nil)
        #expect(scan.table.encoding == TextEncoding(label: test.label), "\(test.label)")
        #expect(scan.faults == [])
    }

    @Test(
        "The byte order mark overrides the header, and the header overrides the document",
        arguments: [
            ([0xEF, 0xBB, 0xBF], "koi8-r", "", .utf8), ([], "koi8-r", "<meta charset=utf-8>", .koi8r),
            ([], nil, "<meta charset=koi8-r>", .koi8r), ([], nil, "", .windows1252),
            ([], "nonsense", "", .windows1252),
            ([], nil, String(repeating: " ", count: 5000) + "<meta charset=koi8-r>", .koi8r),
            ([], nil, "<meta charset=utf-16>", .utf8),
        ] as [([UInt8], String?, String, TextEncoding)])
    func precedence(_ mark: [UInt8], _ charset: String?, _ text: String, _ encoding: TextEncoding) {
        #expect(Scan(mark + Array(text.utf8), .html, charset: charset).table.encoding == encoding)
    }

    @Test("@charset counts only at the very beginning of a style sheet")
    func stylesheet() {
        #expect(Scan(Array("@charset \"koi8-r\"; a{}".utf8), .css, charset: nil).table.encoding == .koi8r)
        #expect(Scan(Array(" @charset \"koi8-r\"; a{}".utf8), .css, charset: nil).table.encoding == .utf8)
        #expect(Scan(Array("@charset \"utf-16\"; a{}".utf8), .css, charset: nil).table.encoding == .utf8)
    }

    @Test(
        "A stylesheet's encoding is that of CSS Syntax",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"))
    func stylesheets() throws {
        let list = try #require(try ConformanceData.json("css/stylesheet_bytes.json").array)
        for index in stride(from: 0, to: list.count - 1, by: 2) {
            let bytes = (list[index]["css_bytes"]?.string ?? "").unicodeScalars.map {
                UInt8(truncatingIfNeeded: $0.value)
            }
            // The scanner does not know the encoding of the document that loads a style sheet.
            if list[index]["environment_encoding"]?.string != nil { continue }
            let scan = Scan(bytes, .css, charset: list[index]["protocol_encoding"]?.string)
            #expect(
                scan.table.encoding == TextEncoding(label: list[index + 1][1]?.string ?? ""), "\(list[index])"
            )
            #expect(scan.faults == [])
        }
    }

    @Test("A document in UTF-16 is scanned in its UTF-8 form")
    func transcoded() {
        let units = Array("\u{FEFF}<a href='x&amp;y'>".utf16)
        let body: [UInt8] = units.map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }.reduce([], +)
        let scan = Scan(body, .html, charset: nil)
        #expect(scan.table.isTranscoded && scan.table.encoding == .utf16le)
        #expect(scan.references == ["x&y"])
        #expect(scan.faults == [])
    }

    @Test("The trail byte of a character is never read as a backslash or a brace")
    func twoBytes() {
        // U+8868 is 95 5C in Shift_JIS.
        let css = Array("a{b:url('".utf8) + [0x95, 0x5C] + Array("');c:url(x)}".utf8)
        let scan = Scan(css, .css, charset: "shift_jis")
        #expect(scan.references == ["\u{8868}", "x"])
        #expect(scan.faults == [])
        let html = Array("<title>".utf8) + [0x95, 0x5C] + Array("</title><style>".utf8) + css
        #expect(Scan(html, charset: "shift_jis").references == ["\u{8868}", "x"])
        #expect(Scan(html, charset: "shift_jis").table.title == "\u{8868}")
    }

    @Test("Non-ASCII references are decoded in the document's encoding")
    func references() {
        #expect(
            Scan(Array("<a href='".utf8) + [0xE4] + Array("&auml;'>".utf8), charset: nil).references == [
                "\u{E4}\u{E4}"
            ]
        )
        #expect(Scan(Array("<a href='".utf8) + [0xE4] + Array("'>".utf8)).references == ["\u{FFFD}"])
        #expect(Scan("<a href='\u{E4}'>").references == ["\u{E4}"])
    }
}
