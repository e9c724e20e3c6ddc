import Digest
import LarderKit
import Reports
import Rollouts
import TestOrigin
import Testing
import Web

/// Apps with the clients of CodePush, Capgo and Cordova. What these send and read is tested with the values in Rollouts.
@Suite struct DeviceProtocolServingTests {
    private let app: PublishedApp

    init() throws { app = try PublishedApp() }

    private func json(_ answer: RawResponse) throws -> JSONValue {
        let body = answer.body
        return try JSONValue.parse(body.span)
    }

    /// The path of a URL of the server.
    private func path(_ url: String?, of server: MirrorService) throws -> String {
        let origin = "http://localhost:\(server.port)"
        let url = try #require(url)
        try #require(url.hasPrefix(origin + "/"))
        return String(url.dropFirst(origin.count))
    }

    private func newest() async throws -> ChannelReport.Update {
        try await app.larder.channels()[0].updates[0]
    }

    // MARK: CodePush

    private static let codePush = "codepush/v0.1/public/codepush/"

    private func checkCodePush(
        _ server: MirrorService, device: String, label: String? = nil, key: String = "production"
    ) throws -> JSONValue {
        let query =
            "deployment_key=\(key)&app_version=1.4.0&client_unique_id=\(device)"
            + (label.map { "&label=\($0)" } ?? "")
        let answer = try server.send(Self.codePush + "update_check?" + query)
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        #expect(answer["Cache-Control"] == "no-store" && answer["Set-Cookie"] == nil)
        return try #require(try json(answer)["update_info"])
    }

    private func reportCodePush(_ server: MirrorService, _ status: String, _ label: String, device: String)
        throws
        -> Int
    {
        let body = """
            {"app_version":"1.4.0","deployment_key":"production","client_unique_id":"\(device)",\
            "label":"\(label)","status":"\(status)"}
            """
        return try server.send(Self.codePush + "report_status/deploy", method: "POST", body: body).status
    }

    @Test func `a client of CodePush gets the zip file of the release`() async throws {
        let published = try await app.publish(["CodePush/main.jsbundle": "code()"])
        try await app.withServer { server in
            let info = try checkCodePush(server, device: "d1")
            #expect(info["is_available"]?.bool == true)
            #expect(info["label"]?.string == published.channel.updates[0].id)
            let zip = try server.send(
                try path(info["download_url"]?.string, of: server), fields: [("Accept-Encoding", "identity")])
            #expect(zip.status == 200 && zip.body.starts(with: [0x50, 0x4B, 0x03, 0x04]))
            // The client compares the bytes that it gets with this field.
            #expect(
                zip["Content-Length"] == "\(zip.body.count)" && info["package_size"]?.int == zip.body.count)
            #expect(zip["Content-Encoding"] == nil)
            let label = info["label"]?.string
            #expect(try checkCodePush(server, device: "d1", label: label)["is_available"]?.bool == false)
        }
    }

    @Test func `failures that CodePush reports halt a release before the next request`() async throws {
        let first = try await app.publish(["main.jsbundle": "one"])
        let second = try await app.publish(["main.jsbundle": "two"]) { $0.haltAt = "3%" }
        let update = second.channel.updates[0].id
        try await app.withServer { server in
            let before = try checkCodePush(server, device: "new")
            #expect(before["label"]?.string == update)
            for number in 0..<48 {
                #expect(
                    try reportCodePush(server, "DeploymentSucceeded", update, device: "good-\(number)") == 200
                )
            }
            for number in 0..<2 {
                #expect(
                    try reportCodePush(server, "DeploymentFailed", update, device: "bad-\(number)") == 200)
            }
            #expect(try checkCodePush(server, device: "new")["label"]?.string == first.channel.updates[0].id)
            // A report about an update that does not exist is accepted, since the client would repeat it for ever.
            #expect(try reportCodePush(server, "DeploymentFailed", "v1", device: "bad") == 200)
        }
        #expect(try await newest().failed == 2)
        #expect(try await newest().installed == 48)
    }

    @Test(arguments: [
        ("GET", codePush + "update_check", 400), ("POST", codePush + "update_check", 405),
        ("GET", codePush + "update_check?app_version=1&deployment_key=beta", 404),
        ("GET", codePush + "report_status/deploy", 405), ("POST", codePush + "report_status/deploy", 400),
        ("GET", "codepush/updateCheck?appVersion=1&deploymentKey=production", 200),
        ("GET", "codepush", 404), ("GET", "codepush/other", 404), ("GET", "capgo/updates", 405),
        ("POST", "capgo/updates", 400), ("POST", "capgo/stats", 400), ("PATCH", "capgo/channel_self", 405),
        ("GET", "capgo/channel_self", 200), ("GET", "capgo", 404), ("GET", "cordova/chcp.json", 200),
        ("POST", "cordova/chcp.json", 405), ("GET", "cordova/chcp.json?channel=beta", 404),
        ("GET", "cordova/chcp.manifest", 404), ("GET", "files/0000/chcp.manifest", 404),
    ])
    func `requests are answered by method and path`(method: String, path: String, status: Int) async throws {
        try await app.publish(["index.html": "one"])
        try await app.withServer { server in
            let answer = try server.send(path, method: method, body: method == "GET" ? nil : "{}")
            #expect(answer.status == status)
        }
    }

    // MARK: Capgo

    private func capgoBody(_ extraMembers: String = "", version: String = "builtin") -> String {
        """
        {"platform":"ios","device_id":"d1","app_id":"com.example.shop","custom_id":"","version_build":"1.4.0",\
        "version_code":"14","version_os":"18","version_name":"\(version)","plugin_version":"8.0.0",\
        "is_emulator":false,"is_prod":true,"defaultChannel":""\(extraMembers)}
        """
    }

    private func checkCapgo(_ server: MirrorService, _ body: String, _ query: String = "") throws -> JSONValue
    {
        let answer = try server.send("capgo/updates" + query, method: "POST", body: body)
        #expect(answer.status == 200)
        return try json(answer)
    }

    @Test func `Capgo's client gets the files by digest, and is up to date then`() async throws {
        let published = try await app.publish(["index.html": "<p>", "js/a b.js": "code()"])
        let update = published.channel.updates[0].id
        try await app.withServer { server in
            let latest = try checkCapgo(server, capgoBody())
            #expect(latest["version"]?.string == update)
            let zip = try server.send(try path(latest["url"]?.string, of: server))
            #expect(latest["checksum"]?.string == DigestStream.digest(.sha256, of: zip.body.span).hex)
            let files = try #require(latest["manifest"]?.array)
            #expect(files.map { $0["file_name"]?.string } == ["index.html", "js/a b.js"])
            for file in files {
                let answer = try server.send(try path(file["download_url"]?.string, of: server))
                #expect(file["file_hash"]?.string == DigestStream.digest(.sha256, of: answer.body.span).hex)
            }
            #expect(try checkCapgo(server, capgoBody(version: update))["kind"]?.string == "up_to_date")
        }
        #expect(try await newest().installed == 1)
    }

    @Test
    func `failures that Capgo's client sends are counted, and a roll-back brings the built-in code back`()
        async throws
    {
        let update = try await app.publish(["index.html": "<p>"]).channel.updates[0].id
        try await app.withServer { server in
            let events = ["set", "update_fail"].map { capgoBody(",\"action\":\"\($0)\"", version: update) }
            let list = "[" + events.joined(separator: ",") + "]"
            #expect(try server.send("capgo/stats", method: "POST", body: list).status == 200)
            #expect(try await newest().failed == 1)
            // The client collects up to 200 events.
            let many = "[" + Array(repeating: events[0], count: 200).joined(separator: ",") + "]"
            #expect(try server.send("capgo/stats", method: "POST", body: many).status == 200)
            _ = try await app.change(.rollBack)
            #expect(try checkCapgo(server, capgoBody(version: update))["version"]?.string == "builtin")
            #expect(try checkCapgo(server, capgoBody())["kind"]?.string == "up_to_date")
        }
    }

    @Test func `events of one list count for the channels of their updates`() async throws {
        let production = try await app.publish(["index.html": "<p>"]).channel.updates[0].id
        let beta = try await app.publish(["index.html": "<b>"]) { $0.channel = "beta" }.channel.updates[0].id
        try await app.withServer { (server) async throws in
            // The client keeps events while it is offline, also when the app changes its channel.
            let events = [
                ("set", "builtin"), ("set", beta), ("set", production), ("update_fail", production),
            ].map { capgoBody(",\"action\":\"\($0)\"", version: $1) }
            let list = "[" + events.joined(separator: ",") + "]"
            #expect(try server.send("capgo/stats", method: "POST", body: list).status == 200)
        }
        let channels = try await app.larder.channels()
        #expect(channels.map(\.channel) == ["beta", "production"])
        #expect(channels.map { $0.updates[0].installed } == [1, 0])
        #expect(channels.map { $0.updates[0].failed } == [0, 1])
    }

    @Test func `a device joins a channel that exists, and gets its release`() async throws {
        try await app.publish(["index.html": "<p>"])
        let beta = try await app.publish(["index.html": "<b>"]) { $0.channel = "beta" }.channel.updates[0].id
        try await app.withServer { server in
            for (channel, status) in [("beta", 200), ("gamma", 400)] {
                let answer = try server.send(
                    "capgo/channel_self", method: "POST", body: capgoBody(",\"channel\":\"\(channel)\""))
                #expect(answer.status == status)
                #expect(try json(answer)["error"]?.string == (status == 200 ? nil : "channel_not_found"))
            }
            let own = capgoBody().replacing("\"defaultChannel\":\"\"", with: "\"defaultChannel\":\"beta\"")
            #expect(try checkCapgo(server, own)["version"]?.string == beta)
            #expect(try checkCapgo(server, capgoBody(), "?channel=beta")["version"]?.string == beta)
            let get = try server.send("capgo/channel_self", method: "PUT", body: own)
            #expect(try json(get)["channel"]?.string == "beta")
            #expect(try server.send("capgo/channel_self", method: "DELETE", body: "").status == 200)
        }
    }

    // MARK: Cordova

    @Test func `Cordova's plugin finds the files of the release by its two files`() async throws {
        let published = try await app.publish(["index.html": "<p>", "js/app.js": "code()"])
        try await app.withServer { server in
            let configuration = try json(try server.send("cordova/chcp.json?runtime=5"))
            #expect(configuration["release"]?.string == published.channel.updates[0].id)
            let folder = try path(configuration["content_url"]?.string, of: server)
            let list = try server.send(folder + "chcp.manifest")
            #expect(list.status == 200 && list["Cache-Control"]?.contains("immutable") == true)
            let files = try #require(try json(list).array)
            #expect(files.map { $0["file"]?.string } == ["index.html", "js/app.js"])
            for file in files {
                let answer = try server.send(folder + (file["file"]?.string ?? ""))
                #expect(file["hash"]?.string == DigestStream.digest(.md5, of: answer.body.span).hex)
            }
            _ = try await app.change(.rollBack)
            #expect(try server.send("cordova/chcp.json").status == 404)
        }
    }
}
