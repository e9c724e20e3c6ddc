/// One line of a block: a label, and as many fragments behind it as there is room for.
struct BlockLine: Equatable {
    enum Tone: Equatable {
        case plain, strong, quiet, warning
    }

    struct Fragment: Equatable {
        let text: String
        var tone = Tone.plain
    }

    var label = ""
    var fragments: [Fragment]
    var separator = ", "

    init(_ label: String, _ texts: [String?], separator: String = ", ") {
        self.label = label
        fragments = texts.compactMap { $0.map { Fragment(text: $0) } }
        self.separator = separator
    }

    /// Never wider than `width`: what has no room is left out, and the first fragment cut in its middle.
    func text(width: Int, isColored: Bool) -> String {
        var room = max(0, width)
        let head = Fitting.cut(label, to: room)
        room -= head.unicodeScalars.count
        var line = Self.colored(head, .quiet, isColored)
        for (place, fragment) in fragments.enumerated() {
            let space = place == 0 ? "" : separator
            let needed = space.unicodeScalars.count + fragment.text.unicodeScalars.count
            if needed <= room {
                line += space + Self.colored(fragment.text, fragment.tone, isColored)
                room -= needed
            } else if place == 0 {
                line += Self.colored(Fitting.cut(fragment.text, to: room), fragment.tone, isColored)
                break
            } else {
                break
            }
        }
        return line
    }

    private static func colored(_ text: String, _ tone: Tone, _ isColored: Bool) -> String {
        guard isColored, !text.isEmpty else { return text }
        return switch tone {
        case .plain: text
        case .strong: "\u{1b}[1m\(text)\u{1b}[0m"
        case .quiet: "\u{1b}[2m\(text)\u{1b}[0m"
        case .warning: "\u{1b}[33m\(text)\u{1b}[0m"
        }
    }
}

/// Text in so many columns. What comes from outside is shown without what a terminal would obey.
enum Fitting {
    /// Its middle left out where it is too long: an address says most at its ends.
    static func cut(_ text: String, to width: Int) -> String {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count > width else { return text }
        guard width > 2 else { return String(repeating: ".", count: max(0, width)) }
        let room = width - 2
        let head = room - room / 2
        return string(scalars[..<head]) + ".." + string(scalars[(scalars.count - room / 2)...])
    }

    /// ASCII that is printed as it is, and a question mark for anything else.
    static func plain(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
