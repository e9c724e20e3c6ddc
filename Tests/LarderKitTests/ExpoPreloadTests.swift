import Bundles
import Check
import Crawl
import Digest
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// A table of updates by a server of Expo Updates: for each form of the response and each thing that may be wrong with it,
/// whether the new update goes live. If not, the last good one stays, and no asset is requested.
@Suite(.serialized) struct ExpoPreloadTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private let certificate: String
    private let place: String

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        certificate = try scratch.write(CodeSigningKeys.publisher, to: "certificate.pem")
        place = origin.url("/api/manifest?platform=ios&runtime-version=1")
        origin.on("/robots.txt", .failure(404))
        origin.on("/", .page("<title>Home</title>"))
    }

    enum Form: CaseIterable { case json, multipart }

    enum Event: CaseIterable {
        case signed
        case unsigned
        /// Signed by another key.
        case otherKey
        /// One byte differs from what was signed.
        case flipped
        /// A field that is no signature.
        case damaged
        /// The update before the last one, with its right signature.
        case older
        case down

        var isAccepted: Bool { self == .signed }
    }

    enum Verb: CaseIterable { case preload, check, prefetch, update }

    private static func manifest(_ text: String, created: String = "2026-10-28T22:40:46.016Z") -> String {
        let hash = Base64.encode(DigestStream.digest(.sha256, of: Array(text.utf8).span).bytes)
        let unpadded = hash.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return """
            {"id":"id-\(text)","createdAt":"\(created)","runtimeVersion":"1","assets":[],"metadata":{},"extra":{},
            "launchAsset":{"hash":"\(unpadded)","key":"k","contentType":"application/javascript","url":"/assets/app.js"}}
            """
    }

    private func signature(_ body: String, _ key: String = CodeSigningKeys.publisherKey) throws -> String {
        ExpoSignature(try #require(RSAPrivateKey(pem: key)).sign(Array(body.utf8)), keyID: "main").text
    }

    /// Publishes a response with a body as a part of this name or alone.
    private func publish(
        _ body: String, _ signature: String?, _ form: Form = .multipart, as name: String = "manifest",
        chain: String? = nil
    ) {
        switch form {
        case .json:
            let fields =
                [("Content-Type", "application/expo+json")]
                + (signature.map { [("expo-signature", $0)] } ?? [])
            origin.on("/api/manifest", OriginAnswer(fields: fields, text: body))
        case .multipart:
            let head = signature.map { "expo-signature: \($0)\r\n" } ?? ""
            var text = "--cut\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\(head)\r\n\(body)\r\n"
            if let chain {
                text +=
                    "--cut\r\nContent-Disposition: form-data; name=\"certificate_chain\"\r\n\r\n\(chain)\r\n"
            }
            text += "--cut--\r\n"
            origin.on(
                "/api/manifest",
                OriginAnswer(fields: [("Content-Type", "multipart/mixed; boundary=cut")], text: text))
        }
    }

    private func release(_ text: String, _ form: Form, _ event: Event = .signed) throws {
        origin.on("/assets/app.js", .file(text, type: "text/javascript"))
        let created = event == .older ? "2026-10-27T00:00:00Z" : "2026-10-\(text == "a" ? 28 : 29)T00:00:00Z"
        var body = Self.manifest(text, created: created)
        var signature: String? = try signature(
            body, event == .otherKey ? CodeSigningKeys.strangerKey : CodeSigningKeys.publisherKey)
        switch event {
        case .signed, .otherKey, .older: break
        case .unsigned: signature = nil
        case .flipped: body = body.replacing("\"runtimeVersion\":\"1\"", with: "\"runtimeVersion\":\"2\"")
        case .damaged: signature = "<html>"
        case .down:
            origin.on("/api/manifest", .failure(503))
            return
        }
        publish(body, signature, form)
    }

    /// The result of a run: whether the manifest is in force, with the reason why it is not.
    private func run(_ verb: Verb, trusting keys: [String] = []) async throws -> (
        isServed: Bool, reason: String
    ) {
        do {
            switch verb {
            case .check:
                var options = CheckOptions()
                options.trustedKeys = keys
                let report = try await larder.check(place, options: options)
                return (report.isClean, report.items.first?.detail ?? "")
            case .preload:
                var options = PreloadOptions()
                options.trustedKeys = keys
                let report = try await larder.preload(place, options: options)
                return ([.current, .changed].contains(report.outcome), report.manifestFailure ?? "")
            case .prefetch:
                var options = PrefetchOptions()
                options.trustedKeys = keys
                let report = try await larder.prefetch(manifest: place, options: options)
                return (report.manifestFailure == nil && report.isPublished, report.manifestFailure ?? "")
            case .update:
                let report = try #require(try await larder.update().first)
                return (report.manifestFailure == nil && report.isPublished, report.manifestFailure ?? "")
            }
        } catch let error as LarderError where error.kind == .refused {
            return (false, error.description)
        }
    }

    private func liveText() throws -> String {
        let reader = try StoreReader(larder.folder)
        let body = try reader.response(for: origin.url("/assets/app.js"))?.body
        return String(decoding: try body.flatMap { try reader.content(of: $0) }?.load() ?? [], as: UTF8.self)
    }

    private func storedKeys() throws -> [String] {
        let site = try #require(try StoreReader(larder.folder).sites().first)
        return SitePlan(text: site.settings).manifest?.trustedKeys ?? []
    }

    @Test(arguments: Form.allCases, Event.allCases)
    func `an update goes live only if a trusted certificate has signed it`(form: Form, event: Event)
        async throws
    {
        for verb in Verb.allCases {
            let pages: Verb = [.prefetch, .update].contains(verb) ? .prefetch : .preload
            try release("a", form)
            #expect(try await run(pages, trusting: [certificate]).isServed, "\(verb)")
            #expect(try storedKeys().first?.hasPrefix("certificate:") == true)
            try release("b", form, event)
            origin.forgetRequests()
            let (isServed, reason) = try await run(verb)
            #expect(isServed == event.isAccepted, "\(verb): \(reason)")
            #expect(try liveText() == (event.isAccepted && verb != .check ? "b" : "a"), "\(verb)")
            if !event.isAccepted {
                #expect(reason.contains(words(for: event)), "\(verb): \(reason)")
                // The stored manifest takes the place of one that cannot be loaded.
                #expect(
                    event == .down || origin.requests.allSatisfy { $0.target.hasPrefix("/api/manifest") },
                    "\(verb)")
            }
            if verb == .preload, !event.isAccepted, event != .down {
                #expect(try await larder.preload(place).outcome == .refused)
            }
            let site = try #require(try StoreReader(larder.folder).sites().first)
            _ = try await larder.remove(site.name)
        }
    }

    private func words(for event: Event) -> String {
        switch event {
        case .unsigned: "it is not signed (it has no expo-signature), but must be signed by the certificate "
        case .otherKey, .flipped: "the signature is not by the certificate "
        case .damaged: "its signature is damaged: expo-signature"
        case .older: "older than"
        case .signed, .down: ""
        }
    }

    @Test(arguments: [true, false], [Verb.preload, .check, .prefetch])
    func `an update for another runtime than the one in the URL is refused`(isSigned: Bool, verb: Verb)
        async throws
    {
        origin.on("/assets/app.js", .file("a", type: "text/javascript"))
        let body = Self.manifest("a").replacing("\"runtimeVersion\":\"1\"", with: "\"runtimeVersion\":\"2\"")
        publish(body, isSigned ? try signature(body) : nil)
        let (isServed, reason) = try await run(verb, trusting: isSigned ? [certificate] : [])
        #expect(!isServed)
        #expect(reason.contains("it is for the runtime version \"2\", but \"1\" was asked for"), "\(reason)")
        #expect(origin.requests(to: "/assets/app.js").isEmpty)
    }

    @Test func `a part beside the signed manifest is no manifest, whatever it looks like`() async throws {
        let certificate = try scratch.write(CodeSigningKeys.publisher, to: "publisher.pem")
        try release("a", .multipart)
        origin.on("/evil.js", .file("evil", type: "text/javascript"))
        let body = Self.manifest("a")
        let integrity = Base64.encode(DigestStream.digest(.sha256, of: Array("evil".utf8).span).bytes)
        let entry = "{url:\"/evil.js\",revision:null,integrity:\"sha256-\(integrity)\"}"
        let worker = "precacheAndRoute([\(entry)]);"
        publish(body, try signature(body), chain: worker)
        let (isServed, reason) = try await run(.preload, trusting: [certificate])
        // The part of the chain is damaged. Anything is right but this script.
        #expect(!isServed || reason == "", "\(reason)")
        #expect(origin.requests(to: "/evil.js").isEmpty)
    }

    @Test func `a chain of certificates that leads to the trusted one is accepted`() async throws {
        let authority = try scratch.write(CodeSigningKeys.authority, to: "authority.pem")
        try release("a", .multipart)
        let body = Self.manifest("a")
        let chain = CodeSigningKeys.release + "\n" + CodeSigningKeys.team + "\n"
        publish(body, try signature(body, CodeSigningKeys.releaseKey), chain: chain)
        #expect(try await run(.preload, trusting: [authority]).isServed)
        publish(body, try signature(body, CodeSigningKeys.releaseKey), chain: CodeSigningKeys.release)
        let (isServed, reason) = try await run(.preload)
        #expect(!isServed && reason.contains("the certificate of /CN=release is not accepted"), "\(reason)")
    }

    @Test func `the first request has no update ID, and the next one that of the stored update`() async throws
    {
        try release("a", .multipart)
        #expect(try await run(.preload, trusting: [certificate]).isServed)
        #expect(try await run(.preload).isServed)
        let requests = origin.requests.filter { $0.target.hasPrefix("/api/manifest") }
        #expect(requests.map { $0["expo-current-update-id"] } == [nil, "id-a"])
        for request in requests {
            #expect(request["expo-platform"] == "ios" && request["expo-runtime-version"] == "1")
            #expect(request["expo-protocol-version"] == "1")
            #expect(request["expo-expect-signature"] == "sig, alg=\"rsa-v1_5-sha256\"")
            #expect(request["accept"] == "multipart/mixed,application/expo+json,application/json")
        }
    }

    @Test func `header fields of the user replace those of the request`() async throws {
        try release("a", .multipart)
        var options = PreloadOptions()
        options.network.headers = ["Expo-Platform: android", "expo-expect-signature: sig, keyid=\"main\""]
        options.trustedKeys = [certificate]
        #expect(try await larder.preload(place, options: options).outcome == .changed)
        let request = try #require(origin.requests.first { $0.target.hasPrefix("/api/manifest") })
        #expect(request["expo-platform"] == "android")
        #expect(request["expo-expect-signature"] == "sig, keyid=\"main\"")
    }

    /// The server sends a directive or an empty response if there is no newer update.
    @Test(arguments: [true, false])
    func `without a newer update the stored one is current, and nothing is fetched`(isDirective: Bool)
        async throws
    {
        try release("a", .multipart)
        #expect(try await run(.preload, trusting: [certificate]).isServed)
        let directive = "{\"type\":\"noUpdateAvailable\"}"
        if isDirective {
            publish(directive, try signature(directive), as: "directive")
        } else {
            origin.on("/api/manifest", OriginAnswer(status: 204))
        }
        origin.forgetRequests()
        let report = try await larder.preload(place)
        #expect(report.outcome == .current && report.reused == 1 && report.manifestFailure == nil)
        #expect(origin.requests.count == 1)
        #expect(try liveText() == "a")
    }

    @Test func `a directive needs a signature as a manifest does`() async throws {
        try release("a", .multipart)
        #expect(try await run(.preload, trusting: [certificate]).isServed)
        for type in ["noUpdateAvailable", "rollBackToEmbedded"] {
            publish("{\"type\":\"\(type)\"}", nil, as: "directive")
            let (isServed, reason) = try await run(.preload)
            #expect(!isServed && reason.contains("it is not signed"), "\(reason)")
        }
    }

    @Test func `a server without an update for a new site is an error that says what to check`() async throws
    {
        origin.on("/api/manifest", OriginAnswer(status: 204))
        let error = await #expect(throws: LarderError.self) { try await larder.preload(place) }
        #expect(error?.kind == .input && error?.description.contains("offers no update") == true)
    }

    @Test func `an unsigned set is not current once a certificate is trusted`() async throws {
        try release("a", .multipart, .unsigned)
        #expect(try await larder.preload(place).outcome == .changed)
        origin.on("/api/manifest", OriginAnswer(status: 204))
        #expect(try await larder.preload(place).outcome == .current)
        var options = PreloadOptions()
        options.trustedKeys = [certificate]
        let error = await #expect(throws: LarderError.self) {
            try await larder.preload(place, options: options)
        }
        #expect(error?.description.contains("offers no update") == true)
    }

    @Test func `a withdrawn update stays live, and the run is refused`() async throws {
        try release("a", .multipart)
        #expect(try await run(.preload, trusting: [certificate]).isServed)
        for (time, words) in [
            ("2026-11-01T00:00:00Z", "is withdrawn"), ("2026-10-01T00:00:00Z", "publish a newer"),
        ] {
            let directive = "{\"type\":\"rollBackToEmbedded\",\"parameters\":{\"commitTime\":\"\(time)\"}}"
            publish(directive, try signature(directive), as: "directive")
            for verb in [Verb.preload, .prefetch, .check] {
                let (isServed, reason) = try await run(verb)
                // A check does not compare with the update that was accepted last.
                let expected = verb == .check ? "is withdrawn" : words
                #expect(!isServed && reason.contains(expected), "\(verb): \(reason)")
            }
            #expect(try liveText() == "a")
        }
        // A new update ends the withdrawal.
        try release("b", .multipart)
        #expect(try await run(.preload).isServed)
        #expect(try liveText() == "b")
    }

    @Test func `a certificate that has expired refuses the update and names the clock`() async throws {
        try release("a", .multipart)
        var options = PreloadOptions()
        options.trustedKeys = [certificate]
        options.secondsSinceEpoch = { 5_000_000_000 }
        let report = try await larder.preload(place, options: options)
        #expect(report.outcome == .refused)
        #expect(report.manifestFailure?.contains("has expired by this machine's clock") == true)
    }
}
