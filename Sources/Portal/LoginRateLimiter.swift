internal import CLinux
internal import Glibc
package import Web

/// The client that login attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address,
/// since one machine can use any address in it.
package struct LoginClient: Hashable, Sendable {
    /// The 4 bytes of an IPv4 address or the first 8 bytes of an IPv6 address.
    private let network: [UInt8]
    /// The network zone of the client. Link-local addresses are in the private network.
    package let zone: NetworkZone
    /// Whether the client is on this machine.
    package var isHere: Bool { zone == .thisMachine }

    /// The peer of a socket; nil if it has disconnected.
    package init?(socket: Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(socket, $0, &size) == 0 }
        }
        guard isKnown else { return nil }
        switch Int32(storage.ss_family) {
        case AF_INET:
            self.init(
                withUnsafeBytes(of: &storage) { $0.load(as: sockaddr_in.self).sin_addr.s_addr })
        case AF_INET6:
            self.init(withUnsafeBytes(of: &storage) { $0.load(as: sockaddr_in6.self).sin6_addr })
        default: return nil
        }
    }

    /// Parses an address such as `192.0.2.1` or `2001:db8::1`.
    package init?(_ text: String) {
        var (ipv4, ipv6) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4.s_addr)
        } else if inet_pton(AF_INET6, text, &ipv6) == 1 {
            self.init(ipv6)
        } else {
            return nil
        }
    }

    /// Private IPv4 addresses are those of RFC 1918, of shared networks (RFC 6598) and of link-local networks (RFC 3927).
    private init(_ address: in_addr_t) {
        network = withUnsafeBytes(of: address) { Array($0) }
        let isPrivate =
            switch (network[0], network[1]) {
            case (10, _), (172, 16...31), (192, 168), (100, 64...127), (169, 254): true
            default: false
            }
        zone = network[0] == 127 ? .thisMachine : isPrivate ? .privateNetwork : .publicNetwork
    }

    /// Private IPv6 addresses are unique local (RFC 4193, fc00::/7) and link-local (fe80::/10).
    private init(_ address: in6_addr) {
        let bytes = withUnsafeBytes(of: address) { Array($0) }
        network = Array(bytes.prefix(8))
        let isHere = bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        let isPrivate = bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        zone = isHere ? .thisMachine : isPrivate ? .privateNetwork : .publicNetwork
    }
}

/// Limits the rate of login attempts. This is a pure value: the caller passes clients and monotonic seconds.
///
/// Each client has five attempts, then waits longer after each, so that no client can lock out another. Over all
/// clients, one attempt runs at a time, since each needs 32 MiB of memory. After many failures, one attempt per second
/// is allowed, so that a thousand machines guess hardly faster than one. Attempts have ranks: 0 for this machine and
/// clients that logged in before, 1 for clients without failures, 2 for all others.
///
/// The caller registers an attempt, polls `turn` until the attempt may run, checks the password, and calls `finish`. An
/// attempt that gives up calls `cancel`. Until a running attempt is finished, no other one runs.
struct LoginRateLimiter {
    /// The client; nil for unknown clients, which count as one.
    typealias Client = LoginClient?

    /// The reply to a new attempt.
    enum RegistrationResult: Equatable {
        /// The attempt waits; poll `turn`.
        case waits(number: Int)
        /// The client must wait this many seconds.
        case tooFast(seconds: Int64)
    }

    /// Whether a waiting attempt may run.
    enum AttemptTurn: Equatable {
        case now
        case later
        /// Clients of a higher rank took its place.
        case never
    }

    /// The history of a client.
    private struct ClientRecord {
        /// The number of failures since the last login.
        var failures = 0
        /// The time when the client may try again.
        var mayTryAt: Int64 = 0
        /// The time of the last attempt.
        var lastAttempt: Int64
        /// Whether the client has logged in before. It then keeps rank 0 after later failures.
        var hasLoggedIn = false
    }

    /// An attempt that waits or runs.
    private struct LoginAttempt {
        let number: Int
        let client: Client
        /// The priority of the attempt; 0 goes first.
        let rank: Int
    }

    private var records: [Client: ClientRecord] = [:]
    /// The waiting attempts, sorted by rank, then by arrival. Each client has at most one that waits or runs.
    private var waiting: [LoginAttempt] = []
    private var running: LoginAttempt?
    private var lastNumber = 0
    private var lastStart: Int64 = .min
    /// The number of recent failures of all clients, and the time of the last one. One failure is forgotten every
    /// `secondsPerForgottenFailure`.
    private var recentFailures: (count: Int, at: Int64) = (0, 0)

    /// The number of failures of a client before it has to wait.
    static let freeAttempts = 5
    /// The maximum time that a client has to wait. The time doubles with each failure until then.
    private static let maxWaitSeconds: Int64 = 300
    /// The maximum number of remembered clients. Beyond it, `storeRecord` evicts one.
    static let maxRecords = 1000
    /// The maximum number of waiting attempts. Beyond it, an attempt of a lower rank is displaced or the new one refused.
    static let maxWaitingAttempts = 16
    /// The number of recent failures of all clients above which attempts are spaced.
    static let maxRecentFailures = 20
    private static let secondsPerForgottenFailure: Int64 = 3
    /// The time between attempts while there are many failures. Clients of rank 0 need not wait.
    private static let minSecondsBetweenAttempts: Int64 = 1
    /// The number of seconds without an attempt after which a client's failures are forgotten.
    private static let secondsUntilForgotten: Int64 = 3600

    /// The number of remembered clients.
    var recordCount: Int { records.count }

    /// Adds an attempt to the queue, behind those of the same rank. If the queue is full, it displaces the last attempt of a
    /// lower rank, so that strangers cannot keep known clients from logging in.
    mutating func register(from client: Client, now: Int64) -> RegistrationResult {
        if let mayTryAt = records[client]?.mayTryAt, now < mayTryAt {
            return .tooFast(seconds: mayTryAt - now)
        }
        guard running?.client != client || running == nil, !waiting.contains(where: { $0.client == client })
        else { return .tooFast(seconds: 1) }
        let attempt = LoginAttempt(number: lastNumber + 1, client: client, rank: rank(of: client, now))
        if waiting.count >= Self.maxWaitingAttempts {
            guard let last = waiting.last, last.rank > attempt.rank else { return .tooFast(seconds: 2) }
            waiting.removeLast()
        }
        lastNumber += 1
        let place = waiting.firstIndex { $0.rank > attempt.rank } ?? waiting.endIndex
        waiting.insert(attempt, at: place)
        return .waits(number: attempt.number)
    }

    /// Whether the attempt may run. After `.now`, the caller must call `finish`.
    mutating func turn(of number: Int, now: Int64) -> AttemptTurn {
        guard let position = waiting.firstIndex(where: { $0.number == number }) else { return .never }
        guard position == 0, running == nil else { return .later }
        let attempt = waiting[0]
        if attempt.rank > 0, recentFailureCount(now) > Self.maxRecentFailures,
            now - Self.minSecondsBetweenAttempts < lastStart
        {
            return .later
        }
        waiting.removeFirst()
        (running, lastStart) = (attempt, now)
        return .now
    }

    /// Removes a waiting attempt.
    mutating func cancel(_ number: Int) { waiting.removeAll { $0.number == number } }

    /// Ends a running attempt, and records its result. From the fifth failure on, the client has to wait before it may try
    /// again.
    mutating func finish(_ number: Int, isRight: Bool, now: Int64) {
        guard let attempt = running, attempt.number == number else { return }
        running = nil
        var record = record(of: attempt.client, now)
        record.lastAttempt = now
        if isRight {
            (record.failures, record.mayTryAt, record.hasLoggedIn) = (0, 0, true)
        } else {
            record.failures += 1
            recentFailures = (recentFailureCount(now) + 1, now)
            if record.failures >= Self.freeAttempts {
                let wait: Int64 = 1 << min(20, Int64(record.failures - Self.freeAttempts) + 1)
                record.mayTryAt = now + min(Self.maxWaitSeconds, wait)
            }
        }
        storeRecord(record, of: attempt.client, now)
    }

    /// The record of a client; a new one if the client is unknown or its failures are forgotten.
    private func record(of client: Client, _ now: Int64) -> ClientRecord {
        guard let known = records[client] else { return ClientRecord(lastAttempt: now) }
        guard now - known.lastAttempt > Self.secondsUntilForgotten, !known.hasLoggedIn else { return known }
        return ClientRecord(lastAttempt: now)
    }

    /// The rank of a client's next attempt.
    private func rank(of client: Client, _ now: Int64) -> Int {
        let record = record(of: client, now)
        if client?.isHere == true || record.hasLoggedIn { return 0 }
        return record.failures == 0 ? 1 : 2
    }

    /// The recent failures of all clients, decreased by those that are forgotten.
    private func recentFailureCount(_ now: Int64) -> Int {
        max(
            0,
            recentFailures.count
                - Int(clamping: max(0, (now - recentFailures.at) / Self.secondsPerForgottenFailure)))
    }

    /// Stores a record. At the limit, evicts the record that matters least: of a client that never logged in before one that
    /// did, of a client that need not wait before one that must, then the one with the oldest attempt. So a client cannot
    /// end its own waiting time by filling the table.
    private mutating func storeRecord(_ record: ClientRecord, of client: Client, _ now: Int64) {
        if records[client] == nil, records.count >= Self.maxRecords {
            let least = records.min { one, other in
                let (a, b) = (one.value, other.value)
                if a.hasLoggedIn != b.hasLoggedIn { return !a.hasLoggedIn }
                return (max(now, a.mayTryAt), a.lastAttempt) < (max(now, b.mayTryAt), b.lastAttempt)
            }
            if let least { records[least.key] = nil }
        }
        records[client] = record
    }
}
