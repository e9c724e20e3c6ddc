import Glibc
import System
import TestOrigin
import Testing

@Suite struct TUFCommandTests {
    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder()
        mkdir(home.file("dist"), 0o755)
        try home.write("one", to: "dist/a.js")
    }

    /// Runs `larder tuf` in the home folder.
    private func tuf(
        _ words: String..., environment: [String: String] = [:], shell: String = #"exec "$0" "$@""#
    ) throws -> Command.Ending {
        try Command(
            ["tuf"] + words, home: home, environment: environment, shell: #"cd "$HOME" && "# + shell
        ).wait()
    }

    private func create() throws {
        let created = try tuf("init", "repo", "--keys", "keys", "--no-passphrase")
        #expect(created.status == 0, "\(created)")
        let added = try tuf("add", "repo", "dist")
        #expect(added.status == 0, "\(added)")
        let published = try tuf("publish", "repo", "--keys", "keys")
        #expect(published.status == 0, "\(published)")
    }

    private func copy(_ from: String, to: String) throws {
        let ending = try ChildProcess("/bin/cp", ["-r", home.file(from), home.file(to)]).wait()
        try #require(ending.status == 0, "\(ending)")
    }

    private static let hasClient = PythonTUFClient.installed != nil
    private static let noClient: Comment = "no python3 has the package tuf"

    @Test(.enabled(if: hasClient, noClient))
    func `the commands from init to publish make a repository that python-tuf accepts`() throws {
        try create()
        let python = try #require(PythonTUFClient.installed)
        let update = try #require(try python.update([(home.file("repo"), home.file("client"))]).first)
        #expect(update.error == nil && update.targets == ["a.js=one"])
        let status = try tuf("status", "repo")
        #expect(status.status == 0 && status.output.contains("timestamp version 1, expires"), "\(status)")
        #expect(status.output.contains("1 of 1 key"))

        // The folder is the whole truth with --delete, and adds without it.
        home.remove("dist/a.js")
        try home.write("two", to: "dist/b.js")
        let changed = try tuf("add", "repo", "dist", "--delete", "--json")
        #expect(changed.output.contains(#""removed": 1"#), "\(changed)")
        #expect(try tuf("add", "repo", "dist", "--prefix", "app").output.contains("1 target added"))
        #expect(try tuf("publish", "repo", "--keys", "keys").status == 0)
        let second = try #require(try python.update([(home.file("repo"), home.file("client"))]).first)
        #expect(second.targets == ["app/b.js=two", "b.js=two"])
        #expect(try tuf("remove", "repo", "app/b.js").status == 0)
        #expect(try tuf("publish", "repo", "--keys", "keys").status == 0)
        let third = try #require(try python.update([(home.file("repo"), home.file("client"))]).first)
        #expect(third.targets == ["b.js=two"])
    }

    @Test func `larder downloads and preloads from the repository, over changes and a rotation`() throws {
        try home.write("two", to: "dist/b c.js")
        try create()
        let origin = try TestOrigin()
        origin.serve(folder: home.file("repo"), at: "/app/")
        func download(_ folder: String, _ target: String) throws -> Command.Ending {
            try tuf(
                "download", "--metadata-url", origin.url("/app/metadata/"), "--metadata-dir", folder,
                "--trust",
                "repo/metadata/1.root.json", "--target", target, "--target-dir", "\(folder)-files",
                "--allow-private")
        }
        func content(_ name: String) -> String {
            let bytes = try? WholeFile.read(home.file(name), atMost: 100)
            return String(decoding: bytes ?? [], as: UTF8.self)
        }
        let first = try download("client", "a.js")
        #expect(first.status == 0 && content("client-files/a.js") == "one", "\(first)")
        let escaped = try download("client", "b%20c.js")
        #expect(escaped.status == 0, "\(escaped)")

        // A new key for the timestamp, changed files, and plain names for the pages of the app.
        let key = try Command.run(
            "key", "new", "--out", home.file("keys/timestamp-2.key"), "--no-passphrase", home: home)
        #expect(key.status == 0)
        #expect(
            try tuf(
                "rotate", "repo", "--role", "timestamp", "--add", "keys/timestamp-2.pub", "--remove",
                "keys/timestamp.pub", "--keys", "keys"
            ).status == 0)
        try home.write("changed", to: "dist/a.js")
        home.remove("dist/b c.js")
        #expect(try tuf("add", "repo", "dist", "--delete").status == 0)
        let published = try tuf("publish", "repo", "--keys", "keys", "--plain-names")
        #expect(published.status == 0 && published.output.contains("2.root.json"), "\(published)")
        for folder in ["client", "fresh"] {
            let second = try download(folder, "a.js")
            #expect(second.status == 0 && content(folder + "-files/a.js") == "changed", "\(second)")
            #expect(try download(folder, "b%20c.js").status == 1, "the target was removed")
        }
        let preload = try Command.run(
            "preload", "tuf+" + origin.url("/app/metadata/"), "--trust",
            home.file("repo/metadata/1.root.json"),
            "--allow-private", home: home)
        #expect(preload.status == 0, "\(preload)")
        let body = try Command.run("cat", origin.url("/app/targets/a.js"), home: home)
        #expect(body.output == "changed", "\(body)")
    }

    @Test(.enabled(if: hasClient, noClient))
    func `a team publishes below its paths with its own key`() throws {
        try create()
        let made = try Command.run(
            "key", "new", "--out", home.file("team.key"), "--no-passphrase", home: home)
        #expect(made.status == 0)
        mkdir(home.file("online"), 0o700)
        for role in ["snapshot", "timestamp"] {
            for end in ["key", "pub"] { try copy("keys/\(role).\(end)", to: "online/\(role).\(end)") }
        }
        let delegated = try tuf("delegate", "repo", "docs-team", "--key", "team.pub", "--paths", "docs/")
        #expect(delegated.status == 0, "\(delegated)")
        #expect(delegated.output.contains("draft: docs-team 1, needs 1 more signature"), "\(delegated)")
        #expect(delegated.output.contains("next: larder tuf publish repo --keys DIR"), "\(delegated)")
        let early = try tuf("publish", "repo", "--keys", "keys")
        #expect(
            early.status == 1 && early.errors.contains("docs-team 1 waits for 1 more signature"), "\(early)")
        #expect(early.errors.contains("targets 2 waits for the signatures of roles"), "\(early)")
        #expect(try tuf("sign", "repo", "--keys", "team.key").status == 0)
        #expect(try tuf("publish", "repo", "--keys", "online").status == 0)

        let outside = try tuf("add", "repo", "dist", "--role", "docs-team")
        #expect(outside.status == 2 && outside.errors.contains("outside the paths"), "\(outside)")
        let unknown = try tuf("add", "repo", "dist", "--role", "nobody")
        #expect(unknown.status == 2 && unknown.errors.contains("do not delegate to nobody"), "\(unknown)")
        #expect(try tuf("add", "repo", "dist", "--role", "docs-team", "--prefix", "docs").status == 0)
        let published = try tuf("publish", "repo", "--keys", "online", "--keys", "team.key")
        #expect(published.status == 0 && published.output.contains("2.docs-team.json"), "\(published)")
        let status = try tuf("status", "repo")
        #expect(status.output.contains("docs-team version 2, expires"), "\(status)")
        let python = try #require(PythonTUFClient.installed)
        let update = try #require(try python.update([(home.file("repo"), home.file("client"))]).first)
        #expect(update.error == nil && update.targets == ["a.js=one", "docs/a.js=one"])

        let cleaned = try tuf("clean", "repo", "--replaced-before", "1s", "--json")
        #expect(cleaned.status == 0, "\(cleaned)")
        #expect(try tuf("clean", "repo").output == "nothing to remove\n")
        #expect(try tuf("undelegate", "repo", "docs-team", "--keys", "keys").status == 0)
        #expect(try tuf("publish", "repo", "--keys", "keys").status == 0)
        let last = try #require(try python.update([(home.file("repo"), home.file("client"))]).first)
        #expect(last.error == nil && last.targets == ["a.js=one"])
    }

    @Test func `each command has its own options and help`() throws {
        let add = try tuf("add", "--help")
        #expect(add.status == 0 && add.output.contains("--prefix") && !add.output.contains("--threshold"))
        #expect(try Command.run("help", "tuf", "add", home: home).output == add.output)
        let all = try tuf("--help")
        #expect(all.output.contains("undelegate") && !all.output.contains("--prefix"))
        let brief = try tuf("-h")
        #expect(brief.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 21)
        let wrong = try tuf("--quiet", "status", "repo", "--threshold", "2")
        #expect(wrong.status == 2 && wrong.errors.contains("has no option --threshold"), "\(wrong)")
        #expect(try Command.run("help", "tuf", "prune", home: home).status == 2)
    }

    @Test func `two of three people sign the root with keys of their own`() throws {
        for name in ["ann", "bob", "cat"] {
            let ending = try Command.run(
                "key", "new", "--out", home.file(name + ".key"), "--no-passphrase", home: home)
            #expect(ending.status == 0, "\(ending)")
        }
        let created = try tuf(
            "init", "repo", "--keys", "keys", "--no-passphrase", "--root-key", "ann.pub", "--root-key",
            "bob.pub",
            "--root-key", "cat.pub", "--threshold", "2")
        #expect(created.status == 0 && !home.names(in: "keys").contains("root.key"), "\(created)")
        let early = try tuf("publish", "repo", "--keys", "keys", "--keys", "ann.key")
        #expect(early.status == 1 && early.errors.contains("root 1 waits for 1 more signature"), "\(early)")
        #expect(home.names(in: "repo/metadata").isEmpty)
        try copy("repo", to: "copy")
        let signed = try tuf("sign", "copy", "--keys", "cat.key")
        #expect(signed.status == 0 && signed.output.contains("draft: root 1, all signatures"), "\(signed)")
        #expect(try tuf("sign", "repo", "--signed", "copy/draft/root.json").status == 0)
        let published = try tuf("publish", "repo", "--keys", "keys")
        #expect(published.status == 0 && published.output.contains("1.root.json"), "\(published)")

        // A stranger's key signs nothing.
        _ = try Command.run(
            "key", "new", "--out", home.file("eve.key"), "--no-passphrase", home: home)
        #expect(try tuf("rotate", "repo", "--role", "root", "--remove", "ann.pub").status == 0)
        let stranger = try tuf("sign", "repo", "--keys", "eve.key")
        #expect(stranger.status == 2 && stranger.errors.contains("none of these keys"), "\(stranger)")
        #expect(try tuf("sign", "repo", "--keys", "bob.key").status == 0)
        #expect(try tuf("publish", "repo", "--keys", "keys", "--keys", "cat.key").status == 0)
        #expect(home.names(in: "repo/metadata").contains("2.root.json"))
    }

    @Test func `the keys of root and targets have a passphrase, which publish needs only for them`() throws {
        let secret = ["LARDER_KEY_PASSPHRASE": "correct horse"]
        #expect(try tuf("init", "repo", "--keys", "keys", environment: secret).status == 0)
        #expect(try tuf("add", "repo", "dist").status == 0)
        let without = try tuf("publish", "repo", "--keys", "keys")
        #expect(without.status == 2 && without.errors.contains("needs its passphrase"), "\(without)")
        let wrong = try tuf(
            "publish", "repo", "--keys", "keys", environment: ["LARDER_KEY_PASSPHRASE": "wrong horse"])
        #expect(wrong.status == 2 && wrong.errors.contains("passphrase"), "\(wrong)")
        #expect(home.names(in: "repo/metadata").isEmpty)
        #expect(try tuf("publish", "repo", "--keys", "keys", environment: secret).status == 0)
        // A job renews the timestamp without the passphrase.
        let renewed = try tuf("publish", "repo", "--keys", "keys")
        #expect(renewed.status == 0 && renewed.output.contains("published: timestamp.json"), "\(renewed)")
    }

    @Test(arguments: [
        (["init", "repo"], "needs a folder for the secret keys"), (["init"], "needs REPO"),
        (["status", "repo"], "there is no TUF repository"),
        (["add", "repo", "dist"], "there is no TUF repository"),
        (["add", "repo"], "needs REPO DIR|FILE"),
        (["add", "repo", "dist", "--plain-names"], "has no option --plain-names"),
        (["publish", "repo", "more"], "unexpected argument"), (["prune", "repo"], "unknown command"),
        (["init", "repo", "--keys", "k", "--no-passphrase", "--threshold", "2"], "fewer than its threshold"),
        (["init", "repo", "--keys", "k", "--root-key", "nobody"], "is not a public key"),
        (["init", "repo", "--keys", "k", "--expires", "root=soon"], "must be a role and a time"),
    ])
    func `a wrong command line is refused, and makes no repository`(words: [String], message: String) throws {
        let ending = try Command(
            ["tuf"] + words, home: home, shell: #"cd "$HOME" && exec "$0" "$@""#
        ).wait()
        #expect(ending.status == 2 && ending.errors.contains(message), "\(ending)")
        #expect(!home.names().contains("repo"))
    }

    @Test func `missing keys, foreign files and unknown targets are refused`() throws {
        try create()
        let none = try tuf("publish", "repo")
        #expect(none.status == 2 && none.errors.contains("needs 1 more signature"), "\(none)")
        #expect(try tuf("publish", "repo", "--keys", "nowhere").status == 2)
        let foreign = try tuf("publish", "repo", "--keys", "dist/a.js")
        #expect(foreign.status == 2 && foreign.errors.contains("dist/a.js"), "\(foreign)")
        #expect(try tuf("remove", "repo", "b.js").errors.contains("is not a target"))
        #expect(try tuf("sign", "repo", "--keys", "keys").errors.contains("waits for signatures"))
        #expect(try tuf("rotate", "repo", "--role", "targets", "--threshold", "2").status == 2)
        #expect(try tuf("rotate", "repo", "--role", "nobody").status == 2)
        symlink(home.file("dist/a.js"), home.file("dist/link.js"))
        let linked = try tuf("add", "repo", "dist")
        #expect(linked.status == 1 && linked.errors.contains("link.js: it is a symbolic link"), "\(linked)")
    }

    @Test func `a repository that another process changes is refused`() throws {
        try create()
        let lock = open(home.file("repo/draft/lock"), O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let ending = try tuf("publish", "repo", "--keys", "keys")
        #expect(ending.status == 3 && ending.errors.contains("another process changes"), "\(ending)")
        #expect(try tuf("status", "repo").status == 0)
    }

    private static let canTrace = access("/usr/bin/strace", X_OK) == 0

    /// The system calls that change what is on the disk. The C library uses one of each group; names that the machine
    /// does not have are ignored. strace counts each system call on its own.
    private static let calls = ["?rename,?renameat,?renameat2", "?fsync", "?unlink,?unlinkat"]

    /// Before every how many system calls the process is killed. `scripts/soak tuf-kills` kills before each one.
    private static let killStep = getenv("LARDER_ALL_KILLS") == nil ? 3 : 1

    @Test(
        .enabled(if: hasClient && canTrace, "python-tuf or strace is not there"),
        arguments: [["add"], ["delegate"], ["root", "targets", "snapshot", "timestamp"]], calls)
    func `killed before any change of the disk, publish leaves a repository that clients accept`(
        change: [String], calls: String
    ) throws {
        try create()
        let python = try #require(PythonTUFClient.installed)
        _ = try python.update([(home.file("repo"), home.file("client"))])
        try home.write("two", to: "dist/b.js")
        #expect(try tuf("add", "repo", "dist").status == 0)
        if change == ["delegate"] {
            let key = try Command.run(
                "key", "new", "--out", home.file("keys/team.key"), "--no-passphrase", home: home)
            #expect(key.status == 0)
            #expect(
                try tuf("delegate", "repo", "team", "--key", "keys/team.pub", "--paths", "docs/").status == 0)
        }
        for role in change where change.count > 1 {
            let key = try Command.run(
                "key", "new", "--out", home.file("keys/\(role)-2.key"), "--no-passphrase", home: home)
            #expect(key.status == 0)
            let rotated = try tuf(
                "rotate", "repo", "--role", role, "--add", "keys/\(role)-2.pub", "--remove",
                "keys/\(role).pub")
            #expect(rotated.status == 0, "\(rotated)")
        }
        try copy("repo", to: "before")
        let targets = [["a.js=one"], ["a.js=one", "b.js=two"]]
        // The groups begin at different calls.
        var kills = (Self.calls.firstIndex(of: calls) ?? 0) % Self.killStep
        while true {
            Folder.remove(home.file("repo"))
            try copy("before", to: "repo")
            let inject =
                "strace -f -o /dev/null -e trace=\(calls) -e inject=\(calls):signal=KILL:when=\(kills + 1)"
            let ending = try tuf("publish", "repo", "--keys", "keys", shell: "exec \(inject) \"$0\" \"$@\"")
            // A client that is up to date, and one that is new; then the same clients after the complete publication.
            for name in ["known", "new"] { Folder.remove(home.file(name)) }
            try copy("client", to: "known")
            let clients = ["known", "new"].map { (home.file("repo"), home.file($0)) }
            for update in try python.update(clients) {
                #expect(update.error == nil && targets.contains(update.targets), "\(kills): \(update)")
            }
            let again = try tuf("publish", "repo", "--keys", "keys")
            #expect(again.status == 0, "\(again)")
            for update in try python.update(clients) {
                #expect(update.error == nil && update.targets == targets[1], "\(kills): \(update)")
            }
            if ending.status == 0 { break }
            kills += Self.killStep
            try #require(kills < 200)
        }
        // At least once for each of targets, snapshot and timestamp.
        #expect(kills >= 3)
    }
}
