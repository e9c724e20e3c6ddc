internal import Store
internal import Synchronization
internal import Web

/// Responses that are stored only in memory. Any thread may use it; one `Mutex` guards all state.
///
/// Two instances exist, with different rules when they are full:
///
/// - `OriginLoader.memoryCache` has responses of the storage policy `memory-only` and incomplete bodies. It is a cache:
///   `keep` removes the least recently used responses.
/// - `UncommittedResponses` has responses that wait for their commit. None of them may get lost, so `add` refuses a
///   response for which there is no room.
///
/// A URL has one entry for each variant of its response (`Vary`).
final class MemoryResponseCache: Sendable {
    /// The maximum size of all responses, counted by `MemoryResponse.byteCount`.
    private let byteLimit: Int
    private let secrets: SecretHasher
    private let contents = Mutex(Contents())

    private struct Contents {
        var copies: [ResponseKey: [CachedEntry]] = [:]
        var byteCount = 0
        /// The number of uses so far, which serves as a clock.
        var uses: UInt64 = 0
    }

    private struct ResponseKey: Hashable {
        let href: String
        let request: RequestKey
    }

    private struct CachedEntry {
        var copy: MemoryResponse
        var lastUse: UInt64
    }

    /// - Parameter secrets: The hasher with which the variants of the copies were made.
    init(byteLimit: Int, _ secrets: SecretHasher) { (self.byteLimit, self.secrets) = (byteLimit, secrets) }

    /// The newest response that is valid for a request with these fields.
    func response(of href: String, request: RequestKey, fields: HTTPFields) -> MemoryResponse? {
        contents.withLock { contents in
            if contents.copies.isEmpty { return nil }
            let key = ResponseKey(href: href, request: request)
            guard let index = contents.copies[key]?.lastIndex(where: { $0.copy.suits(fields, secrets) })
            else {
                return nil
            }
            contents.uses += 1
            contents.copies[key]?[index].lastUse = contents.uses
            return contents.copies[key]?[index].copy
        }
    }

    /// Stores a response, and replaces the one for the same variant. A response larger than half of
    /// the limit is not stored, since it would displace too many others.
    func keep(_ copy: MemoryResponse) {
        contents.withLock { contents in
            Self.remove(&contents, copy.href, copy.request, variant: copy.variant)
            guard copy.byteCount <= byteLimit / 2 else { return }
            Self.add(copy, to: &contents)
            while contents.byteCount > byteLimit, Self.removeOldest(&contents) {}
        }
    }

    /// Stores a response only if there is room for it, without removing other URLs' responses. Returns
    /// whether it was stored.
    func add(_ copy: MemoryResponse) -> Bool {
        contents.withLock { contents in
            guard contents.byteCount + copy.byteCount <= byteLimit else { return false }
            Self.remove(&contents, copy.href, copy.request, variant: copy.variant)
            Self.add(copy, to: &contents)
            return true
        }
    }

    /// Removes the response of one variant, after it was stored.
    func remove(_ href: String, _ request: RequestKey, variant: String) {
        contents.withLock { Self.remove(&$0, href, request, variant: variant) }
    }

    /// Removes this response, unless another one has replaced it.
    func removeIfCurrent(_ copy: MemoryResponse) {
        contents.withLock { contents in
            let entries = contents.copies[ResponseKey(href: copy.href, request: copy.request)] ?? []
            guard entries.contains(where: { $0.copy.number == copy.number }) else { return }
            Self.remove(&contents, copy.href, copy.request, variant: copy.variant)
        }
    }

    /// Marks all responses of these URLs, so that they must be validated before they are used again.
    func invalidate(_ hrefs: [String]) {
        contents.withLock { contents in
            // Invalidated entries stay, since a validation may show that they are still current.
            for key in contents.copies.keys where hrefs.contains(key.href) {
                guard let entries = contents.copies[key] else { continue }
                contents.copies[key] = entries.map { entry in
                    var entry = entry
                    entry.copy.entry.isInvalidated = true
                    return entry
                }
            }
        }
    }

    private static func add(_ copy: MemoryResponse, to contents: inout Contents) {
        contents.uses += 1
        contents.byteCount += copy.byteCount
        contents.copies[ResponseKey(href: copy.href, request: copy.request), default: []].append(
            CachedEntry(copy: copy, lastUse: contents.uses))
    }

    private static func remove(
        _ contents: inout Contents, _ href: String, _ request: RequestKey, variant: String
    ) {
        let key = ResponseKey(href: href, request: request)
        guard let entries = contents.copies[key] else { return }
        for entry in entries where entry.copy.variant == variant {
            contents.byteCount -= entry.copy.byteCount
        }
        let rest = entries.filter { $0.copy.variant != variant }
        contents.copies[key] = rest.isEmpty ? nil : rest
    }

    /// Removes the least recently used response; false if there is none. Linear, since evictions are rare and entries few.
    private static func removeOldest(_ contents: inout Contents) -> Bool {
        let oldest = contents.copies.values.joined().min { $0.lastUse < $1.lastUse }
        guard let copy = oldest?.copy else { return false }
        remove(&contents, copy.href, copy.request, variant: copy.variant)
        return true
    }
}

/// A response that is stored only in memory, because it must not outlive the process or because its body is
/// incomplete.
struct MemoryResponse: Sendable {
    let href: String
    let request: RequestKey
    /// The text of its `VaryKey`.
    let variant: String
    var entry: CacheEntry
    var body: Body
    /// Whether credentials were sent for it.
    let isPrivate: Bool
    /// The flags of the response, such as the network zone that it came from.
    let flags: ResponseFlags
    /// `flags` with `.isPrivate` added if the response is private.
    var allFlags: ResponseFlags { isPrivate ? flags.union(.isPrivate) : flags }
    /// The number that identifies the response while it waits to be committed to the store.
    var number: UInt64 = 0

    /// The stored body, or the stored parts of it.
    enum Body: Sendable {
        case whole(LoadedBody)
        case parts(BodyParts)
    }

    /// The size in bytes that counts towards the limit of the cache.
    var byteCount: Int {
        let stored =
            switch body {
            case .whole(let body): body.bytes.count
            case .parts(let parts): parts.byteCount
            }
        return stored + Self.overhead
    }

    /// The estimated size of the headers and keys of a response.
    private static let overhead = 1024

    /// Whether the response is valid for a request with these fields.
    func suits(_ fields: HTTPFields, _ secrets: SecretHasher) -> Bool {
        VaryKey.isSelected(variant, by: fields, secrets)
    }

    /// The stored parts, if the body is incomplete.
    var parts: BodyParts? {
        if case .parts(let parts) = body { parts } else { nil }
    }
}

/// The stored parts of a body, with their bytes.
struct BodyParts: Sendable {
    let stored: StoredRanges
    /// One piece for each of `stored.ranges`, in the same order.
    private let pieces: [Piece]

    private struct Piece: Sendable {
        let range: Range<Int>
        let bytes: [UInt8]
    }

    /// Makes the parts from a 206 response; nil if it does not say which part it contains.
    init?(partial fields: HTTPFields, bytes: [UInt8]) {
        guard let stored = StoredRanges(partial: fields, byteCount: bytes.count) else { return nil }
        self.init(stored: stored, pieces: stored.ranges.map { Piece(range: $0, bytes: bytes) })
    }

    private init(stored: StoredRanges, pieces: [Piece]) {
        self.stored = stored
        self.pieces = pieces
    }

    var byteCount: Int { pieces.reduce(0) { $0 + $1.bytes.count } }

    /// The whole body; nil if parts are missing. A complete body has one piece, or none if it is empty.
    var whole: [UInt8]? {
        guard stored.isComplete else { return nil }
        return pieces.first?.bytes ?? []
    }

    /// The parts of both; nil if they may be of different versions.
    func merging(_ newer: BodyParts) -> BodyParts? {
        guard let stored = stored.merging(newer.stored) else { return nil }
        // `stored.merging` has checked that both have the same strong validator, so overlapping bytes are equal.
        let all = pieces + newer.pieces
        let joined = stored.ranges.map { range in
            var bytes = [UInt8](repeating: 0, count: range.count)
            for piece in all where range.overlaps(piece.range) {
                let start = piece.range.lowerBound - range.lowerBound
                bytes.replaceSubrange(start..<start + piece.range.count, with: piece.bytes)
            }
            return Piece(range: range, bytes: bytes)
        }
        return BodyParts(stored: stored, pieces: joined)
    }

    /// The part for a request with one range; nil if it is not completely stored.
    func part(_ wanted: ByteRanges) -> (range: ContentRange, bytes: [UInt8])? {
        guard let total = stored.total, stored.contains(wanted) else { return nil }
        let ranges = wanted.resolved(in: total)
        guard ranges.count == 1, let range = ranges.first,
            let piece = pieces.first(where: {
                $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound
            })
        else { return nil }
        let start = range.lowerBound - piece.range.lowerBound
        return (ContentRange(range: range, total: total), Array(piece.bytes[start..<start + range.count]))
    }
}
