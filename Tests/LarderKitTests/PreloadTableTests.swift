import Digest
import Glibc
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// A table of preloads: for each manifest format, each change at the server or on the disk, and each command that
/// fetches, the table has the outcome and the requests that the origin must receive.
@Suite(.serialized) struct PreloadTableTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on("/robots.txt", .failure(404))
        origin.on("/", .page("<title>Home</title>"))
        for (name, text) in ["one": "a", "two": "b"] { serve(name, text) }
        try publish(["one": "a", "two": "b"], version: 2)
    }

    /// The format of the manifest, and whether it is a local file.
    enum Form: CaseIterable {
        case checksums, checksumsInFile, ours, weex
        /// Formats of which only the versions are tested.
        case cocos, cordova, angular

        /// Whether the format gives a version or a time, so that an older manifest can be refused.
        var hasAge: Bool { self != .checksums && self != .checksumsInFile }
    }

    /// The change between two runs.
    enum Event: CaseIterable {
        /// No change.
        case agrees
        /// A bundle has a new release, and the manifest lists an additional one.
        case differs, new
        /// The manifest lists a new release of a bundle, but the server lacks it or sends another body.
        case gone, lies
        /// A body is damaged on the disk, and a check has marked it.
        case damaged
        case down
        /// A run for a new release was interrupted.
        case killed
        /// The server announces an earlier release again, with its bundles.
        case older
        /// A bundle has changed, but not the version of the manifest.
        case sameVersion
        /// The manifest of a new release has expired. Only Larder's own format can.
        case expired

        /// Whether the event is about versions and times.
        var concernsAge: Bool { [.differs, .older, .sameVersion, .expired].contains(self) }
    }

    /// The command of the second run.
    enum Verb: CaseIterable {
        case preload, prefetch, update
        /// A server that runs during the preload, as with `serve --preload`.
        case serve
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let form: Form
        let event: Event
        let verb: Verb
        var testDescription: String { "\(verb) of \(form): \(event)" }

        static let all = Form.allCases.flatMap { form in
            Event.allCases.filter { $0.concernsAge || ![.cocos, .cordova, .angular].contains(form) }
                .flatMap { event in
                    Verb.allCases.map { Row(form: form, event: event, verb: $0) }
                }
        }
    }

    /// Returns a body that is too large for a database row, so that damage to the disk can change it.
    private static func body(_ text: String) -> String { String(repeating: text, count: 5000) }

    private func serve(_ name: String, _ text: String) {
        origin.on("/js/\(name).js", .file(Self.body(text), type: "text/javascript"))
    }

    /// Publishes the manifest in all formats.
    ///
    /// - Parameter version: the number of the release.
    private func publish(
        _ bundles: KeyValuePairs<String, String>, version: Int = 3, isExpired: Bool = false
    ) throws {
        let sums = bundles.map { ($0, DigestStream.digest(.md5, of: Array(Self.body($1).utf8).span).hex) }
        let list = sums.map { "\($1)  js/\($0).js\n" }.joined()
        origin.on("/SUMS", .file(list, type: "text/plain"))
        try scratch.write(list, to: "SUMS")
        let ours = sums.map { "{\"url\": \"/js/\($0).js\", \"md5\": \"\($1)\"}" }.joined(separator: ",")
        origin.on(
            "/site.json",
            .file(
                """
                {"version": "\(version).0.0", "start": ["/"], "bundles": [\(ours)],
                 "expires": "\(isExpired ? 2020 : 9999)-01-01T00:00:00Z"}
                """, type: "application/json"))
        let weex = sums.map {
            "{\"page\": \"\($0)\", \"h5\": \"\", \"js\": \"js/\($0).js\", \"md5\": \"\($1)\"}"
        }
        let md5 = sums.map(\.1).first ?? ""
        origin.on(
            "/weex",
            .file(
                "{\"md5\": \"\(md5)\", \"version\": \"1.\(version)\", \"pages\": [\(weex.joined(separator: ","))]}",
                type: "text/plain"))
        publishTimedFormats(bundles, sums, version)
    }

    /// Publishes the manifest in formats whose versions have other forms.
    private func publishTimedFormats(
        _ bundles: KeyValuePairs<String, String>, _ md5s: [(String, String)], _ version: Int
    ) {
        func serve(_ path: String, _ text: String) {
            origin.on(path, .file(text, type: "application/json"))
        }
        let assets = md5s.map { "\"js/\($0).js\": {\"md5\": \"\($1)\"}" }.joined(separator: ",")
        serve(
            "/project.manifest",
            """
            {"packageUrl": "\(origin.url("/"))", "remoteManifestUrl": "\(origin.url("/project.manifest"))",
             "version": "1.0.\(8 + version)", "assets": {\(assets)}}
            """)
        serve(
            "/chcp.json",
            "{\"content_url\": \"\(origin.url("/"))\", \"release\": \"2026.0\(version).28-13.32.27\"}")
        let files = md5s.map { "{\"file\": \"js/\($0).js\", \"hash\": \"\($1)\"}" }
        serve("/chcp.manifest", "[\(files.joined(separator: ","))]")
        let hashes = bundles.map {
            "\"/js/\($0).js\": \"\(DigestStream.digest(.sha1, of: Array(Self.body($1).utf8).span).hex)\""
        }
        serve(
            "/ngsw.json",
            """
            {"configVersion": 1, "timestamp": \(1_700_000_000_000 + version),
             "hashTable": {\(hashes.joined(separator: ","))}}
            """)
    }

    private func manifest(_ form: Form) -> (name: String, base: String?) {
        switch form {
        case .checksums: (origin.url("/SUMS"), nil)
        case .checksumsInFile: (scratch.file("SUMS"), origin.url("/"))
        case .ours: (origin.url("/site.json"), nil)
        case .weex: (origin.url("/weex"), nil)
        case .cocos: (origin.url("/project.manifest"), nil)
        case .cordova: (origin.url("/chcp.json"), nil)
        case .angular: (origin.url("/ngsw.json"), nil)
        }
    }

    /// The outcome of a run.
    private enum Ending: Equatable {
        /// The new set is live, or nothing had changed.
        case served
        case rejected
        /// A bundle could not be loaded or verified, for this reason: the last good set stays live.
        case lastGood(String)

        var isLastGood: Bool { if case .lastGood = self { true } else { false } }
    }

    private func run(_ verb: Verb, _ form: Form) async throws -> Ending {
        let (name, base) = manifest(form)
        let reports: [PrefetchReport]
        switch verb {
        case .preload, .serve:
            var options = PreloadOptions()
            options.base = base
            let report = try await larder.preload(name, options: options)
            #expect(report.isServed || report.outcome == .interrupted)
            switch report.outcome {
            case .current, .changed: return .served
            case .refused: return .rejected
            case .unreachable, .expired, .interrupted: return .lastGood(report.json)
            }
        case .prefetch, .update:
            // A pattern with a condition after `do throws(LarderError)` crashes the compiler (Swift 6.3.1).
            do {
                reports =
                    verb == .update
                    ? try await larder.update() : [try await larder.prefetch(manifest: name, base: base)]
            } catch {
                guard error.kind == .refused else { throw error }
                return .rejected
            }
        }
        #expect(reports.count == 1)
        let report = try #require(reports.first)
        if report.isPublished { return .served }
        #expect(report.isRejected || report.lastGood != nil || report.isInterrupted)
        return report.isRejected ? .rejected : .lastGood(report.json)
    }

    /// Returns the served body of a bundle, as one letter.
    private func servedLetter(_ name: String) throws -> String {
        let reader = try StoreReader(larder.folder)
        let body = try reader.response(for: origin.url("/js/\(name).js"))?.body
        let bytes = try body.flatMap { try reader.content(of: $0) }?.load() ?? []
        let text = String(decoding: bytes.prefix(1), as: UTF8.self)
        return bytes == Array(Self.body(text).utf8) ? text : "?"
    }

    /// Returns the response of a server as soon as it has this text, or its response after a minute. A server notices a
    /// new version with a delay.
    private func served(_ name: String, _ text: String, by service: MirrorService) async throws -> RawResponse
    {
        let address = try #require(service.address(of: origin.url("/js/\(name).js")).flatMap { WebURL($0) })
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let client = try RawClient(port: Int(service.port))
            let answer = try client.get(address.target, host: "\(address.host):\(service.port)")
            if answer.text == Self.body(text) || ContinuousClock.now > deadline { return answer }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func apply(_ event: Event, _ row: Row) async throws {
        switch event {
        case .agrees: break
        case .down: origin.stop()
        case .differs:
            serve("two", "c")
            try publish(["one": "a", "two": "c"])
        case .new:
            serve("three", "d")
            try publish(["one": "a", "two": "b", "three": "d"])
        case .gone, .lies:
            if event == .gone { origin.on("/js/two.js", .failure(404)) } else { serve("two", "x") }
            try publish(["one": "a", "two": "c"])
        case .damaged:
            let pack = try #require(scratch.names(in: "store/packs").first)
            let file = open(scratch.file("store/packs/\(pack)"), O_WRONLY)
            #expect(pwrite(file, "!", 1, 100) == 1)
            close(file)
            #expect(try await !larder.inspect().isSound)
        case .killed:
            serve("one", "e")
            serve("two", "c")
            try publish(["one": "e", "two": "c"])
            origin.hold("/js/two.js")
            origin.forgetRequests()
            let task = Task { try await run(row.verb, row.form) }
            while origin.requests(to: "/js/two.js").isEmpty { await Task.yield() }
            task.cancel()
            _ = try? await task.value
            origin.release("/js/two.js")
            #expect(try servedLetter("one") == "a" && servedLetter("two") == "b")
        case .older, .sameVersion, .expired:
            serve("two", "c")
            try publish(
                ["one": "a", "two": "c"], version: event == .older ? 1 : event == .sameVersion ? 2 : 3,
                isExpired: event == .expired)
        }
    }

    @Test(arguments: Row.all)
    func `only bundles that differ are requested, and readers always see a complete set`(row: Row)
        async throws
    {
        let first = try await run([.preload, .serve].contains(row.verb) ? .preload : .prefetch, row.form)
        #expect(first == .served)
        #expect(try servedLetter("one") == "a" && servedLetter("two") == "b")
        let service = row.verb == .serve ? try larder.serve(port: 0, threads: 1) : nil
        defer { service?.stop() }
        if let service { _ = try await served("two", "b", by: service) }
        try await apply(row.event, row)
        origin.forgetRequests()
        let ending = try await run(row.verb, row.form)

        let asked = origin.requests.map(\.target).filter { $0.hasPrefix("/js/") }
        var set = ["a", "b"]
        switch row.event {
        case .agrees:
            #expect(asked.isEmpty && ending == .served)
        case .differs:
            #expect(asked == ["/js/two.js"] && ending == .served)
            set = ["a", "c"]
        case .new:
            #expect(asked == ["/js/three.js"] && ending == .served)
            #expect(try servedLetter("three") == "d")
        case .gone, .lies:
            #expect(asked == ["/js/two.js"])
            #expect(ending == .rejected)
        case .damaged:
            #expect(asked.count == 1 && ending == .served)
            #expect(try await larder.inspect().isSound)
        case .down:
            // With the manifest in a local file, no request is needed, because all its bundles are stored.
            #expect(ending.isLastGood || row.form != .ours)
        case .killed:
            #expect(asked.contains("/js/two.js") && asked.count <= 2 && ending == .served)
            set = ["e", "c"]
        case .older where row.form.hasAge:
            #expect(asked.isEmpty && ending == .rejected)
        case .expired where row.form == .ours:
            // The manifest before applies, so that pages can still be updated.
            #expect(asked.isEmpty && (ending.isLastGood || [.prefetch, .update].contains(row.verb)))
        case .older, .sameVersion, .expired:
            #expect(asked == ["/js/two.js"] && ending == .served)
            set = ["a", "c"]
        }
        #expect(try [servedLetter("one"), servedLetter("two")] == set)
        if let service {
            for (name, text) in zip(["one", "two"], set) {
                let answer = try await served(name, text, by: service)
                #expect(answer.text == Self.body(text))
                #expect(answer["ETag"] != nil)
                guard row.form != .angular else { continue }
                let md5 = DigestStream.digest(.md5, of: Array(Self.body(text).utf8).span).hex
                #expect(answer["Larder-Bundle"] == "verified; by=md5; md5=\(md5)")
                #expect(answer["Repr-Digest"]?.contains("md5=") == true)
            }
        }
        if row.event != .down {
            let targets = [
                "/SUMS", "/site.json", "/weex", "/project.manifest", "/chcp.json", "/chcp.manifest",
                "/ngsw.json",
            ]
            let manifests = origin.requests.count { targets.contains($0.target) }
            let count =
                switch row.form {
                case .checksumsInFile: 0
                // The second one is the list of files.
                case .cordova: 2
                case .checksums, .ours, .weex, .cocos, .angular: 1
                }
            #expect(manifests == count)
        }
    }
}
