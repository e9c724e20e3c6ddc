internal import HTTPServer
internal import Portal
internal import Web

/// Limits the requests of each client to the update server by a token bucket. This is a pure value: the caller passes
/// clients and monotonic milliseconds.
struct UpdateRateLimiter {
    private struct Bucket {
        var tokens: Int
        var time: Int64

        /// Adds the tokens of the time since the last request.
        mutating func fill(at now: Int64) {
            let elapsed = max(0, now - time)
            let added = Int(clamping: elapsed) / millisecondsPerToken
            guard added > 0 else { return }
            tokens = min(maxTokens, tokens + min(added, maxTokens))
            time = tokens == maxTokens ? now : time + Int64(added * millisecondsPerToken)
        }
    }

    /// The tokens that a request takes.
    enum Cost: Int {
        /// A file of a release: a device fetches hundreds of them.
        case file = 1
        case request = 10
    }

    /// The maximum number of tokens of a client: 300 requests, or 3,000 files at once. Many devices share an address.
    private static let maxTokens = 3000
    /// 20 requests, or 200 files a second.
    private static let millisecondsPerToken = 5
    /// The maximum number of clients with a bucket of their own. Further ones share one.
    static let maxClients = 20_000
    /// The minimum time between removals of full buckets, in milliseconds.
    private static let pruneInterval: Int64 = 1000

    private var buckets: [LoginClient: Bucket] = [:]
    private var shared = Bucket(tokens: maxTokens, time: 0)
    private var lastPruning: Int64 = .min

    var clientCount: Int { buckets.count }

    /// Takes the tokens of a request. Returns nil if the client has them; otherwise the seconds until it does.
    mutating func take(_ cost: Cost, from client: LoginClient, now: Int64) -> Int? {
        if buckets[client] == nil {
            if buckets.count >= Self.maxClients { prune(now) }
            guard buckets.count < Self.maxClients else { return Self.take(cost, from: &shared, now) }
        }
        let full = Bucket(tokens: Self.maxTokens, time: now)
        return Self.take(cost, from: &buckets[client, default: full], now)
    }

    private static func take(_ cost: Cost, from bucket: inout Bucket, _ now: Int64) -> Int? {
        bucket.fill(at: now)
        guard bucket.tokens < cost.rawValue else {
            bucket.tokens -= cost.rawValue
            return nil
        }
        let missing = (cost.rawValue - bucket.tokens) * millisecondsPerToken
        return max(1, (missing + 999) / 1000)
    }

    /// Removes full buckets, which are like those of new clients.
    private mutating func prune(_ now: Int64) {
        guard lastPruning == .min || now - lastPruning >= Self.pruneInterval else { return }
        lastPruning = now
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            bucket.fill(at: now)
            return bucket.tokens < Self.maxTokens
        }
    }
}

extension LoginClient {
    /// The client whose requests are limited together; nil for this machine, which is not limited.
    ///
    /// A reverse proxy on this machine or in the private network names the client in the last element of
    /// `X-Forwarded-For`. A client of the public network cannot choose another address by that field.
    init?(limitedSenderOf request: Request) {
        guard let peer = LoginClient(socket: request.socket) else { return nil }
        guard request.head.isForwarded, peer.zone != .publicNetwork else {
            guard !peer.isHere else { return nil }
            self = peer
            return
        }
        let last = request.fields.joinedValues("X-Forwarded-For")?.split(separator: ",").last
        if let named = last.flatMap({ LoginClient($0.trimmingSpaces) }), !named.isHere {
            self = named
        } else if peer.isHere {
            return nil
        } else {
            self = peer
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        String(decoding: utf8.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
    }
}
