import Bundles
import Check
import Crawl
import Digest
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// A table of signed manifests: for each form of the signature, each thing that may be wrong with it, and each command that
/// loads a manifest, whether the new release goes live. If not, the last good one stays, and no bundle is requested.
@Suite(.serialized) struct SignedManifestTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let key: MinisignPrivateKey
    private let newKey: MinisignPrivateKey

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        key = try #require(MinisignPrivateKey())
        newKey = try #require(MinisignPrivateKey())
        origin.on("/robots.txt", .failure(404))
        origin.on("/", .page("<title>Home</title>"))
    }

    /// The place of the signature.
    enum Form: CaseIterable {
        case detached, inside, detachedInFile, checksums
    }

    /// The second release.
    enum Event: CaseIterable {
        /// Signed by the same key.
        case signed
        case unsigned
        /// Signed by another key, which the manifest names.
        case otherKey
        /// One byte of the manifest differs from what was signed.
        case flipped
        /// A signature that cannot be read, such as a page.
        case damaged
        /// The manifest of another app, signed by the same key under its own name.
        case otherFile
        /// The signature of the first release.
        case earlierSignature
        /// The server answers 503 for the manifest and its signature.
        case down
        /// Signed by a new key, which the user names.
        case newKey

        var isAccepted: Bool { self == .signed || self == .newKey }
    }

    enum Verb: CaseIterable {
        case check, preload, prefetch, update
        /// A server that runs during the preload, as with `serve --preload`.
        case serve
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let form: Form
        let event: Event
        let verb: Verb
        var testDescription: String { "\(verb) of \(form): \(event)" }

        static let all: [Row] = {
            var rows: [Row] = []
            for form in Form.allCases {
                for event in Event.allCases {
                    // A signature inside covers its own manifest, and a file is never down.
                    if form == .inside, event == .earlierSignature { continue }
                    if form == .detachedInFile, event == .down { continue }
                    rows += Verb.allCases.map { Row(form: form, event: event, verb: $0) }
                }
            }
            return rows
        }()
    }

    private static func body(_ text: String) -> String { String(repeating: text, count: 100) }

    private static func sha256(_ text: String) -> String {
        DigestStream.digest(.sha256, of: Array(body(text).utf8).span).hex
    }

    private func place(_ form: Form) -> (name: String, base: String?) {
        switch form {
        case .detached, .inside: (origin.url("/site.json"), nil)
        case .detachedInFile: (scratch.file("site.json"), origin.url("/"))
        case .checksums: (origin.url("/SUMS"), nil)
        }
    }

    private func manifest(_ text: String, _ form: Form, by key: MinisignPrivateKey) throws -> [UInt8] {
        guard form != .checksums else { return Array("\(Self.sha256(text))  js/app.js\n".utf8) }
        let source =
            "{\"start\": [\"/\"], \"bundles\": [{\"url\": \"/js/app.js\", \"sha256\": \"\(Self.sha256(text))\"}]}"
        return try ManifestSignature.adding(key.publicKey, to: Array(source.utf8))
    }

    private func publish(_ bytes: [UInt8], _ signature: String?, _ form: Form) throws {
        switch form {
        case .detached, .inside, .checksums:
            let path = form == .checksums ? "/SUMS" : "/site.json"
            origin.on(path, .file(bytes, type: "text/plain"))
            origin.on(
                path + ".minisig", signature.map { .file($0, type: "text/plain") } ?? .failure(404))
        case .detachedInFile:
            _ = try scratch.write(bytes, to: "site.json")
            if let signature {
                _ = try scratch.write(signature, to: "site.json.minisig")
            } else {
                scratch.remove("site.json.minisig")
            }
        }
    }

    /// Publishes a release, with what the event has done to its manifest or signature.
    private func release(_ text: String, _ form: Form, _ event: Event = .signed) throws {
        origin.on("/js/app.js", .file(Self.body(text), type: "text/javascript"))
        let key = event == .otherKey || event == .newKey ? newKey : key
        var bytes = try manifest(event == .earlierSignature ? "a" : text, form, by: key)
        let file = event == .otherFile ? "other" : form == .checksums ? "SUMS" : "site.json"
        let signature = key.sign(bytes, trustedComment: "timestamp:1\tfile:\(file)\thashed")
        var detached: String? = signature.text
        if form == .inside, event != .unsigned {
            bytes = try ManifestSignature.adding(signature, to: bytes)
            detached = nil
        }
        switch event {
        case .signed, .otherKey, .otherFile, .newKey: break
        case .unsigned: detached = nil
        case .earlierSignature: bytes = try manifest(text, form, by: key)
        case .flipped:
            // A digit of the digest.
            let place = bytes.firstRange(of: Array(Self.sha256(text).utf8)).map { $0.lowerBound }
            let index = try #require(place)
            bytes[index] = bytes[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
        case .damaged:
            if form == .inside {
                bytes = Array(
                    String(decoding: bytes, as: UTF8.self).replacing("untrusted comment", with: "comment")
                        .utf8)
            } else {
                detached = "<!doctype html><title>Home</title>"
            }
        case .down:
            for path in ["/SUMS", "/site.json"] {
                origin.on(path, .failure(503))
                origin.on(path + ".minisig", .failure(503))
            }
            return
        }
        try publish(bytes, detached, form)
    }

    /// The result of a run.
    private enum Ending: Equatable {
        case served
        /// Refused, with the message.
        case refused(String)
        /// The manifest could not be loaded.
        case unreachable
    }

    private func run(_ verb: Verb, _ form: Form, trusting keys: [String] = []) async throws -> Ending {
        let (name, base) = place(form)
        do {
            switch verb {
            case .check:
                var options = CheckOptions()
                options.bases = base.map { [$0] } ?? []
                options.trustedKeys = keys
                let report = try await larder.check(name, options: options)
                let item = try #require(report.items.first)
                if item.verdict == .missing { return .unreachable }
                guard report.isClean else { return .refused(item.detail ?? "") }
                #expect(item.finding.algorithm == "sha256")
                #expect(item.finding.signer == report.signer && report.signer?.hasPrefix("RW") == true)
                return .served
            case .preload, .serve:
                var options = PreloadOptions()
                options.base = base
                options.trustedKeys = keys
                let report = try await larder.preload(name, options: options)
                switch report.outcome {
                case .current, .changed: return .served
                case .refused: return .refused(report.manifestFailure ?? "")
                case .unreachable, .expired, .interrupted: return .unreachable
                }
            case .prefetch:
                var options = PrefetchOptions()
                options.trustedKeys = keys
                let report = try await larder.prefetch(manifest: name, base: base, options: options)
                return report.manifestFailure == nil && report.isPublished ? .served : .unreachable
            case .update:
                var options = PrefetchOptions()
                options.trustedKeys = keys
                let report = try #require(try await larder.update(options: options).first)
                return report.manifestFailure == nil && report.isPublished ? .served : .unreachable
            }
        } catch let error as LarderError where error.kind == .refused {
            return .refused(error.description)
        }
    }

    private func liveText() throws -> String {
        let reader = try StoreReader(larder.folder)
        let body = try reader.response(for: origin.url("/js/app.js"))?.body
        let bytes = try body.flatMap { try reader.content(of: $0) }?.load() ?? []
        return String(decoding: bytes.prefix(1), as: UTF8.self)
    }

    /// The keys and the signed manifest that are stored with the only site.
    private func stored() throws -> (keys: [String], manifest: StoredManifest) {
        let reader = try StoreReader(larder.folder)
        let site = try #require(try reader.sites().first)
        let keys = SitePlan(text: site.settings).manifest?.trustedKeys ?? []
        return (keys, try #require(try StoredManifest.current(of: site.name, reader)))
    }

    private func header(by service: MirrorService) throws -> String? {
        service.reload()
        let address = try #require(service.address(of: origin.url("/js/app.js")).flatMap { WebURL($0) })
        let client = try RawClient(port: Int(service.port))
        return try client.get(address.target, host: "\(address.host):\(service.port)")["Larder-Bundle"]
    }

    @Test(arguments: Row.all)
    func `a release goes live only if its manifest is signed by a trusted key`(row: Row) async throws {
        let pages: Verb = [.prefetch, .update].contains(row.verb) ? .prefetch : .preload
        try release("a", row.form)
        #expect(try await run(pages, row.form, trusting: [key.publicKey.text]) == .served)
        #expect(try stored().keys == [key.publicKey.text])
        #expect(try stored().manifest.signer?.key == key.publicKey.text)
        // Without the network, as it would otherwise ask the origin about the bundle that `header` requests, at any time.
        var options = ServeOptions()
        options.policy = .offline
        let service = row.verb == .serve ? try larder.serve(port: 0, threads: 1, options: options) : nil
        defer { service?.stop() }
        if let service { #expect(try header(by: service)?.contains("signer=\(key.publicKey.text);") == true) }

        try release("b", row.form, row.event)
        origin.forgetRequests()
        let ending = try await run(
            row.verb, row.form, trusting: row.event == .newKey ? [newKey.publicKey.text] : [])

        let signer = row.event == .newKey && row.verb != .check ? newKey : key
        let isLive = row.event.isAccepted && row.verb != .check
        #expect(try liveText() == (isLive ? "b" : "a"))
        #expect(try stored().keys == [signer.publicKey.text])
        #expect(try stored().manifest.signer?.key == signer.publicKey.text)
        if row.event.isAccepted {
            #expect(ending == .served)
        } else if row.event == .down {
            #expect(ending == .unreachable)
        } else {
            guard case .refused(let reason) = ending else {
                Issue.record("\(ending)")
                return
            }
            let name = place(row.form).name.split(separator: "/").last ?? ""
            #expect(reason.contains("\(name) is refused: "), "\(reason)")
            #expect(reason.contains(words(for: row.event)), "\(reason)")
            // Nothing but the manifest and its signature.
            #expect(
                origin.requests.allSatisfy {
                    $0.target.hasPrefix("/site.json") || $0.target.hasPrefix("/SUMS")
                })
        }
        if let service {
            #expect(try header(by: service)?.contains("signer=\(signer.publicKey.text);") == true)
        }
    }

    private func words(for event: Event) -> String {
        switch event {
        case .unsigned: "it is not signed"
        case .otherKey: "it is signed by another key"
        case .flipped, .earlierSignature: "does not match"
        case .damaged: "its signature is damaged"
        case .otherFile: "it was signed as the file \"other\""
        case .signed, .down, .newKey: ""
        }
    }

    @Test(arguments: [Form.detached, .inside], [Verb.preload, .prefetch])
    func `on first use the key that the manifest names is stored, and no other is accepted later`(
        form: Form, verb: Verb
    ) async throws {
        try release("a", form)
        #expect(try await run(verb, form, trusting: ["first-use"]) == .served)
        #expect(try stored().keys == [key.publicKey.text])
        try release("b", form, .otherKey)
        for keys in [[], ["first-use"]] {
            guard case .refused = try await run(verb, form, trusting: keys) else {
                Issue.record("accepted")
                continue
            }
        }
        #expect(try liveText() == "a")
    }

    @Test func `a manifest that is refused on first use stores nothing`() async throws {
        try release("a", .detached, .unsigned)
        for keys in [["first-use"], [key.publicKey.text]] {
            for verb in [Verb.preload, .prefetch] {
                guard case .refused = try await run(verb, .detached, trusting: keys) else {
                    Issue.record("accepted")
                    continue
                }
            }
        }
        #expect(origin.requests.allSatisfy { $0.target.hasPrefix("/site.json") })
        let sites = larder.folder.exists ? try StoreReader(larder.folder).sites() : []
        #expect(sites.isEmpty)
    }

    @Test func `a key that a refused manifest would need is not stored`() async throws {
        try release("a", .detached)
        #expect(try await run(.preload, .detached, trusting: [key.publicKey.text]) == .served)
        // The user names a wrong key. The right manifest is refused, and the right key stays.
        guard case .refused = try await run(.preload, .detached, trusting: [newKey.publicKey.text]) else {
            Issue.record("accepted")
            return
        }
        #expect(try stored().keys == [key.publicKey.text])
        #expect(try await run(.preload, .detached) == .served)
    }

    @Test func `the value none accepts every manifest again, and removes the stored keys`() async throws {
        try release("a", .detached)
        #expect(try await run(.preload, .detached, trusting: [key.publicKey.text]) == .served)
        try release("b", .detached, .unsigned)
        #expect(try await run(.preload, .detached, trusting: ["none"]) == .served)
        #expect(try liveText() == "b")
        #expect(try stored().keys.isEmpty)
        #expect(try stored().manifest.signer == nil)
        #expect(try await run(.preload, .detached) == .served)
    }

    @Test func `two keys are trusted while a publisher changes from one to the other`() async throws {
        let both = [key.publicKey.text, newKey.publicKey.text]
        try release("a", .inside)
        #expect(try await run(.preload, .inside, trusting: both) == .served)
        try release("b", .inside, .newKey)
        #expect(try await run(.preload, .inside) == .served)
        #expect(try stored().manifest.signer?.key == newKey.publicKey.text)
        // The old key does not stay.
        #expect(try await run(.preload, .inside, trusting: [newKey.publicKey.text]) == .served)
        try release("c", .inside)
        guard case .refused = try await run(.preload, .inside) else {
            Issue.record("accepted")
            return
        }
        #expect(try liveText() == "b")
    }

    @Test func `trust begins with a site that is stored without it`() async throws {
        try release("a", .detached, .unsigned)
        #expect(try await run(.prefetch, .detached) == .served)
        // Unreachable: the stored manifest has no signature, and is not used for a new snapshot.
        try release("b", .detached, .down)
        let error = await #expect(throws: LarderError.self) {
            try await run(.prefetch, .detached, trusting: [key.publicKey.text])
        }
        #expect(error?.description.contains("the stored manifest has no signature") == true)
        #expect(try await run(.preload, .detached, trusting: [key.publicKey.text]) == .unreachable)
        #expect(try liveText() == "a")
        try release("b", .detached)
        #expect(try await run(.prefetch, .detached, trusting: [key.publicKey.text]) == .served)
        #expect(try liveText() == "b")
        // The signature is stored too, so that clients of the mirror can verify the manifest.
        let reader = try StoreReader(larder.folder)
        #expect(try reader.response(for: origin.url("/site.json.minisig"))?.status == 200)
        var options = CheckOptions()
        options.places = [.stored]
        let report = try await larder.check(origin.url("/site.json"), options: options)
        #expect(report.isClean && report.signer == key.publicKey.text)
    }

    @Test func `a manifest without trusted keys is loaded without a request for its signature`() async throws
    {
        try release("a", .detached)
        #expect(try await run(.preload, .detached) == .served)
        #expect(try stored().keys.isEmpty)
        #expect(origin.requests(to: "/site.json.minisig").isEmpty)
    }

    @Test(arguments: [
        (404, true), (403, true), (401, true), (410, true), (429, false), (408, false), (500, false),
    ])
    func `a signature that does not exist refuses the manifest, and one that cannot be reached now does not`(
        status: Int, isRefused: Bool
    ) async throws {
        try release("a", .detached)
        #expect(try await run(.preload, .detached, trusting: [key.publicKey.text]) == .served)
        try release("b", .detached)
        origin.on("/site.json.minisig", .failure(status))
        let ending = try await run(.preload, .detached)
        if isRefused {
            guard case .refused = ending else {
                Issue.record("\(ending)")
                return
            }
        } else {
            #expect(ending == .unreachable)
        }
        #expect(try liveText() == "a")
    }

    @Test func `an enormous signature is refused`() async throws {
        try release("a", .detached)
        origin.on(
            "/site.json.minisig",
            .file(String(repeating: "untrusted comment: x\n", count: 10_000), type: "text/plain"))
        guard case .refused(let reason) = try await run(.preload, .detached, trusting: [key.publicKey.text])
        else {
            Issue.record("accepted")
            return
        }
        #expect(reason.contains("its signature is damaged"), "\(reason)")
    }

    @Test func `a check trusts no key on first use, because it stores none`() async throws {
        try release("a", .detached)
        let error = await #expect(throws: LarderError.self) {
            try await run(.check, .detached, trusting: ["first-use"])
        }
        #expect(error?.kind == .input && error?.remedy == .trust)
        #expect(try await run(.preload, .detached, trusting: ["first-use"]) == .served)
        #expect(try await run(.check, .detached, trusting: ["first-use"]) == .served)
    }

    @Test(arguments: [Verb.preload, .prefetch])
    func `weak digests are refused if strong ones are required`(verb: Verb) async throws {
        let md5 = DigestStream.digest(.md5, of: Array(Self.body("a").utf8).span).hex
        origin.on("/js/app.js", .file(Self.body("a"), type: "text/javascript"))
        origin.on("/SUMS", .file("\(md5)  js/app.js\n", type: "text/plain"))
        if verb == .preload {
            var options = PreloadOptions()
            options.requiresStrongDigests = true
            let report = try await larder.preload(origin.url("/SUMS"), options: options)
            #expect(report.outcome == .refused)
            #expect(report.refused.map(\.reason) == ["its strongest digest is MD5, which is too weak"])
        } else {
            var options = PrefetchOptions()
            options.requiresStrongDigests = true
            let error = await #expect(throws: LarderError.self) {
                try await larder.prefetch(manifest: origin.url("/SUMS"), options: options)
            }
            #expect(error?.kind == .refused)
            #expect(error?.description.contains("its strongest digest is MD5, which is too weak") == true)
        }
        #expect(origin.requests(to: "/js/app.js").isEmpty)
    }
}
