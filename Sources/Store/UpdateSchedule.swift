package import Database
internal import Web

/// The interval at which a site is updated automatically. It is stored with the site; prefetches and updates
/// do not change it.
public struct UpdateSchedule: Sendable, Equatable {
    /// The interval in seconds.
    public let seconds: Int64

    /// Every hour.
    public static let hourly = UpdateSchedule(seconds: 3600)
    /// Every day.
    public static let daily = UpdateSchedule(seconds: 86_400)
    /// Every week.
    public static let weekly = UpdateSchedule(seconds: 7 * 86_400)

    private init(seconds: Int64) { self.seconds = seconds }

    /// The allowed intervals, in seconds.
    package static let range: ClosedRange<Int64> = 600...366 * 86_400

    /// Parses `hourly`, `daily`, `weekly`, or an interval such as `6h`, optionally after `every`. Returns nil
    /// for any other text, and for intervals under ten minutes or over 366 days.
    public init?(_ text: String) {
        let words = text.utf8.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self).lowercased() }
        switch words.first == "every" ? Array(words.dropFirst()) : words {
        case ["hourly"], ["hour"]: self = .hourly
        case ["daily"], ["day"]: self = .daily
        case ["weekly"], ["week"]: self = .weekly
        case let words where words.count == 1:
            guard let last = words[0].utf8.last, let unit = Self.units.first(where: { $0.letter == last }),
                words[0].utf8.first.map({ (0x31...0x39).contains($0) }) == true,
                let number = Int64(words[0].dropLast()), number <= Self.range.upperBound,
                Self.range.contains(number * unit.seconds)
            else { return nil }
            seconds = number * unit.seconds
        default: return nil
        }
    }

    private static let units: [(letter: UInt8, seconds: Int64)] = [
        (UInt8(ascii: "w"), 7 * 86_400), (UInt8(ascii: "d"), 86_400), (UInt8(ascii: "h"), 3600),
        (UInt8(ascii: "m"), 60), (UInt8(ascii: "s"), 1),
    ]

    /// A text that `init(_:)` parses, such as `daily` or `6h`.
    public var text: String {
        switch self {
        case .hourly: return "hourly"
        case .daily: return "daily"
        case .weekly: return "weekly"
        default:
            let unit = Self.units.first { seconds % $0.seconds == 0 } ?? (UInt8(ascii: "s"), 1)
            return "\(seconds / unit.seconds)\(Character(UnicodeScalar(unit.letter)))"
        }
    }

    // MARK: - In the settings of a site

    /// Reads the schedule from the settings of a site. Returns nil if there is none.
    package init?(settings: String) {
        guard let json = try? JSONValue.parse(settings.utf8.span), let text = json["schedule"]?.string,
            let schedule = UpdateSchedule(text)
        else { return nil }
        self = schedule
    }

    /// Returns the settings of a site with another schedule, or without one.
    ///
    /// - Parameter settings: the settings, whose own schedule is removed.
    package static func settings(_ settings: String, with schedule: UpdateSchedule?) -> String {
        let text = settings.isEmpty ? "{}" : settings
        guard let members = (try? JSONValue.parse(text.utf8.span))?.members else { return settings }
        let bytes = Array(text.utf8)
        // The other members keep their text.
        var parts = members.filter { $0.key != "schedule" }.map {
            String(decoding: bytes[$0.keyOffset..<$0.value.range.upperBound], as: UTF8.self)
        }
        guard schedule != nil || parts.count < members.count else { return settings }
        if let schedule { parts.append("\"schedule\":\"\(schedule.text)\"") }
        return "{\(parts.joined(separator: ","))}"
    }

    // MARK: - When

    /// Returns the time of a site's next update, in seconds since 1970. It differs from the interval by a
    /// random amount that depends only on the site and the last update, so that sites are not all due at
    /// once, and all processes compute the same time. A failed update is repeated earlier, with a delay that
    /// doubles each time.
    ///
    /// - Parameters:
    ///   - ended: when the last complete snapshot began and ended, in seconds since 1970.
    ///   - attempt: the last scheduled update that was begun.
    package func next(
        of site: String, since ended: (began: Int64, ended: Int64)?, _ attempt: UpdateAttempt?
    ) -> Int64 {
        if let attempt, ended.map({ $0.ended < attempt.at }) ?? true {
            let wait = min(seconds, Self.firstRetrySeconds << Int64(min(max(attempt.count - 1, 0), 20)))
            return attempt.at + wait + Self.jitter(site, attempt.at, wait / 10)
        }
        guard let ended else { return 0 }
        return ended.began + seconds + Self.jitter(site, ended.began, min(seconds / 20, 900))
    }

    /// The delay after the first failed update.
    private static let firstRetrySeconds: Int64 = 600

    /// Returns a value from `-maxJitter` to `maxJitter` that depends only on the site and the time (FNV-1a).
    private static func jitter(_ site: String, _ time: Int64, _ maxJitter: Int64) -> Int64 {
        guard maxJitter > 0 else { return 0 }
        let hash = "\(site) \(time)".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return Int64(hash % UInt64(2 * maxJitter + 1)) - maxJitter
    }
}

/// A scheduled update that was begun.
package struct UpdateAttempt: Sendable, Equatable {
    /// The time at which it began, in seconds since 1970.
    package let at: Int64
    /// The number of attempts since the last one that finished, including this one.
    package let count: Int64

    package init(at: Int64, count: Int64) { (self.at, self.count) = (at, count) }
}

extension Site {
    package var schedule: UpdateSchedule? { UpdateSchedule(settings: settings) }

    /// Returns the time of the next scheduled update, in seconds since 1970, or nil if the site has no
    /// schedule.
    package func nextUpdate(after attempt: UpdateAttempt?) -> Int64? {
        schedule?.next(of: name, since: lastComplete, attempt)
    }

    private var lastComplete: (began: Int64, ended: Int64)? {
        snapshots.last { $0.finished != nil && $0.base == nil }.flatMap { snapshot in
            snapshot.finished.map { finished in
                guard let confirmed = confirmationDate(of: snapshot) else {
                    return (snapshot.started, finished)
                }
                return (max(confirmed, snapshot.started), max(confirmed, finished))
            }
        }
    }

    /// Returns the number of consecutive scheduled updates that did not finish.
    package func failedUpdateCount(_ attempt: UpdateAttempt?) -> Int {
        guard let attempt, lastComplete.map({ $0.ended < attempt.at }) ?? true else { return 0 }
        return Int(clamping: attempt.count)
    }
}

extension StoreWriter {
    /// Stores the update schedule of a site. Nil removes it.
    package func storeSchedule(_ schedule: UpdateSchedule?, ofSite name: String) throws(StoreError) {
        try replaceSettings(where: "name = ?", .text(name)) {
            UpdateSchedule.settings($0, with: schedule)
        }
    }
}

// MARK: - Attempts

/// Records of scheduled updates, so that only one of several servers runs each.
extension ActivityDatabase {
    static let attemptTable = """
        CREATE TABLE IF NOT EXISTS attempt (site TEXT PRIMARY KEY, at INTEGER NOT NULL, count INTEGER NOT NULL) STRICT,
            WITHOUT ROWID;

        """

    private static let postgreSQLAttemptTable = """
        CREATE TABLE IF NOT EXISTS attempt (site text COLLATE "C" PRIMARY KEY, at bigint NOT NULL, count bigint NOT NULL);
        """
    /// The key of the advisory lock for creating the table.
    private static let tableCreationLock: Int64 = 0x4000_0000_0000_0200

    /// Returns the last scheduled update of each site, or nothing if the records cannot be read.
    package static func attempts(_ folder: StoreFolder, for sites: [Site]) -> [String: UpdateAttempt] {
        // Few stores have schedules. A user without write permission gets none of the records.
        guard sites.contains(where: { $0.schedule != nil }) else { return [:] }
        do throws(StoreError) { return try openIfExists(folder)?.attempts() ?? [:] } catch { return [:] }
    }

    /// Returns the last scheduled update of each site.
    package func attempts() throws(StoreError) -> [String: UpdateAttempt] {
        guard try hasAttempts else { return [:] }
        var attempts: [String: UpdateAttempt] = [:]
        try connection.prepare("SELECT site, at, count FROM attempt").each {
            attempts[$0.text(0)] = UpdateAttempt(at: $0.integer(1), count: $0.integer(2))
        }
        return attempts
    }

    private var hasAttempts: Bool {
        get throws(StoreError) { try connection.hasTable("attempt") }
    }

    /// Records that an update begins. Returns false if another process has begun one since.
    ///
    /// - Parameter known: the last update that the caller knows of.
    package func begin(
        _ attempt: UpdateAttempt, of site: String, after known: UpdateAttempt?
    ) throws(StoreError) -> Bool {
        try connection.createTable(
            "attempt", sqlite: Self.attemptTable, postgreSQL: Self.postgreSQLAttemptTable,
            lock: Self.tableCreationLock)
        let add = try connection.prepare(
            """
            INSERT INTO attempt (site, at, count) VALUES (?, ?, ?)
            ON CONFLICT (site) DO UPDATE SET at = excluded.at, count = excluded.count WHERE attempt.at = ?
            RETURNING at
            """)
        var isBegun = false
        try withTransaction { () throws(StoreError) in
            isBegun =
                try add.first(
                    .text(site), .integer(attempt.at), .integer(attempt.count), .integer(known?.at ?? -1)
                ) { _ in true } ?? false
        }
        return isBegun
    }
}
