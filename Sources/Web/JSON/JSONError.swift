/// Why a text is not JSON, told so that a person can go to the place and mend it.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The byte at which reading stopped.
    package let offset: Int
    package let position: TextPosition
    /// What would have been right there, such as `"',' or '}' after a member"`.
    package let expected: String
    /// What stands there instead, quoted for people.
    package let found: String

    package var line: Int { position.line }
    package var column: Int { position.column }

    package var description: String {
        "line \(position.line), column \(position.column): expected \(expected), found \(found)"
    }
}
