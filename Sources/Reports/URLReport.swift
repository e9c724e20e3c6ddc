internal import Digest
public import Store
public import Web

/// Everything that a store knows about one URL.
public struct URLReport: Sendable, Equatable {
    /// The URL.
    public let url: String
    /// The stored responses of the URL in all snapshots, the newest first. Empty if none is stored.
    public let responses: [Response]
    /// The URLs of live responses that link to the URL, whether or not it is stored.
    public let linkedFrom: [String]
    /// The URL under which `larder serve` serves it on its default port; nil if it is not stored.
    public let servedAt: String?
    /// The stored URLs that replace it or are near it; nil if the URL is stored.
    public let absence: Absence?

    /// The sites of the store that have a live snapshot. Of the others, the unfinished snapshot is served.
    private let sitesWithLiveSnapshot: Set<String>

    /// Whether the row is served, and its snapshot is live.
    package func isLive(_ row: Response) -> Bool { row.isServed && sitesWithLiveSnapshot.contains(row.site) }

    /// Whether a response of the URL is stored.
    public var isStored: Bool { !responses.isEmpty }

    /// Reads all stored responses of the URL, however large. Missing MD5s are computed and stored.
    ///
    /// - Parameter servedAt: the URL under which a server serves it, if it is stored.
    package init(of url: WebURL, servedAt: String?, _ reader: StoreReader) throws(StoreError) {
        var md5s = KnownMD5s(reader)
        var rows: [Response] = []
        let names = try reader.snapshotNames()
        for row in try reader.versions(of: url.href)
        where ![.frozen, .liveMessages].contains(row.response.request) {
            rows.append(try Response(row, names, links: reader.storedLinks(of: row.response), reader, &md5s))
        }
        sitesWithLiveSnapshot = Set(try reader.sites().filter { $0.published != nil }.map(\.name))
        try md5s.store(in: reader.folder)
        self.url = url.href
        self.responses = rows
        linkedFrom = try reader.visibleReferrers(of: url.href)
        self.servedAt = rows.isEmpty ? nil : servedAt
        absence = rows.isEmpty ? try Absence(of: url, in: reader) : nil
    }

    /// The report as JSON.
    public var json: String { members.text() }

    /// A stored response.
    public struct Response: Sendable, Equatable {
        /// The name of the site that has the response.
        public let site: String
        /// The snapshot in which it was stored.
        public let snapshot: SnapshotName
        /// The number of the last snapshot that confirmed this response; nil if none did.
        public let confirmed: Int64?
        /// Whether a server serves this response by default.
        public let isServed: Bool
        /// The HTTP status.
        public let status: Int
        /// Whether the URL is an asset; else it is a page.
        public let isAsset: Bool
        /// The media type; nil if the server sent none.
        public let type: String?
        /// For requests other than a plain GET: the method, and the MD5 of the request body. Nil for GET.
        public let request: String?
        /// If the response varies (`Vary`): the header fields of the request that it belongs to, one per line.
        public let variant: String?
        /// The time of the last request.
        public let requested: Timestamp
        /// When the response was fetched: when the run of its snapshot began. Its own time if a server
        /// or proxy loaded it, or an archive contained it. A later check does not change it.
        public let fetched: Timestamp
        /// When a later run last received the same response; nil if none did.
        public let checked: Timestamp?
        /// The page that first requested it.
        public let referrer: String?
        /// The header fields of the response.
        public let headers: [Header]
        /// Whether the response may be outdated: policies that use the network validate it first.
        public let isInvalidated: Bool
        /// Whether only a part of the body is stored.
        public let isPart: Bool
        /// Whether it was fetched with credentials, such as cookies or a login. Only the user who prefetched it
        /// receives it.
        public let isPrivate: Bool
        /// How the response was stored.
        public let provenance: Provenance
        /// The paths of the archives that it was imported from, in the order in which they were read. Empty if it was
        /// not imported, or an old version imported it.
        public let archives: [String]
        /// The body; nil for a redirect, or if the origin reports the URL as gone.
        public let body: Body?
        /// The links of the body; nil if there is no body, or it was never scanned for links.
        public let links: Links?

        /// A way in which a response is stored.
        public enum Provenance: String, Sendable, CaseIterable {
            /// A prefetch or an update fetched it from its origin.
            case fetched
            /// A server or a proxy loaded it for a client.
            case loaded
            /// A proxy recorded it.
            case recorded
            /// An archive contained it.
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

        /// The provenance for messages: `imported from site.warc.gz`.
        package var provenanceDescription: String {
            let names = archives.map { $0.split(separator: "/").last.map { String($0) } ?? $0 }
            return names.isEmpty
                ? provenance.rawValue : "\(provenance.rawValue) from \(names.joined(separator: ", "))"
        }

        /// `fetched` in UTC: `2026-01-31T12:00:00Z`.
        public var fetchDate: String { Wording.date(fetched) }

        /// Warnings about the response, one clause each.
        package var states: [String] {
            [
                isInvalidated ? "to be validated before it is used again" : nil,
                isPart ? "only a part is stored" : nil, isPrivate ? "private: fetched with credentials" : nil,
            ].compactMap { $0 }
        }

        package var isRedirect: Bool { (300..<400).contains(status) }

        /// - Parameter links: nil if the caller does not need them.
        package init(
            _ row: ResponseVersion, _ names: [Int64: SnapshotName], links: StoredLinks?,
            _ reader: StoreReader,
            _ md5s: inout KnownMD5s
        ) throws(StoreError) {
            let response = row.response
            site = row.site
            snapshot = names[response.snapshot] ?? 0
            confirmed = row.confirmed > response.snapshot ? names[row.confirmed]?.number : nil
            isServed = row.isVisible
            status = response.status
            isAsset = response.role != 0
            type = response.type
            request = response.request == .get ? nil : response.request.text
            variant = response.variant.isEmpty ? nil : VaryKey(stored: response.variant).shown
            requested = Timestamp(secondsSinceEpoch: response.requested)
            fetched = Timestamp(secondsSinceEpoch: row.age.fetched)
            checked = row.age.checked.map(Timestamp.init(secondsSinceEpoch:))
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
            self.links = links.map { Links(pages: $0.pages, assets: $0.assets, guesses: $0.guesses) }
        }
    }

    /// A header field.
    public struct Header: Sendable, Equatable {
        /// The field name.
        public let name: String
        /// The field value.
        public let value: String
    }

    /// A stored body.
    public struct Body: Sendable, Equatable {
        /// The size of the decoded body in bytes.
        public let byteCount: Int
        /// The SHA-256 of the decoded body in hexadecimal.
        public let sha256: String
        /// The MD5; nil if the bytes cannot be read, or are too many to be read now.
        public let md5: String?
        /// Why the bytes cannot be read; nil if they can.
        public let fault: String?
        /// The format and character set that it is scanned as.
        public let form: String
        /// The title of a page.
        public let title: String?
        /// `larder.db`, or the path of the file below the store's folder; nil if the bytes are gone.
        public let place: String?

        /// The format for messages: `html, UTF-8`.
        package var formDescription: String { form.replacing(";", with: ", ") }

        init(_ body: StoredBody, _ reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
            byteCount = body.byteCount
            sha256 = Hex.encode(body.sha256)
            form = body.form
            title = body.title
            guard try reader.bodies.isStored(body) else {
                place = nil
                md5 = nil
                fault = "its bytes are gone or cut short"
                return
            }
            place = try reader.bodies.relativePath(of: body)
            do throws(StoreError) {
                md5 = try md5s.md5(of: body)?.hex
                fault = nil
            } catch {
                // The report is useful even if the body cannot be read.
                md5 = nil
                fault = error.detail
            }
        }
    }

    /// The links of a body.
    public struct Links: Sendable, Equatable {
        /// The URLs of linked pages.
        public let pages: [String]
        /// The URLs of assets that the body needs.
        public let assets: [String]
        /// Texts in scripts that look like links.
        public let guesses: [String]
    }
}

extension URLReport: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "stored": isStored, "shownAt": servedAt, "rows": responses, "linkedFrom": linkedFrom,
            "instead": IfAny(absence),
        ]
    }
}

extension URLReport.Response: JSONObject {
    package var members: JSONMembers { membersWithoutLinks + ["links": links] }

    /// All members except the links.
    package var membersWithoutLinks: JSONMembers {
        [
            "site": site, "snapshot": snapshot.number, "overlay": IfAny(snapshot.isOverlay ? true : nil),
            "confirmed": confirmed, "shown": isServed, "status": status,
            "role": isAsset ? "asset" : "page", "type": type, "request": request, "variant": variant,
            "requested": Wording.date(requested), "fetched": Wording.date(fetched),
            "checked": checked.map(Wording.date), "referrer": referrer,
            "invalidated": isInvalidated,
            "part": isPart, "private": isPrivate, "provenance": provenance.rawValue, "archives": archives,
            "headers": headers, "body": body,
        ]
    }
}

extension URLReport.Header: JSONObject {
    package var members: JSONMembers { ["name": name, "value": value] }
}

extension URLReport.Body: JSONObject {
    package var members: JSONMembers {
        [
            "bytes": byteCount, "sha256": sha256, "md5": md5, "fault": IfAny(fault), "form": form,
            "title": title,
            "place": place,
        ]
    }
}

extension URLReport.Links: JSONObject {
    package var members: JSONMembers { ["pages": pages, "assets": assets, "guesses": guesses] }
}

/// Why a URL is not stored, and the stored URLs that replace it or are near it.
public struct Absence: Sendable, Equatable {
    /// Why the run that made the live snapshot could not load the URL; nil if it did not request it.
    public var failure: String? { lastFailure?.reason }
    /// The failure with its time and its site.
    package let lastFailure: LastFailure?
    /// The stored URL that is served instead, if any.
    public let substitute: Substitute?
    /// Stored URLs of the same folder or, if it has none, of the nearest parent folder.
    public let nearby: [String]

    /// A stored URL that is served instead of another one.
    public struct Substitute: Sendable, Equatable {
        /// The URL that is served.
        public let url: String
        /// The differences from the requested URL; never empty.
        public let differences: [Difference]

        /// The reason for messages: `one that differs in the query is served instead`.
        package var reason: String {
            "one that differs \(differences.map(\.words).joined(separator: " and ")) is served instead"
        }
    }

    /// A difference between two URLs that are served as one.
    public enum Difference: String, Sendable, CaseIterable {
        /// http instead of https, or https instead of http.
        case scheme
        /// With or without the slash at the path's end, if one redirects to the other.
        case slash
        /// Without known cache-busting parameters.
        case cacheBusters = "cache-busters"
        /// Without the query, because a rule of the site says so, or with another JSONP callback in it.
        case query
        /// Without the query, which only the page's own scripts read, as in a static search page.
        case search

        fileprivate var words: String {
            switch self {
            case .scheme: "in http and https"
            case .slash: "in the trailing slash"
            case .cacheBusters: "in cache-busting parameters"
            case .query: "in the query"
            case .search: "in the query, which its scripts read,"
            }
        }
    }
}

extension Absence {
    /// The maximum number of nearby URLs that are listed. Further ones are left out.
    private static let maxNearbyURLs = 5

    package init(of url: WebURL, in reader: StoreReader) throws(StoreError) {
        lastFailure = LastFailure(of: url.href, in: try reader.sites())
        substitute = try reader.lookUp(url).map { found in
            Substitute(url: found.response.href, differences: Self.differences(found.change))
        }
        nearby = try Self.neighbours(of: url, in: reader)
    }

    private static func differences(_ change: LookupCandidate.Change) -> [Difference] {
        Difference.allCases.filter { difference in
            switch difference {
            case .scheme: change.contains(.scheme)
            case .slash: change.contains(.slash)
            case .cacheBusters: change.contains(.busters)
            case .query: !change.isDisjoint(with: [.query, .callback])
            case .search: change.contains(.search)
            }
        }
    }

    /// Stored URLs in the URL's folder, else in the nearest parent that has any.
    private static func neighbours(of url: WebURL, in reader: StoreReader) throws(StoreError) -> [String] {
        var path = url.path[...]
        while let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let folder = url.origin + path[...slash]
            let found = try reader.neighbours(of: url.href, below: folder, count: maxNearbyURLs)
            if !found.isEmpty { return found }
            path = path[..<slash]
        }
        return []
    }
}

extension Absence: JSONObject {
    package var members: JSONMembers {
        ["failure": IfAny(failure), "standIn": substitute, "nearby": nearby]
    }
}

extension Absence.Substitute: JSONObject {
    package var members: JSONMembers { ["url": url, "differences": differences.map(\.rawValue)] }
}

/// The result of reading a body.
public struct BodyReport: Sendable, Equatable {
    /// The URL that was read.
    public let url: String
    /// How the reading ended.
    public let outcome: Outcome

    /// How the reading ended.
    public enum Outcome: Sendable, Equatable {
        /// The whole body was read, and its digest is correct.
        case complete
        /// The caller ended the reading.
        case stopped
        /// The body is damaged, for the reason given. Part of it may have been passed to the caller.
        case damaged(String)
        /// The response is a redirect; nil if its target is not a valid URL.
        case redirect(status: Int, to: String?)
        /// The response has no body, for example because the page is gone.
        case empty(status: Int)
        /// The snapshot does not have the URL; these snapshots do, oldest first.
        case notInSnapshot([SnapshotName])
        /// The URL is not stored.
        case notStored(Absence)
    }

    /// Passes the body to a function in pieces. A damaged body is marked, so that the next prefetch loads it again.
    ///
    /// - Parameters:
    ///   - snapshot: nil for the live snapshot.
    ///   - site: the site that the snapshot belongs to; nil for the only one that has the URL.
    ///   - take: returns false to end the reading.
    package init(
        of url: WebURL, snapshot: SnapshotName?, of site: String? = nil, _ reader: StoreReader,
        _ take: (Span<UInt8>) -> Bool
    ) throws(StoreError) {
        self.url = url.href
        switch try Self.find(url, snapshot, of: site, in: reader) {
        case .success(let response):
            outcome = try Self.read(response, of: url, in: reader, take)
            if case .damaged = outcome, let body = response.body {
                try ActivityDatabase.markDamagedIfWritable([body.sha256], in: reader.folder)
            }
        case .failure(let result): outcome = result.outcome
        }
    }

    private struct UnreadableResult: Error {
        let outcome: Outcome
    }

    private static func find(
        _ url: WebURL, _ name: SnapshotName?, of wanted: String?, in reader: StoreReader
    ) throws(StoreError) -> Result<StoredResponse, UnreadableResult> {
        guard let name else {
            if let response = try reader.response(for: url.href) { return .success(response) }
            return .failure(UnreadableResult(outcome: .notStored(try Absence(of: url, in: reader))))
        }
        let rows = try reader.versions(of: url.href).filter { $0.response.request == .get }
        guard !rows.isEmpty else {
            return .failure(UnreadableResult(outcome: .notStored(try Absence(of: url, in: reader))))
        }
        let sites = try reader.sites()
        let chosen = try wanted.map { (text) throws(StoreError) in
            [try SiteName.site(text, in: sites, acceptsOrigin: true)]
        }
        let named =
            chosen
            ?? sites.filter { site in
                rows.contains { $0.site == site.name } && site.snapshots.contains { $0.name == name }
            }
        guard let site = named.first else {
            throw StoreError(
                .request, doing: "find snapshot", path: "\(name)",
                detail: "no site with \(url.href) has a snapshot of this number",
                advice: "list them with: larder snapshots")
        }
        guard named.count == 1 else {
            throw StoreError(
                .request, doing: "find snapshot", path: "\(name)",
                detail: "several sites contain \(url.href): \(named.map(\.name).joined(separator: ", "))",
                advice: "name the snapshot with its site: \(site.name)@\(name)")
        }
        let snapshot = try site.snapshot(name).id
        // A snapshot includes the newest response that is not newer than the snapshot.
        if let row = rows.first(where: { $0.site == site.name && $0.isVisible(asOf: snapshot) }) {
            return .success(row.response)
        }
        let others = rows.filter { $0.site == site.name }.compactMap {
            site.name(ofSnapshot: $0.response.snapshot)
        }
        return .failure(UnreadableResult(outcome: .notInSnapshot(others.reversed())))
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
            isWhole = try content.eachPieceWhile { piece in
                stream.update(piece)
                return take(piece)
            }
        } catch {
            return .damaged(error.detail)
        }
        guard isWhole else { return .stopped }
        return stream.finish().bytes == body.sha256 ? .complete : .damaged("its bytes have changed")
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension BodyReport: JSONObject {
    package var members: JSONMembers { ["url": url] + outcome.members }
}

extension BodyReport.Outcome: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .complete: ["outcome": "whole"]
        case .stopped: ["outcome": "cut"]
        case .damaged(let fault): ["outcome": "damaged", "fault": fault]
        case .redirect(let status, let target): ["outcome": "redirect", "status": status, "target": target]
        case .empty(let status): ["outcome": "empty", "status": status]
        case .notInSnapshot(let names): ["outcome": "notInSnapshot", "snapshots": names.map(\.number)]
        case .notStored(let absence): ["outcome": "notHeld", "instead": absence]
        }
    }
}
