/// A string of a script, or a template without substitutions.
struct ScriptLiteral {
    /// What is between the quotes.
    var range: Range<Int>
    var isTemplate: Bool

    init(_ token: ScriptToken) {
        range = token.range
        isTemplate = token.kind == .template
    }
}
