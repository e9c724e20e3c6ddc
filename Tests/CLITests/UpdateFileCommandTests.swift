import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

/// `larder diff --patch`, and `larder preload` and `larder import` of its file, as commands.
///
///     LARDER_KILLS=100 scripts/test --filter UpdateFileCommandTests
@Suite struct UpdateFileCommandTests {
    private static let kills = getenv("LARDER_KILLS").flatMap { Int(String(cString: $0)) } ?? 8
    private static let fileCount = 60

    private let home: TemporaryFolder

    init() throws {
        home = try TemporaryFolder()
    }

    private func larder(_ words: String...) throws -> ChildProcess.Ending { try start(words).wait() }

    private func start(_ words: [String]) throws -> Command {
        try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")])
    }

    /// Writes a release whose files all contain its number.
    private func writeRelease(_ release: Int) throws -> String {
        let folder = "dist-\(release)"
        _ = mkdir(home.file(folder), 0o755)
        for number in 0..<Self.fileCount {
            let lines = (0..<1500).map { "export const value\(number)_\($0) = \($0 * 37);\n" }.joined()
            try home.write("// \(release)\n\(lines)", to: "\(folder)/\(number).js")
        }
        return home.file(folder)
    }

    private func writeUpdate(_ from: Int, _ to: Int) throws -> String {
        let old = from == 0 ? home.file("dist-0") : try writeRelease(from)
        _ = mkdir(old, 0o755)
        let file = home.file("\(from)-\(to).tar")
        let ending = try larder(
            "diff", old, try writeRelease(to), "--patch", file, "--release", "\(to)", "--base",
            "https://a.example/", "--force")
        #expect(ending.status == 0, "\(ending)")
        return file
    }

    /// The releases whose files are live.
    private func liveReleases() throws -> Set<String> {
        let reader = try StoreReader(StoreFolder(home.file("s")))
        var releases: Set<String> = []
        for number in 0..<Self.fileCount {
            let body = try reader.response(for: "https://a.example/\(number).js")?.body
            let bytes = try body.flatMap { try reader.content(of: $0) }?.load() ?? []
            releases.insert(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
        }
        return releases
    }

    @Test func `a signed update goes from a build to another machine`() throws {
        let key = try larder("key", "new", "--no-passphrase", "--out", home.file("larder.key"))
        #expect(key.status == 0, "\(key)")
        let (old, new) = (try writeRelease(1), try writeRelease(2))
        _ = mkdir(home.file("empty"), 0o755)
        let whole = try larder(
            "diff", home.file("empty"), old, "--patch", home.file("1.tar"), "--release", "1", "--base",
            "https://a.example/", "--sign", home.file("larder.key"))
        #expect(whole.status == 0, "\(whole)")
        let update = try larder(
            "diff", old, new, "--patch", home.file("2.tar"), "--release", "2", "--base", "https://a.example/",
            "--sign", home.file("larder.key"), "--json")
        #expect(update.status == 0, "\(update)")
        let report = try JSONValue.parse(update.output.utf8.span)
        #expect(report["files"]?.int == Self.fileCount && report["patched"]?.int == Self.fileCount)
        #expect((report["bytes"]?.int ?? .max) * 10 < report["releaseBytes"]?.int ?? 0)

        let first = try larder("preload", home.file("1.tar"), "--trust", home.file("larder.pub"))
        #expect(first.status == 0 && first.output.contains("60 from the update file"), "\(first)")
        #expect(try liveReleases() == ["// 1"])
        // The file is unsigned, although the site has a key.
        let unsigned = try larder(
            "diff", old, new, "--patch", home.file("u.tar"), "--base", "https://a.example/")
        #expect(unsigned.status == 0 && unsigned.output.contains("not signed"), "\(unsigned)")
        let refused = try larder("preload", home.file("u.tar"))
        #expect(refused.status == 1 && refused.errors.contains("must be signed"), "\(refused)")
        let second = try larder("import", home.file("2.tar"))
        #expect(second.status == 0 && second.output.contains("signed by RW"), "\(second)")
        #expect(try liveReleases() == ["// 2"])
        let older = try larder("preload", home.file("1.tar"))
        #expect(older.status == 1 && older.errors.contains("--allow-rollback"), "\(older)")
        #expect(try liveReleases() == ["// 2"])

        let bytes = try WholeFile.read(home.file("2.tar"), atMost: 10_000_000)
        let half = try home.write(Array(bytes.prefix(bytes.count / 2)), to: "half.tar")
        let truncated = try larder("preload", half)
        #expect(truncated.status == 1 && truncated.errors.contains("it is truncated"), "\(truncated)")
    }

    @Test func `several updates are applied in one command, up to the first that is refused`() throws {
        let files = try (1...3).map { try writeUpdate($0 - 1, $0) }
        let all = try start(["preload"] + files + ["--trust", "none"]).wait()
        #expect(all.status == 0 && all.output.contains("not verified: --trust none"), "\(all)")
        #expect(try liveReleases() == ["// 3"])

        let later = try (4...6).map { try writeUpdate($0 - 1, $0) }
        let gap = try start(["preload", later[0], later[2], later[1]]).wait()
        #expect(gap.status == 1 && gap.errors.contains("apply the earlier"), "\(gap)")
        #expect(
            gap.errors.contains("applied: \(later[0]); not applied: \(later[2]), \(later[1])"), "\(gap)")
        #expect(!gap.output.contains(" refused:"), "\(gap)")
        #expect(try liveReleases() == ["// 4"])
        let damaged = try start(["preload", later[1], home.file("2-3.tar"), later[2], "--json"]).wait()
        let reports = try JSONValue.parse(damaged.output.utf8.span)
        #expect(damaged.status == 1 && reports.array?.count == 2, "\(damaged)")
        #expect(try liveReleases() == ["// 5"])
    }

    @Test func `commands about a site of update files say what to do`() throws {
        let file = try writeUpdate(0, 1)
        #expect(try larder("preload", file).status == 0)
        let all = try larder("update")
        #expect(all.status == 0 && all.errors.contains("larder preload FILE"), "\(all)")
        let named = try larder("update", "https://a.example/")
        #expect(named.status == 2 && named.errors.contains("larder preload FILE"), "\(named)")
        let schedule = try larder("schedule", "https://a.example/", "daily")
        #expect(schedule.status == 2 && schedule.errors.contains("updated by update files"), "\(schedule)")
        let check = try larder("check", "https://a.example/", "--quick")
        #expect(check.status == 0 && check.output.contains("60 of 60 bundles match"), "\(check)")
        let stored = try larder("check", "https://a.example/", "--stored")
        #expect(stored.status == 0 && stored.output.contains("60 verified"), "\(stored)")
        let tar = try larder("check", file)
        #expect(tar.status == 0 && tar.output.contains("60 verified"), "\(tar)")
        let live = try larder("check", file, "--stored")
        #expect(live.status == 2 && live.errors.contains("larder preload \(file)"), "\(live)")
        let noBase = try larder(
            "diff", home.file("dist-0"), home.file("dist-1"), "--patch", home.file("n.tar"))
        #expect(noBase.status == 0 && noBase.output.contains("with --base URL"), "\(noBase)")
    }

    @Test
    func `after a killed preload of an update, the earlier release or the new one is live, never a mixture`()
        throws
    {
        #expect(try larder("preload", writeUpdate(0, 1)).status == 0)
        var last = 1
        for number in 1...Self.kills {
            let file = try writeUpdate(last, last + 1)
            let run = try start(["preload", file])
            // Each kill comes at another moment. The expectation below is true at every moment.
            usleep(UInt32(number * 7919 % 41) * 2000)
            run.signal(SIGKILL)
            _ = run.wait()
            let found = try liveReleases()
            #expect(found == ["// \(last)"] || found == ["// \(last + 1)"], "kill \(number): \(found)")
            if found == ["// \(last + 1)"] { last += 1 }
        }
        let ending = try larder("preload", writeUpdate(last, last + 1))
        #expect(ending.status == 0, "\(ending)")
        #expect(try liveReleases() == ["// \(last + 1)"])
        #expect(home.names(in: "s").filter { $0.hasSuffix(".part") } == [])
        #expect(try larder("fsck").status == 0)
    }

    @Test(arguments: [
        (["diff", "a", "b"], "name it with --patch FILE"),
        (["diff", "https://a.example/", "--sign", "k"], "--sign needs --patch FILE"),
        (["diff", "a", "b", "--patch", "u.tar", "--pictures"], "exclude each other"),
        (["diff", "a", "b", "--patch", "u.tar", "--base", "x y"], "is not a URL"),
        (["diff", "a", "b", "--patch", "u.tar"], "b has no files"),
        (["diff", "a", "none", "--patch", "u.tar"], ""),
        (["diff", "none", "b", "--patch", "u.tar"], "none of the earlier release does not exist"),
    ])
    func `a wrong command line says what to do`(words: [String], message: String) throws {
        for name in ["a", "b"] { _ = mkdir(home.file(name), 0o755) }
        let ending = try start(words.map { ["a", "b", "none", "u.tar"].contains($0) ? home.file($0) : $0 })
            .wait()
        #expect(ending.status == 2 || message.isEmpty && ending.status == 3, "\(ending)")
        #expect(ending.errors.contains(message), "\(ending)")
    }
}
