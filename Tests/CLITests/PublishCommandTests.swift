import Glibc
import TestOrigin
import Testing
import Web

/// `larder publish`: its options, texts and exit statuses.
@Suite struct PublishCommandTests {
    private let home: TemporaryFolder

    /// The number of kills. Each comes at another moment.
    private static let kills = 8

    init() throws {
        home = try TemporaryFolder()
        mkdir(home.file("dist"), 0o755)
        try writeBuild(1)
    }

    private func writeBuild(_ number: Int) throws {
        try home.write("<script src=app.js></script>", to: "dist/index.html")
        try home.write("show(\(number))\n", to: "dist/app.js")
    }

    private func start(_ words: [String]) throws -> Command {
        try Command(words, home: home, shell: "cd; exec setsid -w \"$0\" \"$@\"")
    }

    private func larder(_ words: String...) throws -> Command.Ending { try start(words).wait() }

    private func json(_ words: String...) throws -> JSONValue {
        let ending = try start(words + ["--json"]).wait()
        #expect(ending.status == 0, "\(ending)")
        let bytes = Array(ending.output.utf8)
        return try JSONValue.parse(bytes.span)
    }

    @Test func `publish says what was published, and what to do next`() throws {
        let first = try larder("publish", "dist", "--app", "shop")
        #expect(first.status == 0, "\(first)")
        #expect(first.output.hasPrefix("Published release "))
        for text in [
            " of shop to production: 2 files", "All devices get it", "serve --updates",
            "publish --app shop --rollback",
        ] { #expect(first.output.contains(text), "\(first.output)") }
        #expect(!first.output.contains("halted if"))
        let again = try larder("publish", "dist")
        #expect(again.status == 0 && again.output.contains("nothing changed"), "\(again)")
        try writeBuild(2)
        let second = try larder("publish", "dist", "--rollout", "10%", "--ramp", "10%/1d", "--allow", "d1")
        #expect(second.status == 0, "\(second)")
        for text in [
            "10% of the devices get it, and 1 device by name; 20% in ",
            "halted if 3% of at least 50 devices", "--rollout 50%",
        ] { #expect(second.output.contains(text), "\(second.output)") }
        let status = try larder("publish", "--status")
        #expect(status.status == 0 && status.output.split(separator: "\n").count == 3, "\(status)")
        #expect(status.output.contains("partial") && status.output.contains("live"))
        let more = try larder("publish", "--rollout", "100%")
        #expect(more.status == 0 && more.output.contains("All devices get it"), "\(more)")
        let halt = try larder("publish", "--halt")
        #expect(halt.status == 0 && halt.output.contains("--resume"), "\(halt)")
        #expect(try larder("publish", "--resume").status == 0)
        let back = try larder("publish", "--rollback", "--channel", "production")
        #expect(back.status == 0 && back.output.contains("its devices get release "), "\(back)")
        let removed = try larder("publish", "--remove-channel")
        #expect(removed.status == 0 && removed.output.contains("larder gc"), "\(removed)")
        let empty = try larder("publish", "--status")
        #expect(empty.status == 0 && empty.output.contains("nothing is published"), "\(empty)")
    }

    @Test func `--device shows what a device gets, and why`() throws {
        #expect(try larder("publish", "dist", "--app", "shop").status == 0)
        try writeBuild(2)
        #expect(try larder("publish", "dist", "--rollout", "0%", "--allow", "tester").status == 0)
        func rows(_ device: String, _ more: String...) throws -> [Substring] {
            let ending = try start(["publish", "--device", device] + more).wait()
            #expect(ending.status == 0, "\(ending)")
            return ending.output.split(separator: "\n")
        }
        let tester = try rows("tester")
        #expect(tester.count == 2 && tester[1].contains("yes      the device is allowed"), "\(tester)")
        let other = try rows("other", "--channel", "production", "--app", "shop")
        #expect(other.count == 3 && other[1].contains("the device is not among the 0%"), "\(other)")
        #expect(other[2].contains("yes      it is for all devices"), "\(other)")
        #expect(try rows("other", "--channel", "beta")[0].hasPrefix("nothing is published"))
        let long = try larder("publish", "--device", String(repeating: "x", count: 257))
        #expect(long.status == 2 && long.errors.contains("1 to 256 bytes"), "\(long)")
    }

    @Test func `a signed release names its key, and the key is not published`() throws {
        #expect(try larder("key", "new", "--no-passphrase").status == 0)
        let report = try json("publish", "dist", "--app", "shop", "--sign", "larder.key")
        #expect(report["signer"]?.string?.hasPrefix("RW") == true)
        #expect(report["files"]?.number?.int == 2 && report["changed"]?.bool == true)
        #expect(try larder("key", "new", "--no-passphrase", "--out", "dist/a.key").status == 0)
        let refused = try larder("publish", "dist", "--app", "shop", "--sign", "dist/a.key")
        #expect(refused.status == 2 && refused.errors.contains("move it elsewhere"), "\(refused)")
    }

    @Test func `each line of progress names the step that counts the files`() throws {
        let ending = try larder("publish", "dist", "--app", "shop", "--progress", "json")
        let lines = ending.errors.split(separator: "\n").filter { $0.hasPrefix("{") }
        let phases = try lines.map { try JSONValue.parse(Array($0.utf8).span)["phase"]?.string }
        let known = ["reading", "packing", "storing", "verifying"]
        #expect(phases.allSatisfy { $0.map(known.contains) ?? false }, "\(ending)")
        // The last figures are always printed.
        let last = try JSONValue.parse(Array((lines.last ?? "").utf8).span)
        #expect(last["phase"]?.string == "verifying" && last["done"]?.int == 2, "\(ending)")
    }

    @Test(arguments: [
        (["publish"], "publish needs a folder"),
        (["publish", "--halt", "--rollback"], "exclude each other"),
        (["publish", "--device", "a", "--status"], "exclude each other"),
        (["publish", "--device", "a", "--rollout", "5%"], "--rollout has no effect with --device"),
        (["publish", "dist", "--rollback"], "leave out the folder dist"),
        (["publish", "--halt", "--rollout", "5%"], "--rollout has no effect with --halt"),
        (["publish", "--rollout", "5%", "--runtime", "1"], "--runtime cannot change"),
        (["publish", "--rollout", "5%"], "publish a folder with"),
        (["publish", "--rollback"], "publish a folder with"),
        (["publish", "--remove-channel"], "publish a folder with"),
        (["publish", "dist", "--rollout", "5", "--halt-at", "0%"], "must be more than 0%"),
        (["publish", "dist", "--ramp", "5%"], "the ramp must be"),
        (["publish", "dist", "--app", "My Shop"], "must have 1 to 40"),
        (["publish", "none", "--app", "shop"], "none"),
    ])
    func `a wrong command line says what to do`(words: [String], message: String) throws {
        let ending = try start(words).wait()
        #expect(ending.status == 2 && ending.errors.contains(message), "\(ending)")
        #expect(home.names(in: ".local/share/larder") == [])
    }

    @Test func `other commands treat the releases of an app as a site`() throws {
        #expect(try larder("publish", "dist", "--app", "shop").status == 0)
        let list = try larder("list", "shop (app)")
        #expect(list.status == 0 && list.output.contains("/app.js"), "\(list)")
        #expect(try larder("status").output.contains("shop (app)"))
        let check = try larder("check", "shop (app)")
        #expect(check.status == 0, "\(check)")
        let update = try larder("update", "shop (app)")
        #expect(update.errors.contains("nothing to fetch"), "\(update)")
        let remove = try larder("remove", "shop (app)", "--yes")
        #expect(remove.status == 2 && remove.errors.contains("--remove-channel"), "\(remove)")
        let rollback = try larder("rollback", "shop (app)")
        #expect(rollback.status == 2 && rollback.errors.contains("larder publish --rollback"), "\(rollback)")
        #expect(try larder("gc").status == 0)
        #expect(try larder("fsck").status == 0)
        #expect(try larder("check", "shop (app)").status == 0)
    }

    @Test func `after a kill, devices get the release before or the new one, and all its files`() throws {
        #expect(try larder("publish", "dist", "--app", "shop").status == 0)
        func releases() throws -> [String?] {
            let channel = try json("publish", "--status")["channels"]?.array?.first
            return (channel?["updates"]?.array ?? []).map { $0["release"]?.string }
        }
        var release = try releases()[0]
        for number in 1...Self.kills {
            try writeBuild(number + 1)
            let run = try start(["publish", "dist"])
            usleep(UInt32(number * 7919 % 41) * 1500)
            run.signal(SIGKILL)
            _ = run.wait()
            let found = try releases()
            #expect(found.prefix(2).contains { $0 == release }, "kill \(number): \(found)")
            release = found[0]
            let check = try larder("check", "shop (app)")
            #expect(check.status == 0, "kill \(number): \(check)")
        }
        let last = try larder("publish", "dist")
        #expect(last.status == 0, "\(last)")
        #expect(try larder("gc").status == 0)
        #expect(try larder("check", "shop (app)").status == 0)
        #expect(try larder("fsck").status == 0)
    }
}
