package import Web

/// What a site's rules say of an URL.
package struct Explanation: Sendable {
    package let asPage: ScopeVerdict
    package let asRequisite: ScopeVerdict
    /// What robots.txt says of it as a page; nil when that is not known.
    package let robots: RobotsGate.Verdict?

    /// - Parameters:
    ///   - robots: what is held of the robots.txt of the URL's origin.
    ///   - isMarkedNofollow: all who link to it ask that it is not followed.
    package init(
        of url: WebURL, start: [WebURL], scope options: ScopeOptions, obeysRobots: Bool, productToken: String,
        robots: [UInt8]?, isMarkedNofollow: Bool = false
    ) throws(PatternMistake) {
        let scope = try Scope(start: start, options: options)
        let verdict = start.contains(url) ? scope.verdict(onStart: url) : scope.verdict(onPage: url, depth: 0)
        let isLeft = isMarkedNofollow && verdict.isFollowed && !start.contains(url)
        asPage = isLeft ? .skipped(.nofollow) : verdict
        asRequisite = scope.verdict(onRequisite: url)
        guard let robots, !start.contains(url) else {
            self.robots = nil
            return
        }
        var gate = RobotsGate(for: url, productToken: productToken, obeys: obeysRobots)
        _ = gate.next(now: .zero)
        _ = gate.answered(status: 200, body: robots.span, now: .zero)
        self.robots = gate.verdict(on: url)
    }
}
