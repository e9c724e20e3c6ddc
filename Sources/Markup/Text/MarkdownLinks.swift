/// The links and headings of a Markdown document.
package struct MarkdownLinks: Sendable {
    /// A link or image.
    package struct Link: Sendable, Equatable {
        /// The bytes of the destination in the document.
        package let range: Range<Int>
        /// The destination, without escapes and character references.
        package let reference: String
        package let isImage: Bool
    }

    /// In the order of the document.
    package private(set) var links: [Link] = []
    /// The fragments of headings, and the ids in inline HTML.
    package private(set) var anchors: Set<String> = []

    package init(_ body: Span<UInt8>) {}
}
