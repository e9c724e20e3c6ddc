import Digest
import TUF
import Testing

@Suite struct DelegationSearchTests {
    /// A delegation: delegator, role, paths, whether it is terminating.
    typealias Edge = (String, String, [String], Bool)

    @Test(
        arguments: [
            ([("targets", "A", ["*"], false), ("targets", "B", ["*"], false)], ["A", "B"]),
            (
                [
                    ("targets", "A", ["*"], false), ("targets", "B", ["*"], false), ("A", "C", ["*"], false),
                    ("A", "D", ["*"], false),
                ], ["A", "C", "D", "B"]
            ),
            // Nothing after a terminating role is visited, except roles that it delegates to.
            (
                [
                    ("targets", "A", ["*"], false), ("targets", "B", ["*"], false), ("A", "C", ["*"], true),
                    ("A", "D", ["*"], false), ("C", "E", ["*"], false),
                ], ["A", "C", "E"]
            ),
            // A terminating role that does not cover the path changes nothing.
            ([("targets", "A", ["*.py"], true), ("targets", "B", ["*"], false)], ["B"]),
            // A cycle.
            (
                [("targets", "A", ["*"], false), ("A", "B", ["*"], false), ("B", "A", ["*"], false)],
                ["A", "B"]
            ),
            // Two roles delegate to a third.
            (
                [
                    ("targets", "A", ["*"], false), ("targets", "B", ["*"], false), ("A", "C", ["*"], false),
                    ("B", "C", ["*"], false),
                ],
                ["A", "C", "B"]
            ),
        ] as [([Edge], [String])])
    func `roles are visited depth-first in the order of their delegations`(
        edges: [Edge], order: [String]
    ) throws {
        var repository = try TestRepository()
        for (delegator, role, paths, isTerminating) in edges {
            try repository.delegate(role, from: delegator, paths: paths, isTerminating: isTerminating)
        }
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("missing", repository) == nil)
        #expect(client.requests.dropFirst(4) == order.map { "1.\($0).json" }[...])
    }

    @Test func `a target must be in the paths of all roles that lead to it`() throws {
        var repository = try TestRepository()
        try repository.delegate("A", paths: ["releases/*/*"])
        try repository.delegate("B", from: "A", paths: ["releases/x/*"])
        repository.add("releases/x/a", "inside", to: "B")
        repository.add("releases/y/a", "outside", to: "B")
        repository.add("other", "outside", to: "A")
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("releases/x/a", repository)?.role == "B")
        #expect(try client.find("releases/y/a", repository) == nil)
        #expect(try client.find("other", repository) == nil)
    }

    @Test func `the first role in the order of delegations describes a target`() throws {
        var repository = try TestRepository()
        for role in ["A", "B"] {
            try repository.delegate(role)
            repository.add("a", role, to: role)
        }
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("a", repository)?.role == "A")
        repository.add("a", "own")
        repository.publishNext()
        #expect(try client.find("a", repository)?.role == "targets")
    }

    @Test func `a role that one delegator trusts is not trusted by another`() throws {
        var repository = try TestRepository()
        try repository.delegate("A", paths: ["a/*"])
        try repository.delegate("B", paths: ["b/*"])
        try repository.delegate("C", from: "A", paths: ["a/*"])
        let own = repository.keys["C"]
        repository.keys["C"] = [try TestRepository.key(77)]
        try repository.delegate("C", from: "B", paths: ["b/*"])
        repository.keys["C"] = own
        repository.add("a/file", "a", to: "C")
        repository.add("b/file", "b", to: "C")
        repository.publishNext()
        var client = TestClient(repository)
        var state = try client.refresh(repository)
        state.find("a/file")
        try client.run(&state, repository)
        #expect(state.target?.role == "C")
        state.find("b/file")
        let error = #expect(throws: TUFError.self) { try client.run(&state, repository) }
        #expect(error?.reason == .unsigned)
    }

    @Test func `a role that the snapshot does not list is not requested`() throws {
        var repository = try TestRepository()
        try repository.delegate("A")
        repository.publishNext()
        repository.snapshot.files["A.json"] = nil
        repository.publishSnapshot()
        var client = TestClient(repository)
        let error = #expect(throws: TUFError.self) { _ = try client.find("a", repository) }
        #expect(error?.reason == .missing)
        #expect(!client.requests.contains("1.A.json"))
    }

    @Test func `a search ends after the maximum number of roles`() throws {
        var repository = try TestRepository()
        for number in 0..<40 { try repository.delegate("role\(number)") }
        repository.add("a", "a", to: "role39")
        repository.add("b", "b", to: "role5")
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("b", repository)?.role == "role5")
        #expect(try client.find("a", repository) == nil)
    }

    @Test func `names of roles are escaped in file names`() throws {
        for (role, file) in [
            ("?", "%3F"), ("#", "%23"), ("/role", "%2Frole"), ("../role", "..%2Frole"), ("a b", "a%20b"),
        ] {
            var repository = try TestRepository()
            try repository.delegate(role)
            repository.publishNext()
            repository.files["1.\(file).json"] = repository.files["1.\(role).json"]
            var client = TestClient(repository)
            #expect(try client.find("a", repository) == nil)
            #expect(client.requests.last == "1.\(file).json")
            #expect(client.stored["\(file).json"] != nil)
        }
    }

    @Test func `bins of hashed paths are searched, and only the bin of the path is loaded`() throws {
        var repository = try TestRepository()
        let key = try TestRepository.key(60)
        let keys = RoleKeys(keyIDs: [TUFKey(key.publicKey).id], threshold: 1)
        let bins = SuccinctRoles(keys: keys, bitLength: 2, namePrefix: "bin")
        repository.targets.delegations = Delegations(keys: KeyTable([TUFKey(key.publicKey)]), succinct: bins)
        for name in ["bin-0", "bin-1", "bin-2", "bin-3"] {
            repository.keys[name] = [key]
            repository.delegated[name] = TargetsMetadata(
                header: MetadataHeader(version: 1, expires: TestRepository.later))
        }
        // The SHA-256 of "app.js" starts with the bits 11.
        repository.add("app.js", "app", to: "bin-3")
        repository.publishNext()
        var client = TestClient(repository)
        #expect(try client.find("app.js", repository)?.role == "bin-3")
        #expect(client.requests.dropFirst(4) == ["1.bin-3.json"])
    }

    @Test func `a list has exactly the targets that a search finds`() throws {
        var repository = try TestRepository()
        repository.add("own", "1")
        try repository.delegate("A", paths: ["a/*"], isTerminating: true)
        try repository.delegate("B", paths: ["*", "*/*"])
        repository.add("a/one", "2", to: "A")
        repository.add("b/outside", "3", to: "A")
        repository.add("a/hidden", "4", to: "B")
        repository.add("b/two", "5", to: "B")
        repository.add("own", "6", to: "B")
        repository.publishNext()
        var client = TestClient(repository)
        var state = try client.refresh(repository)
        state.list()
        try client.run(&state, repository)
        #expect(state.targets.map(\.path) == ["a/one", "b/two", "own"])
        #expect(state.targets.map(\.role) == ["A", "B", "targets"])
        for target in state.targets { #expect(try client.find(target.path, repository) == target) }
        for path in ["b/outside", "a/hidden"] { #expect(try client.find(path, repository) == nil) }
    }

    @Test func `a list of too many roles is refused`() throws {
        var repository = try TestRepository()
        for number in 0..<5 { try repository.delegate("role\(number)") }
        repository.publishNext()
        var client = TestClient(repository)
        client.limits.maxListedRoles = 4
        var state = try client.refresh(repository)
        state.list()
        let error = #expect(throws: TUFError.self) { try client.run(&state, repository) }
        #expect(error?.reason == .tooLarge)
    }
}
