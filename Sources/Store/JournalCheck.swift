internal import Database
internal import Glibc

/// The result of comparing the database with the journal. The journal has checksums, and the database can be
/// rebuilt from it.
///
/// If both differ, `isDatabaseDamaged` decides which one to trust: a row that the journal has with other values
/// is damaged in the database, because the checksum of the line is correct. A row that the journal does not have
/// counts as damaged only if no line of the journal is.
struct JournalCheck: Equatable {
    /// The number of responses and bodies that are not in the journal. They would be lost with the database.
    var missingCount = 0
    /// The number of responses and bodies that differ between journal and database.
    var conflictCount = 0
    /// The URLs of the first conflicting responses.
    var conflictingHrefs: [String] = []
    /// Whether sites, snapshots or live snapshots are missing from the journal.
    var isStateMissing = false
    /// The number of lines with a wrong checksum or that a killed run left incomplete.
    var damagedLines = 0

    /// Whether rows of the database are damaged and the journal still has the correct ones.
    var isDatabaseDamaged: Bool { conflictCount > 0 || missingCount > 0 && damagedLines == 0 && hasLines }

    /// Whether the database could be rebuilt from the journal.
    var isSound: Bool { missingCount == 0 && conflictCount == 0 && !isStateMissing }

    /// Whether the journal has any lines.
    var hasLines = false
}

/// Hashes of the lines of the journal, to find rows in it. For millions of lines, they take tens of
/// megabytes.
private struct JournalHashes {
    /// Hashes of the members that identify a response or body.
    private var keys: Set<UInt64> = []
    /// Hashes of these members together with all others that never change.
    private var contents: Set<UInt64> = []

    /// Returns the FNV-1a hash of the parts. A null byte ends each part, and 1 stands for nil, so that different
    /// lists of parts give different input.
    private static func hash(_ parts: [String?]) -> UInt64 {
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        func combine(_ byte: UInt8) { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        for part in parts {
            for byte in (part ?? "\u{1}").utf8 { combine(byte) }
            combine(0)
        }
        return sum
    }

    /// The key of a response, and the members that a change would corrupt. The members that a confirmation
    /// changes, such as the time, are in neither.
    private static func parts(_ line: JournalLine.Response) -> (key: [String?], content: [String?]) {
        (
            ["response", line.href, "\(line.snapshot)", line.request, line.variant],
            ["\(line.status)", line.type, line.fields, line.sha256, line.form]
        )
    }

    private static func parts(_ line: JournalLine.Body) -> (key: [String?], content: [String?]) {
        let place = line.place.map { "\($0.pack) \($0.start) \($0.frame ?? 0)" }
        return (["body", line.sha256, line.form], ["\(line.byteCount)", place])
    }

    mutating func add(_ line: JournalLine.Response) { insert(Self.parts(line)) }
    mutating func add(_ line: JournalLine.Body) { insert(Self.parts(line)) }

    private mutating func insert(_ parts: (key: [String?], content: [String?])) {
        keys.insert(Self.hash(parts.key))
        contents.insert(Self.hash(parts.key + parts.content))
    }

    /// The result of looking up a row: the journal has the same row, one with the same key and other values, or
    /// none with the key.
    enum Finding {
        case same
        case conflicting
        case missing
    }

    /// Looks up a response.
    ///
    /// - Parameter canChange: whether a later snapshot confirmed the response, whose headers it then has.
    func compare(_ line: JournalLine.Response, canChange: Bool) -> Finding {
        compare(Self.parts(line), canChange: canChange)
    }

    /// Looks up a body.
    func compare(_ line: JournalLine.Body) -> Finding { compare(Self.parts(line), canChange: false) }

    private func compare(_ parts: (key: [String?], content: [String?]), canChange: Bool) -> Finding {
        if contents.contains(Self.hash(parts.key + parts.content)) { return .same }
        guard keys.contains(Self.hash(parts.key)) else { return .missing }
        return canChange ? .same : .conflicting
    }
}

extension StoreReader {
    /// Compares all responses and bodies with the journal. Reads both completely.
    func checkJournal() throws(StoreError) -> JournalCheck {
        var check = JournalCheck()
        // The next writer rewrites such a journal.
        guard folder.server == nil, !folder.isJournalStale else { return check }
        var hashes = JournalHashes()
        var last: JournalLine.StoreState?
        for file in folder.journalFiles {
            check.damagedLines += try Journal.eachLine(of: file) { json in
                check.hasLines = true
                switch JournalLine(json) {
                case .response(let line): hashes.add(line)
                case .body(let line): hashes.add(line)
                case .state(let state): if state.time >= last?.time ?? 0 { last = state }
                case .confirmation, nil: break
                }
            }
        }
        let state = try journalState()
        // A run that was killed at its end may have published a snapshot that is not yet live in the journal.
        check.isStateMissing =
            !state.sites.isEmpty
            && last.map {
                check.damagedLines > 0 && !Self.isSame($0, state) || !Self.hasAllSnapshots($0, state)
            }
                ?? true
        try eachJournalBody { line in
            switch hashes.compare(line) {
            case .same: break
            case .missing: check.missingCount += 1
            case .conflicting: check.conflictCount += 1
            }
        }
        try eachJournalResponse { line in
            switch hashes.compare(line, canChange: line.confirmed > 0) {
            case .same: break
            case .missing: check.missingCount += 1
            case .conflicting:
                check.conflictCount += 1
                if check.conflictingHrefs.count < Self.maxConflicts {
                    check.conflictingHrefs.append(line.href)
                }
            }
        }
        return check
    }

    /// The maximum number of URLs in `conflictingHrefs`. Further conflicts are only counted.
    private static let maxConflicts = 20

    /// Whether the journal contains all snapshots.
    private static func hasAllSnapshots(_ journal: JournalLine.StoreState, _ state: JournalLine.StoreState)
        -> Bool
    {
        Set(journal.snapshots.map(\.id)).isSuperset(of: state.snapshots.map(\.id))
    }

    /// Whether the journal has the same sites with the same live snapshots, and all snapshots.
    private static func isSame(_ journal: JournalLine.StoreState, _ state: JournalLine.StoreState) -> Bool {
        journal.sites.map { "\($0.id) \($0.name) \($0.published ?? 0) \($0.overlay ?? 0)" }
            == state.sites.map { "\($0.id) \($0.name) \($0.published ?? 0) \($0.overlay ?? 0)" }
            && hasAllSnapshots(journal, state)
    }
}
