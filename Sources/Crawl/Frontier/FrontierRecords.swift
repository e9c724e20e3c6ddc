internal import Fetch
internal import Glibc
internal import Web

extension Frontier {
    /// The stored form of an entry, small enough for millions of them.
    struct EntryRecord: Sendable {
        /// `Frontier.EntryState` without its associated values, which are in `skipReasons` and `failureReasons`.
        enum RecordState: UInt8, Sendable {
            case skipped, queued, running, waiting, done, redirected, failed, elsewhere
        }

        /// Properties of an entry.
        struct Flags: OptionSet, Sendable {
            let rawValue: UInt32

            /// Whether the entry is a start URL or the target of its redirects.
            static let isStart = Flags(rawValue: 1)
            /// Whether the URL only looked like a link, or no page links to it (`/favicon.ico`, a recorded miss). If it
            /// cannot be loaded, it does not count as missing.
            static let isGuess = Flags(rawValue: 2)
            /// Whether the URL was sent to the store with this number. Later links to it are sent as the number only
            /// (`linkTarget`).
            static let hasStoredNumber = Flags(rawValue: 4)
            /// Whether the page belongs to a possible trap, so that it is fetched after all others.
            static let isPossibleTrap = Flags(rawValue: 8)
            /// Whether the page says "not found" with a status of success (soft 404).
            static let isSoftNotFound = Flags(rawValue: 16)
            /// Whether the entry is requested with CORS.
            static let isCORS = Flags(rawValue: 32)
            /// Whether assets are requested on behalf of this entry.
            static let isDocument = Flags(rawValue: 64)
            /// Whether the entry is known only as the referrer of an entry that another worker sent.
            static let isReferrerOnly = Flags(rawValue: 128)
            /// Whether the page is parked until nothing else is left to fetch or to render (`settle`): a variant of another page, a
            /// possible side page (`sidePages`), a secondary page, a file of a repository whose branch is not chosen yet
            /// (`branches`), or a possible view of another page (`views`). It is then queued or skipped. A page that
            /// another one redirects to, or that a rendered page requests, does not wait.
            static let isParked = Flags(rawValue: 256)
            /// Whether the page or sitemap waits for its turn in `PageOrder.queue`.
            static let isWaitingForTurn = Flags(rawValue: 512)
            /// Whether only assets and rendered pages link to the page so far, and the number of pages is
            /// limited.
            static let isSecondary = Flags(rawValue: 1024)
            /// Whether its response was stored as that of a page before the entry became an asset.
            static let isStoredAsPage = Flags(rawValue: 2048)
            /// Whether the page was queued once more, after others, because it may be a view of one of them
            /// (`mayBeView`).
            static let wasPostponed = Flags(rawValue: 4096)
            /// Whether the page is being checked for a login form.
            static let isBeingScanned = Flags(rawValue: 8192)
            /// Whether it is a login page at a URL of its own.
            static let isLoginPage = Flags(rawValue: 16384)
            /// Whether the server refused it to the crawl, and it was requested once more as a page requests it.
            static let wasRequestedAgain = Flags(rawValue: 32768)
            /// Whether the page says `nofollow`. It may be rendered, but its links are not followed.
            static let isNofollow = Flags(rawValue: 65536)
            /// Whether an earlier snapshot has a response for the entry, which stays in place (`noteKept`).
            static let isKeptFromBefore = Flags(rawValue: 131072)
        }

        /// A number that no entry has.
        static let noEntry = UInt32.max

        let host: UInt32
        /// The entry that first linked or redirected here; `noEntry` if there is none, as for a start URL or a recorded miss.
        var referrer: UInt32
        /// The entry that this one redirects to; `noEntry` if it does not redirect.
        var target = noEntry
        /// The reason why the entry was skipped or has failed, as an index into `skipReasons` or `failureReasons`.
        var reason: UInt16 = 0
        var depth: UInt16
        var flags: Flags
        var role: Frontier.Role
        var state = RecordState.waiting
        var attempts: UInt8 = 0
        /// The network zone that its response came from.
        var zone = NetworkZone.publicNetwork
        /// The limit of its request: the nearest network zone that it may connect to (`NetworkZone`). It is the nearest of
        /// the zones of the responses that link to the URL, and of the zone that `CrawlPlan` gives to a URL of the user, of
        /// a manifest or of a recorded miss.
        var nearestZone: NetworkZone
        /// For an asset, the length of the chain of assets that need each other up to this one; for a page,
        /// the number of refreshes and of navigations by script up to it.
        var chain: UInt8 = 0
        /// The number of redirects that led here.
        let redirects: UInt8
    }

    /// The part of an entry's state that few entries have. The others take no memory for it.
    struct RareState: Sendable, Equatable {
        /// The URL with its session parameter in the first link to the entry, if that was removed.
        var unstripped: String?
        /// The origin of the document whose CORS request for the entry a server recorded as a miss.
        var missOrigin: String?
        /// The page whose rendering first requested the entry, if no scan had found it.
        var firstRequester: UInt32?
        /// The number of variants of the page.
        var variantCount: UInt8 = 0
        /// How often the entry was a redirect that set a cookie.
        var cookieCount: UInt8 = 0
    }
}

/// A table of URLs by number, and of numbers by URL. It takes little more memory than the text, because a
/// crawl may discover millions.
struct URLTable: Sendable {
    /// The maximum length of a URL in bytes: the largest number of 20 bits (`places`), since `<<` binds more tightly than
    /// `-`. Longer ones are cut off. Two of them may then share a number, which does no harm: links over
    /// `Scope.maxURLBytes` are skipped anyway.
    static let maxURLBytes = 1 << 20 - 1
    private static let chunkSize = 1 << 20

    /// The texts one after the other. No text spans two chunks, and none is longer than a chunk (`maxURLBytes`).
    private var chunks: [[UInt8]] = []
    /// The chunk, offset and length of each text, in 20, 24 and 20 bits.
    private var places: [UInt64] = []
    /// A hash table with open addressing: each number plus one by the hash of its text, and 0 in empty slots.
    /// The size is a power of two, and at most half of the slots are used.
    private var slots = [UInt32](repeating: 0, count: 1024)

    var count: Int { places.count }

    /// Adds a URL if it is not in the table, and returns its number. The URL must not have a fragment.
    mutating func insert(_ url: WebURL) -> (number: UInt32, isNew: Bool) {
        var href = url.href
        return href.withUTF8 { bytes in
            let bytes = UnsafeBufferPointer(rebasing: bytes.prefix(Self.maxURLBytes))
            let slot = slot(of: bytes)
            if slots[slot] != 0 { return (slots[slot] - 1, false) }
            let number = UInt32(places.count)
            append(bytes)
            slots[slot] = number + 1
            if places.count * 2 > slots.count { grow() }
            return (number, true)
        }
    }

    /// Returns the number of a URL without a fragment; nil if it is not in the table.
    func find(_ url: WebURL) -> UInt32? {
        var href = url.href
        return href.withUTF8 { bytes in
            let slot = slot(of: UnsafeBufferPointer(rebasing: bytes.prefix(Self.maxURLBytes)))
            return slots[slot] == 0 ? nil : slots[slot] - 1
        }
    }

    /// Returns the number of the URL without its query; nil if it has no query, or if the table does not have the URL
    /// without it.
    func numberWithoutQuery(of number: UInt32) -> UInt32? {
        withBytes(number) { bytes in
            guard let query = bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
            let slot = slot(of: UnsafeBufferPointer(rebasing: bytes[..<query]))
            return slots[slot] == 0 ? nil : slots[slot] - 1
        }
    }

    func hasQuery(_ number: UInt32) -> Bool { withBytes(number) { $0.contains(UInt8(ascii: "?")) } }

    func href(_ number: UInt32) -> String {
        withBytes(number) { String(decoding: $0, as: UTF8.self) }
    }

    /// Parses the stored text and returns the URL. Only a text that was cut off may be invalid.
    func url(_ number: UInt32) -> WebURL? {
        withBytes(number) { WebURL(utf8: Span(_unsafeElements: $0)) }
    }

    /// Returns a hash of the URL's folder (`URLKinds`).
    func folderHash(_ number: UInt32) -> UInt64 { withBytes(number, URLKinds.folder) }

    /// Returns a hash that similar URLs share (`URLKinds`).
    func urlKind(_ number: UInt32) -> UInt64 { withBytes(number, URLKinds.kind) }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if chunks.last.map({ $0.count + bytes.count > Self.chunkSize }) ?? true {
            chunks.append([])
            // The first chunk grows as needed, because a small crawl does not fill one.
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

    /// The slot that has the text, or the empty one where it belongs.
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
        // The 0 is a kind of text. The seed is random.
        Int(truncatingIfNeeded: SeededHash.of(UnsafeRawBufferPointer(bytes), 0))
    }
}

/// A table of the reasons why entries were skipped or have failed, each stored once: there are few reasons, but
/// millions of entries.
struct ReasonTable<Reason: Hashable & Sendable>: Sendable {
    private var reasons: [Reason] = []
    private var places: [Reason: UInt16] = [:]
    /// The reasons of the entries with the index `.max`, for which the table was full.
    private var others: [UInt32: Reason] = [:]

    /// Adds a reason if it is not in the table, and returns the index to store in the entry; `.max` if the table is full.
    mutating func insert(_ reason: Reason, for number: UInt32) -> UInt16 {
        // The entry may have had another reason before.
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

    /// The reason that `insert` added; nil if it added none for the entry.
    func reason(_ place: UInt16, of number: UInt32) -> Reason? {
        Int(place) < reasons.count ? reasons[Int(place)] : others[number]
    }
}

/// The links between entries. If a shorter path to an entry is found, the targets of its links get a smaller depth too.
/// Empty if the scope does not limit the depth.
struct DepthLinks: Sendable {
    private var targets: [UInt32: [Target]] = [:]

    /// An entry that another one links or redirects to.
    struct Target: Sendable, Equatable {
        let number: UInt32
        /// The difference in depth: 1 for a link to a page, 0 for redirects and assets.
        let distance: UInt16
    }

    mutating func add(from source: UInt32, to number: UInt32, distance: UInt16) {
        targets[source, default: []].append(Target(number: number, distance: distance))
    }

    func targets(of source: UInt32) -> [Target] { targets[source] ?? [] }
}

extension Frontier {
    func url(_ number: UInt32) -> WebURL {
        // Only a URL that was cut off may be invalid. Its entry was skipped because of its length.
        urls.url(number) ?? .blank
    }

    func state(_ number: UInt32) -> Frontier.EntryState {
        let record = records[Int(number)]
        return switch record.state {
        // Each skipped entry has a reason, and each failed one a failure, so that the defaults are never used.
        case .skipped: .skipped(skipReasons.reason(record.reason, of: number) ?? .scheme)
        case .queued: .queued
        case .running: .running
        case .waiting: .waiting
        case .done: .done
        case .redirected: .redirected
        case .failed: .failed(failure(of: number) ?? .redirectWithoutTarget)
        case .elsewhere: .elsewhere
        }
    }

    /// The failure of an entry; nil if it has not failed.
    func failure(of number: UInt32) -> Failure? {
        let record = records[Int(number)]
        return record.state == .failed ? failureReasons.reason(record.reason, of: number) : nil
    }

    func entry(_ number: UInt32) -> Frontier.EntryInfo {
        let record = records[Int(number)]
        return Frontier.EntryInfo(
            number: number, referrer: record.referrer == EntryRecord.noEntry ? nil : record.referrer,
            isStart: record.flags.contains(.isStart), role: record.role,
            isGuess: record.flags.contains(.isGuess),
            isSoftNotFound: record.flags.contains(.isSoftNotFound),
            isStoredAsPage: record.flags.contains(.isStoredAsPage),
            isKeptFromBefore: record.flags.contains(.isKeptFromBefore),
            isRedirectTarget: record.redirects > 0,
            state: state(number), attempts: Int(record.attempts), depth: Int(record.depth))
    }

    /// Whether the entry, or the one that redirected here, was added by `addMiss`, and no page links to it. Such an entry is
    /// a guess without a referrer.
    func isMiss(_ number: UInt32) -> Bool {
        var record = records[Int(number)]
        while record.redirects > 0, record.referrer != EntryRecord.noEntry {
            record = records[Int(record.referrer)]
        }
        return record.referrer == EntryRecord.noEntry && record.flags.contains(.isGuess)
    }
}
