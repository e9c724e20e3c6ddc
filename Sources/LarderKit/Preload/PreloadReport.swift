internal import Web

/// What a preload did: which bundles were at hand, which came, and which set is served.
public struct PreloadReport: Sendable, Equatable {
    public enum Outcome: String, Sendable, CaseIterable {
        /// Everything is held as the manifest says: nothing was fetched.
        case current
        /// All that differed has come and verified, and is served from now on.
        case changed
        /// Something came that is not what the manifest says, or is gone: the last good set is served.
        case refused
        /// The manifest or a bundle could not be had: the last good set is served.
        case unreachable
        /// It was cancelled: what came is kept, and the next preload goes on.
        case interrupted
    }

    /// As it was asked for.
    public let manifest: String
    public let site: String
    public internal(set) var outcome: Outcome
    /// The visit that is served, and when it began, in seconds since 1970; nil when none is yet.
    public internal(set) var visit: Int64?
    public internal(set) var since: Int64?
    /// How many the manifest lists.
    public internal(set) var bundles = 0
    /// Held with their digests: nobody was asked for them.
    public internal(set) var reused = 0
    /// Asked for, and as they have to be.
    public internal(set) var fetched = 0
    /// What came and was not kept, since it is not what it has to be.
    public internal(set) var refused: [Problem] = []
    /// What did not come.
    public internal(set) var missing: [Problem] = []
    /// What the bundles need, and came along.
    public internal(set) var requisites = 0
    /// Those for the manifest included.
    public internal(set) var requests = 0
    /// What came over the network for the bundles and what they need.
    public internal(set) var byteCount = 0
    public internal(set) var elapsed: Duration = .zero
    /// Certificates were not looked at.
    public internal(set) var isInsecure = false
    /// Why the manifest could not be had.
    public internal(set) var manifestFailure: String?

    public struct Problem: Sendable, Equatable {
        public let url: String
        public let reason: String
        /// Without it, the set is not complete. What the bundles need is told, and holds nothing up.
        public let isRequired: Bool
    }

    init(manifest: String, site: String, outcome: Outcome) {
        self.manifest = manifest
        self.site = site
        self.outcome = outcome
    }

    /// A set of bundles that verify is served.
    public var isServed: Bool { visit != nil }

    /// When the set that is served came, in universal time: `2026-01-31T12:00:00Z`.
    public var sinceDate: String? { since.map { HTTPDate(secondsSinceEpoch: $0).iso8601 } }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("manifest", manifest)
            object.member("site", site)
            object.member("outcome", outcome.rawValue)
            object.member("visit", visit)
            object.member("since", since)
            object.member("bundles", bundles)
            object.member("reused", reused)
            object.member("fetched", fetched)
            object.member("requisites", requisites)
            object.member("requests", requests)
            object.member("bytes", byteCount)
            object.member("seconds", elapsed / .seconds(1))
            object.member("insecure", isInsecure)
            object.member("refused") { list in list.array { array in for item in refused { item.write(to: &array) } } }
            object.member("missing") { list in list.array { array in for item in missing { item.write(to: &array) } } }
            object.memberIfPresent("manifestFailure", manifestFailure)
        }
        return writer.text
    }
}

extension PreloadReport.Problem {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("url", url)
            object.member("reason", reason)
            object.member("required", isRequired)
        }
    }
}
