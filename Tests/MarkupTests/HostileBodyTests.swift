import Markup
import Testing

/// Bodies that try to slow down or break a scanner. The checks of ``Scan`` must pass for each of them.
@Suite struct HostileBodyTests {
    struct Shape: Sendable, CustomStringConvertible {
        var format: BodyFormat
        var start: String
        var repeated: String
        var end: String
        var description: String { "\(start)\(repeated)…\(end)".debugDescription }

        init(_ format: BodyFormat, _ start: String, _ repeated: String, _ end: String = "") {
            self.format = format
            self.start = start
            self.repeated = repeated
            self.end = end
        }
    }

    static let shapes: [Shape] = [
        Shape(.html, "", "<"), Shape(.html, "", "\""), Shape(.html, "", "<a "), Shape(.html, "<a ", "b "),
        Shape(.html, "<a ", "href=x ", ">"), Shape(.html, "<a ", "'"), Shape(.html, "", "<a href='"),
        Shape(.html, "", "<!--"),
        Shape(.html, "<!--", "-"), Shape(.html, "", "<!--[if]>"), Shape(.html, "", "<!--[if]>x<![endif]-->"),
        Shape(.html, "<a href='", "&", "'>"), Shape(.html, "<a href='", "&notin", "'>"),
        Shape(.html, "<a href='", "&#", "'>"),
        Shape(.html, "", "<svg>"), Shape(.html, "", "<svg><desc>"), Shape(.html, "<svg>", "</desc>"),
        Shape(.html, "", "<math><mi>"),
        Shape(.html, "<script>", "<!--<script>"), Shape(.html, "<script>", "</script"),
        Shape(.html, "<title>", "</title "),
        Shape(.html, "<svg><style>", "<![CDATA["), Shape(.html, "", "<iframe srcdoc='"),
        Shape(.html, "", "<iframe srcdoc=&lt;"),
        Shape(.html, "<iframe srcdoc='", "&lt;iframe srcdoc=&quot;x&quot;>", "'>"),
        Shape(.html, "<iframe srcdoc='", "&lt;a href=&quot;x&quot;>", "'>"),
        Shape(.html, "<iframe srcdoc='", "&lt;p style=&quot;b:url(x)&quot;>", "'>"),
        Shape(.html, "<img srcset='", ",", "'>"), Shape(.html, "<img srcset='", "a (", "'>"),
        Shape(.html, "<img srcset='", "a,\t", "'>"),
        Shape(.html, "<link rel='", "x ", "' href=y>"), Shape(.html, "<p style='", "url(", "'>"),
        Shape(.html, "", "<p style='a:url(x'>"),
        Shape(.html, "<meta http-equiv=content-type content='", "charset", "'>"),
        Shape(.html, "", "<meta charset=x>"),
        Shape(.css, "", "("), Shape(.css, "", "url("), Shape(.css, "", "url('"), Shape(.css, "", "\\"),
        Shape(.css, "", "a\\a"),
        Shape(.css, "", "/*"), Shape(.css, "", "/**/"), Shape(.css, "@import", "/**/"),
        Shape(.css, "", "@import "),
        Shape(.css, "", "'\n"), Shape(.css, "", "{(}"), Shape(.css, "", "({"), Shape(.css, "", "url(a b"),
        Shape(.css, "", "-"),
        Shape(.css, "@font-face{", "url(x)("), Shape(.css, "image-set(", "'x'"),
    ]

    @Test("The cost is linear in the body", arguments: shapes)
    func linear(_ shape: Shape) {
        let isLinear = Cost.isLinear(upTo: 100_000) { size in
            let text = String(repeating: shape.repeated, count: size / shape.repeated.utf8.count)
            #expect(Scan(shape.start + text + shape.end, shape.format).faults == [])
        }
        #expect(isLinear)
        guard shape.format == .css else { return }
        let isLinearWithEnds = Cost.isLinear(upTo: 100_000) { size in
            let count = size / shape.repeated.utf8.count / 2
            // As many closing characters as opening ones.
            let text =
                String(repeating: shape.repeated, count: count) + String(repeating: ")}url(x)", count: count)
            #expect(Scan(text, .css).faults == [])
        }
        #expect(isLinearWithEnds)
    }
}

/// Random changes to small documents. The results are seldom valid, but the checks of ``Scan`` must pass.
@Suite struct MutationTests {
    /// SplitMix64, for the same changes in every run.
    struct Dice {
        var state: UInt64

        mutating func roll(_ sides: Int) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return Int((value ^ (value >> 31)) % UInt64(max(sides, 1)))
        }
    }

    static let pieces =
        [
            "<", ">", "'", "\"", "=", "/", "&", ";", "&amp;", "&quot;", "&#x", "<!--", "-->", "--!>",
            "<![CDATA[",
            "]]>", "<svg>", "</svg>",
            "<style>", "</style>", "<script>", "</script>", "<title>", "srcdoc=", "style=", "href=", "url(",
            ")", "\\",
            "\\26 ", "/*", "*/",
            "@import ", "{", "}", "\0", "\r\n", "\u{FFFD}", " ", ",", "<!--[if IE]>", "<![endif]-->",
            "<iframe srcdoc='", "image-set(",
        ].map { Array($0.utf8) } + [[0xFF], [0x80], [0xC3], [0xE2, 0x82]]

    static func mutated(_ body: [UInt8], _ dice: inout Dice) -> [UInt8] {
        var body = body
        for _ in 0...dice.roll(6) {
            let place = dice.roll(body.count + 1)
            switch dice.roll(4) {
            case 0: body.insert(contentsOf: pieces[dice.roll(pieces.count)], at: place)
            case 1: body.removeSubrange(place..<min(body.count, place + dice.roll(8)))
            case 2:
                body.insert(
                    contentsOf: body[place..<min(body.count, place + dice.roll(40))],
                    at: dice.roll(body.count + 1))
            default: if place < body.count { body[place] = UInt8(dice.roll(256)) }
            }
        }
        return body
    }

    @Test("The invariants hold for randomly changed documents", arguments: 0..<40)
    func mutations(_ seed: Int) {
        var dice = Dice(state: UInt64(seed))
        let scanner = LinkScanner()
        for document in PatchTests.documents {
            var body = Array(document.text.utf8)
            for _ in 0..<25 {
                body = Self.mutated(body, &dice)
                let charset = ["utf-8", "windows-1252", "shift_jis", "utf-16le", nil][dice.roll(5)]
                let scan = Scan(body, document.format, charset: charset, scanner: scanner)
                #expect(scan.faults == [], "\(body)")
            }
        }
    }
}
