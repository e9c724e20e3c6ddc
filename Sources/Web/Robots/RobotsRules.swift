/// What a robots.txt says to one user agent.
package struct RobotsRules: Sendable {
    /// One `Allow` or `Disallow`.
    package struct Rule: Sendable, CustomStringConvertible {
        package let isAllow: Bool
        /// The pattern as it was written, to show to people.
        package let text: String
        /// Where it stands in the file, counted from 1.
        package let line: Int
        let pattern: RobotsPattern

        /// `Disallow: /private/ (line 12)`
        package var description: String { "\(isAllow ? "Allow" : "Disallow"): \(text) (line \(line))" }

        /// The rules that a record amounts to: none when it has no pattern; for an allowed `…/index.html` a second one
        /// for the folder itself, as Google has it.
        static func rules(isAllow: Bool, pattern: ArraySlice<UInt8>, line: Int) -> [Rule] {
            guard !pattern.isEmpty else { return [] }
            let text = HTTPGrammar.text(pattern)
            var rules = [Rule(isAllow: isAllow, text: text, line: line, pattern: RobotsPattern(pattern))]
            if isAllow, let slash = pattern.lastIndex(of: 0x2F), pattern[slash...].starts(with: "/index.htm".utf8) {
                let folder = Array(pattern[...slash]) + [0x24]
                rules.append(Rule(isAllow: true, text: text, line: line, pattern: RobotsPattern(folder[...])))
            }
            return rules
        }
    }

    /// Seconds between requests that the file asks for.
    package let crawlDelay: Double?
    /// The longest first, and of equally long ones those that allow: the first that matches decides.
    private let rules: [Rule]

    init(_ rules: [Rule], crawlDelay: Double?) {
        self.crawlDelay = crawlDelay
        self.rules = rules.sorted {
            $0.pattern.length == $1.pattern.length
                ? $0.isAllow && !$1.isAllow : $0.pattern.length > $1.pattern.length
        }
    }

    /// What holds where there is no robots.txt (RFC 9309, section 2.3.1.3).
    package static let allowsAll = RobotsRules([], crawlDelay: nil)

    /// What holds while the file cannot be reached (section 2.3.1.4).
    package static let allowsNothing = RobotsRules(
        [Rule(isAllow: false, text: "/", line: 0, pattern: RobotsPattern([0x2F]))], crawlDelay: nil)

    package var isEmpty: Bool { rules.isEmpty }

    /// Whether the agent may ask for this path with its query, `/a/b?c`. Both it and the rules are brought to one form of
    /// percent-encoding first. An empty target is `/`; `/robots.txt` is always allowed.
    package func allows(_ target: String) -> Bool { decidingRule(for: target)?.isAllow ?? true }

    /// The rule that decides about this path with its query; nil when none speaks of it, which allows it.
    package func decidingRule(for target: String) -> Rule? {
        if rules.isEmpty || target == "/robots.txt" { return nil }
        let path = target.isEmpty ? [0x2F] : RobotsPattern.normalized(target.utf8, isPattern: false)
        return path.withUnsafeBytes { path in rules.first { $0.pattern.matches(path) } }
    }
}
