import Digest
import TUF
import Testing

/// Delegations that someone makes to keep a client busy, or to have it accept what they may not publish.
@Suite struct HostileDelegationTests {
    /// Lets a role delegate to many others with one key, of which only those with metadata are published.
    private func delegate(
        from delegator: String = "targets", _ roles: [(name: String, patterns: [String])],
        in repository: inout TestRepository
    ) throws {
        let key = try TestRepository.key(99)
        let keys = RoleKeys(keyIDs: [TUFKey(key.publicKey).id], threshold: 1)
        let list = roles.map { DelegatedRole(name: $0.name, keys: keys, scope: .paths($0.patterns)) }
        for role in roles where repository.keys[role.name] == nil { repository.keys[role.name] = [key] }
        repository.change(delegator) {
            $0.delegations = Delegations(keys: KeyTable([TUFKey(key.publicKey)]), roles: list)
        }
    }

    private func addRole(_ name: String, to repository: inout TestRepository) {
        repository.delegated[name] = TargetsMetadata(
            header: MetadataHeader(version: 1, expires: TestRepository.later))
    }

    @Test func `a client loads the metadata of one of 10,000 roles`() throws {
        var repository = try TestRepository()
        let roles = (0..<10_000).map { (name: "r\($0)", patterns: ["team-\($0)/*", "team-\($0)/*/*"]) }
        try delegate(roles, in: &repository)
        addRole("r9999", to: &repository)
        repository.add("team-9999/a.js", "a", to: "r9999")
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("team-9999/a.js", repository)?.role == "r9999")
        #expect(client.requests.filter { $0.contains(".r9") } == ["1.r9999.json"])
        var state = try client.refresh(repository)
        state.list()
        let error = #expect(throws: TUFError.self) { try client.run(&state, repository) }
        #expect(error?.reason == .tooLarge)
    }

    @Test func `a deep tree is followed to its limit, and not beyond`() throws {
        var repository = try TestRepository()
        for depth in 0..<40 {
            let role = "d\(depth)"
            try repository.delegate(role, from: depth == 0 ? "targets" : "d\(depth - 1)")
            repository.add("at-\(depth)", "x", to: role)
        }
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("at-30", repository)?.role == "d30")
        var other = TestClient(repository)
        #expect(try other.find("at-39", repository) == nil)
        #expect(
            other.requests.filter { $0.contains(".d") }.count == 31,
            "the top-level targets are the first of 32")
    }

    @Test func `cycles over many roles end, and each role is loaded once`() throws {
        var repository = try TestRepository()
        let names = (0..<20).map { "c\($0)" }
        for name in names { try repository.delegate(name) }
        for name in names {
            for other in names where other != name { try repository.delegate(other, from: name) }
        }
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("missing", repository) == nil)
        #expect(Set(client.requests).count == client.requests.count)
        var state = try client.refresh(repository)
        state.list()
        try client.run(&state, repository)
        #expect(state.targets.isEmpty)
    }

    @Test func `patterns that take hours to compare are refused after a while`() throws {
        var repository = try TestRepository()
        // Each star is tried at every character, and fails late.
        let pattern = "*" + String(repeating: "a", count: 2000) + "b"
        try delegate([("evil", Array(repeating: pattern, count: 2000))], in: &repository)
        addRole("evil", to: &repository)
        repository.publishNext()
        var client = TestClient(repository)
        let path = String(repeating: "a", count: 4000)
        let error = #expect(throws: TUFError.self) { _ = try client.find(path, repository) }
        #expect(error?.reason == .tooLarge)
        #expect(try client.find("short", repository) == nil)
    }

    @Test(arguments: [
        "docs/../app.js", "/docs/a", "../docs/a", "docs//a", "DOCS/a", "docs/a/b", "docs", "app.js",
        "docs/%2e%2e/x",
    ])
    func `a role gets nothing outside its pattern, and no name leads out of the folder`(path: String) throws {
        var repository = try TestRepository()
        try repository.delegate("docs", paths: ["docs/*"])
        repository.add(path, "evil", to: "docs")
        repository.add("docs/good", "good", to: "docs")
        repository.publishNext()
        var client = TestClient(repository)
        let found = try client.find(path, repository)
        #expect(found == nil || found?.reference(hasDigest: false) == nil)
        var state = try client.refresh(repository)
        state.list()
        try client.run(&state, repository)
        #expect(state.targets.filter { $0.reference(hasDigest: true) != nil }.map(\.path) == ["docs/good"])
    }

    @Test func `metadata that only a revoked key has signed is refused`() throws {
        var repository = try TestRepository()
        try repository.delegate("docs", paths: ["docs/*"])
        repository.add("docs/a", "good", to: "docs")
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("docs/a", repository)?.role == "docs")
        // The delegation names another key. The thief still has the old one.
        try delegate([("docs", ["docs/*"])], in: &repository)
        repository.add("docs/a", "evil", to: "docs")
        repository.delegated["docs"]?.header.version += 1
        repository.publishNext()
        let error = #expect(throws: TUFError.self) { _ = try client.find("docs/a", repository) }
        #expect(error?.reason == .unsigned)
        #expect(client.version("docs") == 1)
    }

    @Test func `a role cannot take the place of a top-level role, and no two have the same name`() throws {
        for roles in [["root"], ["targets"], ["snapshot"], ["a", "a"], [""]] {
            var repository = try TestRepository()
            try delegate(roles.map { ($0, ["*"]) }, in: &repository)
            repository.publishNext()
            var client = TestClient(repository)
            #expect(client.failure(repository) == .malformed, "\(roles)")
        }
    }
}
