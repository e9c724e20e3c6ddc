import Digest
import TUF
import Testing
import Web

/// A repository whose files are in memory, with clients that know one of its roots.
struct Publisher {
    var repository: Repository
    /// The published files by their names.
    var files: [String: [UInt8]] = [:]
    var now: Int64
    var periods = RepositoryPeriods()

    /// Keys 1 to 4 are those of the four roles; `numbers` names others.
    init(_ numbers: [RepositoryRole: [UInt8]] = [:], thresholds: [RepositoryRole: Int] = [:]) throws {
        now = 1_800_000_000
        var keys: [RepositoryRole: NewRoleKeys] = [:]
        for role in RepositoryRole.allCases {
            let numbers = numbers[role] ?? [Self.number(of: role)]
            keys[role] = NewRoleKeys(
                try numbers.map { TUFKey(try Self.key($0).publicKey) }, threshold: thresholds[role] ?? 1)
        }
        repository = Repository(
            keys: keys, periods: RepositoryPeriods(), now: HTTPDate(secondsSinceEpoch: now))
    }

    static func number(of role: RepositoryRole) -> UInt8 {
        switch role {
        case .root: 1
        case .targets: 2
        case .snapshot: 3
        case .timestamp: 4
        }
    }

    static func key(_ number: UInt8) throws -> Ed25519PrivateKey {
        try #require(Ed25519PrivateKey(seed: [UInt8](repeating: number, count: 32)))
    }

    static func id(_ number: UInt8) throws -> String { TUFKey(try key(number).publicKey).id }

    var date: HTTPDate { HTTPDate(secondsSinceEpoch: now) }

    mutating func add(
        _ content: String, as path: String, removing old: Set<String> = [], of role: String? = nil
    ) throws {
        let bytes = Array(content.utf8)
        let file = TargetFile(
            byteCount: bytes.count, hashes: FileHashes([DigestStream.digest(.sha256, of: bytes.span)]))
        _ = try repository.changeTargets(
            of: role, adding: path.isEmpty ? [:] : [path: file], removing: old, periods: periods, now: date)
    }

    mutating func rotate(
        _ role: RepositoryRole, adding new: [UInt8] = [], removing old: [UInt8] = [], threshold: Int? = nil
    ) throws {
        try repository.rotate(
            role, adding: try new.map { TUFKey(try Self.key($0).publicKey) },
            removing: Set(try old.map { try Self.id($0) }), threshold: threshold, periods: periods, now: date)
    }

    mutating func delegate(
        to role: String, keys: [UInt8], _ paths: [String], threshold: Int = 1, isTerminating: Bool = false
    ) throws {
        var patterns: [String] = []
        for path in paths { patterns += try Repository.patterns(for: path) }
        try repository.delegate(
            to: role, keys: try keys.map { TUFKey(try Self.key($0).publicKey) }, threshold: threshold,
            patterns: patterns, isTerminating: isTerminating, periods: periods, now: date)
    }

    func publication(_ numbers: [UInt8]) throws -> Publication {
        let publication = try repository.publication(
            keys: try numbers.map { try Self.key($0) }, periods: periods, now: date)
        try publication.check(repository, now: date) { files[$0] }
        return publication
    }

    /// Publishes with the keys of these numbers, and restores the repository from its files.
    @discardableResult
    mutating func publish(_ numbers: [UInt8] = [1, 2, 3, 4]) throws -> Publication {
        let publication = try publication(numbers)
        for file in publication.files { files[file.name] = file.bytes }
        repository = Repository(
            published: publication.result ?? repository.published, draftRoot: publication.draftRoot,
            draftTargets: publication.draftTargets, draftDelegated: publication.draftDelegated)
        return publication
    }

    /// The paths of the targets that a client finds. It starts with a root, or with the metadata of an earlier update.
    @discardableResult
    func update(_ stored: inout [String: [UInt8]], _ files: [String: [UInt8]]? = nil, at time: Int64? = nil)
        throws
        -> [String]
    {
        var client = TUFClient(now: time ?? now)
        client.list()
        while let request = try client.nextRequest() {
            let bytes =
                switch request.source {
                case .storage: stored[request.name]
                case .server: (files ?? self.files)[request.name]
                }
            for change in try client.receive(bytes.map { .bytes($0) } ?? .missing) {
                switch change {
                case .store(let name, let bytes): stored[name] = bytes
                case .remove(let name): stored[name] = nil
                }
            }
        }
        return client.targets.map(\.path).sorted()
    }

    /// The metadata of a client that has only a root.
    func client(root version: Int = 1) throws -> [String: [UInt8]] {
        ["root.json": try #require(files["\(version).root.json"])]
    }
}

@Suite struct RepositoryTests {
    @Test func `a client finds added targets, and not those that were removed`() throws {
        var publisher = try Publisher()
        #expect(
            try publisher.publish().files.map(\.name) == [
                "1.root.json", "1.targets.json", "1.snapshot.json", "timestamp.json",
            ])
        var client = try publisher.client()
        #expect(try publisher.update(&client) == [])
        try publisher.add("one", as: "a.js")
        try publisher.add("two", as: "dir/b.js")
        #expect(
            try publisher.publish().files.map(\.name) == [
                "2.targets.json", "2.snapshot.json", "timestamp.json",
            ])
        #expect(try publisher.update(&client) == ["a.js", "dir/b.js"])
        try publisher.add("", as: "", removing: ["a.js"])
        try publisher.publish()
        #expect(try publisher.update(&client) == ["dir/b.js"])
        var fresh = try publisher.client()
        #expect(try publisher.update(&fresh) == ["dir/b.js"])
    }

    @Test func `adding the same files again drafts nothing`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        try publisher.add("one", as: "a.js")
        #expect(publisher.repository.draftTargets == nil)
        #expect(try publisher.publish([4]).files.map(\.name) == ["timestamp.json"])
    }

    @Test(arguments: [
        ("root", [UInt8]()), ("targets", [1, 3, 4]),
    ])
    func `a first version without the signatures of root or targets waits`(
        role: String, keys: [UInt8]
    ) throws {
        var publisher = try Publisher()
        let publication = try publisher.publish(keys)
        #expect(publication.files.isEmpty && publication.result == nil)
        #expect(publication.waiting.contains { $0.role == role && $0.missingSignatures == 1 })
        #expect(try publisher.publish().files.count == 4)
    }

    @Test(arguments: [[UInt8]([1, 2, 4]), [1, 2, 3]])
    func `publishing fails without the keys of snapshot and timestamp`(keys: [UInt8]) throws {
        let publisher = try Publisher()
        #expect(throws: RepositoryError.self) { try publisher.publication(keys) }
    }

    @Test func `two of three people sign the root, each on their own`() throws {
        var publisher = try Publisher([.root: [11, 12, 13]], thresholds: [.root: 2])
        #expect(try publisher.publish([11, 2, 3, 4]).waiting.map(\.missingSignatures) == [1])
        // The second person signs a copy.
        var copy = publisher.repository
        #expect(copy.sign(with: [try Publisher.key(13)]) == ["root"])
        let bytes = try #require(copy.draftRoot).fileBytes()
        let added = try publisher.repository.addSignatures(from: bytes, name: "copy.json")
        #expect(added.role == "root" && added.count == 1)
        try publisher.publish([2, 3, 4])
        var client = try publisher.client()
        #expect(try publisher.update(&client) == [])
    }

    @Test func `signatures of other drafts, by other keys and wrong ones are refused`() throws {
        var publisher = try Publisher([.root: [11, 12, 13]], thresholds: [.root: 2])
        var other = try Publisher([.root: [11, 12]], thresholds: [.root: 2])
        _ = other.repository.sign(with: [try Publisher.key(11)])
        let foreign = try #require(other.repository.draftRoot).fileBytes()
        var draft = try #require(publisher.repository.draftRoot)
        draft.sign(with: try Publisher.key(99))
        let byStranger = draft.fileBytes()
        var wrong = try #require(publisher.repository.draftRoot)
        wrong.add(TUFSignature(keyID: try Publisher.id(11), bytes: [UInt8](repeating: 1, count: 64)))
        for bytes in [foreign, byStranger, wrong.fileBytes(), Array("{}".utf8), Array("x".utf8)] {
            #expect(throws: RepositoryError.self) {
                try publisher.repository.addSignatures(from: bytes, name: "copy.json")
            }
        }
        #expect(publisher.repository.draftRoot?.signatures.isEmpty == true)
    }

    @Test(arguments: RepositoryRole.allCases)
    func `clients accept the repository after each file of a rotation, with the old keys at hand`(
        role: RepositoryRole
    ) throws {
        var publisher = try Publisher()
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        var updated = try publisher.client()
        try publisher.update(&updated)
        let old = Publisher.number(of: role)
        try publisher.rotate(role, adding: [21, 22, 23], removing: [old], threshold: 2)
        let publication = try publisher.publication([1, 2, 3, 4, 21, 23])
        #expect(publication.isInterruptible && publication.waiting == [])
        #expect(publication.files.last?.name == "2.root.json")
        for count in 0...publication.files.count {
            var files = publisher.files
            for file in publication.files.prefix(count) { files[file.name] = file.bytes }
            for client in [updated, try publisher.client()] {
                var client = client
                #expect(try publisher.update(&client, files) == ["a.js"], "after \(count) files")
                // The same client accepts the complete publication later.
                for file in publication.files { files[file.name] = file.bytes }
                #expect(try publisher.update(&client, files) == ["a.js"], "after \(count) files")
            }
        }
        try publisher.publish([1, 2, 3, 4, 21, 23])
        // The old key is not needed any more.
        let later = [UInt8]([1, 2, 3, 4].filter { $0 != old }) + [22, 23]
        try publisher.add("two", as: "b.js")
        if role == .root { try publisher.rotate(.root) }
        try publisher.publish(later)
        for client in [updated, try publisher.client()] {
            var client = client
            #expect(try publisher.update(&client) == ["a.js", "b.js"])
        }
    }

    @Test(arguments: [RepositoryRole.targets, .snapshot, .timestamp])
    func `a lost key is replaced, and the root goes first`(role: RepositoryRole) throws {
        var publisher = try Publisher()
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        var client = try publisher.client()
        try publisher.update(&client)
        let old = Publisher.number(of: role)
        try publisher.rotate(role, adding: [21], removing: [old])
        let publication = try publisher.publish([1, 2, 3, 4].filter { $0 != old } + [21])
        #expect(!publication.isInterruptible && publication.files.first?.name == "2.root.json")
        #expect(try publisher.update(&client) == ["a.js"])
        #expect(throws: RepositoryError.self, "the lost key does not count any more") {
            var again = publisher
            again.now += 100 * 86_400
            try again.publish([1, 2, 3, 4])
        }
    }

    @Test func `a new root needs the thresholds of the old and of the new root`() throws {
        var publisher = try Publisher([.root: [11, 12, 13]], thresholds: [.root: 2])
        try publisher.publish([11, 12, 2, 3, 4])
        try publisher.rotate(.root, adding: [14, 15], removing: [11, 12], threshold: 3)
        for keys in [[13, 14, 15], [11, 12, 13], [11, 12, 14, 15]] as [[UInt8]] {
            let publication = try publisher.publication(keys + [2, 3, 4])
            #expect(publication.waiting.map(\.role) == ["root"], "\(keys)")
            #expect(!publication.files.contains { $0.role == "root" })
        }
        let publication = try publisher.publish([11, 13, 14, 15, 2, 3, 4])
        #expect(publication.files.contains { $0.name == "2.root.json" })
        var client = try publisher.client()
        #expect(try publisher.update(&client) == [])
    }

    @Test func `a root waits until the holder of a new targets key has signed the targets`() throws {
        var publisher = try Publisher()
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        try publisher.rotate(.targets, adding: [21], removing: [2])
        #expect(publisher.repository.draftTargets != nil)
        // Publishing with the old key meanwhile keeps the draft and its version for the new key.
        let version = publisher.repository.draftTargets?.version
        for _ in 0..<3 {
            let publication = try publisher.publish([1, 2, 3, 4])
            #expect(publication.files.map(\.name) == ["timestamp.json"])
            #expect(Set(publication.waiting.map(\.role)) == ["root", "targets"])
            #expect(publisher.repository.draftTargets?.version == version)
        }
        // New content is published with the old key, and then drafted again for the new one.
        try publisher.add("two", as: "b.js")
        #expect(try publisher.publish([1, 2, 3, 4]).files.contains { $0.role == "targets" })
        #expect(publisher.repository.draftTargets != nil)
        var client = try publisher.client()
        #expect(try publisher.update(&client) == ["a.js", "b.js"])
        _ = publisher.repository.sign(with: [try Publisher.key(21)])
        let publication = try publisher.publish([1, 3, 4])
        #expect(publication.files.contains { $0.name == "2.root.json" } && publication.waiting == [])
        #expect(try publisher.update(&client) == ["a.js", "b.js"])
    }

    @Test func `expiring metadata is renewed in time`() throws {
        var publisher = try Publisher()
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        var client = try publisher.client()
        try publisher.update(&client)
        let day: Int64 = 86_400
        #expect(throws: TUFError.self) { try publisher.update(&client, at: publisher.now + 7 * day) }
        publisher.now += 6 * day
        #expect(try publisher.publish([4]).files.map(\.role) == ["timestamp"])
        publisher.now += 14 * day
        #expect(try publisher.publish([3, 4]).files.map(\.role) == ["snapshot", "timestamp"])
        publisher.now += 30 * day
        #expect(try publisher.publish([2, 3, 4]).files.map(\.role) == ["targets", "snapshot", "timestamp"])
        #expect(try publisher.update(&client) == ["a.js"])
        // While they are valid, the targets are not renewed without their key.
        publisher.now += 60 * day
        #expect(try publisher.publish([3, 4]).files.map(\.role) == ["snapshot", "timestamp"])
        publisher.now += 31 * day
        #expect(throws: RepositoryError.self) { try publisher.publish([3, 4]) }
        try publisher.publish([2, 3, 4])
        publisher.now += 365 * day
        #expect(throws: RepositoryError.self, "the root has expired") { try publisher.publish() }
        try publisher.rotate(.root)
        try publisher.publish()
        #expect(try publisher.update(&client) == ["a.js"])
    }

    @Test func `versions grow, also after a publication that was interrupted`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        try publisher.add("one", as: "a.js")
        let first = try publisher.publication([2, 3, 4])
        // Only the targets and the snapshot were written.
        let restored = Repository(
            published: publisher.repository.published, draftRoot: nil,
            draftTargets: publisher.repository.draftTargets,
            usedVersions: ["targets": 2, "snapshot": 2, "root": 1])
        publisher.repository = restored
        let second = try publisher.publication([2, 3, 4])
        #expect(first.files.map(\.name) == ["2.targets.json", "2.snapshot.json", "timestamp.json"])
        #expect(second.files.map(\.name) == ["2.targets.json", "3.snapshot.json", "timestamp.json"])
    }

    @Test func `a draft that was published already is dropped`() throws {
        var publisher = try Publisher()
        let (root, targets) = (publisher.repository.draftRoot, publisher.repository.draftTargets)
        try publisher.publish()
        let restored = Repository(
            published: publisher.repository.published, draftRoot: root, draftTargets: targets)
        #expect(restored.draftRoot == nil && restored.draftTargets == nil)
    }

    @Test func `impossible thresholds and unknown keys are refused`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        #expect(throws: RepositoryError.self) { try publisher.rotate(.targets, threshold: 2) }
        #expect(throws: RepositoryError.self) { try publisher.rotate(.targets, removing: [2]) }
        #expect(throws: RepositoryError.self) { try publisher.rotate(.targets, removing: [1]) }
        #expect(publisher.repository.draftRoot == nil)
    }

    @Test func `members that Larder does not know stay in new versions`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        let json = """
            {"signatures": [], "signed": {"_type": "targets", "spec_version": "1.0.0", "version": 2,
            "expires": "2100-01-01T00:00:00Z", "x-note": {"a": 1},
            "targets": {"a.js": {"length": 1, "hashes": {"sha256": "\(String(repeating: "a", count: 64))"},
            "custom": {"v": 2}, "x-more": true}}}}
            """
        publisher.repository = Repository(
            published: publisher.repository.published, draftRoot: nil,
            draftTargets: try SignedMetadata(Array(json.utf8), file: "draft"))
        try publisher.add("one", as: "a.js")
        try publisher.publish()
        let text = String(decoding: try #require(publisher.files["2.targets.json"]), as: UTF8.self)
        for member in [#""x-note":{"a":1}"#, #""custom":{"v":2}"#, #""x-more":true"#] {
            #expect(text.contains(member), "\(member)")
        }
    }
}
