/// The text of a document, for reading and for search.
package struct DocumentText: Sendable, Equatable {
    /// A part of the body that a link can target.
    package struct Section: Sendable, Equatable {
        /// The offset of its first byte in `body`.
        package var start: Int
        /// The fragment that links to the section; empty if there is none.
        package var anchor: String
        package var title: String

        package init(start: Int, anchor: String, title: String) {
            self.start = start
            self.anchor = anchor
            self.title = title
        }
    }

    package var title = ""
    /// The document's own description of itself.
    package var description = ""
    /// The language tag that the document declares, such as `de` or `zh-CN`; empty if there is none.
    package var language = ""
    /// The main text in UTF-8, with one line for each block: a paragraph, a heading, a table cell.
    package var body: [UInt8] = []
    /// The text around it, in the same form: navigation, header and footer.
    package var aside: [UInt8] = []
    /// The sections in the order of the body.
    package var sections: [Section] = []

    package init() {}

    /// Whether the document has no text to search.
    package var isEmpty: Bool { body.isEmpty && aside.isEmpty && title.isEmpty && description.isEmpty }

    /// The beginning of the body, cut between two characters.
    package func beginning(atMost byteCount: Int) -> String {
        var end = min(byteCount, body.last == 0x0A ? body.count - 1 : body.count)
        while end < body.count, end > 0, body[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: body[..<end], as: UTF8.self)
    }
}
