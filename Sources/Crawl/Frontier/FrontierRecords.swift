internal import Fetch
internal import Glibc
internal import Web

extension FrontierCore {
    /// What is known of one URL, as it is kept: millions of them fit into memory.
    struct Record: Sendable {
        enum State: UInt8, Sendable {
            case skipped, queued, running, waiting, done, redirected, failed, elsewhere
        }

        struct Flags: OptionSet, Sendable {
            let rawValue: UInt8

            static let isStart = Flags(rawValue: 1)
            static let isGuess = Flags(rawValue: 2)
            /// The store knows its number.
            static let isStored = Flags(rawValue: 4)
            /// Pages like it lead nowhere new: it comes after all others.
            static let isSlow = Flags(rawValue: 8)
            /// It says that there is nothing, with a status that says the contrary.
            static let isSoftNotFound = Flags(rawValue: 16)
            /// What needs it asks for it by CORS.
            static let isCORS = Flags(rawValue: 32)
            /// What it needs is asked for in its name.
            static let isDocument = Flags(rawValue: 64)
            /// It is known only for having led to something of this worker's.
            static let isNamed = Flags(rawValue: 128)
        }

        static let nobody = UInt32.max

        let host: UInt32
        /// `nobody` for a start URL.
        var referrer: UInt32
        /// Where its own redirect leads; `nobody` for none.
        var target = nobody
        /// Why it was skipped: a place in the frontier's list of reasons.
        var reason: UInt16 = 0
        var depth: UInt16
        var flags: Flags
        var role: Frontier.Role
        var state = State.waiting
        var attempts: UInt8 = 0
        /// The network zone that its response came from.
        var zone = NetworkZone.publicNetwork
        /// The nearest network zone that its request may connect to: that of the nearest page with a link to it.
        var nearestZone: NetworkZone
        /// Of what a page needs, how much of it leads there, one needed by the other; of a page, how many
        /// refreshes.
        var chain: UInt8 = 0
        /// How many redirects led here.
        let redirects: UInt8
    }
}

/// URLs by number and back, in little more memory than their text takes: a crawl may discover millions.
struct URLTable: Sendable {
    /// Longer ones are not taken.
    static let longest = 1 << 20 - 1
    private static let chunkSize = 1 << 20

    /// The texts, one behind the other; no text is in two chunks.
    private var chunks: [[UInt8]] = []
    /// Chunk, offset and length of each text: 20, 24 and 20 bits.
    private var places: [UInt64] = []
    /// Numbers by their texts' hashes, each plus one; 0 where none is. A power of two, never more than half
    /// full.
    private var slots = [UInt32](repeating: 0, count: 1024)

    var count: Int { places.count }

    /// The number of an URL without a fragment, a new one when it has none yet.
    mutating func number(of url: WebURL) -> (number: UInt32, isNew: Bool) {
        var href = url.href
        return href.withUTF8 { bytes in
            let bytes = UnsafeBufferPointer(rebasing: bytes.prefix(Self.longest))
            let slot = slot(of: bytes)
            if slots[slot] != 0 { return (slots[slot] - 1, false) }
            let number = UInt32(places.count)
            append(bytes)
            slots[slot] = number + 1
            if places.count * 2 > slots.count { grow() }
            return (number, true)
        }
    }

    func find(_ url: WebURL) -> UInt32? {
        var href = url.href
        return href.withUTF8 { bytes in
            let slot = slot(of: UnsafeBufferPointer(rebasing: bytes.prefix(Self.longest)))
            return slots[slot] == 0 ? nil : slots[slot] - 1
        }
    }

    func href(_ number: UInt32) -> String {
        withBytes(number) { String(decoding: $0, as: UTF8.self) }
    }

    /// Parsed again: what came in as an URL is one.
    func url(_ number: UInt32) -> WebURL? {
        withBytes(number) { WebURL(utf8: Span(_unsafeElements: $0)) }
    }

    func folder(_ number: UInt32) -> UInt64 { withBytes(number, Kinship.folder) }

    func kin(_ number: UInt32) -> UInt64 { withBytes(number, Kinship.kin) }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if chunks.last.map({ $0.count + bytes.count > Self.chunkSize }) ?? true {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(chunks.count == 1 ? 0 : max(Self.chunkSize, bytes.count))
        }
        let offset = chunks[chunks.count - 1].count
        chunks[chunks.count - 1].append(contentsOf: bytes)
        places.append(UInt64(chunks.count - 1) << 44 | UInt64(offset) << 20 | UInt64(bytes.count))
    }

    private func withBytes<Result>(
        _ number: UInt32, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let place = places[Int(number)]
        let start = Int(place >> 20 & 0xFF_FFFF)
        return chunks[Int(place >> 44)].withUnsafeBufferPointer { chunk in
            body(UnsafeBufferPointer(rebasing: chunk[start..<start + Int(place & 0xF_FFFF)]))
        }
    }

    /// The slot that has the text, or the one where it belongs.
    private func slot(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var slot = Self.hash(bytes) & (slots.count - 1)
        while slots[slot] != 0, !has(slots[slot] - 1, bytes) { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    private func has(_ number: UInt32, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        withBytes(number) { known in
            guard known.count == bytes.count else { return false }
            guard let left = known.baseAddress, let right = bytes.baseAddress else { return true }
            return memcmp(left, right, bytes.count) == 0
        }
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for number in 0..<UInt32(places.count) {
            var slot = withBytes(number, Self.hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = number + 1
        }
    }

    private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        Int(truncatingIfNeeded: SeededHash.of(UnsafeRawBufferPointer(bytes), 0))
    }
}

/// The reasons for which entries were skipped, each kept once: there are few of them, and millions of
/// entries.
struct ReasonTable: Sendable {
    private var reasons: [SkipReason] = []
    private var places: [SkipReason: UInt16] = [:]
    /// Of the entries for whose reasons no place was left.
    private var others: [UInt32: SkipReason] = [:]

    /// To be kept with the entry.
    mutating func place(of reason: SkipReason, for number: UInt32) -> UInt16 {
        others[number] = nil
        if let known = places[reason] { return known }
        guard let place = UInt16(exactly: reasons.count), place < .max else {
            others[number] = reason
            return .max
        }
        reasons.append(reason)
        places[reason] = place
        return place
    }

    func reason(_ place: UInt16, of number: UInt32) -> SkipReason {
        Int(place) < reasons.count ? reasons[Int(place)] : others[number] ?? .scheme
    }
}

/// Who leads to whom, as far as depths may still change.
struct DepthWays: Sendable {
    private var targets: [UInt32: [Target]] = [:]

    struct Target: Sendable, Equatable {
        let number: UInt32
        /// A link to a page leads one further; a redirect, and what a page needs, are as far away as what
        /// leads there.
        let distance: UInt16
    }

    mutating func add(from source: UInt32, to number: UInt32, distance: UInt16) {
        targets[source, default: []].append(Target(number: number, distance: distance))
    }

    func targets(of source: UInt32) -> [Target] { targets[source] ?? [] }
}

extension FrontierCore {
    func url(_ number: UInt32) -> WebURL {
        // Only what was an URL came in.
        urls.url(number) ?? .blank
    }

    func state(_ number: UInt32) -> Frontier.State {
        let record = records[Int(number)]
        return switch record.state {
        case .skipped: .skipped(reasons.reason(record.reason, of: number))
        case .queued: .queued
        case .running: .running
        case .waiting: .waiting
        case .done: .done
        case .redirected: .redirected
        case .failed: .failed(failures[number] ?? .nowhere)
        case .elsewhere: .elsewhere
        }
    }

    func entry(_ number: UInt32) -> Frontier.Entry {
        let record = records[Int(number)]
        return Frontier.Entry(
            number: number, referrer: record.referrer == Record.nobody ? nil : record.referrer,
            isStart: record.flags.contains(.isStart), role: record.role,
            isGuess: record.flags.contains(.isGuess),
            isSoftNotFound: record.flags.contains(.isSoftNotFound), isRedirectTarget: record.redirects > 0,
            state: state(number), attempts: Int(record.attempts), depth: Int(record.depth))
    }

    func isMiss(_ number: UInt32) -> Bool {
        var record = records[Int(number)]
        while record.redirects > 0, record.referrer != Record.nobody {
            record = records[Int(record.referrer)]
        }
        return record.referrer == Record.nobody && record.flags.contains(.isGuess)
    }
}
