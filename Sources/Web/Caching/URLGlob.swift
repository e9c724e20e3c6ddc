/// A pattern of URLs: `*` matches any number of characters except slashes, `**` any number of characters, and
/// `?` any single character except a slash. All other characters match themselves.
///
/// The form of a pattern determines the part of the URL that it is compared with:
/// - `https://example.com/docs/**`, with `://`: the URL
/// - `/api/*`, with a slash at the beginning: path and query on any host
/// - `example.com/docs/**`: host, path and query, for http and https
/// - `*.example.com`, without a slash: the host
///
/// In the last two forms, a host without a port matches any port, and one with a port matches only that port.
/// Default ports are always left out.
///
/// The query is compared only if the pattern contains a question mark. Fragments and credentials are ignored.
/// Matching takes linear time: a finite automaton takes one step for each byte.
package struct URLGlob: Sendable, Hashable {
    package let text: String
    private let comparedPart: ComparedPart
    private let automaton: GlobAutomaton

    /// The part of a URL that the pattern is compared with.
    private enum ComparedPart: Sendable, Hashable {
        case url, target
        case hostAndTarget(hasPort: Bool)
        case host(hasPort: Bool)
    }

    /// Returns nil if the pattern is empty or longer than 1024 bytes.
    package init?(_ text: String) {
        guard let automaton = GlobAutomaton(text.utf8) else { return nil }
        self.text = text
        self.automaton = automaton
        let bytes = Array(text.utf8)
        let isWholeURL = bytes.indices.contains { bytes[$0...].starts(with: "://".utf8) }
        let authority = bytes.prefix { $0 != 0x2F }
        // Skips the colons of an IPv6 address, which is in brackets.
        let hasPort = authority[(authority.lastIndex(of: 0x5D) ?? 0)...].contains(0x3A)
        comparedPart =
            isWholeURL
            ? .url
            : bytes.first == 0x2F
                ? .target : bytes.contains(0x2F) ? .hostAndTarget(hasPort: hasPort) : .host(hasPort: hasPort)
    }

    package func matches(_ url: WebURL) -> Bool {
        if automaton.matchesEverything { return true }
        let target = text.utf8.contains(0x3F) ? url.target : url.path
        let authority = url.host + (url.port.map { ":\($0)" } ?? "")
        return switch comparedPart {
        case .url: automaton.matches("\(url.scheme)://\(authority)\(target)".utf8)
        case .hostAndTarget(let hasPort):
            url.isHTTP && automaton.matches(((hasPort ? authority : url.host) + target).utf8)
        case .target: automaton.matches(target.utf8)
        case .host(let hasPort): automaton.matches((hasPort ? authority : url.host).utf8)
        }
    }

    package static func == (left: URLGlob, right: URLGlob) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// A nondeterministic automaton that matches a glob. Its states are bits, one for each position between the
/// tokens of the pattern, so that a byte advances all active states at once.
struct GlobAutomaton: Sendable {
    private static let maxBytes = 1024

    /// The number of 64-bit words for the states.
    private let width: Int
    private let stateCount: Int
    /// For each byte, the states that it advances: those before a part that matches it.
    private let advancedStates: [UInt64]
    /// The states before a star of either kind, and those before `**`. They stay active when a star consumes
    /// a byte.
    private let starStates: [UInt64]
    private let doubleStarStates: [UInt64]
    /// Whether the pattern matches every text.
    let matchesEverything: Bool

    /// A part of a pattern.
    private enum Token: Equatable {
        case byte(UInt8)
        case anyByte, star, doubleStar
    }

    /// Returns nil if the pattern is empty or too long.
    init?(_ pattern: some Collection<UInt8>) {
        guard !pattern.isEmpty, pattern.count <= Self.maxBytes else { return nil }
        let tokens = Self.tokens(of: pattern)
        matchesEverything = tokens == [.doubleStar]
        stateCount = tokens.count + 1
        width = (stateCount + 63) / 64
        var advancedStates = [UInt64](repeating: 0, count: 256 * width)
        var starStates = [UInt64](repeating: 0, count: width)
        var doubleStarStates = starStates
        for (state, part) in tokens.enumerated() {
            let (word, bit) = (state / 64, UInt64(1) << UInt64(state % 64))
            switch part {
            case .byte(let byte): advancedStates[Int(byte) * width + word] |= bit
            case .anyByte:
                for byte in 0..<256 where byte != 0x2F { advancedStates[byte * width + word] |= bit }
            case .star: starStates[word] |= bit
            case .doubleStar:
                starStates[word] |= bit
                doubleStarStates[word] |= bit
            }
        }
        self.advancedStates = advancedStates
        self.starStates = starStates
        self.doubleStarStates = doubleStarStates
    }

    /// Merges adjacent stars, since `passStars` skips only one star.
    private static func tokens(of pattern: some Collection<UInt8>) -> [Token] {
        var tokens: [Token] = []
        for byte in pattern {
            switch byte {
            case 0x2A where tokens.last == .star || tokens.last == .doubleStar:
                tokens[tokens.count - 1] = .doubleStar
            case 0x2A: tokens.append(.star)
            case 0x3F: tokens.append(.anyByte)
            default: tokens.append(.byte(byte))
            }
        }
        return tokens
    }

    func matches(_ text: some Sequence<UInt8>) -> Bool {
        var active = [UInt64](repeating: 0, count: width)
        active[0] = 1
        passStars(&active)
        for byte in text {
            let staying = byte == 0x2F ? doubleStarStates : starStates
            var carry: UInt64 = 0
            var isAlive = false
            for word in 0..<width {
                let moved = active[word] & advancedStates[Int(byte) * width + word]
                active[word] = moved << 1 | carry | (active[word] & staying[word])
                carry = moved >> 63
                isAlive = isAlive || active[word] != 0
            }
            guard isAlive else { return false }
            passStars(&active)
        }
        return active[(stateCount - 1) / 64] >> UInt64((stateCount - 1) % 64) & 1 == 1
    }

    /// Activates the state after each star that is reached, since a star also matches no characters.
    private func passStars(_ active: inout [UInt64]) {
        var carry: UInt64 = 0
        for word in 0..<width {
            let passed = active[word] & starStates[word]
            active[word] |= passed << 1 | carry
            carry = passed >> 63
        }
    }
}
