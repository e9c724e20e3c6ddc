/// Sizes, times and counts as people read them.
enum Quantities {
    /// `1 page`, `1,234 pages`.
    static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    static func bytes(_ count: some BinaryInteger) -> String {
        let units = ["kB", "MB", "GB", "TB"]
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count) / 1000
        var unit = 0
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return "\(oneDecimal(value)) \(units[unit])"
    }

    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        if seconds < 60 { return "\(oneDecimal(seconds)) s" }
        let whole = Int(seconds.rounded())
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }

    /// As a clock that runs shows it: whole seconds.
    static func clock(_ duration: Duration) -> String {
        let whole = Int(duration / .seconds(1))
        return whole < 60 ? "\(max(0, whole)) s" : time(.seconds(whole))
    }

    /// As an estimate deserves it.
    static func roughTime(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded(.up))
        if seconds < 10 { return "\(max(1, seconds)) s" }
        if seconds < 60 { return "\((seconds + 4) / 5 * 5) s" }
        if seconds < 3600 { return "\((seconds + 30) / 60) min" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    /// How often a second something happens.
    static func rate(_ perSecond: Double) -> String {
        perSecond < 99.95 ? oneDecimal(perSecond) : grouped(Int(perSecond.rounded()))
    }

    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var text: [UInt8] = number < 0 ? [UInt8(ascii: "-")] : []
        for (offset, digit) in digits.enumerated() {
            if offset > 0, (digits.count - offset).isMultiple(of: 3) { text.append(UInt8(ascii: ",")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func oneDecimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

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

    /// The lines of a report, those that are too long broken between words: what goes on stands two columns further in. A word
    /// that fits no line stays as it is, and so does a command, which is there to be pasted.
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
            line.firstRange(of: ": \(program) ").map { line.index($0.lowerBound, offsetBy: 2) } ?? line.endIndex
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
