internal import Check
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Removes what nothing refers to and, with a limit, what goes beyond it: first visits that are not shown, the oldest
    /// first, then what was not served for the longest time. What is pinned stays. The files really become smaller.
    ///
    /// What is evicted is missing then, and fetched at the next prefetch of its site.
    ///
    /// - Parameter progress: told how many bytes are in use, now and then, on a thread of the collection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, somebody else writes to it, or the
    ///   store fails. That the limit could not be reached is no error; it is in the report.
    public func collect(
        limit: ByteSize? = nil, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CollectionReport {
        let folder = folder
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            do throws(StoreError) {
                // A writer would make a larder where there is none.
                let reader = try StoreReader(folder)
                let result = try StoreWriter(folder).collect(limit: limit?.byteCount) {
                    progress?(WorkProgress(.room, done: 0, of: nil, byteCount: $0))
                }
                let everything = try reader.sites().map { Pin(.site, $0.name) }
                let covers = try reader.covers(of: [reader.pins(), everything])
                return CollectionReport(result, limit: limit, pinned: covers[0], held: covers[1])
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// What a collection would take now, by name. It takes nothing: it is tried on a copy of the database, for which there has
    /// to be room in `$TMPDIR`.
    ///
    /// - Throws: As `collect`.
    public func forecastCollection(limit: ByteSize? = nil) async throws(LarderError) -> CollectionForecast {
        let folder = folder
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            let copy = try TemporaryLarder()
            defer { copy.remove() }
            do throws(StoreError) {
                // A writer would make a larder where there is none.
                _ = try StoreReader(folder)
                let forecast = try StoreWriter(folder).rehearseCollection(
                    limit: limit?.byteCount, in: copy.larder.folder)
                let reader = try StoreReader(copy.larder.folder)
                let everything = try reader.sites().map { Pin(.site, $0.name) }
                let covers = try reader.covers(of: [reader.pins(), everything])
                return CollectionForecast(
                    report: CollectionReport(forecast.result, limit: limit, pinned: covers[0], held: covers[1]),
                    visits: forecast.visits.map { CollectionForecast.Visit(site: $0.site, number: $0.id) },
                    urls: forecast.urls)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension CollectionReport {
    fileprivate init(_ result: CollectionResult, limit: ByteSize?, pinned: PinCover, held: PinCover) {
        self.limit = limit
        droppedVisits = result.droppedVisits
        evictedURLs = result.evictedURLs
        removedBodies = result.removedBodies
        byteCountBefore = result.byteCountBefore
        byteCountAfter = result.byteCountAfter
        heldURLs = held.urlCount
        pinnedURLs = pinned.urlCount
        pinnedByteCount = pinned.byteCount
        shrinkFailure = result.shrinkFailure?.description
        let isBeyond = limit.map { result.byteCountAfter > $0.byteCount } ?? false
        obstacle =
            if !isBeyond {
                nil
            } else if result.shrinkFailure != nil {
                .disk
            } else if held.urlCount == 0 {
                .empty
            } else if held.urlCount == pinned.urlCount {
                .pins
            } else {
                .again
            }
    }
}

/// What a collection took away, and what is left.
public struct CollectionReport: Sendable, Equatable {
    /// Nil when there was none.
    public let limit: ByteSize?
    public let droppedVisits: Int
    public let evictedURLs: Int
    public let removedBodies: Int
    /// What database and bodies took on the disk.
    public let byteCountBefore: Int64
    public let byteCountAfter: Int64
    /// Why what it takes now is more than the limit; nil when it is not.
    public let obstacle: Obstacle?
    /// URLs that something is still held of.
    public let heldURLs: Int
    /// What pins keep of what is held.
    public let pinnedURLs: Int
    public let pinnedByteCount: Int64
    /// Why the database file did not become smaller, though it has room.
    public let shrinkFailure: String?

    public enum Obstacle: String, Sendable, CaseIterable {
        /// What is left is pinned, or needed by what is.
        case pins
        /// Nothing is left but the database without a row.
        case empty
        /// The database file did not become smaller.
        case disk
        /// What could go has gone, and its room was not free yet, as when another program reads the larder.
        case again
    }

    /// It is as small as was wanted. Of a larder that was to be emptied the empty database may stay.
    public var isWithinLimit: Bool { obstacle == nil || obstacle == .empty && limit?.byteCount == 0 }

    /// By how much it is beyond the limit; 0 when it is not.
    public var excess: Int64 { obstacle == nil ? 0 : byteCountAfter - (limit?.byteCount ?? byteCountAfter) }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { write(to: &$0) }
        return writer.text
    }

    fileprivate func write(to object: inout JSONWriter) {
        object.member("limit", limit?.byteCount)
        object.member("withinLimit", isWithinLimit)
        object.member("droppedVisits", droppedVisits)
        object.member("evictedURLs", evictedURLs)
        object.member("removedBodies", removedBodies)
        object.member("bytesBefore", byteCountBefore)
        object.member("bytesAfter", byteCountAfter)
        object.member("excess", excess)
        object.memberIfPresent("obstacle", obstacle?.rawValue)
        object.member("heldURLs", heldURLs)
        object.member("pinnedURLs", pinnedURLs)
        object.member("pinnedBytes", pinnedByteCount)
        object.memberIfPresent("shrinkFailure", shrinkFailure)
    }
}

/// What a collection would take, if it were done now.
public struct CollectionForecast: Sendable, Equatable {
    /// As it would be then.
    public let report: CollectionReport
    /// Would be dropped, the oldest first.
    public let visits: [Visit]
    /// Of these nothing would be held any more; by address.
    public let urls: [String]

    public struct Visit: Sendable, Equatable {
        public let site: String
        public let number: Int64
    }

    /// The forecast for programs: that of the collection, and what it would take.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            report.write(to: &object)
            object.member("dryRun", true)
            object.member("visits") { list in
                list.array { array in
                    for visit in visits {
                        array.object { object in
                            object.member("site", visit.site)
                            object.member("visit", visit.number)
                        }
                    }
                }
            }
            object.member("urls", urls)
        }
        return writer.text
    }
}

/// A number of bytes as a person writes it: `500M`, `2G`, `1.5GiB`, `0`.
public struct ByteSize: Sendable, Hashable {
    public let byteCount: Int64

    public init(_ byteCount: Int64) {
        self.byteCount = byteCount
    }

    /// Digits, with a fraction or without, and a unit or none: `k`, `M`, `G` and `T` are powers of 1000, with an `i` behind
    /// them powers of 1024; a `B` may follow; case is nothing. Nil for anything else, and for more than can be counted.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        let digits = bytes.prefix(while: Self.isDigit)
        var rest = bytes[digits.endIndex...]
        var fraction = rest[..<rest.startIndex]
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: Self.isDigit)
            guard !fraction.isEmpty else { return nil }
            rest = rest[fraction.endIndex...]
        }
        guard let unit = Self.unit(rest), let whole = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        let (count, overflow) = whole.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        // A millionth of the largest unit is a megabyte: what is finer tells nothing, and could overflow.
        let part = fraction.prefix(6).reduce((of: Int64(0), in: Int64(1))) { part, digit in
            (part.of * 10 + Int64(digit - UInt8(ascii: "0")), part.in * 10)
        }
        let (sum, isTooMuch) = count.addingReportingOverflow(unit * part.of / part.in)
        guard !isTooMuch else { return nil }
        byteCount = sum
    }

    private static func unit(_ text: ArraySlice<UInt8>) -> Int64? {
        var letters = text.map { $0 | 0x20 }
        if letters.last == UInt8(ascii: "b") { letters.removeLast() }
        let base: Int64 = letters.last == UInt8(ascii: "i") ? 1024 : 1000
        if base == 1024 { letters.removeLast() }
        guard let letter = letters.first else { return base == 1000 ? 1 : nil }
        guard letters.count == 1, let power = Array("kmgt".utf8).firstIndex(of: letter) else { return nil }
        return (0...power).reduce(1) { unit, _ in unit * base }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
