/// Text as XML 1.0 has it.
enum XMLText {
    /// With a space before it.
    static func attribute(_ name: String, _ value: String) -> String { " \(name)=\"\(escaped(value))\"" }

    /// For content and for attributes in double quotes. What no XML may contain becomes U+FFFD (XML 1.0, section 2.2); line
    /// breaks are written as references, since a parser makes spaces of them in attributes.
    static func escaped(_ text: String) -> String {
        text.escaping { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\t", "\n", "\r": "&#\(scalar.value);"
            case "\u{0}"..."\u{1f}", "\u{fffe}", "\u{ffff}": "\u{fffd}"
            default: nil
            }
        }
    }
}
