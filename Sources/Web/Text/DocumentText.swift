/// The text of a document: what a person reads in it, and what it is found by.
package struct DocumentText: Sendable, Equatable {
    /// A part of the text that a link can lead to.
    package struct Section: Sendable, Equatable {
        /// Where it begins in `body`.
        package var start: Int
        /// The fragment that leads there; empty where there is none.
        package var anchor: String
        package var title: String

        package init(start: Int, anchor: String, title: String) {
            self.start = start
            self.anchor = anchor
            self.title = title
        }
    }

    package var title = ""
    /// What the document says of itself in a sentence.
    package var description = ""
    /// As the document says, such as `de` or `zh-CN`; empty where it does not.
    package var language = ""
    /// UTF-8, a line for each block: a paragraph, a heading, a cell of a table.
    package var body: [UInt8] = []
    /// The same of what stands around it: navigation, head and foot.
    package var aside: [UInt8] = []
    /// By their place.
    package var sections: [Section] = []

    package init() {}

    /// There is nothing to be found in it.
    package var isEmpty: Bool { body.isEmpty && aside.isEmpty && title.isEmpty && description.isEmpty }

    /// The beginning of the text, which ends between two characters.
    package func beginning(atMost byteCount: Int) -> String {
        var end = min(byteCount, body.last == 0x0A ? body.count - 1 : body.count)
        while end < body.count, end > 0, body[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: body[..<end], as: UTF8.self)
    }
}
