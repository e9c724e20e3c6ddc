internal import CLinux
internal import Glibc
package import Web

/// The client that login attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address,
/// since one machine can use any address in it.
package struct LoginClient: Hashable, Sendable {
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

    private init(_ address: in_addr_t) {
        network = withUnsafeBytes(of: address) { Array($0) }
        let isPrivate =
            switch (network[0], network[1]) {
            case (10, _), (172, 16...31), (192, 168), (100, 64...127), (169, 254): true
            default: false
            }
        zone = network[0] == 127 ? .thisMachine : isPrivate ? .privateNetwork : .publicNetwork
    }

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
/// Each client has five attempts, then waits longer after each, so that no client can lock out another. Over
/// all clients, one attempt runs at a time, since each needs memory. After many failures, one attempt per
/// second is allowed, so that a thousand machines guess hardly faster than one. This machine and clients that
/// logged in before go first, then clients without failures.
struct LoginPace {
    /// The client; nil for unknown clients, which count as one.
    typealias Client = LoginClient?

    /// The reply to a new attempt.
    enum Arrival: Equatable {
        /// The attempt waits; poll `turn`.
        case waits(number: Int)
        /// The client must wait this many seconds.
        case tooFast(seconds: Int64)
    }

    /// Whether a waiting attempt may run.
    enum Turn: Equatable {
        case now
        case later
        /// Clients of a higher rank took its place.
        case never
    }

    /// The history of a client.
    private struct Record {
        var failures = 0
        /// The time when the client may try again.
        var next: Int64 = 0
        var last: Int64
        var hasBeenRight = false
    }

    /// An attempt that waits or runs.
    private struct Attempt {
        let number: Int
        let client: Client
        /// The priority of the attempt; 0 goes first.
        let rank: Int
    }

    private var records: [Client: Record] = [:]
    private var waiting: [Attempt] = []
    private var trying: Attempt?
    private var lastNumber = 0
    private var lastTry: Int64 = .min
    /// Recent failures of all clients; decreases by one every `crowdDecay` seconds.
    private var crowd: (level: Int, since: Int64) = (0, 0)

    static let free = 5
    private static let longest: Int64 = 300
    static let mostRecords = 1000
    static let mostWaiting = 16
    static let mostOfCrowd = 20
    private static let crowdDecay: Int64 = 3
    private static let crowdGap: Int64 = 1
    /// The number of seconds without an attempt after which a client starts over.
    private static let forgiveness: Int64 = 3600

    /// The number of remembered clients.
    var recordCount: Int { records.count }

    mutating func arrive(from client: Client, now: Int64) -> Arrival {
        if let next = records[client]?.next, now < next { return .tooFast(seconds: next - now) }
        guard trying?.client != client || trying == nil, !waiting.contains(where: { $0.client == client })
        else { return .tooFast(seconds: 1) }
        let attempt = Attempt(number: lastNumber + 1, client: client, rank: rank(of: client, now))
        if waiting.count >= Self.mostWaiting {
            guard let last = waiting.last, last.rank > attempt.rank else { return .tooFast(seconds: 2) }
            waiting.removeLast()
        }
        lastNumber += 1
        let place = waiting.firstIndex { $0.rank > attempt.rank } ?? waiting.endIndex
        waiting.insert(attempt, at: place)
        return .waits(number: attempt.number)
    }

    /// Whether the attempt may run. After `now`, call `end`.
    mutating func turn(of number: Int, now: Int64) -> Turn {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else { return .never }
        guard place == 0, trying == nil else { return .later }
        let attempt = waiting[0]
        if attempt.rank > 0, crowdLevel(now) > Self.mostOfCrowd, now - Self.crowdGap < lastTry {
            return .later
        }
        waiting.removeFirst()
        (trying, lastTry) = (attempt, now)
        return .now
    }

    /// Removes a waiting attempt.
    mutating func leave(_ number: Int) { waiting.removeAll { $0.number == number } }

    mutating func end(_ number: Int, isRight: Bool, now: Int64) {
        guard let attempt = trying, attempt.number == number else { return }
        trying = nil
        var record = record(of: attempt.client, now)
        record.last = now
        if isRight {
            (record.failures, record.next, record.hasBeenRight) = (0, 0, true)
        } else {
            record.failures += 1
            crowd = (crowdLevel(now) + 1, now)
            if record.failures >= Self.free {
                let wait: Int64 = 1 << min(20, Int64(record.failures - Self.free) + 1)
                record.next = now + min(Self.longest, wait)
            }
        }
        keep(record, of: attempt.client, now)
    }

    private func record(of client: Client, _ now: Int64) -> Record {
        guard let known = records[client] else { return Record(last: now) }
        guard now - known.last > Self.forgiveness, !known.hasBeenRight else { return known }
        return Record(last: now)
    }

    private func rank(of client: Client, _ now: Int64) -> Int {
        let record = record(of: client, now)
        if client?.isHere == true || record.hasBeenRight { return 0 }
        return record.failures == 0 ? 1 : 2
    }

    private func crowdLevel(_ now: Int64) -> Int {
        max(0, crowd.level - Int(clamping: max(0, (now - crowd.since) / Self.crowdDecay)))
    }

    /// Stores a record. At the limit, evicts a client that may try again anyway and was not seen for longest;
    /// clients that logged in before are evicted last.
    private mutating func keep(_ record: Record, of client: Client, _ now: Int64) {
        if records[client] == nil, records.count >= Self.mostRecords {
            let least = records.min { one, other in
                let (a, b) = (one.value, other.value)
                if a.hasBeenRight != b.hasBeenRight { return !a.hasBeenRight }
                return (max(now, a.next), a.last) < (max(now, b.next), b.last)
            }
            if let least { records[least.key] = nil }
        }
        records[client] = record
    }
}
