import Bundles
import Digest
import TestOrigin
import Testing
import Web

@testable import Rollouts

/// Requests as Expo's client and its specification write them, and the answers.
@Suite struct ExpoUpdateTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
    private static let accept = "multipart/mixed,application/expo+json,application/json"

    private func request(
        version: String? = "1", accept: String? = accept, current: String? = nil, embedded: String? = nil,
        isSigned: Bool = false, keyID: String? = "main", adding more: [(String, String)] = []
    ) throws -> ExpoUpdateRequest {
        var fields: HTTPFields = [
            "expo-platform": "ios", "expo-runtime-version": "1",
            "eas-client-id": "0d6d6fb4-8c3c-4b0f-9f53-6c4b7a1f6a51",
        ]
        if let version { fields.append("expo-protocol-version", version) }
        if let accept { fields.append("accept", accept) }
        if let current { fields.append("expo-current-update-id", current) }
        if let embedded { fields.append("expo-embedded-update-id", embedded) }
        if isSigned {
            let name = keyID.map { ", keyid=\"\($0)\"" } ?? ""
            fields.append("expo-expect-signature", "sig\(name), alg=\"rsa-v1_5-sha256\"")
        }
        for (name, value) in more { fields.append(name, value) }
        return try ExpoUpdateRequest(fields)
    }

    private func channel() throws -> (channel: Channel, rollout: Rollout) {
        var channel = Channel("production")
        let release = Release(
            platform: .ios, runtimeVersions: ["1"], launch: try Sample.file("app.js"),
            assets: [try Sample.file("a.png", mediaType: "image/png")], metadata: ["branch": "main"])
        let rollout = channel.publish(.release(release), at: Self.now)
        return (channel, rollout)
    }

    private func answer(
        _ request: ExpoUpdateRequest, _ channel: Channel,
        _ settings: ExpoUpdateSettings = ExpoUpdateSettings()
    ) -> ExpoUpdateAnswer {
        ExpoUpdateAnswer(to: request, channel.decision(for: request.device, at: Self.now), settings)
    }

    private func response(_ answer: ExpoUpdateAnswer) throws -> ExpoResponse {
        try ExpoResponse(answer.body, file: "answer", signature: answer.fields["expo-signature"])
    }

    private func settings(_ key: String, chain: String? = nil) throws -> ExpoUpdateSettings {
        var settings = ExpoUpdateSettings()
        settings.signer = ExpoUpdateSettings.Signer(
            try #require(RSAPrivateKey(pem: key)), certificateChain: chain)
        return settings
    }

    // MARK: Manifests

    @Test(arguments: [nil, accept, "application/expo+json", "application/json", "*/*"])
    func `a manifest is sent in the form that the client prefers`(accept: String?) throws {
        let (channel, rollout) = try channel()
        let answer = answer(try request(accept: accept), channel)
        #expect(answer.status == 200 && answer.fields["expo-protocol-version"] == "1")
        #expect(answer.fields["expo-sfv-version"] == "0")
        #expect(answer.fields["cache-control"] == "private, max-age=0")
        let type = try #require(answer.fields["content-type"])
        #expect(
            type.hasPrefix(
                accept?.hasPrefix("application") == true ? accept ?? "" : "multipart/mixed; boundary="))
        let manifest = try Manifest(answer.body, file: "answer")
        #expect(manifest.format == .expo && manifest.updateID == rollout.id)
        #expect(manifest.created == rollout.date)
        #expect(
            manifest.bundles.map(\.reference) == ["https://example.com/app.js", "https://example.com/a.png"])
        #expect(BundleMeter.verdict(on: manifest.bundles[1], bytes: Array("a.png".utf8)) == .verified)
    }

    @Test func `a manifest has what the specification requires`() throws {
        let (channel, rollout) = try channel()
        let answer = answer(try request(accept: "application/json"), channel)
        let json = String(decoding: answer.body, as: UTF8.self)
        #expect(
            json == """
                {"id":"\(rollout.id)","createdAt":"2027-01-15T08:00:00.000Z","runtimeVersion":"1","launchAsset":\
                {"hash":"\(try hash("app.js"))","key":"key-app.js","contentType":"application/javascript",\
                "url":"https://example.com/app.js"},"assets":[{"hash":"\(try hash("a.png"))","key":"key-a.png",\
                "contentType":"image/png","url":"https://example.com/a.png"}],"metadata":{"branch":"main"},"extra":{}}
                """)
        let parts = rollout.id.split(separator: "-").map(\.count)
        #expect(parts == [8, 4, 4, 4, 12] && rollout.id == rollout.id.lowercased())
    }

    private func hash(_ name: String) throws -> String {
        Base64.encode(try Sample.file(name).sha256.bytes).replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    @Test func `filters, headers and extensions are sent as structured fields and as a part`() throws {
        let (channel, _) = try channel()
        var settings = ExpoUpdateSettings()
        settings.manifestFilters = ExpoDictionary(["branch": "main"])
        settings.serverDefinedHeaders = ExpoDictionary(["x-b": "say \"hi\"", "x-a": "1"])
        settings.assetRequestHeaders = ["key-a.png": ["authorization": "t"]]
        let answer = answer(try request(), channel, settings)
        #expect(answer.fields["expo-manifest-filters"] == "branch=\"main\"")
        #expect(answer.fields["expo-server-defined-headers"] == "x-a=\"1\", x-b=\"say \\\"hi\\\"\"")
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("{\"assetRequestHeaders\":{\"key-a.png\":{\"authorization\":\"t\"}}}"))
        for bad in [["A": "x"], ["": "x"], ["a b": "x"], ["a": "é"], ["a": "x\r\ny"]] {
            #expect(ExpoDictionary(bad) == nil)
        }
    }

    @Test func `the configuration of the app is in the manifest as it was given`() throws {
        let (channel, _) = try channel()
        let text = "{\"a\":[1,2.50,null,true,\"\\\"x\"],\"b\":{}}"
        let bytes = Array(text.utf8)
        var settings = ExpoUpdateSettings()
        settings.appConfiguration = try JSONValue.parse(bytes.span)
        let answer = answer(try request(accept: "application/json"), channel, settings)
        let end = "\"extra\":{\"expoClient\":" + text + "}}"
        #expect(String(decoding: answer.body, as: UTF8.self).hasSuffix(end))
    }

    // MARK: Directives

    @Test func `a device that runs the newest release gets noUpdateAvailable`() throws {
        let (channel, rollout) = try channel()
        let answer = answer(try request(current: rollout.id.uppercased()), channel)
        #expect(try response(answer).content == .directive(.noUpdateAvailable))
        // Clients that know no directives get the manifest again.
        for old in [
            try request(version: "0", current: rollout.id),
            try request(accept: "application/json", current: rollout.id),
        ] {
            #expect(try response(self.answer(old, channel)).content == .manifest)
        }
    }

    @Test func `a device without a release gets noUpdateAvailable, or an error if it knows no directives`()
        throws
    {
        let empty = Channel("production")
        #expect(try response(answer(try request(), empty)).content == .directive(.noUpdateAvailable))
        #expect(answer(try request(version: nil), empty).status == 404)
        #expect(answer(try request(accept: "application/expo+json"), empty).status == 406)
    }

    @Test func `a roll-back to the built-in code is sent once`() throws {
        var (channel, rollout) = try channel()
        channel.rollBack(rollout.id, at: Self.now)
        let sent = try response(answer(try request(current: rollout.id, embedded: "e"), channel))
        #expect(sent.content == .directive(.rollBackToEmbedded(Self.now.adding(seconds: 1))))
        let done = try response(answer(try request(current: "E", embedded: "e"), channel))
        #expect(done.content == .directive(.noUpdateAvailable))
        #expect(answer(try request(version: "0"), channel).status == 404)
    }

    // MARK: Signatures

    @Test(arguments: [accept, "application/json"])
    func `a signed answer verifies with the certificate of the app`(accept: String) throws {
        let (channel, rollout) = try channel()
        let settings = try settings(CodeSigningKeys.publisherKey)
        var requests = [try request(accept: accept, isSigned: true)]
        if accept == Self.accept { requests.append(try request(current: rollout.id, isSigned: true)) }
        for request in requests {
            let response = try response(answer(request, channel, settings))
            let signature = try ExpoSignature(try #require(response.signature))
            #expect(signature.keyID == "main")
            try CodeSigningCertificate(pem: CodeSigningKeys.publisher).verify(
                signature.bytes, of: response.signedBytes, chain: [], at: 1_800_000_000)
        }
        // Without expo-expect-signature there is none.
        #expect(try response(answer(try request(accept: accept), channel, settings)).signature == nil)
        #expect(answer(try request(accept: accept, isSigned: true), channel).status == 400)
    }

    /// Expo's clients compare the name with the one in their configuration (`codeSigningMetadata.keyid`).
    @Test(
        arguments: [
            ("main", "main"), ("root", "root"), (#"a\"b"#, #"a"b"#), (nil, "main"), ("ä", "main"),
            (String(repeating: "x", count: 600), "main"),
        ] as [(String?, String)])
    func `a signature names the key as the client does`(keyID: String?, name: String) throws {
        let (channel, _) = try channel()
        let settings = try settings(CodeSigningKeys.publisherKey)
        let answer = answer(try request(isSigned: true, keyID: keyID), channel, settings)
        #expect(try ExpoSignature(try #require(try response(answer).signature)).keyID == name)
    }

    @Test func `the chain of certificates is sent with a signature`() throws {
        let (channel, _) = try channel()
        let chain = CodeSigningKeys.release + "\n" + CodeSigningKeys.team + "\n"
        let answer = answer(
            try request(isSigned: true), channel, try settings(CodeSigningKeys.releaseKey, chain: chain))
        let response = try response(answer)
        try CodeSigningCertificate(pem: CodeSigningKeys.authority).verify(
            try ExpoSignature(try #require(response.signature)).bytes, of: response.signedBytes,
            chain: try CodeSigningCertificate.list(pem: response.certificateChain ?? ""), at: 1_800_000_000)
    }

    // MARK: Requests

    @Test func `a request is read from its header fields, or from its query`() throws {
        let request = try request(
            current: "ABC", embedded: "DEF", isSigned: true,
            adding: [("expo-recent-failed-update-ids", "\"a1\", \"B2\"")])
        #expect(request.device.id == "0d6d6fb4-8c3c-4b0f-9f53-6c4b7a1f6a51")
        #expect(request.device.currentUpdate == "abc" && request.embeddedUpdate == "def")
        #expect(request.failedUpdates == ["a1", "b2"] && request.expectsSignature)
        let query = try ExpoUpdateRequest([:], parameters: ["platform": "android", "runtime-version": "2"])
        #expect(query.device.platform == .android && query.device.runtimeVersion == "2")
        #expect(query.protocolVersion == 0 && query.form == .multipart)
    }

    @Test(arguments: [
        ("multipart/mixed;q=0.5, application/json", ExpoUpdateRequest.Form.json),
        ("application/expo+json;q=0.9, application/json;q=0.8, multipart/mixed", .multipart),
        ("application/expo+json;q=0.9, multipart/mixed;q=0", .expoJSON),
        ("*/*, multipart/mixed;q=0", .expoJSON),
        ("application/*", .expoJSON), ("text/html, */*;q=0.1", .multipart), ("APPLICATION/JSON", .json),
        ("application/json; q=1.000", .json),
    ])
    func `the preferred form is chosen by its weight`(accept: String, form: ExpoUpdateRequest.Form) throws {
        #expect(try request(accept: accept).form == form)
    }

    @Test func `requests that cannot be answered have a problem with its status`() throws {
        let cases: [([(String, String)], Int)] = [
            ([("expo-runtime-version", "1")], 400),
            ([("expo-platform", "web"), ("expo-runtime-version", "1")], 400),
            ([("expo-platform", "ios")], 400),
            ([("expo-platform", "ios"), ("expo-runtime-version", String(repeating: "1", count: 600))], 400),
            ([("expo-platform", "ios"), ("expo-runtime-version", "1"), ("expo-protocol-version", "2")], 406),
            ([("expo-platform", "ios"), ("expo-runtime-version", "1"), ("accept", "text/html")], 406),
            ([("expo-platform", "ios"), ("expo-runtime-version", "1"), ("accept", "*/*;q=0")], 406),
            ([("expo-platform", "ios"), ("expo-runtime-version", "1"), ("accept", "*/*;q=-1.x")], 406),
        ]
        for (fields, status) in cases {
            let fields = HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) })
            let problem = #expect(throws: ExpoUpdateProblem.self) { try ExpoUpdateRequest(fields) }
            #expect(problem?.status == status)
            let answer = try ExpoUpdateAnswer(#require(problem))
            #expect(answer.status == status && answer.fields["content-type"] == "application/json")
        }
    }
}
