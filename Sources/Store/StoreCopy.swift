internal import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

package struct StoreCopyResult: Sendable, Equatable {
    /// The numbers of sites, snapshots, URLs, responses and bodies in the destination.
    package var sites = 0
    package var snapshots = 0
    package var addresses = 0
    package var responses = 0
    package var bodies = 0
    /// The bodies that this run copied. Others were copied by an earlier run that was interrupted.
    package var copiedBodies = 0
    package var copiedBytes: Int64 = 0
    /// The bodies that are missing or do not match their digests. Their responses are left out, so that the
    /// next prefetch fetches them.
    package var damaged: [DamagedBody] = []
    /// The number of responses that were left out because their body is damaged.
    package var leftOutResponses = 0
    /// The number of bodies that were read back from the destination and are intact.
    package var verifiedBodies = 0
    /// The bodies that were read back and are missing or do not match their digests.
    package var mismatched: [DamagedBody] = []
    /// Whether the run continued an interrupted copy.
    package var isContinued = false

    /// Whether everything in the source is in the destination.
    package var isWhole: Bool { damaged.isEmpty && mismatched.isEmpty }
}

/// Copies a store to a folder or a PostgreSQL server, with the same ids. An interrupted copy can be
/// repeated: rows in the destination are compared with those of the source, and copied again if they differ.
///
/// The source is read in one state, even if other processes write to it. No other process can write to the
/// destination before the copy is complete. Readers see nothing before that, because the sites are copied
/// last.
///
/// Tables are copied in ranges of about 512 ids. If the destination already has rows, a first pass removes those
/// that the source does not have in exactly that form, and a second pass adds the missing ones. Example: an
/// update changed the response of URL 7 after the interruption. The first pass removes the old row, the second
/// one adds the new row, and all other rows stay.
package final class StoreCopy {
    private let source: StoreReader
    private let target: CopyTarget
    private let progress: (StoreCopyResult) -> Void
    private var result = StoreCopyResult()
    /// The ids of damaged bodies, which are left out.
    private var damaged: Set<Int64> = []

    /// Copies a store.
    ///
    /// - Parameters:
    ///   - verify: whether to read back all bodies in the end.
    ///   - progress: receives the counts now and then.
    package static func run(
        from: StoreFolder, to: StoreFolder, verify: Bool = false,
        progress: @escaping (StoreCopyResult) -> Void = { _ in }
    ) throws(StoreError) -> StoreCopyResult {
        guard CopyMark(of: from) != CopyMark(of: to) else {
            throw StoreError(
                .request, doing: "copy", path: from.name, detail: "the destination is the same store",
                advice: "name another folder, or another schema")
        }
        try checkDestination(to, for: from)
        let source = try StoreReader(from)
        let copy = StoreCopy(source, try CopyTarget(to, of: from), progress)
        try copy.target.withExclusiveAccess { () throws(StoreError) in
            try source.inReadTransaction { () throws(StoreError) in try copy.run(from, to, verify: verify) }
        }
        // The hashes in the copy need the same key. A store without a key has no hashes.
        if let key = from.secretKey { _ = try to.storeSecretKeyIfMissing(key) }
        // The first writer to a folder creates its journal, and hashes the secrets that an earlier version
        // stored.
        if to.server == nil { _ = try StoreWriter(to) }
        return copy.result
    }

    /// Throws if the destination is a folder with other content, or is inside of the source.
    private static func checkDestination(_ to: StoreFolder, for from: StoreFolder) throws(StoreError) {
        guard to.server == nil else { return }
        let ownNames = ["bodies", "incoming", "journal", "larder.lock", "packs", "secret-key"]
        let others = StoreFolder.names(in: to.path).filter { !ownNames.contains($0) }
        var parent = to.path
        while access(parent, F_OK) != 0, let slash = parent.lastIndex(of: "/") {
            parent = slash == parent.startIndex ? "/" : String(parent[..<slash])
        }
        let isWithin =
            from.server == nil && access(parent, F_OK) == 0
            && (Folder.resolved(parent) + "/").hasPrefix(Folder.resolved(from.path) + "/")
        guard isWithin || !others.isEmpty && access(to.database, F_OK) != 0 else { return }
        throw StoreError(
            .request, doing: "copy to", path: to.path,
            detail: isWithin
                ? "it is inside the store to copy"
                : "\(others[0]) is in it, which does not belong to a store",
            advice: "name a folder that is empty or does not exist")
    }

    private init(
        _ source: StoreReader, _ target: CopyTarget, _ progress: @escaping (StoreCopyResult) -> Void
    ) {
        self.source = source
        self.target = target
        self.progress = progress
    }

    private func run(_ from: StoreFolder, _ to: StoreFolder, verify: Bool) throws(StoreError) {
        result.isContinued = try target.begin()
        try copyRows(of: .url)
        try copyBodies()
        try copyRows(of: .response)
        try copyRows(of: .link)
        try copyActivity(from, to)
        if verify { try readBack(to) }
        // One transaction, after which readers of the destination see everything.
        try target.transaction { () throws(StoreError) in
            try copyRows(of: .pin)
            try copyRows(of: .snapshot)
            try copyRows(of: .site)
            try target.setNextIDs(lastSnapshot: try source.lastSnapshot())
        }
        try target.removeMark()
        try checkCounts()
    }

    /// Sets the counts of the result. Throws if the destination has another number of rows, unless rows of
    /// damaged bodies were left out.
    private func checkCounts() throws(StoreError) {
        for table in [CopyTable.url, .response, .link, .pin, .snapshot, .site] {
            let (here, there) = (try source.count(table.name), try target.count(table.name))
            let leftOut = table.name == "response" || table.name == "link" ? here - there : 0
            guard here == there || (!damaged.isEmpty && leftOut > 0) else {
                throw StoreError(
                    .failed, doing: "copy", path: source.folder.name,
                    detail: "\(there) of \(here) rows of \(table.name) were copied",
                    advice: "check it with larder fsck, then copy it to another place")
            }
            if table.name == "response" { result.leftOutResponses = Int(leftOut) }
        }
        result.sites = Int(try target.count("site"))
        result.snapshots = Int(try target.count("snapshot"))
        result.addresses = Int(try target.count("url"))
        result.responses = Int(try target.count("response"))
        result.bodies = Int(try target.count("body"))
    }

    // MARK: Rows

    /// Copies the rows of a table. Rows that differ are removed first, because they may conflict with new
    /// ones.
    private func copyRows(of table: CopyTable) throws(StoreError) {
        let hasSome = try target.count(table.name) > 0
        for isClearing in hasSome ? [true, false] : [false] {
            try eachRange(of: table) { range throws(StoreError) in
                var rows = try source.rows(of: table, in: range)
                if let column = table.body {
                    rows.removeAll { row in
                        if case .integer(let body) = row[column] { damaged.contains(body) } else { false }
                    }
                }
                let existing = hasSome ? try target.rows(of: table, in: range) : []
                if isClearing {
                    let wanted = Set(rows)
                    for row in existing where !wanted.contains(row) { try target.removeRow(row, of: table) }
                } else {
                    let known = Set(existing)
                    let missing = known.isEmpty ? rows : rows.filter { !known.contains($0) }
                    try target.add(missing, to: table)
                }
                try target.commitIfDue()
            }
            if isClearing { try target.removeRows(of: table, after: try source.last(of: table)) }
        }
        try target.commit()
    }

    /// Calls `body` with ranges of numbers that contain about 512 rows each.
    private func eachRange(
        of table: CopyTable, _ body: (ClosedRange<Int64>) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let key = table.numbers else { return try body(0...0) }
        let next = try source.prepare(
            """
            SELECT max(n) FROM (
                SELECT \(key) AS n FROM \(table.name) WHERE \(key) > ? ORDER BY \(key) LIMIT 512) AS few
            """)
        var last: Int64 = -1
        while let end = try next.first(.integer(last), read: { $0.optionalInteger(0) }) {
            try body((last + 1)...end)
            last = end
        }
    }

    // MARK: Bodies

    /// Copies all bodies, after removing those in the destination that differ.
    private func copyBodies() throws(StoreError) {
        let hasSome = try target.count("body") > 0
        if hasSome {
            try eachRange(of: .body) { range throws(StoreError) in
                let wanted = Set(try source.rows(of: .body, in: range))
                for row in try target.rows(of: .body, in: range) where !wanted.contains(row) {
                    try target.removeBody(row)
                }
                try target.commitIfDue()
            }
            try target.removeBodies(after: try source.last(of: .body))
            try target.commit()
        }
        let sizes = try source.prepare("SELECT id, size FROM body WHERE id > ? ORDER BY id LIMIT 512")
        var last: Int64 = -1
        while true {
            var (end, byteCount) = (last, Int64(0))
            try sizes.each(.integer(last)) { row in
                // This limits the memory use. Large bodies are copied in pieces.
                guard byteCount < Self.maxBytesInMemory else { return }
                end = row.integer(0)
                byteCount += min(row.integer(1), Int64(Limits.maxPackedBodyBytes))
            }
            guard end > last else { break }
            try copyBodies(in: (last + 1)...end, hasSome)
            last = end
        }
        try target.commit()
    }

    /// The maximum size of the bodies that are in memory at once. The rest is copied in later steps.
    private static let maxBytesInMemory: Int64 = 8 * 1024 * 1024

    /// Copies the bodies in a range of ids that the destination does not have.
    private func copyBodies(in range: ClosedRange<Int64>, _ hasSome: Bool) throws(StoreError) {
        var known: Set<Int64> = []
        if hasSome {
            for case .integer(let id) in try target.rows(of: .body, in: range).map({ $0[0] }) {
                known.insert(id)
            }
        }
        var rows: [CopiedBody] = []
        try source.prepare(
            """
            SELECT \(StoredBody.columns), content.links, iif(body.pack IS NULL, content.bytes, NULL)
            FROM body LEFT JOIN content ON content.body = body.id WHERE body.id BETWEEN ? AND ? ORDER BY body.id
            """
        ).each(.integer(range.lowerBound), .integer(range.upperBound)) { row in
            guard let body = StoredBody(row, from: 0), !known.contains(body.id) else { return }
            rows.append(CopiedBody(body: body, links: row.blob(6), bytes: row.optionalBlob(7)))
        }
        var intact: [CopiedBody] = []
        for var row in rows {
            if let fault = try load(&row) {
                damaged.insert(row.body.id)
                result.damaged.append(
                    DamagedBody(
                        id: row.body.id, sha256: Hex.encode(row.body.sha256), fault: fault,
                        hrefs: try source.hrefs(ofBody: row.body)))
            } else {
                intact.append(row)
                result.copiedBodies += 1
                result.copiedBytes += Int64(row.body.byteCount)
            }
        }
        try target.addBodies(intact)
        progress(result)
        try target.commitIfDue()
    }

    /// Loads the bytes of a body and compares them with its digest. Bytes of a large body stay in a file.
    /// Returns a description of the damage, or nil if the body is intact.
    private func load(_ row: inout CopiedBody) throws(StoreError) -> String? {
        let content: BodyContent?
        if let bytes = row.bytes {
            content = .bytes(bytes)
        } else {
            content = try source.bodies.contentOfAnyLength(of: row.body, bypassesLocalCopy: true)
        }
        guard let content else { return "its bytes are gone" }
        let measured: (sha256: Digest, byteCount: Int)
        do throws(StoreError) {
            measured = try content.measure()
        } catch {
            return error.detail
        }
        guard measured.byteCount == row.body.byteCount else {
            return "\(measured.byteCount) bytes instead of \(row.body.byteCount)"
        }
        guard measured.sha256.bytes == row.body.sha256 else { return "its bytes have changed" }
        if case .bytes(let bytes) = content {
            row.bytes = bytes
            if target.canStoreFrames, bytes.count >= Limits.minCompressedBodyBytes {
                row.frame = try source.bodies.frame(of: row.body)
            }
        } else if measured.byteCount <= Limits.maxPackedBodyBytes {
            row.bytes = try content.load()
        } else {
            row.bytes = nil
            row.file = content
        }
        return nil
    }

    /// Reads each body from the destination and compares it with its digest.
    private func readBack(_ to: StoreFolder) throws(StoreError) {
        let reader = try StoreReader(to, isCopying: true)
        var last: Int64 = -1
        while true {
            var bodies: [StoredBody] = []
            try reader.prepare("SELECT \(StoredBody.columns) FROM body WHERE id > ? ORDER BY id LIMIT 512")
                .each(.integer(last)) { row in
                    if let body = StoredBody(row, from: 0) { bodies.append(body) }
                }
            guard let end = bodies.last else { return }
            for body in bodies {
                if let fault = try reader.fault(of: body, expecting: Digest(.sha256, bytes: body.sha256)) {
                    result.mismatched.append(
                        DamagedBody(
                            id: body.id, sha256: Hex.encode(body.sha256), fault: fault,
                            hrefs: try source.hrefs(ofBody: body)))
                } else {
                    result.verifiedBodies += 1
                }
            }
            progress(result)
            last = end.id
        }
    }

    // MARK: Activity

    /// Replaces the activity database of the destination: recorded uses and misses. It is not copied if this user
    /// may not read it, because it can be private. Replaces the channels of apps, too.
    private func copyActivity(_ from: StoreFolder, _ to: StoreFolder) throws(StoreError) {
        let activity: ActivityDatabase?
        do throws(StoreError) {
            activity = try ActivityDatabase.openIfExists(from)
        } catch  where error.reason == .denied {
            activity = nil
        }
        if let activity { try ActivityDatabase(to).replace(by: activity) }
        if let channels = try ChannelDatabase.openIfExists(from) {
            try ChannelDatabase(to).replace(by: channels)
        }
    }
}

/// A body that is being copied. Bytes up to `Limits.maxPackedBodyBytes`, and those of a compressed body, are in
/// memory; larger bodies are in a file.
struct CopiedBody {
    let body: StoredBody
    let links: [UInt8]
    var bytes: [UInt8]?
    var file: BodyContent?
    /// The compressed body of the source, if the destination can store it as it is.
    var frame: [UInt8]?
}

// MARK: - CopyTable

/// A table whose rows are copied unchanged.
struct CopyTable: Sendable {
    enum Kind: Sendable {
        case integer, text, blob
    }

    let name: String
    let columns: [(name: String, kind: Kind)]
    /// The number of leading columns that form the key.
    let keyCount: Int
    /// The numeric column by which rows are read in ranges, or nil for a table with few rows.
    var numbers: String?
    /// The index of the column with the number of a body.
    var body: Int?
    /// The FROM clause, if it is not only the table.
    var from: String?

    static let url = CopyTable(
        name: "url", columns: [("id", .integer), ("href", .text)], keyCount: 1, numbers: "id")
    static let response = CopyTable(
        name: "response",
        columns: [
            ("url", .integer), ("snapshot", .integer), ("request", .text), ("variant", .text),
            ("status", .integer), ("role", .integer), ("flags", .integer), ("requested", .integer),
            ("fetched", .integer), ("type", .text), ("referrer", .integer), ("body", .integer),
            ("fields", .text), ("confirmed", .integer),
        ], keyCount: 4, numbers: "url", body: 11)
    static let link = CopyTable(
        name: "link",
        columns: [
            ("url", .integer), ("body", .integer), ("pages", .text), ("assets", .text),
            ("guesses", .text),
        ], keyCount: 2, numbers: "url", body: 1)
    static let pin = CopyTable(
        name: "pin", columns: [("kind", .text), ("value", .text), ("added", .integer)], keyCount: 2)
    static let snapshot = CopyTable(
        name: "snapshot",
        columns: [
            ("id", .integer), ("site", .integer), ("started", .integer), ("finished", .integer),
            ("base", .integer), ("confirmed", .integer), ("archive", .text), ("number", .integer),
        ], keyCount: 1, numbers: "id")
    static let site = CopyTable(
        name: "site",
        columns: [
            ("id", .integer), ("name", .text), ("start", .text), ("published", .integer),
            ("settings", .text), ("overlay", .integer), ("snapshots", .integer),
        ], keyCount: 1, numbers: "id")
    /// The columns of bodies that are compared. A new table of links is recognised by its length and first
    /// byte.
    static let body = CopyTable(
        name: "body",
        columns: [
            ("id", .integer), ("sha256", .blob), ("form", .text), ("size", .integer), ("title", .text),
            ("md5", .blob), ("length(links)", .integer), ("substr(links, 1, 1)", .blob),
        ], keyCount: 1, numbers: "id", from: "body JOIN content ON content.body = body.id")

    var list: String { columns.map(\.name).joined(separator: ", ") }

    var select: String {
        let range = numbers.map { " WHERE \($0) BETWEEN ? AND ?" } ?? ""
        return "SELECT \(list) FROM \(from ?? name)\(range)"
    }

    func row(_ row: Row) -> [CopyValue] {
        columns.indices.map { index in
            let column = Int32(index)
            if row.isNull(column) { return .null }
            return switch columns[index].kind {
            case .integer: .integer(row.integer(column))
            case .text: .text(row.text(column))
            case .blob: .blob(row.blob(column))
            }
        }
    }
}

/// The value of a column, in a form that can be compared.
enum CopyValue: Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    var value: SQLValue {
        switch self {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .text(let text): .text(text)
        case .blob(let blob): .blob(blob)
        }
    }
}

extension StoreReader {
    fileprivate func rows(of table: CopyTable, in range: ClosedRange<Int64>) throws(StoreError)
        -> [[CopyValue]]
    {
        var rows: [[CopyValue]] = []
        let values: [SQLValue] =
            table.numbers == nil ? [] : [.integer(range.lowerBound), .integer(range.upperBound)]
        try prepare(table.select).each(values) { rows.append(table.row($0)) }
        return rows
    }

    fileprivate func count(_ table: String) throws(StoreError) -> Int64 {
        try prepare("SELECT count(*) FROM \(table)").first { $0.integer(0) } ?? 0
    }

    fileprivate func last(of table: CopyTable) throws(StoreError) -> Int64? {
        guard let key = table.numbers else { return nil }
        return try prepare("SELECT coalesce(max(\(key)), -1) FROM \(table.name)").first { $0.integer(0) }
    }

    /// The highest snapshot id that was ever used. It must not be used again.
    fileprivate func lastSnapshot() throws(StoreError) -> Int64 {
        var query = "SELECT max(seq) FROM sqlite_sequence"
        if isPostgreSQL {
            // A user who may read the tables may lack the right to read the sequence.
            let canReadSequence = try prepare("SELECT has_sequence_privilege('snapshot_id_seq', 'SELECT')")
                .first {
                    $0.integer(0) != 0
                }
            query =
                canReadSequence == true
                ? "SELECT last_value FROM snapshot_id_seq" : "SELECT max(id) FROM snapshot"
        }
        return try prepare(query).first { $0.optionalInteger(0) } ?? 0
    }
}
