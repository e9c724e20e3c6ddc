internal import Check
internal import Crawl
internal import Store
package import Web

extension Larder {
    /// Says whether an URL would be fetched, by the rules with which the held sites were prefetched last, and who links to
    /// it. Asks nothing of the network.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL.
    public func explain(_ url: String) async throws(LarderError) -> ExplainReport {
        let asked = try Self.startURL(url)
        return try await reading("larder-explain") { (reader) throws(StoreError) in
            let robots = try Self.robots(for: asked, reader)
            var sites: [ExplainReport.Site] = []
            let linkedFrom = try reader.referrers(of: asked.href)
            for site in try reader.sites() {
                var marks = LinkMarks(reader, manners: SitePlan(text: site.settings).manners)
                let isMarked = try marks.keepsFromFollowing(asked, linkedFrom: linkedFrom)
                sites.append(try Self.explanation(of: asked, site, robots, isMarked: isMarked))
            }
            return ExplainReport(
                url: asked.href, sites: sites, heldStatus: try reader.response(for: asked.href)?.status,
                chain: try Self.chain(to: asked.href, linkedFrom, reader), linkedFrom: linkedFrom)
        }
    }

    private static func explanation(
        of url: WebURL, _ site: Site, _ robots: [UInt8]?, isMarked: Bool
    ) throws(StoreError) -> ExplainReport.Site {
        let settings = SitePlan(text: site.settings)
        do throws(PatternMistake) {
            let explanation = try Explanation(
                of: url, start: site.start.compactMap { WebURL($0) }, scope: settings.scope,
                obeysRobots: settings.obeysRobots, productToken: Product.token, robots: robots,
                isMarkedNofollow: isMarked)
            return ExplainReport.Site(
                name: site.name, asPage: explanation.asPage.description, isPageFollowed: explanation.asPage.isFollowed,
                asRequisite: explanation.asRequisite.description,
                robots: explanation.robots.map { verdict in
                    switch verdict {
                    case .allowed, .waits: "allowed"
                    case .refused(let reason): reason.name
                    }
                })
        } catch {
            throw StoreError(
                .unusable, doing: "read the settings of", path: site.name, detail: error.description,
                advice: "prefetch the site again with other patterns")
        }
    }

    private static func robots(for url: WebURL, _ reader: StoreReader) throws(StoreError) -> [UInt8]? {
        guard let address = WebURL("/robots.txt", base: url),
            let held = try reader.response(for: address.key.href), held.status == 200, let body = held.body
        else { return nil }
        return try reader.content(of: body)?.load()
    }

    /// By who asked first, as far as that leads.
    private static func chain(
        to href: String, _ linkedFrom: [String], _ reader: StoreReader
    ) throws(StoreError) -> [String] {
        var chain: [String] = []
        var next = try reader.rows(of: href).first?.referrer ?? linkedFrom.first
        while let href = next, !chain.contains(href), chain.count < 32 {
            chain.append(href)
            next = try reader.rows(of: href).first?.referrer
        }
        return chain.reversed()
    }
}

/// Whether an URL would be fetched, by which rule, and who links to it.
public struct ExplainReport: Sendable, Equatable {
    /// What one site's rules say.
    public struct Site: Sendable, Equatable {
        public let name: String
        /// `followed: on example.com`, `skipped: excluded by *.pdf`.
        public let asPage: String
        public let isPageFollowed: Bool
        public let asRequisite: String
        /// What the held robots.txt says of it as a page; nil when none is held.
        public let robots: String?
    }

    public let url: String
    public let sites: [Site]
    /// The status under which it is held and shown; nil when it is not.
    public let heldStatus: Int?
    /// From a start to who asked for it first; empty when that is not known.
    public let chain: [String]
    /// The addresses whose bodies link to it.
    public let linkedFrom: [String]

    /// The report for programs.
    public var json: String { members.text() }
}

extension ExplainReport: JSONObject {
    package var members: JSONMembers {
        ["url": url, "heldStatus": heldStatus, "chain": chain, "linkedFrom": linkedFrom, "sites": sites]
    }
}

extension ExplainReport.Site: JSONObject {
    package var members: JSONMembers {
        ["name": name, "asPage": asPage, "asRequisite": asRequisite, "robots": robots]
    }
}
