internal import Markup
package import Store
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
        let verdict = scope.verdict(on: url, as: start.contains(url) ? .start : .page(depth: 0))
        let isLeft = isMarkedNofollow && verdict.isFollowed && !start.contains(url)
        asPage = isLeft ? .skipped(.nofollow) : verdict
        asRequisite = scope.verdict(on: url, as: .requisite)
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

/// Whether pages that are held let themselves be followed to an URL.
package struct LinkMarks {
    private let reader: StoreReader
    private let manners: PageManners
    private var references = ReferenceList()

    /// More of those who link there are not looked into.
    private static let mostLookedInto = 100

    package init(_ reader: StoreReader, manners: PageManners) {
        self.reader = reader
        self.manners = manners
    }

    /// True when all who link to it ask that it is not followed; not where nobody links to it.
    package mutating func keepsFromFollowing(
        _ url: WebURL, linkedFrom hrefs: [String]
    ) throws(StoreError) -> Bool {
        guard manners.nofollow != .ignore, !hrefs.isEmpty, hrefs.count <= Self.mostLookedInto else {
            return false
        }
        for href in hrefs {
            guard let page = try reader.response(for: href), let address = WebURL(href) else { return false }
            if try leads(page, at: address, to: url) { return false }
        }
        return true
    }

    private mutating func leads(
        _ page: StoredResponse, at address: WebURL, to url: WebURL
    ) throws(StoreError) -> Bool {
        if page.flags.contains(.saysNofollow) { return false }
        guard manners.nofollow == .links, let body = page.body else { return true }
        let encoded = try reader.links(of: body)
        guard let bytes = try reader.content(of: body)?.load(),
            let table = try LinkScanner().table(
                stored: encoded, form: body.form, { () throws(StoreError) in bytes })
        else { return true }
        references.removeAll()
        let source = table.source(of: bytes.span) ?? bytes
        for occurrence in table.occurrences {
            references.append(occurrence, table.reference(occurrence, in: source.span).span)
        }
        return references.resolve(against: address, table: table, manners).contains {
            $0.url == url && !$0.isNofollow
        }
    }
}
