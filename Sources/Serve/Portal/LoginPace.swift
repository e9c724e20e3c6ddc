internal import CLinux
internal import Glibc
internal import Web

/// Whose attempts at the password count together: an address of IPv4, or the network of one of IPv6, in which
/// a machine has as many addresses as it likes.
struct LoginClient: Hashable, Sendable {
    private let network: [UInt8]
    /// The network zone that the client is in. A neighbour with a link-local address is in the private network.
    let zone: NetworkZone
    /// It comes from this machine itself.
    var isHere: Bool { zone == .thisMachine }

    /// Whoever is at the other end of a socket; nil where that has gone.
    init?(socket: Int32) {
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

    /// Reads `192.0.2.1` and `2001:db8::1`.
    init?(_ text: String) {
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

/// How fast passwords may be tried. A value: who comes and the time go in, in seconds of a clock that nobody
/// sets.
///
/// Each client has five attempts at once, then ever more slowly ones, so that nobody locks another one out.
/// Over all of them one is tried at a time, since each costs memory, and where many were wrong one a second:
/// a thousand machines guess hardly faster than one. Whoever waits for that gets a turn: this machine and who
/// has been right before first, then who has never been wrong.
struct LoginPace {
    /// Nil stands for a client that nobody knows: all of those are one.
    typealias Client = LoginClient?

    enum Arrival: Equatable {
        /// Its turn comes; `turn` tells when.
        case waits(number: Int)
        /// So many seconds have to pass first.
        case tooFast(seconds: Int64)
    }

    enum Turn: Equatable {
        case now
        case later
        /// Others who come first have taken its place.
        case never
    }

    private struct Record {
        var failures = 0
        /// When it may try again.
        var next: Int64 = 0
        var last: Int64
        var hasBeenRight = false
    }

    private struct Attempt {
        let number: Int
        let client: Client
        /// 0 is first.
        let rank: Int
    }

    private var records: [Client: Record] = [:]
    private var waiting: [Attempt] = []
    private var trying: Attempt?
    private var lastNumber = 0
    private var lastTry: Int64 = .min
    /// Failures of late, over all clients; one is forgotten each `crowdDecay`.
    private var crowd: (level: Int, since: Int64) = (0, 0)

    static let free = 5
    private static let longest: Int64 = 300
    static let mostRecords = 1000
    static let mostWaiting = 16
    static let mostOfCrowd = 20
    private static let crowdDecay: Int64 = 3
    private static let crowdGap: Int64 = 1
    /// After so long without an attempt a client begins anew.
    private static let forgiveness: Int64 = 3600

    /// How many clients are remembered.
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

    /// `now` lets it be tried, and `end` follows.
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

    /// It does not wait any more.
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

    /// Where too many are known, one goes that may try now anyway, and was there longest ago; who was right
    /// goes last.
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
