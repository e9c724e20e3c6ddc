import Bundles
import Digest
import LarderKit
import System
import TestOrigin
import Testing
import Web

@testable import Mirror

@Suite struct ExpoServingTests {
    private let app: PublishedApp

    init() throws { app = try PublishedApp() }

    @Test func `answers in memory have a maximum size, whatever hosts clients name`() {
        var cache = AnswerCache()
        let answer = UpdateAnswer(.update, status: 200, body: [UInt8](repeating: 1, count: 3 << 20))
        for number in 0..<20 {
            cache.add(answer, for: ["host-\(number)"])
            #expect(cache[["host-\(number)"]] != nil)
            #expect(cache.byteCount <= AnswerCache.maxBytes)
        }
        #expect((1...5).contains(cache.count))
        let tooLarge = UpdateAnswer(.update, status: 200, body: [UInt8](repeating: 1, count: 17 << 20))
        cache.add(tooLarge, for: ["large"])
        #expect(cache[["large"]] == nil)
    }

    /// Asks for an update as Expo's client does.
    private func ask(
        _ server: MirrorService, accept: String = "multipart/mixed", device: String = "device",
        runtime: String = "1.0",
        host: String? = nil, _ more: [(String, String)] = []
    ) throws -> RawResponse {
        try server.send(
            "expo", host: host,
            fields: [
                ("Accept", accept), ("expo-protocol-version", "1"), ("expo-platform", "ios"),
                ("expo-runtime-version", runtime), ("eas-client-id", device),
            ] + more)
    }

    private func manifest(_ answer: RawResponse) throws -> JSONValue {
        try JSONValue.parse(answer.body.span)
    }

    @Test func `a device gets the manifest, and the code at the URL in it`() async throws {
        let report = try await app.publishExport("code()")
        try await app.withServer { (server) async throws in
            let host = "updates.example.com:8080"
            let answer = try ask(server, accept: "application/expo+json", host: host)
            #expect(answer.status == 200)
            #expect(answer["expo-protocol-version"] == "1")
            #expect(answer["Cache-Control"] == "private, max-age=0")
            #expect(answer["expo-manifest-filters"] == "channel=\"production\"")
            let json = try manifest(answer)
            #expect(json["id"]?.string == report.channel.updates[0].id)
            #expect(json["metadata"]?["channel"]?.string == "production")
            let release = try #require(report.release)
            let url = json["launchAsset"]?["url"]?.string
            #expect(url == "http://\(host)/-/updates/shop/files/\(release)/bundles/ios.js")
            let code = try server.send("files/\(release)/bundles/ios.js")
            #expect(code.text == "code()")
        }
    }

    /// A situation, with the name of the part that expo/custom-expo-updates-server sends for protocol version 1, and the
    /// members of the JSON in it.
    struct Answer: Sendable, CustomTestStringConvertible {
        let situation: String
        let part: String
        let members: Set<String>

        var testDescription: String { situation }

        static let all = [
            Answer(
                situation: "a new update", part: "manifest",
                members: [
                    "id", "createdAt", "runtimeVersion", "launchAsset", "assets", "metadata", "extra",
                ]),
            Answer(situation: "the newest update runs", part: "directive", members: ["type"]),
            Answer(situation: "a roll-back", part: "directive", members: ["type", "parameters"]),
            Answer(
                situation: "the built-in code runs after a roll-back", part: "directive", members: ["type"]),
        ]
    }

    @Test(arguments: Answer.all)
    func `an answer has the header fields, the parts and the members that Expo's own server sends`(
        expected: Answer
    ) async throws {
        let report = try await app.publishExport("code()", configuration: #"{"name": "Shop"}"#)
        let update = report.channel.updates[0]
        var fields = [("expo-expect-signature", #"sig, keyid="root", alg="rsa-v1_5-sha256""#)]
        switch expected.situation {
        case "the newest update runs": fields.append(("expo-current-update-id", update.id))
        case "a roll-back", "the built-in code runs after a roll-back":
            _ = try await app.change(.rollBack)
            let current = expected.situation == "a roll-back" ? update.id : "e"
            fields += [("expo-current-update-id", current), ("expo-embedded-update-id", "e")]
        default: break
        }
        let sent = fields
        var updates = UpdateServing()
        updates.signingKey = try app.scratch.write(CodeSigningKeys.publisherKey, to: "key.pem")
        let settings = updates
        let server = try app.serve { $0.updates = settings }
        defer { server.stop() }
        let answer = try ask(server, sent)
        #expect(answer.status == 200)
        #expect(answer["expo-protocol-version"] == "1" && answer["expo-sfv-version"] == "0")
        #expect(answer["Cache-Control"] == "private, max-age=0")
        let type = try #require(answer["Content-Type"])
        try #require(type.hasPrefix("multipart/mixed; boundary="))
        let boundary = type.dropFirst("multipart/mixed; boundary=".count)
        let (first, last) = ("--\(boundary)\r\n", "\r\n--\(boundary)--\r\n")
        try #require(answer.text.hasPrefix(first) && answer.text.hasSuffix(last))
        let part = answer.text.dropFirst(first.count).dropLast(last.count)
        let end = try #require(part.firstRange(of: "\r\n\r\n"))
        let lines = Array(part[..<end.lowerBound].replacing("\r\n", with: "\n").utf8)
        let head = HTTPFields(block: lines.span)
        #expect(head["content-disposition"] == "inline; name=\"\(expected.part)\"")
        #expect(head["content-type"] == "application/json; charset=utf-8")
        let body = Array(part[end.upperBound...].utf8)
        let key = try #require(RSAPrivateKey(pem: CodeSigningKeys.publisherKey))
        #expect(head["expo-signature"] == ExpoSignature(key.sign(body), keyID: "root").text)
        let json = try JSONValue.parse(body.span)
        #expect(Set(json.members?.map(\.key) ?? []) == expected.members)
        switch expected.situation {
        case "a new update":
            #expect(json["extra"]?["expoClient"]?["name"]?.string == "Shop")
            let asset = try #require(json["assets"]?.array?.first)
            let names: Set<String> = ["hash", "key", "fileExtension", "contentType", "url"]
            #expect(Set(asset.members?.map(\.key) ?? []) == names)
            let md5 = DigestStream.digest(.md5, of: Array("picture".utf8).span).hex
            #expect(asset["key"]?.string == md5 && asset["fileExtension"]?.string == ".png")
            #expect(asset["contentType"]?.string == "image/png")
            let launch = json["launchAsset"]
            #expect(launch?["fileExtension"]?.string == ".bundle")
            #expect(launch?["contentType"]?.string == "application/javascript")
        case "a roll-back":
            #expect(json["type"]?.string == "rollBackToEmbedded")
            #expect(json["parameters"]?["commitTime"]?.string?.hasSuffix(".000Z") == true)
        default: #expect(json["type"]?.string == "noUpdateAvailable")
        }
    }

    @Test(arguments: ["[]", "{", "\"text\""])
    func `an export with a configuration that is no object is not published`(text: String) async throws {
        let error = await #expect(throws: LarderError.self) {
            try await app.publishExport("code()", configuration: text)
        }
        #expect(error?.description.contains("expoConfig.json is not a JSON object") == true)
    }

    @Test func `the address of the server can be set for a proxy before it`() async throws {
        try await app.publishExport("code()")
        var updates = UpdateServing()
        updates.url = "https://updates.example.com/"
        try await app.withServer(
            { $0.updates = updates },
            { (server) async throws in
                let json = try manifest(try ask(server, accept: "application/json", host: "10.0.0.7:8080"))
                #expect(
                    json["launchAsset"]?["url"]?.string?.hasPrefix(
                        "https://updates.example.com/-/updates/shop/")
                        == true)
            })
    }

    @Test(arguments: ["ftp://a.example/", "https://a.example/path", "https://u:p@a.example/", "a.example"])
    func `an address that is no origin is refused`(url: String) async throws {
        try await app.publishExport("code()")
        var updates = UpdateServing()
        updates.url = url
        #expect(throws: LarderError.self) { try app.serve { $0.updates = updates } }
    }

    @Test func `a device with the newest update gets a directive, and one without the runtime version too`()
        async throws
    {
        let report = try await app.publishExport("code()")
        try await app.withServer { (server) async throws in
            let answer = try ask(server, [("expo-current-update-id", report.channel.updates[0].id)])
            #expect(answer.status == 200)
            #expect(answer["Content-Type"]?.hasPrefix("multipart/mixed; boundary=") == true)
            #expect(answer.text.contains("noUpdateAvailable"))
            #expect(try ask(server, runtime: "2.0").text.contains("noUpdateAvailable"))
            #expect(try ask(server, accept: "application/json", runtime: "2.0").status == 406)
        }
    }

    @Test
    func `after a roll-back without an earlier release, devices run the code that they were built with`()
        async throws
    {
        try await app.publishExport("code()")
        _ = try await app.change(.rollBack)
        try await app.withServer { (server) async throws in
            #expect(try ask(server).text.contains("rollBackToEmbedded"))
        }
    }

    @Test(arguments: [
        (["expo-platform": "windows"], 400), (["expo-runtime-version": ""], 400),
        (["expo-protocol-version": "9"], 406), (["accept": "text/html"], 406),
        (["expo-channel-name": "beta"], 404), (["expo-channel-name": "../x"], 404),
        (["expo-expect-signature": "sig"], 400),
    ])
    func `a request that cannot be answered is refused`(fields: [String: String], status: Int) async throws {
        try await app.publishExport("code()")
        var all = [
            "expo-platform": "ios", "expo-runtime-version": "1.0", "expo-protocol-version": "1",
            "accept": "multipart/mixed",
        ]
        all.merge(fields) { $1 }
        let sent = all.map { ($0.key, $0.value) }
        try await app.withServer { (server) async throws in
            #expect(try server.send("expo", fields: sent).status == status)
        }
    }

    @Test func `updates are signed if the server has a key`() async throws {
        try await app.publishExport("code()")
        var updates = UpdateServing()
        updates.signingKey = try app.scratch.write(CodeSigningKeys.publisherKey, to: "key.pem")
        try await app.withServer(
            { $0.updates = updates },
            { (server) async throws in
                let answer = try ask(
                    server, accept: "application/json", [("expo-expect-signature", "sig, keyid=\"main\"")])
                let key = try #require(RSAPrivateKey(pem: CodeSigningKeys.publisherKey))
                #expect(
                    answer["expo-signature"]
                        == ExpoSignature(key.sign(answer.body), keyID: "main").text)
                #expect(try ask(server)["expo-signature"] == nil)
            })
    }

    @Test(arguments: [nil, "no key"])
    func `a server does not start with a file that is no key`(text: String?) async throws {
        try await app.publishExport("code()")
        var updates = UpdateServing()
        updates.signingKey = try text.map { try app.scratch.write($0, to: "key.pem") } ?? "/nowhere/key.pem"
        #expect(throws: LarderError.self) { try app.serve { $0.updates = updates } }
    }

    @Test func `failures that devices report halt an update before the next request`() async throws {
        let first = try await app.publishExport("one()")
        let second = try await app.publishExport("two()") { $0.haltAt = "3%" }
        let update = second.channel.updates[0].id
        try await app.withServer { (server) async throws in
            for number in 0..<48 {
                _ = try ask(server, device: "good-\(number)", [("expo-current-update-id", update)])
            }
            let failed = [("expo-recent-failed-update-ids", "\"\(update)\"")]
            _ = try ask(server, accept: "application/json", device: "bad-1", failed)
            // One device counts once, however often it asks.
            for _ in 0..<5 { _ = try ask(server, accept: "application/json", device: "bad-1", failed) }
            func newest() throws -> String? {
                try manifest(try ask(server, accept: "application/json", device: "new"))["id"]?.string
            }
            #expect(try newest() == update)
            let own = try ask(server, accept: "application/json", device: "bad-2", failed)
            #expect(try newest() == first.channel.updates[0].id)
            // Its own answer is made after the halt.
            #expect(try manifest(own)["id"]?.string == first.channel.updates[0].id)
        }
        let channel = try await app.larder.channels()[0]
        #expect(channel.updates[0].haltedBy == "failures")
        #expect(channel.updates[0].failed == 2)
    }
}
