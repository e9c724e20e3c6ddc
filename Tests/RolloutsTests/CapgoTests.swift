import Digest
import Testing
import Web

@testable import Rollouts

/// Requests as Capgo's documentation for self-hosted servers describes them and its clients write them, and the answers.
@Suite struct CapgoTests {
    private static let device = "0d6d6fb4-8c3c-4b0f-9f53-6c4b7a1f6a51"

    private func body(_ more: String = "", version: String = "builtin", plugin: String = "7.1.0") -> [UInt8] {
        let text = """
            {"platform":"android","device_id":"\(Self.device)","app_id":"com.example.demo","custom_id":"",\
            "version_build":"1.2.0","version_code":"12","version_os":"14","version_name":"\(version)",\
            "plugin_version":"\(plugin)","is_emulator":false,"is_prod":true\(more)}
            """
        return Array(text.utf8)
    }

    private func answer(
        _ check: CapgoCheck, _ channel: Channel, _ files: [String: String] = UpdateSample.files
    ) throws -> JSONValue {
        let decision = channel.decision(for: check.device, at: UpdateSample.now)
        let answer = DeviceAnswer(to: check, decision, try UpdateSample.served(files))
        #expect(answer.status == 200)
        return try UpdateSample.json(answer)
    }

    @Test func `a device without an update gets the release with its files`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let json = try answer(try CapgoCheck(body()), channel)
        #expect(json["version"]?.string == rollout.id)
        #expect(json["url"]?.string == UpdateSample.base + ".larder-files.zip")
        let archive = try #require(try UpdateSample.release("a").archive)
        #expect(json["checksum"]?.string == archive.sha256.hex)
        #expect(json["error"] == nil && json["message"] == nil && json["kind"] == nil)
        let files = try #require(json["manifest"]?.array)
        #expect(files.map { $0["file_name"]?.string } == ["index.html", "js/app.js"])
        #expect(files[1]["download_url"]?.string == UpdateSample.base + "js/app.js")
        #expect(files[0]["file_hash"]?.string == (try UpdateSample.served().contents.files[0].sha256.hex))
    }

    @Test func `only the zip file is named if the client would not read a list of files, or read it wrongly`()
        throws
    {
        let (channel, _) = try UpdateSample.channel()
        let old = try CapgoCheck(body(plugin: "6.3.1"))
        #expect(try answer(old, channel)["manifest"] == nil)
        let check = try CapgoCheck(body())
        // The client decompresses .br, and of a list it needs index.html outside of folders.
        for files in [["index.html": "a", "x.js.br": "b"], ["www/index.html": "a"]] {
            let json = try answer(check, channel, files)
            #expect(json["manifest"] == nil && json["url"]?.string != nil)
        }
        let many = Dictionary(
            uniqueKeysWithValues: (0..<1000).map { ("f\($0)", "x") } + [("index.html", "x")])
        #expect(try answer(check, channel, many)["manifest"] == nil)
    }

    @Test func `a device that runs the release is up to date`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let check = try CapgoCheck(body(version: rollout.id))
        let json = try answer(check, channel)
        #expect(json["kind"]?.string == "up_to_date" && json["error"]?.string == "no_new_version_available")
        #expect(json["version"]?.string == rollout.id && json["url"] == nil)
        #expect(check.device.currentUpdate == rollout.id && check.device.id == Self.device)
        #expect(try CapgoCheck(body()).device.currentUpdate == nil)
    }

    @Test func `a roll-back to the built-in code names it as the version, once`() throws {
        var (channel, rollout) = try UpdateSample.channel()
        channel.rollBack(rollout.id, at: UpdateSample.now)
        let json = try answer(try CapgoCheck(body(version: rollout.id)), channel)
        #expect(json["version"]?.string == "builtin" && json["error"] == nil)
        // Newer clients name the version of the native code.
        for version in ["builtin", "1.2.0"] {
            #expect(
                try answer(try CapgoCheck(body(version: version)), channel)["kind"]?.string == "up_to_date")
        }
    }

    @Test func `the channel is that of the device, or that of the URL`() throws {
        #expect(try CapgoCheck(body()).channel == "production")
        #expect(try CapgoCheck(body(), parameters: ["channel": "beta"]).channel == "beta")
        let own = body(",\"defaultChannel\":\"alpha\"")
        #expect(try CapgoCheck(own, parameters: ["channel": "beta"]).channel == "alpha")
        let problem = #expect(throws: UpdateProblem.self) {
            try CapgoCheck(body(",\"defaultChannel\":\"A B\""))
        }
        #expect(problem == .unknownChannel("A B"))
    }

    @Test(arguments: [
        ("set", false), ("app_launch_ready", false), ("update_fail", true), ("set_fail", true),
        ("app_launch_timeout", true),
    ])
    func `an event tells whether an update runs`(action: String, hasFailed: Bool) throws {
        let more = ",\"action\":\"\(action)\",\"old_version_name\":\"builtin\",\"timestamp\":1800000000000"
        let reports = try CapgoEvents(body(more, version: "ABC-1")).reports
        #expect(reports.count == 1 && reports.first?.rollout == "abc-1")
        #expect(reports.first?.hasFailed == hasFailed && reports.first?.device == Self.device)
    }

    @Test func `a list of events is read, and other events are left out`() throws {
        let events = ["download_10", "download_fail", "set", "app_moved_to_background", "update_fail"].map {
            String(decoding: body(",\"action\":\"\($0)\"", version: "abc-1"), as: UTF8.self)
        }
        let list = "[" + events.joined(separator: ",") + "]"
        #expect(try CapgoEvents(Array(list.utf8)).reports.map(\.hasFailed) == [false, true])
    }

    @Test func `an event that cannot be read does not take the others of its list with it`() throws {
        let good = String(decoding: body(",\"action\":\"set\"", version: "abc-1"), as: UTF8.self)
        let long = String(repeating: "x", count: 600)
        let list = "[1,{},\(good.replacing("abc-1", with: long)),\(good)]"
        #expect(try CapgoEvents(Array(list.utf8)).reports.map(\.rollout) == ["abc-1"])
    }

    @Test func `a device may join a channel that exists`() throws {
        let request = try CapgoChannelRequest(method: "POST", body(",\"channel\":\"beta\""))
        #expect(request.channel == "beta" && request.action == .set)
        #expect(try UpdateSample.json(DeviceAnswer(to: request, exists: true))["status"]?.string == "ok")
        let refused = DeviceAnswer(to: request, exists: false)
        #expect(refused.status == 400)
        #expect(try UpdateSample.json(refused)["error"]?.string == "channel_not_found")
    }

    @Test func `a device gets the name of its channel, and none of others`() throws {
        let get = try CapgoChannelRequest(method: "PUT", body(",\"defaultChannel\":\"beta\""))
        #expect(try UpdateSample.json(DeviceAnswer(to: get, exists: true))["channel"]?.string == "beta")
        let list = try CapgoChannelRequest(method: "GET", [], parameters: ["defaultChannel": "beta"])
        let json = try #require(try UpdateSample.json(DeviceAnswer(to: list, exists: true)).array)
        #expect(json.map { $0["name"]?.string } == ["production", "beta"])
        #expect(json.map { $0["id"]?.int } == [1, 2])
        #expect(json.map { $0["allow_self_set"]?.bool } == [false, true])
        #expect(try UpdateSample.json(DeviceAnswer(to: list, exists: false)).array?.count == 1)
        let unset = try CapgoChannelRequest(method: "DELETE", [])
        #expect(try UpdateSample.json(DeviceAnswer(to: unset, exists: false))["status"]?.string == "ok")
    }

    @Test(arguments: [
        ("", 400), ("[]", 400), ("{}", 400), ("{\"device_id\":1}", 400),
        (String(repeating: " ", count: 20_000), 413),
    ])
    func `requests that cannot be answered have a problem with its status`(text: String, status: Int) throws {
        let problem = #expect(throws: UpdateProblem.self) { try CapgoCheck(Array(text.utf8)) }
        let answer = DeviceAnswer(capgo: try #require(problem))
        let json = try UpdateSample.json(answer)
        #expect(answer.status == status && json["kind"]?.string == "failed")
        #expect(json["error"]?.string?.isEmpty == false && json["message"]?.string?.isEmpty == false)
    }

    @Test func `a list with too many events, or without events, is refused`() throws {
        for text in ["[" + String(repeating: "{\"action\":\"x\"},", count: 501) + "{}]", "[1]", "[{}]", "1"] {
            #expect(throws: UpdateProblem.self) { try CapgoEvents(Array(text.utf8)) }
        }
        #expect(try CapgoEvents(Array("[]".utf8)).reports.isEmpty)
    }
}
