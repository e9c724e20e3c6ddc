internal import Bundles
internal import Check
internal import Store
internal import Web

extension Larder {
    /// What the larder holds.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read.
    public func status() async throws(LarderError) -> StatusReport {
        let path = path
        return try await reading("larder-status") { (reader) throws(StoreError) in
            let summary = try reader.summary()
            return StatusReport(
                path: path, sites: try reader.sites().map(StatusReport.Site.init), responses: summary.responses,
                pages: summary.pages,
                requisites: summary.requisites, tombstones: summary.tombstones, bodies: summary.bodies,
                byteCount: summary.bytes)
        }
    }
}

/// What a larder holds.
public struct StatusReport: Sendable, Equatable {
    public let path: String
    public let sites: [Site]
    public let responses: Int
    public let pages: Int
    public let requisites: Int
    /// What the origins said is gone.
    public let tombstones: Int
    public let bodies: Int
    /// The bodies' bytes, each body counted once however many URLs share it.
    public let byteCount: Int64

    public struct Site: Sendable, Equatable {
        /// The URL that names it.
        public let name: String
        public let start: [String]
        /// Oldest first.
        public let visits: [Visit]
        /// The visit that is served; nil when none was complete yet.
        public let published: Int64?
        /// What servers loaded, which is served on top of it; nil when they loaded nothing since.
        public let overlay: Int64?
    }

    public struct Visit: Sendable, Equatable {
        public let number: Int64
        /// Seconds since 1970.
        public let started: Int64
        /// Nil for one that was interrupted, or that runs just now.
        public let finished: Int64?
        /// The visit over which it lies; nil for a prefetch run.
        public let base: Int64?
        public let responses: Int

        /// When it began, in universal time: `2026-01-31T12:00:00Z`.
        public var startDate: String { HTTPDate(secondsSinceEpoch: started).iso8601 }
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("store", path)
            object.member("sites") { list in
                list.array { array in for site in sites { site.write(to: &array) } }
            }
            object.member("responses", responses)
            object.member("pages", pages)
            object.member("requisites", requisites)
            object.member("tombstones", tombstones)
            object.member("bodies", bodies)
            object.member("bytes", byteCount)
        }
        return writer.text
    }
}

extension StatusReport.Site {
    init(_ site: Site) {
        name = site.name
        start = site.start
        visits = site.visits.map { visit in
            StatusReport.Visit(
                number: visit.id, started: visit.started, finished: visit.finished, base: visit.base,
                responses: visit.responseCount)
        }
        published = site.published
        overlay = site.overlay
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("name", name)
            object.member("start", start)
            object.member("published", published)
            object.member("overlay", overlay)
            object.member("visits") { list in
                list.array { array in for visit in visits { visit.write(to: &array) } }
            }
        }
    }
}

extension StatusReport.Visit {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("number", number)
            object.member("started", started)
            object.member("finished", finished)
            object.member("base", base)
            object.member("responses", responses)
        }
    }
}
