internal import Web

/// How far a prefetch is.
public struct PrefetchProgress: Sendable, Equatable {
    public let site: String
    public let elapsed: Duration
    public let phase: Phase
    public let pages: Count
    public let requisites: Count
    /// Asked for, and not got.
    public let failed: Int
    public let running: Int
    /// Everything that the site was found to link, wanted or not.
    public let known: Int
    public let requests: Int
    /// What came over the network.
    public let byteCount: Int
    public let bytesPerSecond: Int
    /// What servers said is still as it is held, and what was therefore not sent.
    public let confirmed: Int
    public let savedByteCount: Int
    /// Those of which something is asked, or is to be; the busiest first, and not all of very many.
    public let hosts: [Host]
    public let hostCount: Int
    public let waiting: Waiting
    /// How long it still takes; nil while that is not known, as it is while more is found than is fetched.
    public let remaining: Duration?

    public enum Phase: String, Sendable, CaseIterable {
        case fetching
        /// Nothing is asked for any more: what came is being stored.
        case storing
    }

    public struct Count: Sendable, Equatable {
        public let done: Int
        public let queued: Int
    }

    public struct Host: Sendable, Equatable {
        public let name: String
        public let running: Int
        public let queued: Int
        /// How many requests it gets at once.
        public let limit: Int
        public let requestsPerSecond: Double
        /// For how long nothing is asked of it; nil while something may be.
        public let pause: Duration?
    }

    /// What else has to come first.
    public struct Waiting: Sendable, Equatable {
        /// Pages that wait for what robots.txt says.
        public let robots: Int
        /// What failed, and is to be tried again.
        public let retries: Int
        /// Bodies that are being looked into for links.
        public let scans: Int
    }

    /// One line for programs.
    public var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("event", "progress")
            object.member("site", site)
            object.member("seconds", Self.seconds(elapsed))
            object.member("phase", phase.rawValue)
            object.member("pages") { pages.write(to: &$0) }
            object.member("requisites") { requisites.write(to: &$0) }
            object.member("failed", failed)
            object.member("running", running)
            object.member("known", known)
            object.member("requests", requests)
            object.member("bytes", byteCount)
            object.member("bytesPerSecond", bytesPerSecond)
            object.member("confirmed", confirmed)
            object.member("savedBytes", savedByteCount)
            object.member("hosts") { list in
                list.array { array in for host in hosts { host.write(to: &array) } }
            }
            object.member("hostCount", hostCount)
            object.member("waiting") { waiting.write(to: &$0) }
            object.member("secondsLeft", remaining.map(Self.seconds))
        }
        return writer.text
    }

    /// Milliseconds are enough for anybody.
    static func seconds(_ duration: Duration) -> Double { ((duration / .seconds(1)) * 1000).rounded() / 1000 }
}

/// A request that ended.
public struct PrefetchedURL: Sendable, Equatable {
    public let url: String
    /// `page`, `requisite`, `guide` (a sitemap), `robots`, or `probe`: something that no server can have.
    public let kind: String
    /// Nil when there was no answer.
    public let status: Int?
    public let failure: String?
    public let byteCount: Int
    public let elapsed: Duration

    /// One line for programs.
    public var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("event", "fetched")
            object.member("url", url)
            object.member("kind", kind)
            object.member("status", status)
            object.memberIfPresent("failure", failure)
            object.member("bytes", byteCount)
            object.member("seconds", PrefetchProgress.seconds(elapsed))
        }
        return writer.text
    }
}

extension PrefetchProgress.Count {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("done", done)
            object.member("queued", queued)
        }
    }
}

extension PrefetchProgress.Host {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("name", name)
            object.member("running", running)
            object.member("queued", queued)
            object.member("limit", limit)
            object.member("requestsPerSecond", (requestsPerSecond * 10).rounded() / 10)
            object.member("pausedSeconds", pause.map(PrefetchProgress.seconds))
        }
    }
}

extension PrefetchProgress.Waiting {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("robots", robots)
            object.member("retries", retries)
            object.member("scans", scans)
        }
    }
}
