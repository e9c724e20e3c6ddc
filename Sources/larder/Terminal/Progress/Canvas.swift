/// What to write to a terminal so that lines take the place of those that were there. A pure value.
struct Canvas: Equatable {
    /// How many columns each line that stands there takes.
    private var widths: [Int] = []

    /// Puts `text`, whole lines, above the block, and the block below it. The cursor stands below the block then.
    mutating func draw(_ lines: [String], above text: String = "", width: Int) -> String {
        // A terminal that became narrower has wrapped what was there.
        let rows = widths.reduce(0) { $0 + max(1, ($1 + max(1, width) - 1) / max(1, width)) }
        var output = rows > 0 ? "\r\u{1b}[\(rows)A" : ""
        if !text.isEmpty || lines.isEmpty {
            if rows > 0 { output += "\u{1b}[J" }
            output += text
        }
        for line in lines { output += line + "\u{1b}[K\n" }
        if !lines.isEmpty, rows > 0 { output += "\u{1b}[J" }
        widths = lines.map(Self.width)
        return output
    }

    /// Without what only colours it.
    private static func width(_ line: String) -> Int {
        var (width, isEscape) = (0, false)
        for scalar in line.unicodeScalars {
            if scalar == "\u{1b}" { isEscape = true }
            if !isEscape { width += 1 } else if scalar == "m" { isEscape = false }
        }
        return width
    }
}
