package import Web

/// The rules for the snapshots of a site that stay when a garbage collection removes the others. A snapshot stays if at
/// least one rule keeps it; the live snapshot always stays. As in restic, days and weeks without a snapshot do not count.
/// Without rules, all snapshots stay. A rule with a negative value keeps nothing.
public struct KeepRules: Sendable, Equatable {
    /// The number of the newest snapshots that stay. The live snapshot counts if it is one of them, and stays in addition if
    /// it is not. With 0, only the live snapshot stays.
    public var last: Int?
    /// The number of days. For each of the last days that have a snapshot, the newest snapshot of the day stays.
    public var daily: Int?
    /// The number of weeks. For each of the last weeks that have a snapshot, the newest snapshot of the week stays. Weeks
    /// begin on Monday.
    public var weekly: Int?
    /// The age in seconds up to which all snapshots stay. It is counted from the beginning of the snapshot, or from the last
    /// update that found it unchanged.
    public var seconds: Int64?

    /// Creates rules that keep all snapshots.
    public init(last: Int? = nil, daily: Int? = nil, weekly: Int? = nil, seconds: Int64? = nil) {
        (self.last, self.daily, self.weekly, self.seconds) = (last, daily, weekly, seconds)
    }

    /// Whether there is no rule, so that all snapshots stay.
    public var isEmpty: Bool { self == KeepRules() }

    /// Returns the duration that a text such as `12h`, `30d`, `8w` or `1y` names, in seconds; nil for any other text.
    public static func seconds(of text: String) -> Int64? {
        // A year has 366 days, so that it is never shorter than a calendar year.
        let units: [(letter: UInt8, seconds: Int64)] = [
            (UInt8(ascii: "h"), 3600), (UInt8(ascii: "d"), 86_400), (UInt8(ascii: "w"), 7 * 86_400),
            (UInt8(ascii: "y"), 366 * 86_400),
        ]
        guard let letter = text.utf8.last, let unit = units.first(where: { $0.letter == letter }),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == letter }),
            let count = Int64(text.dropLast()), (1...1_000_000).contains(count)
        else { return nil }
        return count * unit.seconds
    }

    /// A finished snapshot that was not rejected and is not an overlay.
    struct Candidate: Equatable {
        let id: Int64
        /// When it began, in seconds since 1970.
        let began: Int64
        /// When an update last found it unchanged; nil if none did.
        var confirmed: Int64?
        var isLive = false
    }

    /// Returns the ids of the snapshots that stay.
    ///
    /// - Parameters:
    ///   - candidates: the finished snapshots of a site, the oldest first.
    ///   - utcOffset: the difference between local time and UTC in seconds, by which days begin.
    func snapshotsToKeep(of candidates: [Candidate], now: Int64, utcOffset: Int64) -> Set<Int64> {
        if isEmpty { return Set(candidates.map(\.id)) }
        var kept = Set(candidates.filter(\.isLive).map(\.id))
        if let last { kept.formUnion(candidates.suffix(max(last, 0)).map(\.id)) }
        if let seconds, seconds >= 0 {
            kept.formUnion(
                candidates.filter { max($0.began, $0.confirmed ?? $0.began) >= now - seconds }.map(\.id))
        }
        // By the beginning and not the last confirmation: a snapshot that is confirmed for months is the content of all that
        // time, but would count only for its last day.
        func day(_ candidate: Candidate) -> Int64 { Self.floor(candidate.began + utcOffset, 86_400) }
        if let daily { kept.formUnion(Self.newest(daily, candidates, by: day)) }
        // 1 January 1970 was a Thursday.
        if let weekly { kept.formUnion(Self.newest(weekly, candidates) { Self.floor(day($0) + 3, 7) }) }
        return kept
    }

    /// The newest candidate of each of the last `count` periods.
    private static func newest(
        _ count: Int, _ candidates: [Candidate], by period: (Candidate) -> Int64
    ) -> [Int64] {
        var newest: [Int64] = []
        var last: Int64?
        for candidate in candidates.reversed() where period(candidate) != last {
            guard newest.count < count else { break }
            last = period(candidate)
            newest.append(candidate.id)
        }
        return newest
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }
}

extension KeepRules: JSONObject {
    package var members: JSONMembers {
        [
            "last": IfAny(last), "daily": IfAny(daily), "weekly": IfAny(weekly),
            "seconds": IfAny(seconds),
        ]
    }

    /// Reads rules from the settings of a site.
    package init(_ json: JSONValue) {
        self.init(
            last: json["last"]?.int, daily: json["daily"]?.int, weekly: json["weekly"]?.int,
            seconds: json["seconds"]?.int.map { Int64($0) })
    }

    /// The rules in the settings of a site.
    package init(of site: Site) {
        let json = try? JSONValue.parse(site.settings.utf8.span)["keep"]
        self = json.map { KeepRules($0) } ?? KeepRules()
    }
}
