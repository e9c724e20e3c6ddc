import Digest
import Glibc
import Store
import TestOrigin
import Testing
import Web

/// Older and expired manifests on the command line.
@Suite struct ManifestAgeCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/robots.txt", .failure(404))
    }

    private func larder(_ words: String...) throws -> Command.Ending {
        try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")]).wait()
    }

    private var manifest: String { origin.url("/m.json") }

    private func publish(_ text: String, _ members: String) {
        origin.on("/a.js", .file(text, type: "text/javascript"))
        let sha256 = DigestStream.digest(.sha256, of: Array(text.utf8).span).hex
        origin.on(
            "/m.json",
            .file(
                "{\(members), \"bundles\": [{\"url\": \"/a.js\", \"sha256\": \"\(sha256)\"}]}",
                type: "application/json"))
    }

    private func servedText() throws -> String { try larder("cat", origin.url("/a.js")).output }

    @Test func `an older manifest gives status 1, and the message names both versions and the option`() throws
    {
        publish("two", "\"version\": \"2.0\"")
        #expect(try larder("preload", manifest).status == 0)
        publish("one", "\"version\": \"1.0\"")
        let commands = [["preload", manifest], ["prefetch", manifest, "--manifest"], ["update"]]
        for words in commands {
            let ending = try Command(words, home: home, environment: ["LARDER_STORE": home.file("s")]).wait()
            #expect(ending.status == 1, "\(ending)")
            for part in ["version 1.0", "version 2.0", "--allow-rollback", "stays live"] {
                #expect(ending.errors.contains(part), "\(part): \(ending)")
            }
            #expect(try servedText() == "two")
        }
        let check = try larder("check", manifest, "--live")
        #expect(check.status == 1 && check.output.contains("older than version 2.0"), "\(check)")
        #expect(try larder("check", manifest, "--live", "--allow-rollback").status == 0)

        #expect(try larder("preload", manifest, "--allow-rollback").status == 0)
        #expect(try servedText() == "one")
        publish("zero", "\"version\": \"0.9\"")
        #expect(try larder("update").status == 1)
        #expect(try larder("update", "--allow-rollback").status == 0)
        #expect(try servedText() == "zero")
        publish("none", "\"version\": \"0.8\"")
        #expect(try larder("prefetch", "--manifest", manifest, "--allow-rollback").status == 0)
        #expect(try servedText() == "none")
    }

    @Test func `an expired manifest gives status 0, or 1 with --strict or without a good set`() throws {
        publish("one", "\"expires\": \"2020-01-01T00:00:00Z\"")
        let first = try larder("preload", manifest)
        #expect(first.status == 1 && first.errors.contains("nothing is live yet"), "\(first)")
        #expect(try larder("prefetch", "--manifest", manifest).status == 1)
        publish("one", "\"expires\": \"9999-01-01T00:00:00Z\"")
        #expect(try larder("preload", manifest).status == 0)
        publish("two", "\"expires\": \"2020-01-01T00:00:00Z\"")
        for words in [["preload", manifest], ["update"], ["prefetch", "--manifest", manifest]] {
            for isStrict in [false, true] {
                let ending = try Command(
                    words + (isStrict ? ["--strict"] : []), home: home,
                    environment: ["LARDER_STORE": home.file("s")]
                ).wait()
                #expect(ending.status == (isStrict ? 1 : 0), "\(words): \(ending)")
                #expect(ending.errors.contains("expired at 2020-01-01T00:00:00Z"), "\(ending)")
                #expect(ending.errors.contains("this machine's clock"), "\(ending)")
                #expect(try servedText() == "one")
            }
        }
        let json = try larder("preload", manifest, "--json")
        #expect(json.output.contains("\"outcome\": \"expired\""), "\(json)")
        let check = try larder("check", manifest, "--live")
        #expect(check.status == 0 && check.output.contains("expired at 2020-01-01"), "\(check)")
        #expect(try larder("check", manifest, "--live", "--strict").status == 1)
    }

    @Test func `a server with --preload keeps the newer set`() throws {
        publish("two", "\"version\": \"2.0\"")
        #expect(try larder("preload", manifest).status == 0)
        publish("one", "\"version\": \"1.0\"")
        let wrong = try larder("serve", "--allow-rollback")
        #expect(wrong.status == 2 && wrong.errors.contains("--allow-rollback needs --preload"), "\(wrong)")
        func serve(_ words: [String], until text: String) throws -> Command.Ending {
            let server = try Command(
                ["serve", "--port", "0", "--preload", manifest] + words, home: home,
                environment: ["LARDER_STORE": home.file("s")])
            let output = server.read(until: text)
            #expect(output.contains(text), "\(output)")
            server.signal(SIGTERM)
            return server.wait()
        }
        let ending = try serve([], until: "the manifest is refused")
        #expect(ending.errors.contains("--allow-rollback"), "\(ending)")
        #expect(try servedText() == "two")
        let allowed = try serve(["--allow-rollback"], until: "1 fetched")
        #expect(!allowed.errors.contains("refused"), "\(allowed)")
        #expect(try servedText() == "one")
    }

    @Test func `a manifest gets its times from SOURCE_DATE_EPOCH`() throws {
        mkdir(home.file("dist"), 0o755)
        try home.write("x", to: "dist/a.js")
        func manifest(_ words: String..., date: String? = "1700000000") throws -> Command.Ending {
            try Command(
                ["manifest", home.file("dist")] + words, home: home,
                environment: date.map { ["SOURCE_DATE_EPOCH": $0] } ?? [:]
            ).wait()
        }
        let both = try manifest("--created", "--expires", "30d")
        #expect(both.status == 0, "\(both)")
        #expect(both.output.contains("\"created\": \"2023-11-14T22:13:20Z\""), "\(both)")
        #expect(both.output.contains("\"expires\": \"2023-12-14T22:13:20Z\""), "\(both)")
        #expect(try manifest("--created", "--expires", "30d").output == both.output)
        let neither = try manifest()
        #expect(!neither.output.contains("created") && !neither.output.contains("expires"), "\(neither)")
        let now = try manifest("--created", date: nil)
        #expect(now.status == 0 && !now.output.contains("2023-"), "\(now)")
        let wrong = try manifest("--created", date: "yesterday")
        #expect(wrong.status == 2 && wrong.errors.contains("$SOURCE_DATE_EPOCH must be"), "\(wrong)")
        #expect(try manifest("--expires", "soon").status == 2)
    }
}
