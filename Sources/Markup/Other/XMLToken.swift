/// A token of XML. Ranges count in the text that was read.
enum XMLToken {
    case start(XMLTag)
    /// The range is that of the name.
    case end(Range<Int>)
    case text(Range<Int>)
    /// The inside of a CDATA section: no references in it.
    case section(Range<Int>)
    /// A processing instruction, with what stands behind its target read as attributes.
    case instruction(XMLTag)
}

/// A start tag or a processing instruction.
struct XMLTag {
    struct Attribute {
        var name: Range<Int>
        /// Between the quotes.
        var value: Range<Int>
    }

    var name: Range<Int>
    var attributes: [Attribute] = []
    /// `<a/>`
    var isEmpty = false
}
