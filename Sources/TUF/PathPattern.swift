/// Shell patterns for the paths of targets, as glob(7) describes them: `*` matches any bytes except `/`, `?` one character
/// except `/`, `[a-z]` one character of a set and `[!a-z]` one outside it. A backslash has no special meaning, as in
/// Python's `fnmatch`, which the reference implementation uses.
enum PathPattern {
    /// Whether the pattern matches the whole path.
    static func matches(_ path: String, _ pattern: String) -> Bool {
        var query = TargetQuery(path)
        return matches(&query, pattern)
    }

    /// Whether the pattern matches the whole path. Takes at most time proportional to the product of both lengths, which is
    /// added to the cost of the query.
    static func matches(_ query: inout TargetQuery, _ pattern: String) -> Bool {
        query.cost += 1
        guard !query.isTooExpensive, query.canMatch(pattern.utf8) else { return false }
        let path = query.scalars
        query.cost += path.count * pattern.utf8.count
        let tokens = Self.tokens(of: Array(pattern.unicodeScalars))
        var (at, token) = (0, 0)
        // The last star, and the end of the characters that it matches so far. If a later token fails, only the last star is
        // extended: extending an earlier one cannot help.
        var retry: (token: Int, at: Int)?
        while at < path.count {
            if token < tokens.count, case .star = tokens[token] {
                retry = (token, at)
                token += 1
            } else if token < tokens.count, tokens[token].matches(path[at]) {
                at += 1
                token += 1
            } else if let star = retry, path[star.at] != "/" {
                retry = (star.token, star.at + 1)
                (at, token) = (star.at + 1, star.token + 1)
            } else {
                return false
            }
        }
        return tokens[token...].allSatisfy { if case .star = $0 { true } else { false } }
    }

    private enum Token {
        case star
        case anyCharacter
        case character(Unicode.Scalar)
        case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)

        func matches(_ scalar: Unicode.Scalar) -> Bool {
            switch self {
            case .star: false
            case .anyCharacter: scalar != "/"
            case .character(let own): scalar == own
            case .set(let ranges, let isNegated):
                scalar != "/" && ranges.contains { $0.contains(scalar) } != isNegated
            }
        }
    }

    private static func tokens(of pattern: [Unicode.Scalar]) -> [Token] {
        var tokens: [Token] = []
        var at = 0
        while at < pattern.count {
            switch pattern[at] {
            case "*": tokens.append(.star)
            case "?": tokens.append(.anyCharacter)
            case "[":
                if let (set, end) = set(in: pattern, after: at) {
                    tokens.append(set)
                    at = end
                } else {
                    tokens.append(.character("["))
                }
            default: tokens.append(.character(pattern[at]))
            }
            at += 1
        }
        return tokens
    }

    /// Reads a set after its opening bracket, and returns it with the position of its closing bracket. Returns nil if there
    /// is none before the next slash: the bracket then stands for itself.
    private static func set(in pattern: [Unicode.Scalar], after opening: Int) -> (Token, end: Int)? {
        var at = opening + 1
        let isNegated = at < pattern.count && pattern[at] == "!"
        if isNegated { at += 1 }
        let start = at
        // A closing bracket directly at the start belongs to the set.
        guard start < pattern.count, pattern[start] != "/",
            let end = pattern[(start + 1)...].firstIndex(where: { $0 == "]" || $0 == "/" }),
            pattern[end] == "]"
        else { return nil }
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        while at < end {
            if at + 2 < end, pattern[at + 1] == "-" {
                if pattern[at] <= pattern[at + 2] { ranges.append(pattern[at]...pattern[at + 2]) }
                at += 3
            } else {
                ranges.append(pattern[at]...pattern[at])
                at += 1
            }
        }
        return (.set(ranges, isNegated: isNegated), end)
    }
}

/// The path of a target, for the search for the roles that may describe it.
///
/// It counts the cost of the comparisons: patterns that someone makes for it could keep a client busy for hours.
struct TargetQuery: Sendable {
    let path: String
    fileprivate let scalars: [Unicode.Scalar]
    private let slashCount: Int
    /// The SHA-256 of the path in hexadecimal digits.
    private(set) lazy var hash = PathHash.hex(of: path)
    /// The number of comparisons of a character of the path with one of a pattern, at most.
    fileprivate(set) var cost = 0

    init(_ path: String) {
        self.path = path
        scalars = Array(path.unicodeScalars)
        slashCount = path.utf8.count { $0 == UInt8(ascii: "/") }
    }

    /// Whether the comparisons took so long that the search must fail. No pattern matches then.
    var isTooExpensive: Bool { cost > TUFLimits.maxPatternCost }

    /// Whether the beginning of a pattern and its number of slashes fit the path. Most patterns do not, which is found out
    /// without reading them in full.
    fileprivate func canMatch(_ pattern: String.UTF8View) -> Bool {
        for (own, other) in zip(pattern, path.utf8) {
            if "*?[".utf8.contains(own) { break }
            guard own == other else { return false }
        }
        return pattern.count { $0 == UInt8(ascii: "/") } == slashCount
    }
}
