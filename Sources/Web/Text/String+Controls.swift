extension String {
    /// The same with control characters, and what turns the direction of text around, written as JSON would write them. Line
    /// feeds and tabs stay.
    package var withVisibleControls: String {
        guard utf8.contains(where: { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 >= 0x7F }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if Self.isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0...0x1F, 0x7F...0x9F: true
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the ends of lines that are no line feed.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
