internal import Digest
package import Store
package import Web

/// Everything that is known of one URL.
public struct HoldingReport: Sendable, Equatable {
    public let url: String
    /// What is held under it, from every visit; the newest first. Empty when it is not held.
    public let rows: [Row]
    /// Pages and files that link to it as they are shown, whether or not it is held.
    public let linkedFrom: [String]
    /// Where `larder serve` shows it, on the port that it has unless told otherwise; nil when it is not held.
    public let shownAt: String?
    /// What there is instead; nil when it is held.
    public let absence: Absence?

    public var isHeld: Bool { !rows.isEmpty }

    /// Looks at all that is held under the URL, however large: MD5s that nobody computed yet are computed,
    /// and kept.
    ///
    /// - Parameter shownAt: where the larder shows it, if it is held.
    package init(of url: WebURL, shownAt: String?, _ reader: StoreReader) throws(StoreError) {
        var md5s = KnownMD5s(reader)
        var rows: [Row] = []
        for row in try reader.rows(of: url.href) {
            rows.append(try Row(row, links: reader.storedLinks(of: row.response), reader, &md5s))
        }
        try md5s.keep(in: reader.folder)
        self.url = url.href
        self.rows = rows
        linkedFrom = try reader.shownReferrers(of: url.href)
        self.shownAt = rows.isEmpty ? nil : shownAt
        absence = rows.isEmpty ? try Absence(of: url, in: reader) : nil
    }

    /// The report for programs.
    public var json: String { members.text() }

    /// What the URL answered in one visit.
    public struct Row: Sendable, Equatable {
        public let site: String
        public let visit: Int64
        /// The last visit that got the same once more; nil where none did.
        public let confirmed: Int64?
        /// Whoever asks the larder gets this one.
        public let isShown: Bool
        public let status: Int
        public let isRequisite: Bool
        public let type: String?
        /// What was asked, when it was no plain GET: the method, and the MD5 of what was sent.
        public let request: String?
        /// Where the answer varies: the fields of the request that it was given to, a line each.
        public let variant: String?
        /// Seconds since 1970.
        public let requested: Int64
        public let fetched: Int64
        /// The page that first asked for it.
        public let referrer: String?
        public let headers: [Header]
        /// Something showed that it may no longer hold: policies that ask will ask.
        public let isInvalidated: Bool
        /// Only a part of the body is held.
        public let isPart: Bool
        /// It was fetched with credentials, such as cookies or a login: it is for who prefetched it, and for
        /// nobody else.
        public let isPrivate: Bool
        /// How it came into the larder.
        public let provenance: Provenance
        /// The paths of the archives that it was imported from, in the order in which they were read. Empty
        /// unless it was imported, and where the larder that imported it did not record them.
        public let archives: [String]
        /// Nil for a redirect, or what is gone.
        public let body: Body?
        /// Nil where there is no body, and where links were never looked for.
        public let links: Links?

        public enum Provenance: String, Sendable, CaseIterable {
            /// A prefetch or an update fetched it from its origin.
            case fetched
            /// A server or a proxy loaded it for a client.
            case loaded
            /// A proxy recorded it.
            case recorded
            /// It was read from an archive.
            case imported

            init(_ kind: Store.Provenance.Kind) {
                self =
                    switch kind {
                    case .fetched: .fetched
                    case .loaded: .loaded
                    case .recorded: .recorded
                    case .imported: .imported
                    }
            }
        }

        /// Where it came from, for people: `imported from site.warc.gz`.
        package var provenanceText: String {
            let names = archives.map { $0.split(separator: "/").last.map { String($0) } ?? $0 }
            return names.isEmpty
                ? provenance.rawValue : "\(provenance.rawValue) from \(names.joined(separator: ", "))"
        }

        /// When it came, in universal time: `2026-01-31T12:00:00Z`.
        public var fetchDate: String { Wording.date(fetched) }

        /// What is to be known of it before it is used, a clause each.
        package var states: [String] {
            [
                isInvalidated ? "to be asked about before it is used again" : nil,
                isPart ? "only a part is held" : nil, isPrivate ? "private: fetched with credentials" : nil,
            ].compactMap { $0 }
        }

        package var isRedirect: Bool { (300..<400).contains(status) }

        /// - Parameter links: nil where they are of no interest, too.
        package init(
            _ row: HeldRow, links: StoredLinks?, _ reader: StoreReader, _ md5s: inout KnownMD5s
        ) throws(StoreError) {
            let response = row.response
            site = row.site
            visit = response.visit
            confirmed = row.confirmed > response.visit ? row.confirmed : nil
            isShown = row.isShown
            status = response.status
            isRequisite = response.role != 0
            type = response.type
            request = response.request == .get ? nil : response.request.text
            variant = response.variant.isEmpty ? nil : VaryKey(stored: response.variant).shown
            requested = response.requested
            fetched = response.fetched
            referrer = row.referrer
            headers = HTTPFields(block: response.fields.utf8.span).list.map {
                Header(name: $0.name, value: $0.value)
            }
            isInvalidated = response.flags.contains(.isInvalidated)
            isPart = response.flags.contains(.isPart)
            isPrivate = response.flags.contains(.isPrivate)
            provenance = Provenance(response.provenance.kind)
            archives =
                response.isImported ? row.archive?.split(separator: "\n").map { String($0) } ?? [] : []
            body = try response.body.map { (body) throws(StoreError) in try Body(body, reader, &md5s) }
            self.links = links.map { Links(pages: $0.pages, requisites: $0.requisites, guesses: $0.guesses) }
        }
    }

    public struct Header: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public struct Body: Sendable, Equatable {
        public let byteCount: Int
        public let sha256: String
        /// Nil when its bytes cannot be read, or are too many to be read now.
        public let md5: String?
        /// Why its bytes cannot be read.
        public let fault: String?
        /// How it is read: format and character set.
        public let form: String
        public let title: String?
        /// `larder.db`, or the file below the larder's folder; nil when its bytes are gone.
        public let place: String?

        /// `html, UTF-8`
        package var readAs: String { form.replacing(";", with: ", ") }

        init(_ body: StoredBody, _ reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
            byteCount = body.byteCount
            sha256 = Hex.encode(body.sha256)
            form = body.form
            title = body.title
            guard try reader.isThere(body) else {
                place = nil
                md5 = nil
                fault = "its bytes are gone or cut short"
                return
            }
            place = try reader.placeName(of: body)
            do throws(StoreError) {
                md5 = try md5s.md5(of: body)?.hex
                fault = nil
            } catch {
                // The rest is still worth to be seen.
                md5 = nil
                fault = error.detail
            }
        }
    }

    public struct Links: Sendable, Equatable {
        public let pages: [String]
        public let requisites: [String]
        /// What looks like a link in a script, and may be none.
        public let guesses: [String]
    }
}

extension HoldingReport: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "held": isHeld, "shownAt": shownAt, "rows": rows, "linkedFrom": linkedFrom,
            "instead": IfAny(absence),
        ]
    }
}

extension HoldingReport.Row: JSONObject {
    package var members: JSONMembers { answerMembers + ["links": links] }

    /// All but the links.
    package var answerMembers: JSONMembers {
        [
            "site": site, "visit": visit, "confirmed": confirmed, "shown": isShown, "status": status,
            "role": isRequisite ? "requisite" : "page", "type": type, "request": request, "variant": variant,
            "requested": requested, "fetched": fetched, "referrer": referrer, "invalidated": isInvalidated,
            "part": isPart, "private": isPrivate, "provenance": provenance.rawValue, "archives": archives,
            "headers": headers, "body": body,
        ]
    }
}

extension HoldingReport.Header: JSONObject {
    package var members: JSONMembers { ["name": name, "value": value] }
}

extension HoldingReport.Body: JSONObject {
    package var members: JSONMembers {
        [
            "bytes": byteCount, "sha256": sha256, "md5": md5, "fault": IfAny(fault), "form": form,
            "title": title,
            "place": place,
        ]
    }
}

extension HoldingReport.Links: JSONObject {
    package var members: JSONMembers { ["pages": pages, "requisites": requisites, "guesses": guesses] }
}

/// What there is of an URL that is not held.
public struct Absence: Sendable, Equatable {
    /// What answers for it offline, if anything does.
    public let standIn: StandIn?
    /// Held URLs of the same folder or, where it has none, of the nearest folder above it.
    public let nearby: [String]

    public struct StandIn: Sendable, Equatable {
        public let url: String
        /// In what it differs from the URL that was asked for; never empty.
        public let differences: [Difference]

        /// Why it may stand in: `one that differs in the query answers for it`.
        package var reason: String {
            "one that differs \(differences.map(\.words).joined(separator: " and ")) answers for it"
        }
    }

    public enum Difference: String, Sendable, CaseIterable {
        /// http for https, or https for http.
        case scheme
        /// With or without the slash at the path's end, where a redirect leads from one to the other.
        case slash
        /// Without known cache-busting parameters.
        case busters = "cache-busters"
        /// Without the query, as a rule of the site says.
        case query
        /// Without the query, which the page's own scripts read: a static page that searches.
        case search

        fileprivate var words: String {
            switch self {
            case .scheme: "in http and https"
            case .slash: "in the slash at the end"
            case .busters: "in cache-busting parameters"
            case .query: "in the query"
            case .search: "in the query, which it reads by itself,"
            }
        }
    }
}

extension Absence {
    private static let mostNeighbours = 5

    package init(of url: WebURL, in reader: StoreReader) throws(StoreError) {
        standIn = try reader.find(url).map { found in
            StandIn(url: found.response.href, differences: Self.differences(found.change))
        }
        nearby = try Self.neighbours(of: url, in: reader)
    }

    private static func differences(_ change: LookupCandidate.Change) -> [Difference] {
        Difference.allCases.filter { difference in
            switch difference {
            case .scheme: change.contains(.scheme)
            case .slash: change.contains(.slash)
            case .busters: change.contains(.busters)
            case .query: change.contains(.query)
            case .search: change.contains(.search)
            }
        }
    }

    /// From the URL's own folder up to its host's root.
    private static func neighbours(of url: WebURL, in reader: StoreReader) throws(StoreError) -> [String] {
        var path = url.path[...]
        while let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let folder = url.origin + path[...slash]
            let found = try reader.neighbours(of: url.href, below: folder, count: mostNeighbours)
            if !found.isEmpty { return found }
            path = path[..<slash]
        }
        return []
    }
}

extension Absence: JSONObject {
    package var members: JSONMembers { ["standIn": standIn, "nearby": nearby] }
}

extension Absence.StandIn: JSONObject {
    package var members: JSONMembers { ["url": url, "differences": differences.map(\.rawValue)] }
}

/// What came of reading a body.
public struct BodyReport: Sendable, Equatable {
    public let url: String
    public let outcome: Outcome

    public enum Outcome: Sendable, Equatable {
        /// All of it was handed over, and is what was fetched.
        case whole
        /// Whoever took it wanted no more.
        case cut
        /// What was handed over is not what was fetched.
        case damaged(String)
        /// It is a redirect; nil where that leads to no URL.
        case redirect(status: Int, to: String?)
        /// The answer has no body, as when the page is gone.
        case empty(status: Int)
        /// The visit does not show it; these visits have it.
        case notInVisit([Int64])
        case notHeld(Absence)
    }

    /// Hands over the body in pieces. What is found to be damaged is marked: the next who fetches loads it
    /// again.
    ///
    /// - Parameters:
    ///   - visit: as this visit shows it; nil for what the larder shows.
    ///   - take: false ends it.
    package init(
        of url: WebURL, visit: Int64?, _ reader: StoreReader, _ take: (Span<UInt8>) -> Bool
    ) throws(StoreError) {
        self.url = url.href
        switch try Self.find(url, visit, in: reader) {
        case .success(let response):
            outcome = try Self.read(response, of: url, in: reader, take)
            if case .damaged = outcome, let body = response.body {
                try NoteBook.mark(damaged: [body.sha256], in: reader.folder)
            }
        case .failure(let refusal): outcome = refusal.outcome
        }
    }

    private struct Refusal: Error {
        let outcome: Outcome
    }

    private static func find(
        _ url: WebURL, _ visit: Int64?, in reader: StoreReader
    ) throws(StoreError) -> Result<StoredResponse, Refusal> {
        guard let visit else {
            if let response = try reader.response(for: url.href) { return .success(response) }
            return .failure(Refusal(outcome: .notHeld(try Absence(of: url, in: reader))))
        }
        guard let site = try reader.sites().first(where: { $0.visits.contains { $0.id == visit } }) else {
            throw StoreError(
                .request, doing: "find the visit", path: "\(visit)", detail: "there is none with this number",
                advice: "see them with: larder visits")
        }
        let rows = try reader.rows(of: url.href).filter { $0.response.request == .get }
        // A visit shows the newest that is not newer than itself.
        if let row = rows.first(where: { $0.site == site.name && $0.response.visit <= visit }) {
            return .success(row.response)
        }
        guard rows.isEmpty else {
            return .failure(Refusal(outcome: .notInVisit(rows.map(\.response.visit).reversed())))
        }
        return .failure(Refusal(outcome: .notHeld(try Absence(of: url, in: reader))))
    }

    private static func read(
        _ response: StoredResponse, of url: WebURL, in reader: StoreReader, _ take: (Span<UInt8>) -> Bool
    ) throws(StoreError) -> Outcome {
        guard let body = response.body else {
            guard response.isRedirect else { return .empty(status: response.status) }
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            let target = location.flatMap { WebURL($0, base: url) }
            return .redirect(status: response.status, to: target?.withoutFragment.href)
        }
        guard let content = try reader.content(of: body) else {
            return .damaged("its bytes are gone or cut short")
        }
        var stream = DigestStream(.sha256)
        let isWhole: Bool
        do throws(StoreError) {
            isWhole = try content.eachWantedPiece { piece in
                stream.update(piece)
                return take(piece)
            }
        } catch {
            return .damaged(error.detail)
        }
        guard isWhole else { return .cut }
        return stream.finish().bytes == body.sha256 ? .whole : .damaged("its bytes have changed")
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension BodyReport: JSONObject {
    package var members: JSONMembers { ["url": url] + outcome.members }
}

extension BodyReport.Outcome: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .whole: ["outcome": "whole"]
        case .cut: ["outcome": "cut"]
        case .damaged(let fault): ["outcome": "damaged", "fault": fault]
        case .redirect(let status, let target): ["outcome": "redirect", "status": status, "target": target]
        case .empty(let status): ["outcome": "empty", "status": status]
        case .notInVisit(let visits): ["outcome": "notInVisit", "visits": visits]
        case .notHeld(let absence): ["outcome": "notHeld", "instead": absence]
        }
    }
}
