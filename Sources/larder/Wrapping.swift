extension String {
    /// The text padded with spaces to the width, on the right or on the left.
    func padded(_ width: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - utf8.count))
        return left ? space + self : self + space
    }

    /// The text with the first 8 characters of each digest, for people. A digest is a word of at least 32 hexadecimal digits;
    /// reports in JSON have it in full.
    var withShortDigests: String {
        split(separator: " ", omittingEmptySubsequences: false).map { word in
            let digits = word.prefix { $0.isHexDigit }
            guard digits.utf8.count >= 32 else { return String(word) }
            return "\(digits.prefix(8))…\(word[digits.endIndex...])"
        }.joined(separator: " ")
    }
}

/// Breaks text into lines that fit a terminal.
enum Wrapping {
    /// Breaks between words, and ignores the line breaks of the text. Lines after the first begin with
    /// `indent` spaces; the caller writes the indentation of the first line. A word that is too long stays
    /// whole.
    static func lines(_ text: String, indent: Int = 0, width: Int = 80) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if line.isEmpty {
                line = String(word)
            } else if indent + line.unicodeScalars.count + 1 + word.unicodeScalars.count < width {
                line += " " + word
            } else {
                lines.append(line)
                line = String(word)
            }
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }

    /// Breaks an indented command line into lines that end in a backslash, as a shell reads them. It is broken
    /// only before an argument, never inside quotes; an argument that is too long stays whole.
    static func commandLines(_ command: String, width: Int) -> String {
        guard command.unicodeScalars.count > width else { return command }
        let margin = String(command.prefix { $0 == " " })
        let indent = margin + "  "
        var lines: [String] = []
        var line = margin
        for argument in arguments(of: command.dropFirst(margin.count)) {
            let isFirst = line.utf8.count == margin.utf8.count || line.utf8.count == indent.utf8.count
            let length = line.unicodeScalars.count + 1 + argument.unicodeScalars.count
            // The backslash needs two more columns.
            if isFirst {
                line += argument
            } else if length + 2 <= width {
                line += " " + argument
            } else {
                lines.append(line + " \\")
                line = indent + argument
            }
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// The arguments of a command line, at the spaces outside of quotes. An option and its value count as one.
    private static func arguments(of command: Substring) -> [Substring] {
        var quote: Character?
        let words = command.split { character in
            if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            }
            return quote == nil && character == " "
        }
        return words.reduce(into: []) { arguments, word in
            if let last = arguments.last, last.hasPrefix("--"), !last.contains(" "), !word.hasPrefix("-") {
                arguments[arguments.count - 1] = command[last.startIndex..<word.endIndex]
            } else {
                arguments.append(word)
            }
        }
    }

    /// Breaks the long lines of a report between words, and indents continuation lines by two more columns.
    /// Words that fit no line stay whole, and so do commands, so that they can be pasted.
    static func fit(_ report: String, to width: Int, program: String = CommandLine.program) -> String {
        report.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            fit(line: line, to: width, program)
        }.joined(separator: "\n")
    }

    /// Breaks one line. A command (`: larder …`) is one unbreakable word at the end of the line.
    private static func fit(line: Substring, to width: Int, _ program: String) -> String {
        guard line.unicodeScalars.count > width else { return String(line) }
        let margin = line.prefix { $0 == " " }
        let indent = margin + "  "
        // The start of the command, which is not broken.
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
