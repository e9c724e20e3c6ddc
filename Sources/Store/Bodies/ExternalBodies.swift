internal import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

/// The larger bodies of a PostgreSQL store whose address names an external storage. They are named by their
/// SHA-256. Bytes are stored once, even if several rows have them with different formats or character sets. An object
/// belongs to one thread.
///
/// Invariant: each row refers to a body that the storage has. Bodies are therefore uploaded before the rows that
/// refer to them are committed, and removed after those rows, both outside of transactions because requests to
/// a bucket take long.
///
/// A row of the database records the location of the storage, and a file `larder` in the storage identifies the
/// store. Thus a storage is never mistaken for that of another store, nor the empty mount point of an unmounted
/// folder for the storage.
final class ExternalBodies {
    let location: BodyStorageLocation
    private let storage: any ExternalBodyStorage
    /// The random text that identifies the store in the storage.
    private let mark: String
    /// Finds the digests that a row of `body` has. Their bytes are probably in the storage.
    private let findKnown: Statement
    /// Finds the digests whose bytes must be in the storage: those of rows without bytes in PostgreSQL.
    private let findReferenced: Statement
    /// The digests of bodies that this writer knows to be in the storage; at most about `maxKnownUploads`.
    private var knownUploads: Set<[UInt8]> = []

    private static let markName = "larder"

    /// Nil if all bodies are in PostgreSQL. Throws if the address and the database disagree about the place.
    init?(_ folder: StoreFolder, _ connection: Connection, isWriting: Bool) throws(StoreError) {
        guard let server = folder.server else { return nil }
        let recorded = try BodyStorageRecord(connection)
        guard let location = server.bodies else {
            guard let recorded else { return nil }
            throw StoreError(
                .request, doing: "open", path: folder.name, detail: "its bodies are in \(recorded.location)",
                advice:
                    "append this to the address: \(server.shown.contains("?") ? "&" : "?")bodies=\(recorded.location)"
            )
        }
        guard let recorded else {
            throw StoreError(
                .request, doing: "open", path: folder.name,
                detail: "its bodies are in PostgreSQL, not in \(location.text)",
                advice:
                    "remove bodies= from the address, or copy the store with larder store copy to a schema whose address has it"
            )
        }
        self.location = location
        storage = try Self.open(location, folder)
        mark = recorded.mark
        findKnown = try connection.prepare(
            """
            SELECT given.place FROM unnest(?) WITH ORDINALITY AS given(sha256, place)
            WHERE EXISTS (SELECT 1 FROM body WHERE body.sha256 = given.sha256)
            """)
        findReferenced = try connection.prepare(
            """
            SELECT given.place FROM unnest(?) WITH ORDINALITY AS given(sha256, place)
            WHERE EXISTS (
                SELECT 1 FROM body JOIN content ON content.body = body.id
                WHERE body.sha256 = given.sha256 AND content.bytes IS NULL)
            """)
        // A reader skips this request for a bucket whose name has not changed.
        if isWriting || location.text != recorded.location || !location.isBucket {
            try checkMark(recordedLocation: recorded.location)
        }
    }

    private static func open(
        _ location: BodyStorageLocation, _ folder: StoreFolder
    ) throws(StoreError) -> any ExternalBodyStorage {
        switch location.kind {
        case .folder(let path): return FolderBodyStorage(path)
        case .bucket:
            guard let buckets = folder.buckets else {
                throw StoreError(
                    .request, doing: "open", path: location.text, detail: "buckets are not supported here",
                    advice: "name a folder that all machines can access")
            }
            return try buckets.open(location, folder)
        }
    }

    /// Records the location of the bodies of a new store, in the open transaction. A process that is killed
    /// before the commit leaves a mark of a store that does not exist.
    static func begin(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        guard let location = folder.server?.bodies else { return }
        let storage = try open(location, folder)
        try storage.create()
        if try storage.byteCounts([markName])[0] != nil {
            throw StoreError(
                .request, doing: "store bodies in", path: location.text,
                detail: "another store has its bodies there",
                advice: "name another folder or prefix, or empty this one if that store no longer exists")
        }
        let mark = String(UInt64.random(in: .min ... .max), radix: 16)
        try BodyStorageRecord(location: location.text, mark: mark).insert(into: connection)
        let text = Array(
            "\(mark)\nBodies of the Larder store in the schema \(folder.server?.schema ?? "")\n".utf8)
        try storage.put([BodyUpload(name: markName, content: .bytes(text), byteCount: text.count)])
    }

    /// Throws if the storage is missing or belongs to another store.
    private func checkMark(recordedLocation known: String) throws(StoreError) {
        let found = try storage.read(Self.markName, from: 0, byteCount: 64)
        guard let found else {
            throw StoreError(
                .unusable, doing: "open", path: location.text,
                detail:
                    known == location.text
                    ? "the bodies of the store are no longer there"
                    : "the bodies of the store are in \(known)",
                advice: location.isBucket
                    ? "name the original bucket, prefix and s3-endpoint"
                    : "check that the folder is mounted, and set bodies= to its path on this machine")
        }
        guard String(decoding: found.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) == mark else {
            throw StoreError(
                .request, doing: "open", path: location.text, detail: "another store has its bodies there",
                advice: "set bodies= to \(known), where the bodies of this store are")
        }
    }

    /// Throws if the storage is a folder and its mark is missing, because an unmounted folder appears to be
    /// empty.
    private func checkPresence() throws(StoreError) {
        guard !location.isBucket, try storage.byteCounts([Self.markName])[0] == nil else { return }
        throw StoreError(
            .unreachable, doing: "read from", path: location.text,
            detail: "the bodies of the store are no longer there",
            advice: "check that the folder is mounted, then run the same command again")
    }

    private static func name(_ sha256: [UInt8]) -> String {
        let hex = Hex.encode(sha256)
        return hex.prefix(2) + "/" + hex
    }

    /// Returns the digest in a name; nil if it is not the name of a body.
    private static func sha256(_ name: String) -> [UInt8]? {
        guard let digest = Digest(.sha256, hex: String(name.dropFirst(3))), Self.name(digest.bytes) == name
        else {
            return nil
        }
        return digest.bytes
    }

    // MARK: Writing

    /// Whether the external storage, and not PostgreSQL, stores a body with this content.
    func accepts(_ content: BodyContent, byteCount: Int) -> Bool {
        // Only large bodies are in files.
        if case .file = content { return true }
        return byteCount > location.maxRowBodyBytes
    }

    func accepts(_ body: NewBody) -> Bool { accepts(body.content, byteCount: body.byteCount) }

    /// Returns the bodies that belong in the storage and are not known to be there.
    func needingUpload(_ bodies: [NewBody]) -> [NewBody] {
        bodies.filter { accepts($0) && !knownUploads.contains($0.sha256.bytes) }
    }

    /// Puts the bodies that the storage does not have there. The caller has no transaction open and has the
    /// lock for writing.
    func upload(_ bodies: [NewBody]) throws(StoreError) {
        try upload(
            bodies.map {
                BodyUpload(
                    name: Self.name($0.sha256.bytes), content: $0.content, byteCount: $0.byteCount,
                    sha256: $0.sha256.bytes)
            })
    }

    func upload(_ bodies: [(body: StoredBody, content: BodyContent)]) throws(StoreError) {
        try upload(
            bodies.map { body, content in
                BodyUpload(
                    name: Self.name(body.sha256), content: content, byteCount: body.byteCount,
                    sha256: body.sha256)
            })
    }

    /// Looks up only bodies that rows refer to, since these are probably in the storage. Uploads the others
    /// without a look-up, because each look-up in a bucket is a request.
    private func upload(_ bodies: [BodyUpload]) throws(StoreError) {
        var seen: Set<String> = []
        let bodies = bodies.filter { seen.insert($0.name).inserted }
        guard !bodies.isEmpty else { return }
        try checkPresence()
        let withRows = try indices(of: bodies.map(\.sha256), findKnown)
        let known = bodies.indices.filter(withRows.contains)
        var stored: Set<Int> = []
        if !known.isEmpty {
            let counts = try storage.byteCounts(known.map { bodies[$0].name })
            for (index, count) in zip(known, counts) where count == bodies[index].byteCount {
                stored.insert(index)
            }
        }
        let new = bodies.indices.filter { !stored.contains($0) }.map { bodies[$0] }
        if !new.isEmpty { try storage.put(new) }
        if knownUploads.count > Self.maxKnownUploads { knownUploads.removeAll() }
        for body in bodies { if let sha256 = body.sha256 { knownUploads.insert(sha256) } }
    }

    /// Beyond this number, `knownUploads` is emptied. That only costs look-ups.
    private static let maxKnownUploads = 65_536

    /// Returns the indices of the digests that the statement finds.
    private func indices(of digests: [[UInt8]?], _ find: Statement) throws(StoreError) -> Set<Int> {
        var indices: Set<Int> = []
        try find.each([.blobs(digests)]) { indices.insert(Int($0.integer(0)) - 1) }
        return indices
    }

    /// Forgets which bodies are known to be in the storage, because other processes may remove some from now
    /// on.
    func forgetKnownUploads() { knownUploads.removeAll() }

    // MARK: Reading

    /// The size of a body; nil if it is not in the storage.
    func byteCount(_ sha256: [UInt8]) throws(StoreError) -> Int? { try byteCounts([sha256])[0] }

    func byteCounts(_ digests: [[UInt8]]) throws(StoreError) -> [Int?] {
        let counts = try storage.byteCounts(digests.map(Self.name))
        if counts.contains(nil) { try checkPresence() }
        return counts
    }

    /// Copies a body to a file below the folder, or returns its file in the storage. Nil if it is not in the storage.
    func file(_ sha256: [UInt8], in folder: String) throws(StoreError) -> BodyStorageFile? {
        guard let file = try storage.file(Self.name(sha256), in: folder) else {
            try checkPresence()
            return nil
        }
        return file
    }

    // MARK: Removing

    /// Removes those of the bodies that no row refers to. The caller must be the only process that uses the
    /// store.
    func removeUnreferenced(_ digests: [[UInt8]]) throws(StoreError) {
        for start in stride(from: 0, to: digests.count, by: 1000) {
            let some = Array(digests[start..<min(start + 1000, digests.count)])
            let referenced = try indices(of: some, findReferenced)
            try storage.remove(some.indices.filter { !referenced.contains($0) }.map { Self.name(some[$0]) })
        }
    }

    /// Returns the names of bodies that no row refers to. Leaves out recent ones, because a writer may be
    /// about to add their rows.
    func unreferencedNames() throws(StoreError) -> [String] {
        var unreferenced: [String] = []
        var last = ""
        while case let page = try storage.list(after: last), let end = page.last {
            last = end.name
            let old = page.filter { $0.ageSeconds > Limits.minStrayAgeSeconds }
            let digests = old.map { Self.sha256($0.name) }
            let referenced = try indices(of: digests.map { $0 ?? [] }, findReferenced)
            for index in old.indices where digests[index] != nil && !referenced.contains(index) {
                unreferenced.append(old[index].name)
            }
        }
        return unreferenced
    }

    func removeUnreferenced() throws(StoreError) {
        try removeUnreferenced(try unreferencedNames().compactMap(Self.sha256))
    }
}

extension BodyStorageLocation {
    fileprivate var isBucket: Bool { if case .bucket = kind { true } else { false } }
}

/// The location and the mark of the external storage, as the database records them.
struct BodyStorageRecord: Sendable {
    let location: String
    let mark: String

    static let postgreSQLStep = PostgreSQLMigration.Step(
        name: "bodies in a shared folder or a bucket",
        sql: """
            CREATE TABLE keeping (name text PRIMARY KEY, value text COLLATE "C" NOT NULL);
            """)

    init(location: String, mark: String) {
        self.location = location
        self.mark = mark
    }

    /// Nil if all bodies are in PostgreSQL.
    init?(_ connection: Connection) throws(StoreError) {
        var values: [String: String] = [:]
        try connection.prepare("SELECT name, value FROM keeping").each { values[$0.text(0)] = $0.text(1) }
        guard let location = values["bodies"], let mark = values["mark"] else { return nil }
        self.init(location: location, mark: mark)
    }

    func insert(into connection: Connection) throws(StoreError) {
        let add = try connection.prepare("INSERT INTO keeping (name, value) VALUES (?, ?)")
        try add.run(.text("bodies"), .text(location))
        try add.run(.text("mark"), .text(mark))
    }
}
