internal import Markup
internal import Web

/// The text of what is neither HTML nor plain.
enum OtherTexts {
    /// Nil for what is read by its form.
    static func text(of bytes: [UInt8], type: String?) -> DocumentText? {
        switch type {
        case "text/markdown", "text/x-markdown": DocumentText(markdown: bytes.span)
        default: nil
        }
    }
}
