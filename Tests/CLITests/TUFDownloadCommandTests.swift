import Glibc
import System
import TestOrigin
import Testing

/// The commands of a client, with a repository that `larder tuf` has made.
@Suite struct TUFDownloadCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        mkdir(home.file("dist"), 0o755)
        try home.write("one", to: "dist/a.js")
        try larder(["tuf", "init", "repo", "--keys", "keys", "--no-passphrase"])
        try publish()
        origin.serve(folder: home.file("repo"))
    }

    private func publish() throws {
        try larder(["tuf", "add", "repo", "dist", "--delete"])
        try larder(["tuf", "publish", "repo", "--keys", "keys"])
    }

    @discardableResult
    private func larder(_ words: [String], status: Int32 = 0) throws -> Command.Ending {
        let ending = try Command(
            words, home: home, environment: ["LARDER_STORE": home.file("store"), "LARDER_PROGRESS": "none"],
            shell: #"cd "$HOME" && exec "$0" "$@""#
        ).wait()
        #expect(ending.status == status, "\(words): \(ending)")
        return ending
    }

    private var download: [String] {
        ["tuf", "download", "--metadata-url", origin.url("/metadata/"), "--metadata-dir", "client"]
    }

    private func content(of file: String) throws -> String {
        String(decoding: try WholeFile.read(home.file(file), atMost: 100), as: UTF8.self)
    }

    @Test func `a download verifies the target and continues from the stored metadata`() throws {
        let target = ["--target", "a.js", "--target-dir", "out"]
        let untrusted = try larder(download + target, status: 2)
        #expect(untrusted.errors.contains("--trust"), "\(untrusted)")
        try larder(download + target + ["--trust", "repo/metadata/1.root.json"])
        #expect(try content(of: "out/a.js") == "one")
        let second = try larder(download + target + ["--json"])
        #expect(second.output.contains(#""reused": true"#), "\(second)")
        try home.write("two", to: "dist/a.js")
        try publish()
        try larder(download + target)
        #expect(try content(of: "out/a.js") == "two")
    }

    @Test func `an unknown target and an older repository have exit status 1`() throws {
        try larder(download + ["--trust", "repo/metadata/1.root.json"])
        let unknown = try larder(download + ["--target", "b.js"], status: 1)
        #expect(unknown.errors.contains("b.js"), "\(unknown)")
        let before = try WholeFile.read(home.file("repo/metadata/timestamp.json"), atMost: 100_000)
        try home.write("two", to: "dist/a.js")
        try publish()
        try larder(download)
        try WholeFile.replace(home.file("repo/metadata/timestamp.json"), with: before)
        let older = try larder(download, status: 1)
        #expect(older.errors.contains("version"), "\(older)")
    }

    @Test func `missing and superfluous arguments have exit status 2, and a silent server 3`() throws {
        try larder(["tuf", "download"], status: 2)
        try larder(download + ["a.js"], status: 2)
        try larder(download + ["--trust", "dist/a.js"], status: 2)
        try larder(download + ["--trust", "repo/metadata/1.root.json"])
        origin.on("/metadata/timestamp.json", .failure(503))
        try larder(download, status: 3)
    }

    @Test func `a preload fetches the targets of a repository, and a check verifies them`() throws {
        let location = "tuf+" + origin.url("/metadata/")
        try larder(["preload", location], status: 2)
        let first = try larder(["preload", location, "--trust", "repo/metadata/1.root.json"])
        #expect(first.output.contains("1 fetched"), "\(first)")
        let second = try larder(["preload", location])
        #expect(second.output.contains("all stored and current"), "\(second)")
        let check = try larder(["check", location])
        #expect(check.output.contains("signed by tuf:"), "\(check)")
        try larder(["check", location, "--stored"])
        let wrong = try larder(
            ["preload", origin.url("/metadata/timestamp.json"), "--trust", "repo/metadata/1.root.json"],
            status: 2)
        #expect(wrong.errors.contains("TUF repository"), "\(wrong)")
    }
}
