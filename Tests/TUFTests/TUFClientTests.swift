import Digest
import TUF
import Testing
import Web

@Suite struct TUFClientTests {
    @Test func `a first update fetches each role once and stores it`() throws {
        let repository = try TestRepository()
        var client = TestClient(repository)
        let state = try client.refresh(repository)
        #expect(client.requests == ["2.root.json", "timestamp.json", "1.snapshot.json", "1.targets.json"])
        #expect(client.stored["timestamp.json"] == repository.files["timestamp.json"])
        #expect(client.stored["snapshot.json"] == repository.files["1.snapshot.json"])
        #expect(client.stored["targets.json"] == repository.files["1.targets.json"])
        #expect(state.snapshotVersion == 1)
        #expect(state.expires == TestRepository.later)
    }

    @Test func `an update without changes fetches only root and timestamp`() throws {
        let repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        try client.refresh(repository)
        #expect(client.requests == ["2.root.json", "timestamp.json"])
    }

    @Test func `without consistent snapshots, names have no versions`() throws {
        var repository = try TestRepository()
        repository.root.consistentSnapshot = nil
        repository.publishRoot()
        repository.publish()
        var client = TestClient(repository)
        #expect(try client.refresh(repository).usesConsistentSnapshots == false)
        #expect(client.requests == ["2.root.json", "timestamp.json", "snapshot.json", "targets.json"])
    }

    // MARK: Root

    @Test func `a client follows the chain of roots over all versions`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try repository.rotate("root", to: [10, 11], threshold: 2)
        try repository.rotate("root", to: [11, 12, 13], threshold: 2)
        try repository.rotate("root", to: [14])
        try client.refresh(repository)
        #expect(client.version("root") == 4)
        #expect(client.requests.prefix(4) == ["2.root.json", "3.root.json", "4.root.json", "5.root.json"])
    }

    @Test(arguments: [["root"], ["old"], ["timestamp"], []])
    func `a root without the signatures of the old and the new keys is refused`(signers: [String]) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try repository.rotate("root", to: [10])
        repository.publishRoot(by: signers)
        #expect(client.failure(repository) == .unsigned)
        #expect(client.version("root") == 1)
        #expect(client.requests == ["2.root.json"])
    }

    @Test func `a root that skips a version or goes back is refused`() throws {
        for version in [1, 3] {
            var repository = try TestRepository()
            var client = TestClient(repository)
            repository.root.header.version = version
            repository.files["2.root.json"] = repository.signed(repository.root, by: ["root"])
            #expect(client.failure(repository) == .rollback)
            #expect(client.version("root") == 1)
        }
    }

    @Test func `verified roots stay stored when a later one is refused`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try repository.rotate("root", to: [10])
        try repository.rotate("root", to: [11])
        repository.publishRoot(by: ["timestamp"])
        #expect(client.failure(repository) == .unsigned)
        #expect(client.version("root") == 2)
    }

    @Test func `one update accepts a limited number of roots, and the next goes on`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        client.limits.maxRootRotations = 2
        for number in UInt8(10)...12 { try repository.rotate("root", to: [number]) }
        try client.refresh(repository)
        #expect(client.version("root") == 3)
        try client.refresh(repository)
        #expect(client.version("root") == 4)
    }

    @Test func `an expired root is stored but ends the update, and a newer one helps`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        repository.root.header.expires = TestRepository.now
        repository.root.header.version = 2
        repository.publishRoot()
        #expect(client.failure(repository) == .expired)
        #expect(client.version("root") == 2)
        #expect(client.version("timestamp") == nil)
        repository.root.header.expires = TestRepository.later
        repository.root.header.version = 3
        repository.publishRoot()
        #expect(client.failure(repository) == nil)
    }

    @Test func `without a valid trusted root nothing is requested`() throws {
        let repository = try TestRepository()
        for root in [nil, Array("{}".utf8), repository.files["timestamp.json"]] {
            var client = TestClient(repository)
            client.stored["root.json"] = root
            #expect(client.failure(repository) != nil)
            #expect(client.requests == [])
        }
    }

    // MARK: Roll-back

    @Test func `an older timestamp is refused`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        repository.publishNext()
        try client.refresh(repository)
        repository.timestamp.header.version = 1
        repository.publishTimestamp()
        #expect(client.failure(repository) == .rollback)
        #expect(client.version("timestamp") == 2)
    }

    @Test func `a timestamp with the same version and other content is discarded`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        let stored = client.stored
        repository.timestamp.snapshot.version = 100
        repository.publishTimestamp()
        #expect(client.failure(repository) == nil)
        #expect(client.stored == stored)
    }

    @Test(arguments: [false, true])
    func `a timestamp that announces an older snapshot is refused`(hasHashes: Bool) throws {
        var repository = try TestRepository()
        repository.hasHashes = hasHashes
        repository.publish()
        var client = TestClient(repository)
        repository.publishNext()
        try client.refresh(repository)
        repository.snapshot.header.version = 1
        repository.timestamp.header.version = 3
        repository.publishSnapshot()
        #expect(client.failure(repository) == .rollback)
        #expect(client.version("timestamp") == 2)
    }

    @Test(arguments: [false, true])
    func `a snapshot that lists older targets is refused`(hasHashes: Bool) throws {
        var repository = try TestRepository()
        repository.hasHashes = hasHashes
        repository.publish()
        var client = TestClient(repository)
        repository.publishNext()
        try client.refresh(repository)
        repository.publishNext()
        repository.targets.header.version = 1
        repository.publish()
        #expect(client.failure(repository) == .rollback)
        #expect(client.version("snapshot") == 2)
        #expect(client.version("targets") == 2)
    }

    @Test func `a snapshot that no longer lists a role is refused`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try repository.delegate("role")
        repository.publishNext()
        try client.refresh(repository)
        repository.delegated["role"] = nil
        repository.snapshot.files["role.json"] = nil
        repository.publishNext()
        #expect(client.failure(repository) == .rollback)
        #expect(client.version("snapshot") == 2)
    }

    @Test(arguments: ["timestamp", "snapshot"])
    func `new keys of the timestamp or snapshot allow lower versions after a fast-forward attack`(
        role: String
    ) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        (repository.targets.header.version, repository.snapshot.header.version) = (100, 100)
        repository.timestamp.header.version = 100
        repository.publish()
        try client.refresh(repository)
        #expect(client.version("timestamp") == 100)

        (repository.targets.header.version, repository.snapshot.header.version) = (1, 1)
        repository.timestamp.header.version = 1
        repository.publish()
        #expect(client.failure(repository) == .rollback)
        try repository.rotate(role, to: [50])
        repository.publish()
        #expect(client.failure(repository) == nil)
        for name in ["timestamp", "snapshot", "targets"] { #expect(client.version(name) == 1) }
    }

    @Test func `timestamps by revoked keys are ignored even if an update ended before they were removed`()
        throws
    {
        var repository = try TestRepository()
        var client = TestClient(repository)
        repository.timestamp.header.version = 100
        repository.publishTimestamp()
        try client.refresh(repository)
        let timestamp = client.stored["timestamp.json"]
        try repository.rotate("timestamp", to: [50])
        repository.timestamp.header.version = 1
        repository.publishTimestamp()
        try client.refresh(repository)
        client.stored["timestamp.json"] = timestamp
        #expect(client.failure(repository) == nil)
        #expect(client.version("timestamp") == 1)
    }

    // MARK: Freeze

    @Test(arguments: ["timestamp", "snapshot", "targets"])
    func `expired metadata is refused, and metadata before it stays`(role: String) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        switch role {
        case "timestamp": repository.timestamp.header.expires = TestRepository.now
        case "snapshot": repository.snapshot.header.expires = TestRepository.now
        default: repository.targets.header.expires = TestRepository.now
        }
        repository.publishNext()
        #expect(client.failure(repository) == .expired)
        let order = ["timestamp", "snapshot", "targets"]
        for name in order {
            let isBefore = order.firstIndex(of: name) ?? 0 < order.firstIndex(of: role) ?? 0
            #expect(client.version(name) == (isBefore ? 2 : 1))
        }
    }

    @Test func `a server that repeats the same timestamp is noticed at its expiry`() throws {
        let repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        #expect(client.failure(repository, now: TestRepository.later - 1) == nil)
        #expect(client.failure(repository, now: TestRepository.later) == .expired)
    }

    @Test func `a clock that is wrong by a year only refuses, and loses nothing`() throws {
        let repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        let stored = client.stored
        #expect(client.failure(repository, now: TestRepository.now + 31_536_000) == .expired)
        #expect(client.stored == stored)
        #expect(client.failure(repository, now: TestRepository.now - 31_536_000) == nil)
        #expect(client.failure(repository) == nil)
    }

    @Test func `expired stored metadata is replaced by newer one`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        let expiry = TestRepository.later * 2
        repository.root.header.expires = expiry
        repository.root.header.version = 2
        repository.publishRoot()
        for path in [
            \TestRepository.timestamp.header.expires, \.snapshot.header.expires, \.targets.header.expires,
        ] {
            repository[keyPath: path] = expiry
        }
        repository.publishNext()
        #expect(client.failure(repository, now: TestRepository.later + 1) == nil)
        #expect(client.version("timestamp") == 2)
    }

    // MARK: Mix-and-match

    @Test(arguments: ["1.snapshot.json", "1.targets.json"])
    func `metadata with other bytes than announced is refused`(file: String) throws {
        var repository = try TestRepository()
        repository.hasHashes = true
        repository.publish()
        var client = TestClient(repository)
        let original = try #require(repository.files[file])
        repository.files[file] = original.dropLast() + [0x20]
        #expect(client.failure(repository) == .mismatch)
        repository.files[file] = original + [0x20]
        #expect(client.failure(repository) == .tooLarge)
        repository.files[file] = original
        #expect(client.failure(repository) == nil)
    }

    @Test func `a snapshot or targets file of another version than announced is refused`() throws {
        for role in ["snapshot", "targets"] {
            var repository = try TestRepository()
            var client = TestClient(repository)
            repository.publishNext()
            repository.files["2.\(role).json"] = repository.files["1.\(role).json"]
            #expect(client.failure(repository) == .mismatch)
            #expect(client.version(role) == nil)
        }
    }

    @Test(arguments: ["timestamp.json", "2.snapshot.json", "2.targets.json"])
    func `a missing file ends the update, and the next one goes on`(file: String) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try client.refresh(repository)
        repository.publishNext()
        let bytes = repository.files.removeValue(forKey: file)
        #expect(client.failure(repository) == .missing)
        repository.files[file] = bytes
        #expect(client.failure(repository) == nil)
        for name in ["timestamp", "snapshot", "targets"] { #expect(client.version(name) == 2) }
    }

    @Test func `metadata of another role is refused, even with the right signatures`() throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        repository.snapshot.files = [
            "snapshot.json": MetaFile(version: 1), "targets.json": MetaFile(version: 1),
        ]
        repository.files["timestamp.json"] = repository.signed(repository.snapshot, by: ["timestamp"])
        #expect(client.failure(repository) == .malformed)
    }

    // MARK: Endless data

    @Test(arguments: ["2.root.json", "timestamp.json", "1.snapshot.json", "1.targets.json"])
    func `a file over its limit is refused`(file: String) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        client.limits.maxRootBytes = 10_000
        client.limits.maxSnapshotBytes = 10_000
        client.limits.maxTargetsBytes = 10_000
        repository.files[file] = [UInt8](repeating: 0x20, count: 20_000)
        #expect(client.failure(repository) == .tooLarge)
    }

    @Test func `a server failure is not taken for the end of the roots`() throws {
        var client = TUFClient(now: TestRepository.now)
        let root = try #require(try TestRepository().files["1.root.json"])
        #expect(try client.nextRequest()?.name == "root.json")
        _ = try client.receive(.bytes(root))
        #expect(try client.nextRequest()?.name == "2.root.json")
        let error = #expect(throws: TUFError.self) { try client.receive(.failed("status 500")) }
        #expect(error?.reason == .unreachable)
        #expect(throws: TUFError.self) { try client.nextRequest() }
    }

    // MARK: Unsigned

    @Test(arguments: ["timestamp", "snapshot", "targets"])
    func `metadata by other keys than the root's is refused`(role: String) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        repository.keys[role] = [try TestRepository.key(99)]
        repository.publish()
        #expect(client.failure(repository) == .unsigned)
        #expect(client.version(role) == nil)
    }

    @Test(arguments: ["timestamp", "snapshot", "targets"])
    func `metadata below the threshold is refused`(role: String) throws {
        var repository = try TestRepository()
        var client = TestClient(repository)
        try repository.rotate(role, to: [20, 21, 22], threshold: 2)
        repository.keys[role] = [try TestRepository.key(20)]
        repository.publish()
        #expect(client.failure(repository) == .unsigned)
        repository.keys[role] = [try TestRepository.key(22), try TestRepository.key(20)]
        repository.publish()
        #expect(client.failure(repository) == nil)
    }

    @Test func `every truncation of a file is refused`() throws {
        var repository = try TestRepository()
        let original = try #require(repository.files["timestamp.json"])
        // The last byte is a line feed, which is not part of the value.
        for count in stride(from: 0, to: original.count - 1, by: 7) {
            var client = TestClient(repository)
            repository.files["timestamp.json"] = Array(original.prefix(count))
            #expect(client.failure(repository) == .malformed)
        }
    }
}
