import Digest
import Glibc
import Store
import TestOrigin
import Testing
import Web

/// `--trust` and `--strong` as a user sees them: exit statuses, messages, and what a server serves.
@Suite struct SignedManifestCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let key: MinisignPrivateKey
    private let newKey: MinisignPrivateKey

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        key = try #require(MinisignPrivateKey())
        newKey = try #require(MinisignPrivateKey())
        try home.write(key.publicKey.fileText, to: "larder.pub")
    }

    private var manifest: String { origin.url("/m.json") }

    /// Publishes a release with a detached signature; without one if the key is nil.
    private func release(_ text: String, by key: MinisignPrivateKey?) {
        let digest = DigestStream.digest(.sha256, of: Array(text.utf8).span).hex
        let source = "{\"bundles\": [{\"url\": \"/app.js\", \"sha256\": \"\(digest)\"}]}"
        origin.on("/app.js", .file(text, type: "text/javascript"))
        origin.on("/m.json", .file(source, type: "application/json"))
        let signature = key?.sign(Array(source.utf8), trustedComment: "timestamp:1\tfile:m.json")
        origin.on(
            "/m.json.minisig", signature.map { .file($0.text, type: "text/plain") } ?? .failure(404))
    }

    private func larder(_ words: String...) throws -> Command.Ending {
        try Command(words, home: home, shell: "cd \"$HOME\"; exec \"$0\" \"$@\"").wait()
    }

    @Test func `the first preload stores the key, and later commands need no option`() throws {
        release("a", by: key)
        let first = try larder("preload", manifest, "--trust", "larder.pub")
        #expect(first.status == 0, "\(first)")
        #expect(first.output.contains("  verified by sha256 (1), signed by \(key.publicKey.fingerprint)\n"))
        #expect(
            first.output.contains(
                "  signed by \(key.publicKey.text), which this site requires from now on\n"), "\(first)")
        release("b", by: nil)
        for words in [["preload", manifest], ["prefetch", "--manifest", manifest], ["update"]] {
            let ending = try Command(words, home: home).wait()
            #expect(ending.status == 1, "\(ending)")
            #expect(
                ending.errors.contains("the manifest \(manifest) is refused: it is not signed"), "\(ending)")
            #expect(ending.errors.contains(" stays live"), "\(ending)")
            #expect(ending.errors.contains("\(key.publicKey.fingerprint): have its publisher sign it"))
        }
        // Without --live, the name would be that of the stored site.
        let check = try larder("check", manifest, "--live")
        #expect(check.status == 1)
        #expect(
            check.output.contains("mismatch \(manifest): the manifest \(manifest) is refused: "), "\(check)")
        release("b", by: key)
        let second = try larder("preload", manifest, "--json")
        #expect(second.status == 0, "\(second)")
        let report = try JSONValue.parse(second.output.utf8.span)[0]
        #expect(report?["signer"]?.string == key.publicKey.text)
        #expect(report?["newKeys"] == nil && report?["outcome"]?.string == "changed")
    }

    @Test func `files that a signed manifest does not list are counted, as nothing verifies them`() throws {
        origin.on("/part.js", .file("unsigned", type: "text/javascript"))
        release("import '/part.js'", by: key)
        let note = "1 other file that the manifest does not list is stored and not verified"
        let first = try larder("preload", manifest, "--trust", "larder.pub")
        #expect(first.output.contains("  \(note); --assets none fetches no such files\n"), "\(first)")
        let again = try JSONValue.parse(try larder("preload", manifest, "--json").output.utf8.span)[0]
        #expect(again?["outcome"]?.string == "current" && again?["unlisted"]?.int == 1)
        let check = try larder("check", manifest, "--stored")
        #expect(check.status == 0 && check.output.contains(note), "\(check)")

        let alone = try larder(
            "preload", manifest, "--trust", "larder.pub", "--assets", "none", "--store", "other")
        #expect(alone.status == 0 && !alone.output.contains("other file"), "\(alone)")
    }

    @Test func `a new key is accepted only if the user names it, and the message says how`() throws {
        release("a", by: key)
        #expect(try larder("preload", manifest, "--trust", key.publicKey.text).status == 0)
        release("b", by: newKey)
        let refused = try larder("preload", manifest)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("it is signed by another key, \(newKey.publicKey.text.prefix(13))…"))
        #expect(refused.errors.contains(", and name it with --trust KEY; snapshot 1 of "), "\(refused)")
        #expect(try larder("preload", manifest, "--trust", newKey.publicKey.text).status == 0)
        #expect(try larder("preload", manifest).status == 0)
        release("c", by: key)
        #expect(try larder("preload", manifest).status == 1)
    }

    @Test func `update takes a new key, and the keys of a site are shown`() throws {
        release("a", by: key)
        #expect(try larder("preload", manifest, "--trust", "larder.pub").status == 0)
        release("b", by: newKey)
        #expect(try larder("update", manifest).status == 1)
        let words = "the manifest \(manifest) must be signed by "
        for command in ["status", "snapshots"] {
            let ending = try larder(command)
            #expect(ending.output.contains(words + key.publicKey.fingerprint), "\(ending)")
        }
        let update = try larder("update", manifest, "--trust", newKey.publicKey.text)
        #expect(update.status == 0, "\(update)")
        #expect(try larder("status").output.contains(words + newKey.publicKey.fingerprint))
        for command in ["status", "snapshots"] {
            let ending = try larder(command, "--json")
            let site = try JSONValue.parse(ending.output.utf8.span)["sites"]?[0]
            #expect(site?["manifest"]?.string == manifest)
            let shown = site?["trustedKeys"]?[0]
            #expect(shown?["publicKey"]?.string == newKey.publicKey.text)
            #expect(shown?["fingerprint"]?.string == newKey.publicKey.fingerprint)
        }
        // A key in a file of options is for manifests that a command names, not for all sites.
        try home.write("{\"trust\": [\"larder.pub\"]}", to: ".larder.json")
        #expect(try larder("update").status == 0)
    }

    @Test func `a project names the key in .larder.json`() throws {
        try home.write("{\"trust\": [\"larder.pub\"]}", to: ".larder.json")
        release("a", by: nil)
        for command in ["check", "preload"] {
            let ending = try larder(command, manifest)
            #expect(ending.status == 1, "\(ending)")
            #expect((ending.output + ending.errors).contains("it is not signed"), "\(ending)")
        }
        release("a", by: key)
        for command in ["check", "preload"] {
            let ending = try larder(command, manifest)
            #expect(ending.status == 0, "\(ending)")
        }
        // The option of manifests does not keep URLs from being prefetched.
        origin.on("/", .page("<title>Home</title>"))
        #expect(try larder("prefetch", origin.url("/")).status == 0)
    }

    @Test func `check shows the signer, and refuses an unsigned manifest in every report`() throws {
        release("a", by: key)
        let good = try larder("check", manifest, "--trust", key.publicKey.text)
        #expect(good.status == 0)
        #expect(
            good.output.contains(
                "verified \(origin.url("/app.js")): sha256, signed by \(key.publicKey.fingerprint)\n"),
            "\(good)")
        release("a", by: newKey)
        let bad = try larder(
            "check", manifest, "--trust", key.publicKey.text, "--report", "junit", "--fail-on", "none")
        #expect(bad.status == 1, "\(bad)")
        #expect(
            bad.output.contains("<failure message=\"mismatch: the manifest \(manifest) is refused: "),
            "\(bad)")
    }

    @Test func `a server keeps the signed set while its manifest is refused`() throws {
        release("a", by: key)
        #expect(try larder("preload", manifest, "--trust", "larder.pub").status == 0)
        release("b", by: newKey)
        let server = try Command(["serve", "--port", "0", "--preload", manifest], home: home)
        let line = server.read(until: "\n")
        let port = try #require(
            line.split(separator: "localhost:").last.flatMap { Int($0.prefix { $0.isNumber }) })
        #expect(server.read(until: "nothing fetched").contains("the manifest is refused"))
        let answer = try RawClient(port: port).get(
            "/app.js", host: "port-\(origin.port).127-0-0-1.localhost:\(port)")
        #expect(answer.text == "a")
        #expect(answer["Larder-Bundle"]?.contains("by=sha256; signer=\(key.publicKey.text);") == true)
        server.signal(SIGTERM)
        let ending = server.wait()
        #expect(ending.status == 0)
        #expect(ending.errors.contains("it is signed by another key"), "\(ending)")
    }

    @Test(arguments: [
        (["preload", "m.json", "--trust", "nosuch"], "the file nosuch of a key does not exist"),
        (["check", "m.json", "--trust", "first-use"], "a check stores none"),
        (["prefetch", "http://127.0.0.1:1/", "--trust", "first-use"], "--trust is for manifests"),
        (["serve", "--trust", "first-use"], "--trust needs --preload"),
        (["check", "--links", "m.json", "--trust", "none"], "--trust does not apply to links"),
        (["update", "--trust", "none"], "--trust replaces the keys of the named sites; name one"),
    ])
    func `a key that cannot be used is a mistake of the user`(words: [String], message: String) throws {
        try home.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "m.json")
        let ending = try Command(words, home: home, shell: "cd \"$HOME\"; exec \"$0\" \"$@\"").wait()
        #expect(ending.status == 2, "\(ending)")
        #expect(ending.errors.contains(message), "\(ending)")
    }

    @Test func `--strong refuses a manifest with only MD5, also for a prefetch`() throws {
        let md5 = DigestStream.digest(.md5, of: Array("a".utf8).span).hex
        origin.on("/app.js", .file("a", type: "text/javascript"))
        origin.on("/sums", .file("\(md5)  app.js\n", type: "text/plain"))
        for words in [["preload"], ["prefetch", "--manifest"], ["check"]] {
            let ending = try Command(words + [origin.url("/sums"), "--strong"], home: home).wait()
            #expect(ending.status == 1, "\(ending)")
            #expect(
                (ending.output + ending.errors).contains("its strongest digest is MD5, which is too weak"),
                "\(ending)")
        }
        #expect(try larder("prefetch", "--manifest", origin.url("/sums")).status == 0)
        let update = try larder("update", "--strong")
        #expect(update.status == 1, "\(update)")
        #expect(update.errors.contains("snapshot 1 of "), "\(update)")
    }
}
