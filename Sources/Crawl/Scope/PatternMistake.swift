/// Why a pattern of URLs cannot be used.
package enum PatternMistake: Error, Sendable, Equatable, CustomStringConvertible {
    case empty
    case tooLong(String)
    case expression(String, reason: String)

    package var description: String {
        switch self {
        case .empty: "a pattern is empty: write one like *.pdf, /docs/** or regex:[0-9]{4}$"
        case .tooLong(let text):
            "the pattern \(text.prefix(40))… is too long: a kilobyte is the most; write several shorter ones"
        case .expression(let text, let reason):
            "\(text) is no regular expression: \(reason); write one like regex:[0-9]{4}$"
        }
    }
}
