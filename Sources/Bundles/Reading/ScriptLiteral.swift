/// A literal of JavaScript, as far as lists of files are made of them; JSON is a part of that.
struct ScriptLiteral {
    enum Content {
        case text(String)
        case list([ScriptLiteral])
        case object([(key: String, value: ScriptLiteral)])
        /// `null`, `undefined`, `void 0`
        case nothing
        /// Numbers, truth values and whatever else is no text.
        case other
    }

    let content: Content
    /// Where it begins in the source.
    let offset: Int

    var text: String? {
        if case .text(let text) = content { text } else { nil }
    }

    var isNothing: Bool {
        if case .nothing = content { true } else { false }
    }

    /// The value of a key; of a repeated one the last.
    subscript(key: String) -> ScriptLiteral? {
        guard case .object(let members) = content else { return nil }
        return members.last { $0.key == key }?.value
    }
}
