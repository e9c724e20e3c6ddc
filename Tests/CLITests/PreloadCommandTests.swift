import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing

/// Tests `larder preload` as a command. This runs the test with kills more often:
///
///     LARDER_KILLS=100 scripts/test --filter PreloadCommandTests
@Suite struct PreloadCommandTests {
    private static let kills = getenv("LARDER_KILLS").flatMap { Int(String(cString: $0)) } ?? 10
    private static let bundleCount = 8

    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
    }

    /// Publishes a release. Each bundle contains its version and its number.
    private func release(_ version: String) {
        var sums = ""
        for number in 0..<Self.bundleCount {
            let body = "\(version) \(number)"
            sums += DigestStream.digest(.md5, of: Array(body.utf8).span).hex + "  \(number).js\n"
            origin.on("/\(number).js", .file(body, type: "text/javascript"))
        }
        origin.on("/sums", .file(sums, type: "text/plain"))
    }

    private func preload(_ more: String...) throws -> Command {
        try Command(
            ["preload", origin.url("/sums")] + more, home: home, environment: ["LARDER_STORE": home.file("s")]
        )
    }

    /// Returns the releases whose bundles are live.
    private func liveReleases() throws -> Set<String> {
        let reader = try StoreReader(StoreFolder(home.file("s")))
        var versions: Set<String> = []
        for number in 0..<Self.bundleCount {
            let body = try reader.response(for: origin.url("/\(number).js"))?.body
            let bytes = try body.flatMap { try reader.content(of: $0) }?.load() ?? []
            let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            versions.insert(words.count == 2 && words[1] == "\(number)" ? String(words[0]) : "damaged")
        }
        return versions
    }

    @Test func `after a killed preload, the earlier set or the new one is live, never a mixture`() throws {
        release("r0")
        #expect(try preload().wait().status == 0)
        var last = "r0"
        for number in 1...Self.kills {
            release("r\(number)")
            origin.forgetRequests()
            let run = try preload()
            // Kills after each of the requests, and during the work after the last one.
            let requests = 1 + number % (Self.bundleCount + 1)
            #expect(origin.waitForRequests(requests))
            // Each kill comes at another moment. The expectation below is true at every moment.
            usleep(UInt32(number * 7919 % 23) * 1000)
            run.signal(SIGKILL)
            _ = run.wait()
            let found = try liveReleases()
            #expect(
                found == [last] || found == ["r\(number)"],
                "kill \(number) after \(requests) requests: \(found)")
            last = found.first ?? last
        }
        #expect(try preload().wait().status == 0)
        #expect(try liveReleases() == ["r\(Self.kills)"])
    }

    @Test func `the exit status distinguishes a refused set from an unreachable one`() throws {
        release("one")
        let first = try preload().wait()
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("8 bundles, 0 reused, 8 fetched"))
        let second = try preload().wait()
        #expect(second.status == 0, "\(second.errors)")
        #expect(second.output.contains("8 bundles, all stored and current; nothing fetched"))

        release("two")
        origin.on("/3.js", .file("another", type: "text/javascript"))
        let bad = try preload().wait()
        #expect(bad.status == 1, "\(bad.errors)")
        #expect(bad.output.contains("1 refused"))
        #expect(bad.errors.contains(" stays live"))
        #expect(try liveReleases() == ["one"])

        origin.stop()
        let down = try preload().wait()
        #expect(down.status == 0, "\(down.errors)")
        #expect(down.errors.contains(" stays live"))
        #expect(try preload("--strict").wait().status == 1)
        let elsewhere = try Command.run("preload", origin.url("/sums"), "--store", home.file("t"), home: home)
        #expect(elsewhere.status == 3)
    }

    @Test func `a set verified by MD5 is reported as weak, and refused with --strong`() throws {
        release("one")
        let strict = try preload("--strong").wait()
        #expect(strict.status == 1, "\(strict)")
        #expect(strict.output.contains("its strongest digest is MD5, which is too weak"), "\(strict)")
        #expect(strict.errors.contains("nothing is live yet"), "\(strict)")
        for _ in 1...2 {
            let usual = try preload().wait()
            #expect(usual.status == 0, "\(usual)")
            #expect(
                usual.output.contains("8 bundles verified by MD5, which detects damage, but not an attack"),
                "\(usual)")
        }
        #expect(try preload("--json").wait().output.contains(#""md5": 8"#))
    }

    @Test func `missing bundles are reported, and each base has a set of its own`() throws {
        release("one")
        let sum = DigestStream.digest(.md5, of: Array("one 0".utf8).span).hex
        let list = try home.write(
            #"{"site": "app", "bundles": [{"url": "0.js", "md5": "\#(sum)"}]}"#, to: "m.json")
        func preload(_ base: String) throws -> Command.Ending {
            try Command.run(
                "preload", list, "--base", origin.url(base), "--store", home.file("s"), home: home)
        }
        let first = try preload("/")
        #expect(first.status == 0, "\(first)")
        #expect(first.output.contains("https://app/: snapshot 1 of "), "\(first)")
        let gone = try preload("/elsewhere/")
        #expect(gone.status == 1, "\(gone)")
        #expect(gone.errors.contains("required bundles are gone; nothing is live yet"), "\(gone)")
        // Digests from the failed attempt at the other base do not apply to the live set.
        origin.on("/0.js", .file("another", type: "text/javascript"))
        #expect(
            try Command.run("prefetch", origin.url("/0.js"), "--store", home.file("s"), home: home).status
                == 0)
        let reader = try StoreReader(StoreFolder(home.file("s")))
        let body = try #require(try reader.response(for: origin.url("/0.js"))?.body)
        #expect(body.md5 == DigestStream.digest(.md5, of: Array("one 0".utf8).span).bytes)
        origin.stop()
        #expect(try preload("/elsewhere/").status == 3)
        let held = try preload("/")
        #expect(held.status == 0, "\(held)")
        #expect(held.output.contains("1 reused, 0 fetched"), "\(held)")
    }

    @Test(arguments: ["md5sums.txt", "bundles.json"])
    func `relative names in a local list need --base`(name: String) throws {
        let sum = DigestStream.digest(.md5, of: Array("one 0".utf8).span).hex
        let list =
            name.hasSuffix(".txt")
            ? "\(sum)  0.js\n" : "{\"bundles\": [{\"url\": \"0.js\", \"md5\": \"\(sum)\"}]}"
        let file = try home.write(list, to: name)
        let store = ["LARDER_STORE": home.file("s")]
        for words in [["preload", file], ["prefetch", "--manifest", file]] {
            let ending = try Command(words, home: home, environment: store).wait()
            #expect(ending.status == 2, "\(ending)")
            #expect(
                ending.errors.contains("\"0.js\" is relative: name its base with --base URL"), "\(ending)")
        }
        release("one")
        let ending = try Command(
            ["preload", file, "--base", origin.url("/")], home: home, environment: store
        ).wait()
        #expect(ending.status == 0, "\(ending)")
    }

    /// One bundle, or all of them.
    @Test(arguments: [1, bundleCount])
    func `an update reports bundles that do not verify, one or all`(count: Int) throws {
        release("one")
        #expect(try preload().wait().status == 0)
        release("two")
        for number in 0..<count { origin.on("/\(number).js", .file("another", type: "text/javascript")) }
        let site = origin.url("/sums")
        let store = ["LARDER_STORE": home.file("s")]
        for words in [["update"], ["prefetch", "--manifest", site]] {
            let bad = try Command(words, home: home, environment: store).wait()
            #expect(bad.status == 1, "\(bad)")
            #expect(
                bad.errors.contains(
                    "the new snapshot is rejected, because bundles do not match the manifest"), "\(bad)")
            #expect(
                bad.output.split(separator: "\n").count { $0.contains(origin.url("/0.js")) } == 1, "\(bad)")
            #expect(bad.output.split { !$0.isHexDigit }.allSatisfy { $0.utf8.count < 32 }, "\(bad)")
            #expect(try liveReleases() == ["one"])
        }
    }

    @Test
    func
        `a manifest whose name does not say so is prefetched with --manifest, and checked without a network`()
        throws
    {
        release("one")
        let store = ["LARDER_STORE": home.file("s")]
        let run = try Command.run(
            "prefetch", "--manifest", origin.url("/sums"), home: home, environment: store)
        #expect(run.status == 0, "\(run)")
        origin.stop()
        let check = try Command.run("check", origin.url("/sums"), "--held", home: home, environment: store)
        #expect(check.status == 0, "\(check)")
    }

    private func text(_ file: String) throws -> String {
        String(decoding: try WholeFile.read(home.file(file), atMost: 1_000_000), as: UTF8.self)
    }

    @Test func `preloaded bundles of a site are in its exports`() throws {
        func run(_ words: String...) throws -> Command.Ending {
            try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")]).wait()
        }
        release("r0")
        origin.on("/", .page("<script src=/0.js></script>"))
        #expect(try run("prefetch", origin.url("/")).status == 0)
        release("r1")
        #expect(try preload().wait().status == 0)
        #expect(try run("cat", origin.url("/0.js")).output == "r1 0")
        #expect(try run("export", origin.url("/"), home.file("out") + "/", "--verify").status == 0)
        #expect(try text("out/0.js") == "r1 0")
        #expect(try run("export", origin.url("/"), home.file("page.html")).status == 0)
        #expect(try text("page.html").contains("data:text/javascript,r1%200"))
        // Exports the first snapshot with its bundles.
        #expect(try run("export", origin.url("/"), home.file("then") + "/", "--snapshot", "1").status == 0)
        #expect(try text("then/0.js") == "r0 0")
    }

    @Test func `a file under the plain name of a TUF target that differs fails the preload`() throws {
        mkdir(home.file("dist"), 0o755)
        try home.write("import './b.js'", to: "dist/a.js")
        try home.write("b", to: "dist/b.js")
        for words in ["init repo --keys keys --no-passphrase", "add repo dist", "publish repo --keys keys"] {
            let words = ["tuf"] + words.split(separator: " ").map(String.init)
            let ending = try Command(words, home: home, shell: "cd; exec \"$0\" \"$@\"").wait()
            #expect(ending.status == 0, "\(ending)")
        }
        origin.serve(folder: home.file("repo"), at: "/app/")
        origin.on("/app/targets/b.js", .file("evil()", type: "text/javascript"))
        for number in 1...2 {
            let preload = try Command.run(
                "preload", "tuf+" + origin.url("/app/metadata/"), "--trust",
                home.file("repo/metadata/1.root.json"), "--allow-private", home: home)
            #expect(preload.status == 1, "\(preload)")
            #expect(
                preload.output.contains("2 bundles, \(number == 1 ? "0 reused, 2" : "2 reused, 0") fetched, ")
            )
            #expect(
                preload.errors.contains("another file at \(origin.url("/app/targets/b.js"))"), "\(preload)")
        }
    }

    @Test func `an update without its manifest makes no snapshot and fails`() throws {
        release("r0")
        #expect(try preload().wait().status == 0)
        origin.stop()
        for words in [["update"], ["update", "--strict"]] {
            let ending = try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")]).wait()
            #expect(ending.status == 1, "\(ending)")
            #expect(ending.errors.contains("; the last known manifest of "), "\(ending.errors)")
            #expect(ending.errors.contains(" applies; snapshot 1, fetched "), "\(ending.errors)")
        }
        let site = try #require(StoreReader(StoreFolder(home.file("s"))).sites().first)
        #expect(site.snapshots.map(\.id) == [1])
    }
}
