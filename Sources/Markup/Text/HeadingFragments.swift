/// The fragments that GitHub gives to the headings of a document, in their order.
struct HeadingFragments {
    /// The number of the last suffix of each fragment.
    private var suffixes: [String: Int] = [:]

    /// Returns the fragment of the next heading: its text in lower case, with hyphens for spaces and without anything but letters,
    /// digits, `-` and `_`. Repetitions have a suffix.
    mutating func add(_ heading: String) -> String {
        var base = ""
        for scalar in heading.unicodeScalars {
            switch scalar {
            case " ": base.unicodeScalars.append("-")
            case "-", "_", "a"..."z", "0"..."9": base.unicodeScalars.append(scalar)
            default: if Self.isWord(scalar) { base += scalar.properties.lowercaseMapping }
            }
        }
        var fragment = base
        while suffixes[fragment] != nil {
            suffixes[base, default: 0] += 1
            fragment = "\(base)-\(suffixes[base, default: 0])"
        }
        suffixes[fragment] = 0
        return fragment
    }

    /// Whether Ruby's `\p{Word}` contains the character, which GitHub's rule is written with.
    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark,
            .enclosingMark, .decimalNumber, .connectorPunctuation:
            true
        case .letterNumber, .otherNumber, .dashPunctuation, .openPunctuation, .closePunctuation,
            .initialPunctuation,
            .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol,
            .spaceSeparator,
            .lineSeparator, .paragraphSeparator, .control, .format, .surrogate, .privateUse, .unassigned:
            false
        @unknown default: false
        }
    }
}
