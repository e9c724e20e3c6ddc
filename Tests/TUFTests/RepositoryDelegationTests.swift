import Digest
import TUF
import Testing
import Web

/// Keys 1 to 4 are those of root, targets, snapshot and timestamp; 21 and above belong to teams.
@Suite struct RepositoryDelegationTests {
    /// A published repository that delegates `docs/` to the role `docs` with the key 21.
    private func repositoryWithTeam() throws -> Publisher {
        var publisher = try Publisher()
        try publisher.add("one", as: "a.js")
        try publisher.delegate(to: "docs", keys: [21], ["docs/"])
        try publisher.publish([1, 2, 3, 4, 21])
        return publisher
    }

    @Test func `a team publishes with its own key, and without that of the targets`() throws {
        var publisher = try repositoryWithTeam()
        var client = try publisher.client()
        #expect(try publisher.update(&client) == ["a.js"])
        try publisher.add("text", as: "docs/deep/er/b.html", of: "docs")
        let publication = try publisher.publish([21, 3, 4])
        #expect(publication.files.map(\.name) == ["2.docs.json", "2.snapshot.json", "timestamp.json"])
        #expect(publication.waiting == [])
        #expect(try publisher.update(&client) == ["a.js", "docs/deep/er/b.html"])
        try publisher.add("", as: "", removing: ["docs/deep/er/b.html"], of: "docs")
        try publisher.publish([21, 3, 4])
        #expect(try publisher.update(&client) == ["a.js"])
    }

    @Test func `a delegation waits until the role has signed its first version`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        var client = try publisher.client()
        try publisher.add("one", as: "a.js")
        try publisher.delegate(to: "docs", keys: [21, 22, 23], ["docs/"], threshold: 2)
        let early = try publisher.publish([2, 3, 4, 22])
        #expect(early.waiting.map(\.role) == ["docs", "targets"])
        #expect(early.waiting.map(\.missingSignatures) == [1, 0])
        #expect(early.files.map(\.name) == ["timestamp.json"])
        #expect(try publisher.update(&client) == [])
        let late = try publisher.publish([3, 4, 23])
        #expect(
            late.files.map(\.name) == ["1.docs.json", "2.targets.json", "2.snapshot.json", "timestamp.json"])
        #expect(try publisher.update(&client) == ["a.js"])
    }

    @Test func `after a change of keys, signatures by the old key no longer count`() throws {
        var publisher = try repositoryWithTeam()
        try publisher.add("text", as: "docs/a.html", of: "docs")
        try publisher.publish([21, 3, 4])
        var client = try publisher.client()
        try publisher.update(&client)
        try publisher.delegate(to: "docs", keys: [22], ["docs/"])
        // The holder of the old key cannot complete the change, nor lose it.
        let early = try publisher.publish([2, 3, 4, 21])
        #expect(early.files.map(\.name) == ["timestamp.json"])
        #expect(early.waiting.map(\.role) == ["docs", "targets"])
        let late = try publisher.publish([3, 4, 22])
        #expect(late.files.map(\.role) == ["docs", "targets", "snapshot", "timestamp"])
        #expect(try publisher.update(&client) == ["a.js", "docs/a.html"])
        try publisher.add("evil", as: "docs/a.html", of: "docs")
        #expect(try publisher.publish([21, 3, 4]).waiting.map(\.role) == ["docs"])
        #expect(try publisher.publish([22, 3, 4]).waiting == [])
        #expect(try publisher.update(&client) == ["a.js", "docs/a.html"])
    }

    @Test func `a role that publishes while its keys are changed signs again with the new ones`() throws {
        var publisher = try repositoryWithTeam()
        try publisher.delegate(to: "docs", keys: [22], ["docs/"])
        try publisher.add("text", as: "docs/a.html", of: "docs")
        let first = try publisher.publish([21, 3, 4])
        #expect(first.files.map(\.role) == ["docs", "snapshot", "timestamp"])
        #expect(first.waiting.map(\.role) == ["docs", "targets"])
        let second = try publisher.publish([2, 22, 3, 4])
        #expect(
            second.files.map(\.name).prefix(2) == ["3.docs.json", "2.targets.json"] && second.waiting == [])
        var client = try publisher.client()
        #expect(try publisher.update(&client) == ["a.js", "docs/a.html"])
    }

    @Test func `a removed role does not count, and its versions go on when it returns`() throws {
        var publisher = try repositoryWithTeam()
        try publisher.add("text", as: "docs/a.html", of: "docs")
        try publisher.publish([21, 3, 4])
        var client = try publisher.client()
        try publisher.update(&client)
        try publisher.repository.removeDelegation(
            to: "docs", periods: publisher.periods, now: publisher.date)
        try publisher.publish([2, 3, 4])
        #expect(try publisher.update(&client) == ["a.js"])
        #expect(publisher.repository.published?.delegated.isEmpty == true)
        try publisher.delegate(to: "docs", keys: [21], ["docs/"])
        let back = try publisher.publish([2, 3, 4, 21])
        #expect(back.files.first?.name == "3.docs.json")
        #expect(try publisher.update(&client) == ["a.js"])
        #expect(throws: RepositoryError.self) {
            try publisher.repository.removeDelegation(
                to: "nobody", periods: publisher.periods, now: publisher.date)
        }
    }

    /// Targets in several roles: the client and the repository must agree on which one counts.
    @Test(arguments: [false, true])
    func `the first role counts for a target in two roles, and a terminating one hides the next`(
        isTerminating: Bool
    ) throws {
        var publisher = try Publisher()
        try publisher.delegate(to: "first", keys: [21], ["docs/"], isTerminating: isTerminating)
        try publisher.delegate(to: "second", keys: [22], ["docs/", "*.js"])
        for (path, role) in [
            ("docs/a", "first"), ("docs/a", "second"), ("docs/b", "second"), ("x.js", "second"),
            ("x.js", "first"), ("outside", "second"), ("docs/top", "first"),
        ] {
            try publisher.add("\(path) of \(role)", as: path, of: role)
        }
        try publisher.add("top", as: "docs/top")
        try publisher.publish([1, 2, 3, 4, 21, 22])
        var client = try publisher.client()
        let expected = ["docs/a", "docs/b", "docs/top", "x.js"].filter { $0 != "docs/b" || !isTerminating }
        #expect(try publisher.update(&client) == expected)
        let published = try #require(publisher.repository.published)
        #expect(published.foundTargets.keys.sorted() == expected)
        #expect(published.foundTargets["docs/a"]?.role == "first")
        #expect(published.foundTargets["docs/top"]?.role == "targets")
        let reasons = ["docs/new", "docs/top", "other"].map {
            publisher.repository.reason(against: $0, in: "second")
        }
        #expect((reasons[0] == nil) != isTerminating && reasons[1] != nil && reasons[2] != nil)
    }

    @Test func `a signature on a copy is added to the role whose key signed it`() throws {
        var publisher = try Publisher()
        try publisher.publish()
        // Both first versions have the same bytes.
        try publisher.delegate(to: "one", keys: [21], ["one/"])
        try publisher.delegate(to: "two", keys: [22], ["two/"])
        for (number, role) in [(22, "two"), (21, "one")] as [(UInt8, String)] {
            var copy = try #require(publisher.repository.draftDelegated[role])
            copy.sign(with: try Publisher.key(number))
            let added = try publisher.repository.addSignatures(from: copy.fileBytes(), name: "copy.json")
            #expect(added.role == role && added.count == 1)
        }
        var wrong = try #require(publisher.repository.draftDelegated["one"])
        wrong.sign(with: try Publisher.key(99))
        #expect(throws: RepositoryError.self) {
            try publisher.repository.addSignatures(from: wrong.fileBytes(), name: "copy.json")
        }
        #expect(try publisher.publish([2, 3, 4]).waiting == [])
    }

    @Test func `an expired role does not keep the others from publishing`() throws {
        var publisher = try repositoryWithTeam()
        publisher.now += 89 * 86_400
        #expect(try publisher.publish([2, 3, 4]).files.map(\.role) == ["targets", "snapshot", "timestamp"])
        publisher.now += 2 * 86_400
        try publisher.add("two", as: "b.js")
        #expect(try publisher.publish([2, 3, 4]).files.map(\.role) == ["targets", "snapshot", "timestamp"])
        var client = try publisher.client()
        #expect(throws: TUFError.self) { try publisher.update(&client) }
        #expect(try publisher.publish([21, 3, 4]).files.map(\.role) == ["docs", "snapshot", "timestamp"])
        #expect(try publisher.update(&client) == ["a.js", "b.js"])
    }

    @Test func `the same delegation again changes nothing, and a new root does not lose it`() throws {
        var publisher = try repositoryWithTeam()
        try publisher.delegate(to: "docs", keys: [21], ["docs/"])
        #expect(!publisher.repository.hasDrafts)
        try publisher.rotate(.targets, adding: [12], removing: [2])
        #expect(try publisher.publish([1, 2, 12, 3, 4]).waiting == [])
        try publisher.delegate(to: "more", keys: [22], ["more/*"])
        #expect(try publisher.publish([12, 3, 4, 22]).waiting == [])
        try publisher.add("text", as: "docs/a.html", of: "docs")
        try publisher.publish([21, 3, 4])
        var client = try publisher.client()
        #expect(try publisher.update(&client) == ["a.js", "docs/a.html"])
    }

    @Test(arguments: [
        "", ".", "..", "../x", "a/b", "root", "Targets", "a b", "ä", String(repeating: "x", count: 76),
    ])
    func `a name that is not safe for a file is refused`(name: String) throws {
        var publisher = try Publisher()
        #expect(throws: RepositoryError.self) { try publisher.delegate(to: name, keys: [21], ["docs/"]) }
        #expect(publisher.repository.delegatedRoles.isEmpty)
    }

    @Test(arguments: ["", "/", "/docs/", "../docs/", "docs/../x", "docs//", "./docs/"])
    func `a path that no target can have is refused`(path: String) throws {
        var publisher = try Publisher()
        #expect(throws: RepositoryError.self) { try publisher.delegate(to: "docs", keys: [21], [path]) }
    }

    @Test func `impossible thresholds, no paths and an unknown role are refused`() throws {
        var publisher = try Publisher()
        #expect(throws: RepositoryError.self) {
            try publisher.delegate(to: "docs", keys: [21, 21], ["docs/"], threshold: 2)
        }
        #expect(throws: RepositoryError.self) { try publisher.delegate(to: "docs", keys: [21], []) }
        #expect(throws: RepositoryError.self) { try publisher.delegate(to: "docs", keys: [], ["docs/"]) }
        #expect(throws: RepositoryError.self) { try publisher.add("text", as: "docs/a", of: "docs") }
    }

    @Test(arguments: [
        ("docs/", "docs/a", true), ("docs/", "docs/a/b/c", true), ("docs/", "docs", false),
        ("docs/", "docsx/a", false), ("docs/", "other/docs/a", false),
        ("docs/", "docs" + String(repeating: "/x", count: 17), false), ("docs/*.js", "docs/a.js", true),
        ("docs/*.js", "docs/x/a.js", false), ("a b/", "a%20b/c", true), ("a b/", "a b/c", false),
        ("v?/", "v2/a", true), ("v?/", "v22/a", false), ("one.js", "one.js", true),
        ("one.js", "onexjs", false),
    ])
    func `a folder stands for all files below it`(path: String, target: String, isCovered: Bool) throws {
        var publisher = try Publisher()
        try publisher.delegate(to: "docs", keys: [21], [path])
        #expect(publisher.repository.delegatedRoles.first?.covers(target) == isCovered)
    }
}
