/// One attribute of a start tag, as places in the text that is skimmed.
struct HTMLAttribute {
    enum Quoting: UInt8 {
        /// `name` alone.
        case none
        case unquoted
        case single
        case double
    }

    /// The number of the name in ``HTMLVocabulary``; 0 where it is not known.
    var name: UInt8
    var quoting: Quoting
    var nameRange: Range<Int>
    var valueRange: Range<Int>
}

/// A start tag with its attributes. It lives in the skimmer's buffer until the next tag.
struct HTMLTag {
    /// From `<` to behind `>`.
    var range: Range<Int>
    var nameRange: Range<Int>
    /// The number of the name in ``HTMLVocabulary``; 0 where it is not known.
    var name: UInt8
    var namespace: MarkupNamespace
    var isSelfClosing: Bool
    var attributes: UnsafeBufferPointer<HTMLAttribute>
}

/// Where an element belongs, as far as it decides how its content is read.
enum MarkupNamespace: UInt8 {
    case html = 0
    case svg = 1
    case mathML = 2
}
