import Glibc
import LarderKit
import System
import TestOrigin
import Testing
import Web

/// Tests repositories in folders with python-tuf as their client, and with an injected clock.
@Suite struct TUFRepositoryTests {
    private let home: TemporaryFolder
    private static let start: Int64 = 1_800_000_000
    private static let day: Int64 = 86_400

    init() throws { home = try TemporaryFolder() }

    private func repository(at time: Int64 = start, _ name: String = "repo") -> TUFRepository {
        var repository = TUFRepository(at: home.file(name))
        repository.now = HTTPDate(secondsSinceEpoch: time)
        return repository
    }

    /// Makes a key without a passphrase.
    private func key(_ name: String) throws -> ManifestKey {
        let key = try ManifestKey.new()
        try key.write(
            to: home.file(name + ".key"), publicKeyFile: home.file(name + ".pub"), passphrase: nil)
        return key
    }

    /// Creates a repository with one key per role, and returns the keys by their roles.
    private func create(thresholds: [TUFRole: Int] = [:], rootKeys: [ManifestKey] = []) throws -> [TUFRole:
        ManifestKey]
    {
        var keys: [TUFRole: ManifestKey] = [:]
        for role in TUFRole.allCases { keys[role] = try key(role.rawValue) }
        var publicKeys = keys.mapValues { [TUFPublicKey(of: $0)] }
        if !rootKeys.isEmpty { publicKeys[.root] = rootKeys.map { TUFPublicKey(of: $0) } }
        _ = try repository().create(keys: publicKeys, thresholds: thresholds)
        return keys
    }

    private func add(_ files: [String: String], replacing: Bool = true, at time: Int64 = start) throws {
        Folder.remove(home.file("dist"))
        mkdir(home.file("dist"), 0o755)
        for (name, content) in files { try home.write(content, to: "dist/" + name) }
        _ = try repository(at: time).add([home.file("dist")], removesOthers: replacing)
    }

    /// Updates the client of python-tuf with this name, and our own would have to agree: `publish` ran it.
    private func update(_ client: String = "client", at time: Int64 = start) throws -> PythonTUFClient.Update
    {
        let python = try #require(PythonTUFClient.installed)
        return try #require(
            try python.update([(home.file("repo"), home.file(client))], now: time).first)
    }

    private static let hasClient = PythonTUFClient.installed != nil
    private static let missing: Comment = "no python3 has the package tuf"

    @Test(.enabled(if: hasClient, missing))
    func `python-tuf finds targets, changes and removals`() throws {
        let keys = try create()
        let all = Array(keys.values)
        try add(["a.js": "one", "b c#1.js": "two"])
        #expect(try repository().publish(all).written.last == "timestamp.json")
        let first = try update()
        #expect(first.error == nil && first.versions == [1, 1, 1, 1])
        #expect(first.targets == ["a.js=one", "b%20c%231.js=two"])
        try add(["a.js": "changed", "ü%.js": "three"])
        _ = try repository().publish(all)
        let second = try update()
        #expect(second.error == nil && second.versions == [1, 2, 2, 2])
        #expect(second.targets == ["%C3%BC%25.js=three", "a.js=changed"])
        _ = try repository().remove(["ü%.js"])
        _ = try repository().publish(all)
        #expect(try update().targets == ["a.js=changed"])
        #expect(try update("fresh").targets == ["a.js=changed"])
    }

    @Test(.enabled(if: hasClient, missing))
    func `python-tuf follows rotations of every role with thresholds of two of three`() throws {
        let people = [try key("ann"), try key("bob"), try key("cat")]
        let keys = try create(thresholds: [.root: 2], rootKeys: people)
        let online = TUFRole.allCases.filter { $0 != .root }.compactMap { keys[$0] }
        try add(["a.js": "one"])
        #expect(try repository().publish(online + [people[0]]).waiting.map(\.missingSignatures) == [1])
        #expect(try repository().publish(online + [people[2]]).waiting.isEmpty)
        #expect(try update().versions == [1, 1, 1, 1])
        var current = keys
        var signing: [ManifestKey] = []
        for (number, role) in TUFRole.allCases.filter({ $0 != .root }).enumerated() {
            let new = try (0..<3).map { try key("\(role.rawValue)-\($0)") }
            let old = try #require(current[role])
            _ = try repository().rotate(
                role, adding: new.map { TUFPublicKey(of: $0) }, removing: [TUFPublicKey(of: old).id],
                threshold: 2)
            let report = try repository().publish(
                Array(current.values) + signing + [new[0], new[2], people[0], people[1]])
            #expect(report.waiting.isEmpty && report.written.last == "\(number + 2).root.json")
            current[role] = nil
            signing += [new[0], new[1]]
            try add(["a.js": "after \(role.rawValue)"])
            _ = try repository().publish(Array(current.values) + signing)
            let updates = [try update(), try update("fresh-\(number)")]
            for update in updates {
                #expect(update.error == nil && update.versions.first == number + 2)
                #expect(update.targets == ["a.js=after \(role.rawValue)"])
            }
        }
        // The root itself: two other people, and the old threshold signs the change.
        let new = [try key("dan"), try key("eve")]
        _ = try repository().rotate(
            .root, adding: new.map { TUFPublicKey(of: $0) }, removing: [home.file("ann.pub")])
        let alone = try repository().publish(signing + new)
        #expect(alone.waiting.map(\.role) == ["root"])
        #expect(try update().versions.first == 4)
        _ = try repository().sign([people[0], people[2]])
        #expect(try repository().publish(signing).waiting.isEmpty)
        for client in ["client", "fresh"] {
            let update = try update(client)
            #expect(update.error == nil && update.versions.first == 5)
        }
    }

    @Test(.enabled(if: hasClient, missing))
    func `python-tuf rejects expired metadata until it is published again`() throws {
        let keys = try create()
        try add(["a.js": "one"])
        _ = try repository().publish(Array(keys.values))
        let later = Self.start + 8 * Self.day
        #expect(try update().error == nil)
        #expect(try update(at: later).error?.hasPrefix("ExpiredMetadataError") == true)
        let online = [TUFRole.snapshot, .timestamp].compactMap { keys[$0] }
        #expect(try repository(at: later).publish(online).written == ["timestamp.json"])
        #expect(try update(at: later).targets == ["a.js=one"])
        #expect(try repository(at: later).status().isCurrent)
        #expect(try !repository(at: later + 8 * Self.day).status().isCurrent)
        // The root lives for a year. Without a new one, nothing can be published.
        let end = Self.start + 366 * Self.day
        #expect(throws: LarderError.self) { try repository(at: end).publish(Array(keys.values)) }
        _ = try repository(at: end).rotate(.root)
        _ = try repository(at: end).publish(Array(keys.values))
        let update = try update(at: end)
        #expect(update.error == nil && update.versions.first == 2)
    }

    private func publicKey(_ key: ManifestKey) -> [TUFPublicKey] { [TUFPublicKey(of: key)] }

    @Test(.enabled(if: hasClient, missing))
    func `python-tuf finds the targets of a team, and not those outside its paths or after its removal`()
        throws
    {
        let keys = try create()
        let (all, team) = (Array(keys.values), try key("team"))
        let online = [TUFRole.snapshot, .timestamp].compactMap { keys[$0] }
        try add(["a.js": "one"])
        _ = try repository().delegate(to: "team", keys: publicKey(team), paths: ["docs/"])
        #expect(try repository().publish(all).waiting.map(\.role) == ["team", "targets"])
        #expect(try repository().publish(all + [team]).waiting.isEmpty)
        #expect(try update().targets == ["a.js=one"])

        try home.write("text", to: "dist/deep.html")
        let added = try repository().add([home.file("dist")], prefix: "docs/x y", to: "team")
        #expect(added.skipped.isEmpty && added.targetCount == 3)
        let outside = #expect(throws: LarderError.self) {
            try repository().add([home.file("dist")], prefix: "other", to: "team")
        }
        #expect(outside?.description.contains("outside the paths of team") == true)
        _ = try repository().publish(online + [team])
        for client in ["client", "fresh"] {
            let update = try update(client)
            #expect(update.error == nil)
            #expect(update.targets == ["a.js=one", "docs/x%20y/a.js=one", "docs/x%20y/deep.html=text"])
        }

        // Another key of the team: the old one signs no new version.
        let successor = try key("successor")
        _ = try repository().delegate(to: "team", keys: publicKey(successor), paths: ["docs/"])
        _ = try repository().publish(all + [team, successor])
        _ = try repository().remove(["docs/x y/a.js"], from: "team")
        #expect(try repository().publish(online + [team]).waiting.map(\.role) == ["team"])
        #expect(try repository().publish(online + [successor]).waiting.isEmpty)
        #expect(try update().targets == ["a.js=one", "docs/x%20y/deep.html=text"])
        #expect(try repository().status().roles.map(\.name).last == "team")

        _ = try repository().removeDelegation(to: "team")
        _ = try repository().publish(all)
        for client in ["client", "new"] {
            let update = try update(client)
            #expect(update.error == nil && update.targets == ["a.js=one"], "\(update)")
        }
        // It returns with nothing lost of what the client knows.
        _ = try repository().delegate(to: "team", keys: publicKey(team), paths: ["docs/"])
        _ = try repository().publish(all + [team])
        #expect(try update().error == nil)
    }

    @Test(.enabled(if: hasClient, missing))
    func `python-tuf agrees on targets in two roles, terminating or not`() throws {
        let keys = try create()
        let teams = [try key("one"), try key("two"), try key("three")]
        _ = try repository().delegate(to: "one", keys: publicKey(teams[0]), paths: ["docs/a*"])
        _ = try repository().delegate(
            to: "two", keys: publicKey(teams[1]), paths: ["docs/", "v[0-9]/*"], isTerminating: true)
        _ = try repository().delegate(to: "three", keys: publicKey(teams[2]), paths: ["docs/", "*/b?.js"])
        let files = [
            ("two", "docs/abc"), ("one", "docs/abc"), ("two", "docs/b"), ("two", "v1/b1.js"),
            ("three", "w1/b1.js"),
        ]
        for (role, path) in files {
            let parts = path.split(separator: "/").map(String.init)
            try home.write("\(role)", to: parts[1])
            let report = try repository().add([home.file(parts[1])], prefix: parts[0], to: role)
            #expect(report.skipped.isEmpty)
        }
        let report = try repository().publish(Array(keys.values) + teams)
        #expect(report.waiting.isEmpty)
        let expected = ["docs/abc=one", "docs/b=two", "v1/b1.js=two", "w1/b1.js=three"]
        #expect(try update().targets == expected)
        #expect(report.targets == expected.map { String($0.prefix { $0 != "=" }) })
    }

    @Test(.enabled(if: hasClient, missing))
    func `after cleaning, clients of any age update, and what one in an update needs stays`() throws {
        let keys = try create()
        let (all, team) = (Array(keys.values), try key("team"))
        func age(_ names: [String], _ time: Int64) {
            for name in names {
                var times = [
                    timespec(tv_sec: Int(time), tv_nsec: 0), timespec(tv_sec: Int(time), tv_nsec: 0),
                ]
                utimensat(AT_FDCWD, home.file("repo/metadata/" + name), &times, 0)
            }
        }
        try add(["a.js": "one", "gone.js": "x"])
        _ = try repository().delegate(to: "team", keys: publicKey(team), paths: ["docs/"])
        _ = try repository().add([home.file("dist")], prefix: "docs/sub", to: "team")
        _ = try repository().publish(all + [team], hasPlainNames: true)
        _ = try update("old")
        try add(["a.js": "two"])
        _ = try repository().remove(["docs/sub/gone.js"], from: "team")
        _ = try repository().publish(all + [team])
        try home.write("foreign", to: "repo/targets/other.js")
        try home.write("{}", to: "repo/metadata/1.notes.json")
        try add(["b.js": "draft"], replacing: false)
        age(["1.snapshot.json"], Self.start - 9 * Self.day)
        age(["2.snapshot.json"], Self.start - Self.day + 60)
        let early = try repository().clean()
        #expect(early.metadata.isEmpty && early.targets.isEmpty, "\(early)")
        age(["2.snapshot.json"], Self.start - Self.day - 60)
        let listed = try repository().clean(isDryRun: true)
        let names = home.names(in: "repo/metadata")
        let cleaned = try repository().clean()
        #expect(listed.metadata == cleaned.metadata && listed.targets == cleaned.targets)
        #expect(cleaned.metadata == ["1.snapshot.json", "1.targets.json", "1.team.json"])
        #expect(
            cleaned.targets.map { String($0.split(separator: ".", maxSplits: 1)[1]) }.sorted() == [
                "a.js", "gone.js", "gone.js",
            ])
        #expect(Set(names).subtracting(home.names(in: "repo/metadata")) == Set(cleaned.metadata))
        #expect(
            home.names(in: "repo/targets").contains("other.js")
                && home.names(in: "repo/targets").contains("a.js"))
        #expect(try repository().clean().metadata.isEmpty)
        for client in ["old", "fresh"] {
            let update = try update(client)
            #expect(update.error == nil && update.targets == ["a.js=two", "docs/sub/a.js=one"], "\(update)")
        }
        _ = try repository().publish(all)
        #expect(try update("old").targets == ["a.js=two", "b.js=draft", "docs/sub/a.js=one"])
    }

    @Test func `cleaning removes nothing if metadata that stays cannot be read`() throws {
        let keys = Array(try create().values)
        try add(["a.js": "one"])
        _ = try repository().publish(keys)
        try add(["a.js": "two"])
        _ = try repository().publish(keys)
        try home.write("{", to: "repo/metadata/1.targets.json")
        let before = home.names(in: "repo/targets").sorted()
        // The files are as old as this test, and not as its clock.
        #expect(throws: LarderError.self) { try repository().clean(keepingFor: .seconds(3650 * Self.day)) }
        #expect(home.names(in: "repo/targets").sorted() == before)
    }

    @Test func `plain names are links to the current files, and vanish with their targets`() throws {
        let keys = Array(try create().values)
        func content(_ name: String) -> String? {
            (try? WholeFile.read(home.file("repo/targets/" + name), atMost: 100)).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        try add(["a.js": "one", "b c.js": "two"])
        _ = try repository().publish(keys)
        #expect(content("a.js") == nil)
        _ = try repository().publish(keys, hasPlainNames: true)
        #expect(content("a.js") == "one" && content("b c.js") == "two")
        try add(["a.js": "changed"])
        #expect(content("a.js") == "one")
        _ = try repository().publish(keys, hasPlainNames: true)
        #expect(content("a.js") == "changed" && content("b c.js") == nil)
        // The old files stay for clients that are updating.
        #expect(
            home.names(in: "repo/targets").filter { $0.hasSuffix(".b c.js") || $0.hasSuffix(".a.js") }.count
                == 3)
        // A file that is no target stays.
        try home.write("foreign", to: "repo/targets/other.js")
        _ = try repository().publish(keys, hasPlainNames: true)
        #expect(content("other.js") == "foreign")
    }

    @Test func `one's own signature on a copy is added to the draft`() throws {
        let people = [try key("ann"), try key("bob")]
        let keys = try create(thresholds: [.root: 2], rootKeys: people)
        let online = TUFRole.allCases.filter { $0 != .root }.compactMap { keys[$0] }
        _ = try repository().sign([people[0]])
        for folder in ["", "/draft", "/metadata"] { mkdir(home.file("copy" + folder), 0o755) }
        for name in ["root.json", "targets.json"] {
            let bytes = try WholeFile.read(home.file("repo/draft/" + name), atMost: 1 << 20)
            try home.write(bytes, to: "copy/draft/" + name)
        }
        _ = try repository(at: Self.start + 60, "copy").sign([people[1]])
        let report = try repository().sign([], copies: [home.file("copy/draft/root.json")])
        #expect(report.drafts.first { $0.role == "root" }?.missingSignatures == 0)
        #expect(try repository().publish(online).waiting.isEmpty)
    }

    @Test func `symbolic links, special files and unusable names are reported and left out`() throws {
        let keys = try create()
        for folder in ["dist", "dist/sub", "dist/.hidden"] { mkdir(home.file(folder), 0o755) }
        try home.write("one", to: "dist/a.js")
        try home.write("secret", to: "secret")
        try home.write("x", to: "dist/.hidden/x")
        try home.write("long", to: "dist/" + String(repeating: "x", count: 200))
        symlink(home.file("secret"), home.file("dist/link.js"))
        symlink(home.path, home.file("dist/sub/up"))
        mkfifo(home.file("dist/fifo"), 0o600)
        let report = try repository().add([home.file("dist")])
        #expect(report.targets == ["a.js"])
        #expect(
            report.skipped.map(\.name) == ["fifo", "link.js", "sub/up", String(repeating: "x", count: 200)])
        #expect(throws: LarderError.self) { try repository().add([home.file("dist/link.js")]) }
        #expect(throws: LarderError.self) { try repository().add([home.file("nowhere")]) }
        _ = try repository().publish(Array(keys.values))
    }

    @Test func `a target whose file was changed or deleted is not published`() throws {
        let keys = try create()
        try add(["a.js": "one"])
        let stored = try #require(home.names(in: "repo/targets").first)
        try home.write("two", to: "repo/targets/" + stored)
        #expect(throws: LarderError.self) { try repository().publish(Array(keys.values)) }
        home.remove("repo/targets/" + stored)
        #expect(throws: LarderError.self) { try repository().publish(Array(keys.values)) }
        #expect(home.names(in: "repo/metadata").isEmpty)
        try add(["a.js": "one"])
        _ = try repository().publish(Array(keys.values))
    }

    @Test(arguments: [
        ("metadata/timestamp.json", "{"), ("metadata/1.root.json", "{}"), ("draft/targets.json", "x"),
        ("metadata/2.root.json", "{}"),
    ])
    func `damaged metadata is an error that names the file`(name: String, content: String) throws {
        let keys = try create()
        try add(["a.js": "one"])
        _ = try repository().publish(Array(keys.values))
        try home.write(content, to: "repo/" + name)
        let file = String(name.split(separator: "/").last ?? "")
        let error = #expect(throws: LarderError.self) { try repository().publish(Array(keys.values)) }
        #expect(error?.description.contains(file) == true)
    }

    @Test func `files that do not belong to the repository are left alone`() throws {
        let keys = try create()
        try add(["a.js": "one"])
        try home.write("x", to: "repo/metadata/readme.txt")
        try home.write("x", to: "repo/metadata/notes.targets.json")
        try home.write("x", to: "repo/targets/index.html")
        _ = try repository().publish(Array(keys.values))
        #expect(Set(home.names(in: "repo/metadata")).isSuperset(of: ["readme.txt", "notes.targets.json"]))
        #expect(home.names(in: "repo/targets").contains("index.html"))
    }

    @Test func `files can be read by a web server, and secret keys only by the user`() throws {
        let keys = try TUFRepository.createKeys(for: TUFRole.allCases, in: home.file("keys")) { _ in nil }
        _ = try repository().create(keys: keys)
        func mode(_ name: String) -> UInt32 {
            var status = stat()
            return stat(home.file(name), &status) == 0 ? status.st_mode & 0o777 : 0
        }
        #expect(mode("keys/root.key") == 0o600 && mode("keys") == 0o700)
        let mask = umask(0)
        umask(mask)
        #expect(mode("repo/draft/root.json") == 0o644 & ~mask)
        #expect(mode("repo/metadata") == 0o755 & ~mask)
        #expect(throws: LarderError.self) { try repository().create(keys: keys) }
    }
}
