internal import Web

extension String {
    /// On one line, with nothing in it that a terminal obeys: what comes from outside may not write lines of its own into a log,
    /// where some have a meaning, nor hide what stands there.
    var visible: String {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return self }
        return escaping { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}":
                "\\u{\(String(scalar.value, radix: 16))}"
            default: HTTPGrammar.byte(of: scalar).map { "\\x" + String($0, radix: 16) }
            }
        }
    }

    /// With some scalars written otherwise. By scalars, since a carriage return and a line feed are one `Character`.
    func escaping(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            if let replacement = replacement(scalar) {
                result += replacement
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
