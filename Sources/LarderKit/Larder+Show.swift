internal import Check
internal import Digest
internal import Serve
internal import Store
internal import Web

extension Larder {
    /// Everything that is known of an URL: what is held under it from every visit, what it links to and what links to it.
    ///
    /// The MD5 of a body is computed when this first asks for it, and kept.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when there is no larder, or it
    ///   cannot be read. That an URL is not held is no error; the report says what is there instead.
    public func show(_ url: String) async throws(LarderError) -> HoldingReport {
        let asked = try Self.startURL(url)
        let folder = folder
        return try await Self.onThread("larder-show") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                var md5s = KnownMD5s(reader)
                var rows: [HoldingReport.Row] = []
                for row in try reader.rows(of: asked.href) {
                    rows.append(try HoldingReport.Row(row, in: reader, &md5s))
                }
                try md5s.keep(in: folder)
                return HoldingReport(
                    url: asked.href, rows: rows, linkedFrom: try reader.referrers(of: asked.href),
                    shownAt: rows.isEmpty ? nil : MirrorServer.address(of: asked.href, at: Self.usualPort),
                    absence: rows.isEmpty ? try Absence(of: asked, in: reader) : nil)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension Larder {
    private static let usualPort: UInt16 = 8080
}

extension HoldingReport.Row {
    fileprivate init(_ row: HeldRow, in reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
        let response = row.response
        site = row.site
        visit = response.visit
        isShown = row.isShown
        status = response.status
        isRequisite = response.role != 0
        type = response.type
        request = response.request == .get ? nil : response.request.text
        variant = response.variant.isEmpty ? nil : response.variant
        requested = response.requested
        fetched = response.fetched
        referrer = row.referrer
        headers = HTTPFields(block: response.fields.utf8.span).list.map {
            HoldingReport.Header(name: $0.name, value: $0.value)
        }
        isInvalidated = response.flags.contains(.isInvalidated)
        isPart = response.flags.contains(.isPart)
        isPrivate = response.flags.contains(.isPrivate)
        body = try response.body.map { (body) throws(StoreError) in
            try HoldingReport.Body(body, in: reader, &md5s)
        }
        links = try reader.storedLinks(of: response).map {
            HoldingReport.Links(pages: $0.pages, requisites: $0.requisites, guesses: $0.guesses)
        }
    }
}

extension HoldingReport.Body {
    fileprivate init(_ body: StoredBody, in reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
        byteCount = body.byteCount
        sha256 = Digest(.sha256, bytes: body.sha256)?.hex ?? ""
        form = body.form
        title = body.title
        let content = try reader.content(of: body)
        place = content == nil ? nil : try reader.placeName(of: body)
        guard content != nil else {
            md5 = nil
            fault = "its bytes are gone or cut short"
            return
        }
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

/// Everything that is known of one URL.
public struct HoldingReport: Sendable, Equatable {
    public let url: String
    /// What is held under it, from every visit; the newest first. Empty when it is not held.
    public let rows: [Row]
    /// Held pages and files that link to it, whether or not it is held.
    public let linkedFrom: [String]
    /// Where `larder serve` shows it, on the port that it has unless told otherwise; nil when it is not held.
    public let shownAt: String?
    /// What there is instead; nil when it is held.
    public let absence: Absence?

    public var isHeld: Bool { !rows.isEmpty }

    /// What the URL answered in one visit.
    public struct Row: Sendable, Equatable {
        public let site: String
        public let visit: Int64
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
        /// It was fetched with credentials, such as cookies or a login: it is for who prefetched it, and for nobody else.
        public let isPrivate: Bool
        /// Nil for a redirect, or what is gone.
        public let body: Body?
        /// Nil where there is no body, and where links were never looked for.
        public let links: Links?

        /// When it came, in universal time: `2026-01-31T12:00:00Z`.
        public var fetchDate: String { HTTPDate(secondsSinceEpoch: fetched).iso8601 }
    }

    public struct Header: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public struct Body: Sendable, Equatable {
        public let byteCount: Int
        public let sha256: String
        /// Nil when its bytes cannot be read.
        public let md5: String?
        /// Why its bytes cannot be read.
        public let fault: String?
        /// How it is read: format and character set.
        public let form: String
        public let title: String?
        /// `larder.db`, or the file below the larder's folder; nil when its bytes are gone.
        public let place: String?
    }

    public struct Links: Sendable, Equatable {
        public let pages: [String]
        public let requisites: [String]
        /// What looks like a link in a script, and may be none.
        public let guesses: [String]
    }
}

extension HoldingReport {
    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("url", url)
            object.member("held", isHeld)
            object.member("shownAt", shownAt)
            object.member("rows") { list in
                list.array { array in for row in rows { row.write(to: &array) } }
            }
            object.member("linkedFrom", linkedFrom)
            if let absence { object.member("instead") { absence.write(to: &$0) } }
        }
        return writer.text
    }
}

extension HoldingReport.Row {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("site", site)
            object.member("visit", visit)
            object.member("shown", isShown)
            object.member("status", status)
            object.member("role", isRequisite ? "requisite" : "page")
            object.member("type", type)
            object.member("request", request)
            object.member("variant", variant)
            object.member("requested", requested)
            object.member("fetched", fetched)
            object.member("referrer", referrer)
            object.member("invalidated", isInvalidated)
            object.member("part", isPart)
            object.member("private", isPrivate)
            object.member("headers") { list in
                list.array { array in
                    for header in headers {
                        array.object { object in
                            object.member("name", header.name)
                            object.member("value", header.value)
                        }
                    }
                }
            }
            object.member("body") { body?.write(to: &$0) ?? $0.null() }
            object.member("links") { links?.write(to: &$0) ?? $0.null() }
        }
    }
}

extension HoldingReport.Body {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("bytes", byteCount)
            object.member("sha256", sha256)
            object.member("md5", md5)
            object.memberIfPresent("fault", fault)
            object.member("form", form)
            object.member("title", title)
            object.member("place", place)
        }
    }
}

extension HoldingReport.Links {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("pages", pages)
            object.member("requisites", requisites)
            object.member("guesses", guesses)
        }
    }
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
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("standIn") { writer in
                guard let standIn else { return writer.null() }
                writer.object { object in
                    object.member("url", standIn.url)
                    object.member("differences", standIn.differences.map(\.rawValue))
                }
            }
            object.member("nearby", nearby)
        }
    }
}

extension Absence {
    private static let mostNeighbours = 5

    init(of url: WebURL, in reader: StoreReader) throws(StoreError) {
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
