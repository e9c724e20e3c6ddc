import Check
import Glibc
import Prefetch
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// `Larder.publish`: from a build to the channel of an app, and what happens to its files later.
@Suite struct PublishTests {
    private let scratch: TemporaryFolder
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        larder = Larder(at: try TestStore.place(scratch.file("store")))
    }

    // MARK: - Builds

    /// Writes a build of web files.
    private func build(_ number: Int, in name: String = "dist") throws -> String {
        _ = mkdir(scratch.file(name), 0o755)
        _ = mkdir(scratch.file(name + "/js"), 0o755)
        try scratch.write("<script src=js/app.js></script>", to: name + "/index.html")
        try scratch.write("show(\(number))\n", to: name + "/js/app.js")
        try scratch.write("secret", to: name + "/.env")
        return scratch.file(name)
    }

    /// Writes the output of `npx expo export` for two platforms.
    private func expoBuild(_ number: Int) throws -> String {
        for name in ["expo", "expo/assets", "expo/js"] { _ = mkdir(scratch.file(name), 0o755) }
        for platform in ["ios", "android"] {
            try scratch.write("code \(number) of \(platform)", to: "expo/js/\(platform).hbc")
        }
        try scratch.write("picture", to: "expo/assets/0a1b")
        func files(_ platform: String) -> String {
            "{\"bundle\": \"js/\(platform).hbc\", \"assets\": [{\"path\": \"assets/0a1b\", \"ext\": \"png\"}]}"
        }
        try scratch.write(
            "{\"version\": 0, \"fileMetadata\": {\"ios\": \(files("ios")), \"android\": \(files("android"))}}",
            to: "expo/metadata.json")
        return scratch.file("expo")
    }

    @Test func `publishing reports its steps in their order, each up to the number of files`() async throws {
        let reported = Monitor<[(PublishOptions.Phase, WorkProgress)]>([])
        var options = options()
        options.progress = { phase, progress in reported.change { $0.append((phase, progress)) } }
        _ = try await larder.publish(try build(1), options: options)
        let steps = reported.change { $0 }
        var phases: [PublishOptions.Phase] = []
        for (phase, progress) in steps where phases.last != phase {
            phases.append(phase)
            #expect(progress.unit == .files && progress.total == 2)
        }
        // The store is first asked whether it has the release already.
        #expect(phases == [.reading, .packing, .verifying, .storing, .verifying])
        for phase in PublishOptions.Phase.allCases {
            let counts = steps.filter { $0.0 == phase }.map(\.1.done)
            #expect(counts.contains(1) && counts.allSatisfy { (0...2).contains($0) }, "\(phase)")
        }
    }

    private func options(
        _ channel: String = "production", share: String? = nil, runtime: [String] = []
    ) -> PublishOptions {
        var options = PublishOptions()
        (options.app, options.channel, options.share) = ("shop", channel, share)
        options.runtimeVersions = runtime
        return options
    }

    @discardableResult
    private func publish(
        _ number: Int, _ channel: String = "production", share: String? = nil
    ) async throws -> PublishReport {
        try await larder.publish(build(number), options: options(channel, share: share))
    }

    private func expectError(
        _ text: String, remedy: Remedy? = nil, _ body: () async throws -> Void,
        at place: SourceLocation = #_sourceLocation
    ) async {
        do {
            try await body()
            Issue.record("nothing was thrown", sourceLocation: place)
        } catch {
            #expect("\(error)".contains(text), "\(error)", sourceLocation: place)
            if let remedy { #expect((error as? LarderError)?.remedy == remedy, sourceLocation: place) }
        }
    }

    // MARK: - Stored files

    private func body(_ url: String) throws -> String? {
        let reader = try StoreReader(larder.folder)
        guard let body = try reader.response(for: url)?.body, let content = try reader.content(of: body)
        else {
            return nil
        }
        return String(decoding: try content.load(), as: UTF8.self)
    }

    private func hasFiles(of release: String?) throws -> Bool {
        let base = AppURL.base(ofApp: "shop") + (release ?? "") + "/"
        return try ["index.html", "js/app.js", AppURL.manifestName, AppURL.archiveName].allSatisfy {
            try body(base + $0) != nil
        }
    }

    @Test func `a folder is stored with a manifest and a zip file, and announced to all devices`()
        async throws
    {
        let report = try await publish(1)
        #expect(report.files == 2 && report.isChanged && report.signer == nil)
        let release = try #require(report.release)
        let base = "https://shop.app.invalid/\(release)/"
        #expect(try body(base + "js/app.js") == "show(1)\n")
        #expect(try body(base + ".env") == nil)
        let manifest = try #require(try body(base + AppURL.manifestName))
        #expect(manifest.contains("/-/updates/shop/files/\(release)/") && manifest.contains("js/app.js"))
        #expect(try body(base + AppURL.archiveName)?.hasPrefix("PK") == true)
        let update = try #require(report.channel.updates.first)
        #expect(report.channel.updates.count == 1 && update.state == .live && update.share == "100%")
        #expect(update.platform == "any" && update.haltsAt == nil && update.runtimeVersions.isEmpty)
        #expect(try await larder.channels() == [report.channel])
    }

    @Test func `the same folder is published once, and again under another key as another release`()
        async throws
    {
        let first = try await publish(1)
        let again = try await publish(1)
        #expect(!again.isChanged && again.release == first.release)
        #expect(again.channel.updates.count == 1)
        #expect(try await larder.snapshots().sites.first?.snapshots.count == 1)
        await expectError("leave out the folder") { try await publish(1, share: "50%") }
        // Another channel has the same files.
        #expect(try await publish(1, "beta").release == first.release)
        #expect(try await larder.snapshots().sites.first?.snapshots.count == 1)
        var signed = options()
        signed.key = try ManifestKey.new()
        let other = try await larder.publish(build(1), options: signed)
        #expect(other.release != first.release && other.signer == signed.key?.publicKey)
        #expect(try await larder.publish(build(1), options: signed).isChanged == false)
        #expect(try hasFiles(of: first.release) && hasFiles(of: other.release))
    }

    @Test func `the app is named by its folder, and later it is the only one`() async throws {
        _ = mkdir(scratch.file("My Shop"), 0o755)
        let folder = try build(1, in: "My Shop/dist")
        #expect(try await larder.publish(folder).channel.app == "my-shop")
        #expect(try await larder.publish(build(2, in: "other")).channel.app == "my-shop")
        try await publish(1)
        await expectError("my-shop, shop") { _ = try await larder.publish(folder) }
    }

    @Test func `a folder that cannot be published as a whole changes nothing`() async throws {
        let first = try await publish(1)
        symlink("app.js", scratch.file("dist/js/other.js"))
        await expectError("js/other.js: it is a symbolic link") { try await publish(2) }
        scratch.remove("dist/js/other.js")
        _ = mkdir(scratch.file("empty"), 0o755)
        await expectError("has no files") {
            _ = try await larder.publish(scratch.file("empty"), options: options())
        }
        await expectError("runtimeVersion", remedy: .runtimeVersion) {
            _ = try await larder.publish(expoBuild(1), options: options())
        }
        for (name, text) in [("Shop", "must have 1 to 40"), ("", "must have 1 to 40")] {
            var wrong = options()
            wrong.app = name
            await expectError(text) { _ = try await larder.publish(build(2), options: wrong) }
            await expectError(text) { _ = try await larder.publish(build(2), options: options(name)) }
        }
        for share in ["101%", "-1%", "a", ""] {
            await expectError("must be a percentage") { try await publish(2, share: share) }
        }
        #expect(try await larder.channels() == [first.channel])
    }

    // MARK: - Changes

    @Test func `two platforms of one release are changed, halted, resumed and rolled back together`()
        async throws
    {
        let first = try await larder.publish(expoBuild(1), options: options(runtime: ["1.2"]))
        #expect(first.channel.updates.map(\.platform).sorted() == ["android", "ios"])
        let second = try await larder.publish(expoBuild(2), options: options(share: "10%", runtime: ["1.2"]))
        func updates(_ report: PublishReport) -> [ChannelReport.Update] {
            Array(report.channel.updates.prefix(2))
        }
        #expect(updates(second).allSatisfy { $0.share == "10%" && $0.state == .partial })
        #expect(updates(second).allSatisfy { $0.haltsAt == "3%" && $0.runtimeVersions == ["1.2"] })
        var change = PublishOptions()
        (change.share, change.ramp, change.haltAt) = ("20%", "40%/1d", "never")
        change.allowedDevices = ["a", "b"]
        let changed = try await larder.change(.update, options: change)
        #expect(updates(changed).allSatisfy { $0.share == "20%" && $0.next?.share == "60%" })
        #expect(updates(changed).allSatisfy { $0.haltsAt == nil && $0.allowedDevices == 2 })
        let halted = try await larder.change(.halt)
        #expect(updates(halted).allSatisfy { $0.state == .halted && $0.haltedBy == "publisher" })
        await expectError("is halted", remedy: .resumeRelease(app: "shop", channel: "production")) {
            _ = try await larder.change(.update, options: change)
        }
        let resumed = try await larder.change(.resume)
        #expect(updates(resumed).allSatisfy { $0.state == .partial && $0.haltedBy == nil })
        let back = try await larder.change(.rollBack)
        #expect(back.release == first.release && updates(back).allSatisfy { $0.state == .live })
        #expect(updates(back).allSatisfy { $0.release == first.release })
        let further = try await larder.change(.rollBack)
        #expect(further.release == nil && updates(further).allSatisfy { $0.release == nil })
        await expectError("nothing to roll back to") { _ = try await larder.change(.rollBack) }
    }

    @Test func `a second roll-back goes to the release before`() async throws {
        let releases = [
            try await publish(1).release, try await publish(2).release, try await publish(3).release,
        ]
        #expect(try await larder.change(.rollBack).release == releases[1])
        #expect(try await larder.change(.rollBack).release == releases[0])
        #expect(try await larder.change(.rollBack).release == nil)
        for release in releases { #expect(try hasFiles(of: release)) }
    }

    @Test func `reports are forgotten by the same change that resumes a release`() async throws {
        let report = try await publish(1, share: "50%")
        let id = try #require(report.channel.updates.first).id
        let database = try ChannelDatabase(larder.folder)
        let key = ChannelDatabase.Key(app: "shop", channel: "production")
        try database.report(id, of: key, device: 1, hasFailed: true) { _, _ in nil }
        #expect(try await larder.channels()[0].updates[0].failed == 1)
        _ = try await larder.change(.halt)
        #expect(try await larder.change(.resume).channel.updates[0].failed == 0)
    }

    @Test func `changes of a channel without releases say what to do`() async throws {
        for change in ReleaseChange.allCases {
            await expectError("larder publish DIR") { _ = try await larder.change(change) }
        }
        try await publish(1)
        for change in ReleaseChange.allCases {
            await expectError("see the channels", remedy: .channels) {
                _ = try await larder.change(change, options: options("beta"))
            }
        }
        await expectError("see the channels", remedy: .channels) { try await larder.removeChannel("beta") }
    }

    @Test func `a damaged channel is not overwritten, and its releases stay`() async throws {
        let release = try await publish(1).release
        try await publish(2, "beta")
        let database = try ChannelDatabase(larder.folder)
        let key = ChannelDatabase.Key(app: "shop", channel: "production")
        let state = try #require(try database.channel(key)).state
        for damaged in [String(state.dropLast(10)), "{\"format\": 99}"] {
            try database.change(key) { _ in .init(damaged) }
            await expectError("is damaged, or a later version") { try await publish(3) }
            await expectError("is damaged, or a later version") { _ = try await larder.change(.rollBack) }
            #expect(try database.channel(key)?.state == damaged)
        }
        try database.change(key) { _ in .init(String(state.dropLast(10))) }
        _ = try await larder.prune()
        #expect(try hasFiles(of: release))
    }

    @Test func `publishers at the same time wait for each other, and no release is lost`() async throws {
        let larder = larder
        let folders = try (1...4).map { try build($0, in: "dist-\($0)") }
        let options = options()
        let releases = try await withThrowingTaskGroup(of: String?.self) { group in
            for folder in folders {
                group.addTask { try await larder.publish(folder, options: options).release }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(releases.count == 4)
        let updates = try await larder.channels()[0].updates
        #expect(Set(updates.map(\.release)) == releases && updates.count == 4)
        #expect(updates.count { $0.state == .live } == 1)
        for release in releases { #expect(try hasFiles(of: release)) }
    }

    // MARK: - Space

    @Test func `a collection removes only releases that no channel has`() async throws {
        let first = try await publish(1).release
        let second = try await publish(2).release
        let third = try await publish(3, "beta").release
        func expectFiles(_ stored: [String?]) throws {
            for release in [first, second, third] {
                #expect(try hasFiles(of: release) == stored.contains(release))
            }
        }
        _ = try await larder.prune(keep: KeepRules(last: 1))
        try expectFiles([first, second, third])
        _ = try await larder.prune(limit: ByteSize("1k"), allowsIncomplete: true)
        try expectFiles([first, second, third])
        #expect(try await larder.removeChannel("beta", ofApp: "shop") == "shop")
        let forecast = try await larder.previewPruning()
        try expectFiles([first, second, third])
        #expect(forecast.urls.count == 4 && forecast.urls.allSatisfy { $0.contains(third ?? "-") })
        _ = try await larder.prune()
        try expectFiles([first, second])
        #expect(try await larder.change(.rollBack).release == first)
        try await larder.removeChannel("production")
        _ = try await larder.prune()
        try expectFiles([])
        #expect(try await larder.snapshots().sites.isEmpty)
        #expect(try await larder.channels().isEmpty)
        // The name is free again.
        try await publish(2)
        try expectFiles([second])
    }

    @Test func `files that devices get cannot be removed, hidden or updated`() async throws {
        let release = try await publish(1).release
        try await publish(2)
        let base = "https://shop.app.invalid/\(release ?? "")/"
        for text in ["shop (app)", base + "index.html", "/**.js", "https://shop.app.invalid/**"] {
            await expectError("remove the channel of shop first") { _ = try await larder.remove([text]) }
        }
        await expectError("roll back a channel of shop") { _ = try await larder.rollBack("shop (app)") }
        // The files of a removed snapshot stay in the next one.
        _ = try await larder.remove(["shop (app)@1"])
        #expect(try hasFiles(of: release))
        let notices = Monitor<[String]>([])
        var options = PrefetchOptions()
        options.notice = { text in notices.change { $0.append(text) } }
        #expect(try await larder.update(["shop (app)"], options: options).isEmpty)
        #expect(notices.change { $0 }.contains { $0.contains("nothing to fetch") })
        try await larder.removeChannel("production")
        _ = try await larder.remove(["shop (app)"])
        #expect(try !hasFiles(of: release))
    }

    @Test func `a check proves that the files of all announced releases are stored and intact`() async throws
    {
        let first = try await publish(1).release
        try await publish(2)
        let report = try await larder.checkOffline("shop (app)")
        #expect(report.isClean, "\(report)")
        #expect(report.items.count == 8 && report.count(.verified) == 8)
        // A file is lost in a way that no command allows.
        let lost = "https://shop.app.invalid/\(first ?? "")/js/app.js"
        _ = try StoreWriter(larder.folder).remove(urlsNamed: lost) { $0 == lost }
        let damaged = try await larder.checkOffline("shop (app)")
        #expect(!damaged.isClean && damaged.items.contains { $0.name == lost })
    }

    @Test(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
    func `a store in PostgreSQL keeps releases and channels`() async throws {
        let larder = Larder(at: try TestPostgreSQL.running.get().place(scratch.file("server")))
        let first = try await larder.publish(build(1), options: options())
        let second = try await larder.publish(build(2), options: options("production", share: "10%"))
        #expect(second.channel.updates.map(\.state) == [.partial, .live])
        #expect(try await larder.change(.rollBack).release == first.release)
        #expect(try await larder.previewPruning().urls.isEmpty)
        try await larder.removeChannel("production")
        #expect(try await larder.previewPruning().urls.count == 8)
        _ = try await larder.prune()
        #expect(try await larder.snapshots().sites.isEmpty)
    }
}
