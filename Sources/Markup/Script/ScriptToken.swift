/// A token of a script, as far as finding links needs it told apart.
struct ScriptToken {
    enum Kind: UInt8 {
        case name
        /// The range is that of the inside of the quotes.
        case string
        /// A string that its line ended.
        case badString
        /// A template without substitutions; the range is that of the inside of the backticks.
        case template
        /// The part of a template up to a substitution.
        case templatePart
        /// The last part of a template with substitutions.
        case templateEnd
        case number
        case expression
        /// One byte of a punctuator.
        case mark
        /// A comment that names a source map; the range is that of the name.
        case sourceMap
        case end
    }

    var kind: Kind
    var range: Range<Int>
}
