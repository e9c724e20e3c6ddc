import Markup
import Search
import Web

/// The extraction of text from documents, the splitting into words, and the parser of queries.
struct SearchTarget: Target {
    let name = "search"
    let suffixes = [".html"]
    let pieces = [
        "<h1>", "</h1>", "<div id=a>", "<nav>", "</nav>", "<p hidden>", "<script>", "</script>", "<pre>\n",
        "<td>",
        "&amp;",
        "<title>", "<img alt='x'>", "<a name=b>", "<dt id=c>", "\u{0}", "虚拟主机", "ภาษา", "カﾞ", "é", "e\u{301}",
        "C++",
        "XMLHttp",
        "\"", " OR ", " NEAR/3 ", "-", "title:", "*", "NOT", "(", ")", "\u{F8FF}", "word",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let document = DocumentText(input.span, form: "html;UTF-8")
        var last = 0
        for section in document.sections {
            guard section.start >= last, section.start <= document.body.count else {
                return "a section: \(section)"
            }
            last = section.start
        }
        for purpose in [WordSplitter.Purpose.index, .query] {
            if let fault = Self.fault(document.body, purpose) ?? Self.fault(input, purpose) { return fault }
        }
        // Any text is a valid query or throws an error.
        _ = try? SearchQuery(String(decoding: input.prefix(900), as: UTF8.self))
        return nil
    }

    private static func fault(_ text: [UInt8], _ purpose: WordSplitter.Purpose) -> String? {
        var fault: String?
        var end = 0
        WordSplitter().split(text.span, for: purpose) { word, place, isColocated in
            if word.isEmpty || word.count > 80 { fault = "a word: of \(word.count) bytes" }
            if place.isEmpty || place.upperBound > text.count { fault = "a place: \(place)" }
            if place.upperBound < end { fault = "the order: \(place) behind \(end)" }
            end = place.upperBound
            return fault == nil
        }
        return fault
    }
}
