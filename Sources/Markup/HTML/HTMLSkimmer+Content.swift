/// The script data states, as far as they differ in what ends the script.
private enum ScriptState {
    case plain
    case escaped
    case doubleEscaped
}

extension HTMLSkimmer {
    /// Walks the content of an element whose content is no markup, and its end tag.
    mutating func content(of name: UInt8, _ form: ElementTraits.Content, from start: Int) -> Int {
        let end: Int
        switch form {
        case .markup: return start
        case .plainText: end = count
        case .script: end = scriptEnd(name, from: start)
        case .rawText, .escapableText: end = textEnd(name, from: start)
        }
        if end > start {
            delegate.skimmed(content: start..<end, of: name, form == .escapableText ? .text : .raw)
        }
        return end < count ? endTag(at: end) : count
    }

    /// The next end tag of that name, or the end of the text.
    private func textEnd(_ name: UInt8, from start: Int) -> Int {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            guard index < count else { return count }
            if isEndTag(name, at: index) { return index }
            index += 1
        }
    }

    /// `</`, the name, and white space, `/` or `>`.
    private func isEndTag(_ name: UInt8, at start: Int) -> Bool {
        start + 1 < count && bytes[start + 1] == UInt8(ascii: "/") && isName(name, at: start + 2)
    }

    /// The name without ASCII case, and what ends it.
    private func isName(_ name: UInt8, at start: Int) -> Bool {
        let expected = vocabulary.elements.names[Int(name)]
        guard start + expected.count < count else { return false }
        for index in 0..<expected.count where bytes[start + index].lowercased != expected[index] { return false }
        let next = bytes[start + expected.count]
        return next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next.isSpace
    }

    /// The end of a script: in `<!-- -->` a `<script>` opens a stretch in which `</script>` ends only that stretch
    /// (script data escaped and double escaped states).
    private func scriptEnd(_ name: UInt8, from start: Int) -> Int {
        var state = ScriptState.plain
        var dashes = 0
        var index = start
        while index < count {
            if state == .plain {
                index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
                guard index < count else { return count }
                if isEndTag(name, at: index) { return index }
                let isOpening =
                    index + 3 < count && bytes[index + 1] == UInt8(ascii: "!")
                    && bytes[index + 2] == UInt8(ascii: "-") && bytes[index + 3] == UInt8(ascii: "-")
                index += isOpening ? 4 : 1
                if isOpening {
                    state = .escaped
                    dashes = 2
                }
                continue
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: "-") {
                dashes += 1
            } else if byte == UInt8(ascii: ">"), dashes >= 2 {
                state = .plain
                dashes = 0
            } else {
                dashes = 0
                if byte == UInt8(ascii: "<") {
                    if state == .escaped {
                        if isEndTag(name, at: index) { return index }
                        if isName(name, at: index + 1) { state = .doubleEscaped }
                    } else if isEndTag(name, at: index) {
                        state = .escaped
                    }
                }
            }
            index += 1
        }
        return count
    }

    /// The text of a script or style in foreign content: character references and CDATA sections, up to the next tag.
    mutating func foreignText(of name: UInt8, from start: Int) -> Int {
        var index = start
        while index < count {
            let end = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            if end > index { delegate.skimmed(content: index..<end, of: name, .text) }
            guard end < count, isCDATA(at: end) else { return end }
            let section = cdataEnd(from: end + Self.cdataMark)
            if section.text > end + Self.cdataMark {
                delegate.skimmed(content: end + Self.cdataMark..<section.text, of: name, .raw)
            }
            index = section.next
        }
        return count
    }
}
