/// Text in lines that fit a terminal of 80 columns.
enum Wrapping {
    private static let width = 79

    /// Breaks between words, wherever the text breaks itself; lines after the first begin with `indent` spaces. The first
    /// has so many before it already. A word that is too long stays whole.
    static func lines(_ text: String, indent: Int = 0) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if line.isEmpty {
                line = String(word)
            } else if indent + line.unicodeScalars.count + 1 + word.unicodeScalars.count <= width {
                line += " " + word
            } else {
                lines.append(line)
                line = String(word)
            }
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
