internal import Web

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
