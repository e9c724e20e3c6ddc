internal import Markup
public import Store
package import Web

/// An explanation of whether a prefetch would fetch a URL, by which rule, and which pages link to it.
public struct ExplainReport: Sendable, Equatable {
    /// The decision of one site's rules.
    public struct Site: Sendable, Equatable {
        public let name: String
        /// The decision if the URL is a page: `followed: on example.com`, `skipped: excluded by *.pdf`.
        public let asPage: String
        /// Whether it is fetched as a page.
        public let isPageFollowed: Bool
        /// The option with which it would be fetched, if there is one.
        public let remedy: Remedy?
        /// The decision if the URL is an asset.
        public let asAsset: String
        /// The decision of the stored robots.txt for a page; nil if none is stored.
        public let robots: String?

        /// - Parameters:
        ///   - robots: the stored robots.txt of the URL's origin.
        ///   - isMarked: whether all links to it are marked `nofollow`.
        fileprivate init(
            of url: WebURL, in site: Store.Site, _ robots: [UInt8]?, isMarked: Bool
        ) throws(StoreError) {
            let settings = SitePlan(text: site.settings)
            let start = site.start.compactMap { WebURL($0) }
            let scope: Scope
            do throws(PatternMistake) {
                scope = try Scope(start: start, options: settings.scope)
            } catch {
                throw StoreError(
                    .unusable, doing: "read the settings of", path: site.name, detail: error.description,
                    advice: "prefetch the site again with other patterns")
            }
            let verdict = scope.verdict(on: url, as: start.contains(url) ? .start : .page(depth: 0))
            let isLeft = isMarked && verdict.isFollowed && !start.contains(url)
            let asPage = isLeft ? ScopeVerdict.skipped(.nofollow) : verdict
            name = site.name
            self.asPage = asPage.description
            isPageFollowed = asPage.isFollowed
            remedy = if case .skipped(let reason) = asPage { reason.remedy } else { nil }
            asAsset = scope.verdict(on: url, as: .asset).description
            guard let robots, !start.contains(url) else {
                self.robots = nil
                return
            }
            var gate = OriginRobots(for: url, productToken: Product.token, obeys: settings.obeysRobots)
            _ = gate.next(now: .zero)
            _ = gate.didRespond(status: 200, body: robots.span, from: .publicNetwork, now: .zero)
            self.robots =
                switch gate.verdict(on: url) {
                case .allowed, .waits: "allowed"
                case .refused(let reason): reason.name
                }
        }
    }

    public let url: String
    /// The decisions of all stored sites.
    public let sites: [Site]
    /// The status of its stored response; nil if it is not stored.
    public let storedStatus: Int?
    /// The URLs from a start page to the page that first requested it; empty if they are not known.
    public let chain: [String]
    /// The URLs of live responses that link to it.
    public let linkedFrom: [String]

    /// Explains a URL by the rules of each site's last prefetch.
    package init(of url: WebURL, _ reader: StoreReader) throws(StoreError) {
        let robots = try Self.robots(for: url, reader)
        linkedFrom = try reader.visibleReferrers(of: url.href)
        var sites: [Site] = []
        for site in try reader.sites() {
            var marks = LinkMarks(reader, directivePolicy: SitePlan(text: site.settings).directivePolicy)
            let isMarked = try marks.keepsFromFollowing(url, linkedFrom: linkedFrom)
            sites.append(try Site(of: url, in: site, robots, isMarked: isMarked))
        }
        self.url = url.href
        self.sites = sites
        storedStatus = try reader.response(for: url.href)?.status
        chain = try Self.chain(to: url.href, linkedFrom, reader)
    }

    private static func robots(for url: WebURL, _ reader: StoreReader) throws(StoreError) -> [UInt8]? {
        guard let address = WebURL("/robots.txt", base: url),
            let held = try reader.response(for: address.key.href), held.status == 200, let body = held.body
        else { return nil }
        return try reader.content(of: body)?.load()
    }

    /// The chain of first referrers, as far as it is known.
    private static func chain(
        to href: String, _ linkedFrom: [String], _ reader: StoreReader
    ) throws(StoreError) -> [String] {
        var chain: [String] = []
        var next = try reader.versions(of: href).first?.referrer ?? linkedFrom.first
        while let href = next, !chain.contains(href), chain.count < 32 {
            chain.append(href)
            next = try reader.versions(of: href).first?.referrer
        }
        return chain.reversed()
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension ExplainReport: JSONObject {
    package var members: JSONMembers {
        ["url": url, "storedStatus": storedStatus, "chain": chain, "linkedFrom": linkedFrom, "sites": sites]
    }
}

extension ExplainReport.Site: JSONObject {
    package var members: JSONMembers {
        ["name": name, "asPage": asPage, "asAsset": asAsset, "robots": robots]
    }
}

/// Decides whether stored pages let their links to a URL be followed.
package struct LinkMarks {
    private let reader: StoreReader
    private let directivePolicy: DirectivePolicy
    private var references = ReferenceList(maxLinks: CrawlPlan.defaultMaxLinks)

    /// Limits the number of linking pages that are scanned.
    private static let maxScannedReferrers = 100

    package init(_ reader: StoreReader, directivePolicy: DirectivePolicy) {
        self.reader = reader
        self.directivePolicy = directivePolicy
    }

    /// Whether all links to the URL are marked `nofollow`. False if no page links to it.
    package mutating func keepsFromFollowing(
        _ url: WebURL, linkedFrom hrefs: [String]
    ) throws(StoreError) -> Bool {
        guard directivePolicy.nofollow != .follow, !hrefs.isEmpty, hrefs.count <= Self.maxScannedReferrers
        else {
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
        guard directivePolicy.nofollow == .obey, let body = page.body else { return true }
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
        return references.resolve(against: address, table: table, directivePolicy).contains {
            $0.url == url && !$0.isNofollow
        }
    }
}
