extension String {
    /// With spaces behind it, or before it, up to the width; as it is when it is wider.
    func padded(_ width: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - utf8.count))
        return left ? space + self : self + space
    }
}

/// Text in lines that fit a terminal of 80 columns.
enum Wrapping {
    private static let width = 79

    /// Breaks between words, wherever the text breaks itself; lines after the first begin with `indent`
    /// spaces. The first has so many before it already. A word that is too long stays whole.
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

    /// The lines of a report, those that are too long broken between words: what goes on stands two columns
    /// further in. A word that fits no line stays as it is, and so does a command, which is there to be
    /// pasted.
    static func fit(_ report: String, to width: Int, program: String = CommandLine.program) -> String {
        report.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            fit(line: line, to: width, program)
        }.joined(separator: "\n")
    }

    private static func fit(line: Substring, to width: Int, _ program: String) -> String {
        guard line.unicodeScalars.count > width else { return String(line) }
        let margin = line.prefix { $0 == " " }
        let indent = margin + "  "
        // From where on nothing is broken.
        let command =
            line.firstRange(of: ": \(program) ").map { line.index($0.lowerBound, offsetBy: 2) }
            ?? line.endIndex
        var words = line[margin.endIndex..<command].split(separator: " ", omittingEmptySubsequences: false)
        if command < line.endIndex {
            if words.last?.isEmpty == true { words.removeLast() }
            words.append(line[command...])
        }
        var lines: [String] = []
        var current = margin + (words.first ?? "")
        for word in words.dropFirst() {
            let length = word.unicodeScalars.count
            let fitsNext = indent.utf8.count + length <= width || word.startIndex == command
            if current.unicodeScalars.count + 1 + length > width, fitsNext {
                lines.append(String(current))
                current = indent + word
            } else {
                current += " " + word
            }
        }
        return (lines + [String(current)]).joined(separator: "\n")
    }
}
