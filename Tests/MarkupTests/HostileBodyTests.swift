import Markup
import Testing

/// Bodies made to be slow or to break something. The properties of ``Scan`` hold for each of them.
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
        Shape(.html, "<meta http-equiv=content-type content='", "charset", "'>"), Shape(.html, "", "<meta charset=x>"),
        Shape(.css, "", "("), Shape(.css, "", "url("), Shape(.css, "", "url('"), Shape(.css, "", "\\"),
        Shape(.css, "", "a\\a"),
        Shape(.css, "", "/*"), Shape(.css, "", "/**/"), Shape(.css, "@import", "/**/"), Shape(.css, "", "@import "),
        Shape(.css, "", "'\n"), Shape(.css, "", "{(}"), Shape(.css, "", "({"), Shape(.css, "", "url(a b"),
        Shape(.css, "", "-"),
        Shape(.css, "@font-face{", "url(x)("), Shape(.css, "image-set(", "'x'"),
    ]

    @Test("The cost is linear in the body", .timeLimit(.minutes(1)), arguments: shapes)
    func linear(_ shape: Shape) {
        let count = 100_000 / shape.repeated.utf8.count
        #expect(
            Scan(shape.start + String(repeating: shape.repeated, count: count) + shape.end, shape.format).faults == [])
        // Closing marks behind as many opening ones.
        if shape.format == .css {
            let text =
                String(repeating: shape.repeated, count: count / 2) + String(repeating: ")}url(x)", count: count / 2)
            #expect(Scan(text, .css).faults == [])
        }
    }
}
