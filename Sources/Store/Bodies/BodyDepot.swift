internal import Digest
internal import Glibc
internal import System
internal import Web

/// Where the larger bodies of a larder are that a PostgreSQL keeps, as its address says: `bodies=/shared/folder`, or
/// `bodies=s3://bucket/prefix` with `s3-region=` and `s3-endpoint=`.
package struct DepotPlace: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// One that all machines see, wherever each has mounted it.
        case folder(path: String)
        /// The prefix is empty, or ends with a slash.
        case bucket(name: String, prefix: String)
    }

    package let kind: Kind
    /// As it was written.
    package let text: String
    package private(set) var region: String?
    /// Of a bucket that is not Amazon's: `http://minio.example.com:9000`.
    package private(set) var endpoint: String?
    /// Bodies up to here stay in rows.
    let least: Int

    static let words = ["bodies", "bodies-over", "s3-region", "s3-endpoint"]

    struct Mistake: Error {
        let text: String
    }

    /// Nil where nothing of it is said.
    init?(words: [String: String]) throws(Mistake) {
        guard let text = words["bodies"] else {
            if let word = Self.words.first(where: { words[$0] != nil }) {
                throw Mistake(
                    text: "\(word)= needs bodies=, which is missing")
            }
            return nil
        }
        let scheme = "s3://"
        if text.prefix(scheme.utf8.count).lowercased() == scheme {
            kind = try Self.bucket(text.dropFirst(scheme.utf8.count))
        } else if text.hasPrefix("/"), text != "/" {
            kind = .folder(path: text.hasSuffix("/") ? String(text.dropLast()) : text)
        } else {
            throw Mistake(
                text: "bodies=\(text) is neither the absolute path of a folder nor s3://BUCKET/PREFIX")
        }
        self.text = text
        least = min(try Self.number(words["bodies-over"]) ?? Limits.rowBody, Limits.packedBody)
        region = words["s3-region"]
        endpoint = words["s3-endpoint"]
        if let region, region.isEmpty || !region.utf8.allSatisfy(Self.isPlain) {
            throw Mistake(text: "s3-region=\(region) is not the name of a region")
        }
        if let endpoint, !endpoint.hasPrefix("http://") && !endpoint.hasPrefix("https://") {
            throw Mistake(text: "s3-endpoint= is not a URL such as https://minio.example.com:9000")
        }
        if let endpoint, endpoint.contains("@") {
            throw Mistake(
                text:
                    "s3-endpoint= contains a user name: set the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        }
    }

    private static func number(_ text: String?) throws(Mistake) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw Mistake(text: "bodies-over=\(text) is not a number of bytes")
        }
        return number
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    /// What would have to be written in another way in an URL is not taken: servers do not agree on it.
    private static func bucket(_ text: Substring) throws(Mistake) -> Kind {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isEnded = parts.count > 1 && parts.last == ""
        let names = isEnded ? parts.dropLast() : parts[...]
        for name in names where name.isEmpty || name == "." || name == ".." || !name.utf8.allSatisfy(isPlain)
        {
            throw Mistake(
                text:
                    "bodies=s3://\(text) is not s3://BUCKET/PREFIX with only letters, digits, \"-\", \".\" and \"_\""
            )
        }
        let prefix = names.dropFirst().map { $0 + "/" }.joined()
        return .bucket(name: String(names.first ?? ""), prefix: prefix)
    }
}

/// A place for bodies that is no database. It knows names and bytes: what is in it, and for whom, is told by rows
/// elsewhere. It belongs to one thread.
///
/// Names have slashes in them and are put into order by their bytes.
package protocol BodyDepot: AnyObject {
    /// For people.
    var name: String { get }
    /// How large each is, nil where there is none of that name.
    func byteCounts(_ names: [String]) throws(StoreError) -> [Int?]
    /// Puts them, in the place of what may be there, each of them whole or not at all; when it returns they stay.
    func put(_ bodies: [DepotBody]) throws(StoreError)
    /// So many bytes from there on, fewer where it ends before; nil where there is none of that name.
    func read(_ name: String, from start: Int, byteCount: Int) throws(StoreError) -> [UInt8]?
    /// A file with all of it; nil where there is none of that name.
    ///
    /// - Parameter folder: where one is made that is the caller's, when there is none already.
    func file(_ name: String, in folder: String) throws(StoreError) -> DepotFile?
    /// Some of those whose names come after this one, in their order; none when there are no more.
    func list(after name: String) throws(StoreError) -> [DepotEntry]
    /// Those that are not there are no error.
    func remove(_ names: [String]) throws(StoreError)
    /// Somebody is about to begin a larder there.
    func create() throws(StoreError)
}

/// A body on its way into a depot.
package struct DepotBody: Sendable {
    package let name: String
    package let content: BodyContent
    package let byteCount: Int
    /// Nil where nobody knows it.
    package let sha256: [UInt8]?

    package init(name: String, content: BodyContent, byteCount: Int, sha256: [UInt8]? = nil) {
        self.name = name
        self.content = content
        self.byteCount = byteCount
        self.sha256 = sha256
    }
}

package struct DepotEntry: Sendable, Equatable {
    package let name: String
    package let byteCount: Int
    /// How long it has been there, by the clock of the place.
    package let seconds: Int64

    package init(name: String, byteCount: Int, seconds: Int64) {
        self.name = name
        self.byteCount = byteCount
        self.seconds = seconds
    }
}

package enum DepotFile: Sendable, Equatable {
    /// The body itself, to be read and left where it is.
    case itself(path: String)
    /// The caller's.
    case copy(path: String)
}

/// Opens buckets: a room that fetches does, which this one does not know.
package struct BucketOpener: Sendable, Equatable {
    let open: @Sendable (DepotPlace, _ folder: StoreFolder) throws(StoreError) -> any BodyDepot

    package init(_ open: @escaping @Sendable (DepotPlace, StoreFolder) throws(StoreError) -> any BodyDepot) {
        self.open = open
    }

    /// Where a larder is does not depend on who opens its buckets.
    package static func == (left: BucketOpener, right: BucketOpener) -> Bool { true }
}

// MARK: - FolderDepot

/// A folder that many machines share. Files are written under other names, synced, and moved to their own.
final class FolderDepot: BodyDepot {
    let name: String
    private let path: String
    private var incoming: String { path + "/incoming" }

    init(_ path: String) {
        name = path
        self.path = path
    }

    func create() throws(StoreError) {
        try StoreFolder.makeFolders(path)
    }

    func byteCounts(_ names: [String]) throws(StoreError) -> [Int?] {
        var counts: [Int?] = []
        for name in names {
            var status = stat()
            if stat(path + "/" + name, &status) == 0 {
                counts.append(Int(clamping: status.st_size))
            } else {
                guard errno == ENOENT else {
                    throw StoreError(errno, doing: "access", path: path + "/" + name)
                }
                counts.append(nil)
            }
        }
        return counts
    }

    func put(_ bodies: [DepotBody]) throws(StoreError) {
        try StoreFolder.makeFolders(incoming)
        var waiting: [(draft: String, target: String)] = []
        // What is moved has another name by then.
        defer { for (draft, _) in waiting { unlink(draft) } }
        for body in bodies {
            let draft =
                switch body.content {
                case .bytes(let bytes): try BodyFiles.write(bytes, in: incoming)
                case .file(let source): try BodyFiles.copy(source, in: incoming)
                }
            waiting.append((draft, path + "/" + body.name))
        }
        for (draft, _) in waiting { try BodyFiles.sync(draft) }
        var folders: Set<String> = []
        for (draft, target) in waiting {
            let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
            if folders.insert(folder).inserted { try StoreFolder.makeFolders(folder) }
            guard rename(draft, target) == 0 else {
                throw StoreError(errno, doing: "move a body to", path: target)
            }
        }
        for folder in folders { try BodyFiles.sync(folder) }
        if !folders.isSubset(of: [path]) { try BodyFiles.sync(path) }
    }

    func read(_ name: String, from start: Int, byteCount: Int) throws(StoreError) -> [UInt8]? {
        do throws(SystemError) {
            return try File(path + "/" + name, O_RDONLY).read(from: Int64(start), byteCount: byteCount)
        } catch {
            if error.code == ENOENT { return nil }
            throw StoreError(error)
        }
    }

    func file(_ name: String, in folder: String) throws(StoreError) -> DepotFile? {
        try byteCounts([name])[0].map { _ in .itself(path: path + "/" + name) }
    }

    /// All of one folder at a time.
    func list(after name: String) throws(StoreError) -> [DepotEntry] {
        let now = try time()
        let first = String(name.prefix { $0 != "/" })
        for folder in try names(in: path) where folder >= first && folder.utf8.count == 2 {
            var entries: [DepotEntry] = []
            for file in try names(in: path + "/" + folder) where folder + "/" + file > name {
                var status = stat()
                guard stat("\(path)/\(folder)/\(file)", &status) == 0 else { continue }
                entries.append(
                    DepotEntry(
                        name: folder + "/" + file, byteCount: Int(clamping: status.st_size),
                        seconds: now - Int64(status.st_mtim.tv_sec)))
            }
            if !entries.isEmpty { return entries }
        }
        return []
    }

    func remove(_ names: [String]) throws(StoreError) {
        for name in names where unlink(path + "/" + name) != 0 && errno != ENOENT {
            throw StoreError(errno, doing: "remove", path: path + "/" + name)
        }
        try forgetDrafts()
    }

    /// What killed writers left.
    private func forgetDrafts() throws(StoreError) {
        let now = try time()
        for name in StoreFolder.names(in: incoming) {
            var status = stat()
            guard stat(incoming + "/" + name, &status) == 0 else { continue }
            if now - Int64(status.st_mtim.tv_sec) > Limits.secondsOfDrafts { unlink(incoming + "/" + name) }
        }
    }

    private func names(in folder: String) throws(StoreError) -> [String] {
        guard let names = Folder.names(in: folder) else {
            throw StoreError(errno, doing: "read", path: folder)
        }
        return names.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// By the clock of the machine that has the disk; of this one where nothing may be written there.
    private func time() throws(StoreError) -> Int64 {
        let probe: String
        do throws(StoreError) {
            try StoreFolder.makeFolders(incoming)
            probe = try BodyFiles.write([], in: incoming)
        } catch  where error.reason == .denied {
            return SystemClock.secondsSinceEpoch()
        }
        defer { unlink(probe) }
        var status = stat()
        guard stat(probe, &status) == 0 else { throw StoreError(errno, doing: "access", path: probe) }
        return Int64(status.st_mtim.tv_sec)
    }
}

// MARK: - OuterBodies

/// The larger bodies of a larder that a PostgreSQL keeps, where they are in a depot: by their SHA-256, once each,
/// whatever they are read as. It belongs to one thread.
///
/// They come before the rows that name them, outside of transactions, and go after those. A row of the database says
/// where they are, and a mark there, whose they are: nobody takes one depot for another, nor the folder for it
/// in which it is not mounted.
final class OuterBodies {
    let place: DepotPlace
    private let depot: any BodyDepot
    private let mark: String
    private let findHeld: Statement
    private let findNamed: Statement
    /// The bodies that are known to be there, by this writer.
    private var brought: Set<[UInt8]> = []

    private static let markName = "larder"

    /// Nil where the PostgreSQL has all bodies. Fails where the address says otherwise than the database.
    init?(_ folder: StoreFolder, _ connection: Connection, isWriting: Bool) throws(StoreError) {
        guard let server = folder.server else { return nil }
        let kept = try KeptBodies(connection)
        guard let place = server.bodies else {
            guard let kept else { return nil }
            throw StoreError(
                .request, doing: "open", path: folder.name, detail: "its bodies are in \(kept.place)",
                advice:
                    "append this to the address: \(server.shown.contains("?") ? "&" : "?")bodies=\(kept.place)"
            )
        }
        guard let kept else {
            throw StoreError(
                .request, doing: "open", path: folder.name,
                detail: "its bodies are in PostgreSQL, not in \(place.text)",
                advice:
                    "remove bodies= from the address, or copy the store with larder store copy to a schema whose address has it"
            )
        }
        self.place = place
        depot = try Self.open(place, folder)
        mark = kept.mark
        findHeld = try connection.prepare(
            """
            SELECT given.place FROM unnest(?) WITH ORDINALITY AS given(sha256, place)
            WHERE EXISTS (SELECT 1 FROM body WHERE body.sha256 = given.sha256)
            """)
        findNamed = try connection.prepare(
            """
            SELECT given.place FROM unnest(?) WITH ORDINALITY AS given(sha256, place)
            WHERE EXISTS (
                SELECT 1 FROM body JOIN content ON content.body = body.id
                WHERE body.sha256 = given.sha256 AND content.bytes IS NULL)
            """)
        // A bucket that is named as it was is not asked by who only reads.
        if isWriting || place.text != kept.place || !place.isBucket { try check(kept.place) }
    }

    private static func open(_ place: DepotPlace, _ folder: StoreFolder) throws(StoreError) -> any BodyDepot {
        switch place.kind {
        case .folder(let path): return FolderDepot(path)
        case .bucket:
            guard let buckets = folder.buckets else {
                throw StoreError(
                    .request, doing: "open", path: place.text, detail: "buckets are not supported here",
                    advice: "name a folder that all machines can access")
            }
            return try buckets.open(place, folder)
        }
    }

    /// Says where the bodies of a larder are that is being made, in the transaction that is open. Whoever is killed
    /// between the two leaves a mark of a larder that is not there.
    static func begin(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        guard let place = folder.server?.bodies else { return }
        let depot = try open(place, folder)
        try depot.create()
        if try depot.byteCounts([markName])[0] != nil {
            throw StoreError(
                .request, doing: "store bodies in", path: place.text,
                detail: "another store has its bodies there",
                advice: "name another folder or prefix, or empty this one if that store no longer exists")
        }
        let mark = String(UInt64.random(in: .min ... .max), radix: 16)
        try KeptBodies(place: place.text, mark: mark).put(connection)
        let text = Array("\(mark)\nBodies of a larder: schema \(folder.server?.schema ?? "")\n".utf8)
        try depot.put([DepotBody(name: markName, content: .bytes(text), byteCount: text.count)])
    }

    /// Fails where the depot is not the larder's.
    private func check(_ known: String) throws(StoreError) {
        let found = try depot.read(Self.markName, from: 0, byteCount: 64)
        guard let found else {
            throw StoreError(
                .unusable, doing: "open", path: place.text,
                detail:
                    known == place.text
                    ? "the bodies of the store are no longer there"
                    : "the bodies of the store are in \(known)",
                advice: place.isBucket
                    ? "name the original bucket, prefix and s3-endpoint"
                    : "check that the folder is mounted, and set bodies= to its path on this machine")
        }
        guard String(decoding: found.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) == mark else {
            throw StoreError(
                .request, doing: "open", path: place.text, detail: "another store has its bodies there",
                advice: "set bodies= to \(known), where the bodies of this store are")
        }
    }

    /// A folder that is not mounted any more has nothing either.
    private func checkPresence() throws(StoreError) {
        guard !place.isBucket, try depot.byteCounts([Self.markName])[0] == nil else { return }
        throw StoreError(
            .unreachable, doing: "read from", path: place.text,
            detail: "the bodies of the store are no longer there",
            advice: "check that the folder is mounted, then run the same command again")
    }

    private static func name(_ sha256: [UInt8]) -> String {
        let hex = Hex.encode(sha256)
        return hex.prefix(2) + "/" + hex
    }

    /// The digest that a name stands for; nil where it is no body's.
    private static func sha256(_ name: String) -> [UInt8]? {
        guard let digest = Digest(.sha256, hex: String(name.dropFirst(3))), Self.name(digest.bytes) == name
        else {
            return nil
        }
        return digest.bytes
    }

    // MARK: Writing

    func takes(_ content: BodyContent, byteCount: Int) -> Bool {
        if case .file = content { return true }
        return byteCount > place.least
    }

    func takes(_ body: NewBody) -> Bool { takes(body.content, byteCount: body.byteCount) }

    /// Those that are not known to be there.
    func missing(_ bodies: [NewBody]) -> [NewBody] {
        bodies.filter { takes($0) && !brought.contains($0.sha256.bytes) }
    }

    /// Has them there. The caller has no transaction open, and holds the right to write.
    func bring(_ bodies: [NewBody]) throws(StoreError) {
        try bring(
            bodies.map {
                DepotBody(
                    name: Self.name($0.sha256.bytes), content: $0.content, byteCount: $0.byteCount,
                    sha256: $0.sha256.bytes)
            })
    }

    func bring(_ bodies: [(body: StoredBody, content: BodyContent)]) throws(StoreError) {
        try bring(
            bodies.map { body, content in
                DepotBody(
                    name: Self.name(body.sha256), content: content, byteCount: body.byteCount,
                    sha256: body.sha256)
            })
    }

    /// What rows name is most likely there, and what none names is put at once.
    private func bring(_ bodies: [DepotBody]) throws(StoreError) {
        var seen: Set<String> = []
        let bodies = bodies.filter { seen.insert($0.name).inserted }
        guard !bodies.isEmpty else { return }
        try checkPresence()
        let named = try places(of: bodies.map(\.sha256), findHeld)
        let known = bodies.indices.filter(named.contains)
        var held: Set<Int> = []
        if !known.isEmpty {
            let counts = try depot.byteCounts(known.map { bodies[$0].name })
            for (place, count) in zip(known, counts) where count == bodies[place].byteCount {
                held.insert(place)
            }
        }
        let new = bodies.indices.filter { !held.contains($0) }.map { bodies[$0] }
        if !new.isEmpty { try depot.put(new) }
        if brought.count > Self.mostBrought { brought.removeAll() }
        for body in bodies { if let sha256 = body.sha256 { brought.insert(sha256) } }
    }

    private static let mostBrought = 65_536

    private func places(of digests: [[UInt8]?], _ find: Statement) throws(StoreError) -> Set<Int> {
        var places: Set<Int> = []
        try find.each([.blobs(digests)]) { places.insert(Int($0.integer(0)) - 1) }
        return places
    }

    /// Others may have removed some meanwhile.
    func forgetBrought() { brought.removeAll() }

    // MARK: Reading

    /// Nil where there is none.
    func byteCount(_ sha256: [UInt8]) throws(StoreError) -> Int? { try byteCounts([sha256])[0] }

    func byteCounts(_ digests: [[UInt8]]) throws(StoreError) -> [Int?] {
        let counts = try depot.byteCounts(digests.map(Self.name))
        if counts.contains(nil) { try checkPresence() }
        return counts
    }

    func file(_ sha256: [UInt8], in folder: String) throws(StoreError) -> DepotFile? {
        guard let file = try depot.file(Self.name(sha256), in: folder) else {
            try checkPresence()
            return nil
        }
        return file
    }

    // MARK: Removing

    /// Removes those that no row names any more. The caller is alone.
    func remove(_ digests: [[UInt8]]) throws(StoreError) {
        for start in stride(from: 0, to: digests.count, by: 1000) {
            let some = Array(digests[start..<min(start + 1000, digests.count)])
            let named = try places(of: some, findNamed)
            try depot.remove(some.indices.filter { !named.contains($0) }.map { Self.name(some[$0]) })
        }
    }

    /// Bodies that no row names, by their names. Those that came lately may be about to be named.
    func strays() throws(StoreError) -> [String] {
        var strays: [String] = []
        var last = ""
        while case let page = try depot.list(after: last), let end = page.last {
            last = end.name
            let old = page.filter { $0.seconds > Limits.secondsOfStrays }
            let digests = old.map { Self.sha256($0.name) }
            let named = try places(of: digests.map { $0 ?? [] }, findNamed)
            for place in old.indices where digests[place] != nil && !named.contains(place) {
                strays.append(old[place].name)
            }
        }
        return strays
    }

    func removeStrays() throws(StoreError) {
        try remove(try strays().compactMap(Self.sha256))
    }
}

extension DepotPlace {
    fileprivate var isBucket: Bool { if case .bucket = kind { true } else { false } }
}

/// What the database says of where its bodies are.
struct KeptBodies: Sendable {
    let place: String
    let mark: String

    static let serverStep = ServerMigration.Step(
        name: "bodies in a shared folder or a bucket",
        sql: """
            CREATE TABLE keeping (name text PRIMARY KEY, value text COLLATE "C" NOT NULL);
            """)

    init(place: String, mark: String) {
        self.place = place
        self.mark = mark
    }

    /// Nil where the PostgreSQL has them.
    init?(_ connection: Connection) throws(StoreError) {
        var values: [String: String] = [:]
        try connection.prepare("SELECT name, value FROM keeping").each { values[$0.text(0)] = $0.text(1) }
        guard let place = values["bodies"], let mark = values["mark"] else { return nil }
        self.init(place: place, mark: mark)
    }

    func put(_ connection: Connection) throws(StoreError) {
        let add = try connection.prepare("INSERT INTO keeping (name, value) VALUES (?, ?)")
        try add.run(.text("bodies"), .text(place))
        try add.run(.text("mark"), .text(mark))
    }
}
