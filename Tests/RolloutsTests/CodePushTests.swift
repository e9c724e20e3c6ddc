import Testing
import Web

@testable import Rollouts

/// Requests as CodePush's acquisition SDK writes them, and the answers.
@Suite struct CodePushTests {
    private func check(
        key: String = "production", version: String = "1.5.0", label: String? = nil, hash: String? = nil,
        client: String? = "My iPhone"
    ) throws -> CodePushCheck {
        var parameters = ["deployment_key": key, "app_version": version]
        parameters["label"] = label
        parameters["package_hash"] = hash
        parameters["client_unique_id"] = client
        return try CodePushCheck(parameters)
    }

    private func answer(
        _ check: CodePushCheck, _ channel: Channel, _ naming: CodePushEndpoint.Naming = .snakeCase
    ) throws -> JSONValue {
        let decision = channel.decision(for: check.device, at: UpdateSample.now)
        let other = channel.otherVersion(than: check.device, at: UpdateSample.now)
        let answer = DeviceAnswer(
            to: check, naming, decision, try UpdateSample.served(), otherVersion: other)
        #expect(answer.status == 200)
        let json = try UpdateSample.json(answer)
        return try #require(json[naming == .snakeCase ? "update_info" : "updateInfo"])
    }

    @Test func `paths of the protocol are known in both forms`() {
        #expect(CodePushEndpoint("v0.1/public/codepush/update_check") == .updateCheck(.snakeCase))
        #expect(CodePushEndpoint("updateCheck") == .updateCheck(.camelCase))
        #expect(CodePushEndpoint("v0.1/public/codepush/report_status/deploy") == .deployReport)
        #expect(CodePushEndpoint("reportStatus/download") == .downloadReport)
        #expect(CodePushEndpoint("v0.1/public/codepush/") == nil)
    }

    @Test func `a device without an update gets the release`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let info = try answer(try check(), channel)
        #expect(info["is_available"]?.bool == true && info["label"]?.string == rollout.id)
        #expect(info["download_url"]?.string == UpdateSample.base + ".larder-files.zip")
        #expect(info["package_hash"]?.string == (try UpdateSample.served().contents.codePushHash))
        #expect(info["package_size"]?.int == 1024)
        // Clients store the version of the request as that of the package.
        #expect(info["target_binary_range"]?.string == "1.5.0" && info["app_version"]?.string == "1.5.0")
        #expect(info["is_mandatory"]?.bool == false && info["update_app_version"]?.bool == false)
        #expect(info["should_run_binary_version"]?.bool == false && info["description"]?.string == "")
    }

    @Test func `an old client gets the old names`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let old = try CodePushCheck([
            "deploymentKey": "production", "appVersion": "1.5.0", "clientUniqueId": "x", "packageHash": "0",
        ])
        let info = try answer(old, channel, .camelCase)
        #expect(info["isAvailable"]?.bool == true && info["label"]?.string == rollout.id)
        #expect(info["downloadURL"]?.string == UpdateSample.base + ".larder-files.zip")
        #expect(info["packageSize"]?.int == 1024 && info["appVersion"]?.string == "1.5.0")
    }

    @Test func `a device that has the release gets none`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let hash = try UpdateSample.served().contents.codePushHash
        // The second one was built with the same files.
        for has in [try check(label: rollout.id.uppercased()), try check(hash: hash.uppercased())] {
            let info = try answer(has, channel)
            #expect(info["is_available"]?.bool == false && info["download_url"]?.string == "")
            #expect(info["should_run_binary_version"]?.bool == false)
        }
    }

    @Test func `a device without an ID gets no release for a share of the devices`() throws {
        var (channel, rollout) = try UpdateSample.channel()
        channel.publish(
            .release(try UpdateSample.release("b")), share: try #require(Share("99.99%")),
            at: UpdateSample.now)
        let info = try answer(try check(client: nil), channel)
        #expect(info["label"]?.string == rollout.id)
    }

    @Test func `after a roll-back of the first release there is none`() throws {
        var (channel, rollout) = try UpdateSample.channel()
        channel.rollBack(rollout.id, at: UpdateSample.now)
        let info = try answer(try check(label: rollout.id), channel)
        #expect(info["is_available"]?.bool == false && info["should_run_binary_version"]?.bool == true)
    }

    @Test func `a release for one version of the app is not for another one`() throws {
        var channel = Channel("production")
        channel.publish(.release(try UpdateSample.release("a", versions: ["1.5.0"])), at: UpdateSample.now)
        #expect(try answer(try check(), channel)["is_available"]?.bool == true)
        #expect(try answer(try check(version: "1.5"), channel)["is_available"]?.bool == false)
    }

    /// The rules of CodePush's server: the built-in code must run if no enabled release fits the version of the app, and the app
    /// is outdated if the newest release is for a later version.
    @Test(
        arguments: [
            // version of the app, versions of the releases, whether the last one is halted, built-in, outdated, named version
            ("1.5.0", [], false, true, false, ""), ("1.5.0", [""], true, true, false, ""),
            ("1.5.0", ["1.5.0"], false, false, false, "1.5.0"),
            ("1.5.0", ["1.6.0"], false, true, true, "1.6.0"),
            ("1.10.0", ["1.9.0"], false, true, false, "1.9.0"),
            ("1.5.0-beta", ["1.5.0"], false, true, true, "1.5.0"),
            ("1.5.0", ["1.5.0", "1.6.0"], false, false, false, "1.5.0"),
            ("1.5.0", ["1.6.0"], true, true, false, ""),
        ] as [(String, [String], Bool, Bool, Bool, String)])
    func `a device without a release for its version runs the built-in code, and learns of later versions`(
        version: String, releases: [String], isHalted: Bool, runsBuiltIn: Bool, isOutdated: Bool,
        named: String
    ) throws {
        var channel = Channel("production")
        for (number, version) in releases.enumerated() {
            channel.publish(
                .release(try UpdateSample.release("r\(number)", versions: [version])), at: UpdateSample.now)
        }
        if isHalted { channel.updateLast { $0.stop() } }
        let info = try answer(try check(version: version), channel)
        #expect(info["should_run_binary_version"]?.bool == runsBuiltIn)
        #expect(info["update_app_version"]?.bool == isOutdated)
        #expect(info["target_binary_range"]?.string == named && info["app_version"]?.string == named)
        #expect(info["is_available"]?.bool == !runsBuiltIn)
    }

    @Test(arguments: [
        ("DeploymentSucceeded", false), ("DeploymentFailed", true),
    ])
    func `a report names the roll-out by the label`(status: String, hasFailed: Bool) throws {
        let body = """
            {"app_version":"1.5.0","deployment_key":"production","client_unique_id":"My iPhone",\
            "label":"ABC-1","status":"\(status)","previous_label_or_app_version":"1.5.0"}
            """
        let report = try #require(try CodePushReport(Array(body.utf8), to: .deployReport).report)
        #expect(report.rollout == "abc-1")
        #expect(report.device == "My iPhone" && report.hasFailed == hasFailed)
    }

    @Test(arguments: [
        (CodePushEndpoint.deployReport, "{\"app_version\":\"1.5.0\",\"deployment_key\":\"production\"}"),
        (
            .deployReport,
            "{\"app_version\":\"1\",\"deployment_key\":\"p\",\"label\":\"x\",\"status\":\"DeploymentFailed\"}"
        ),
        (.downloadReport, "{\"client_unique_id\":\"x\",\"deployment_key\":\"p\",\"label\":\"x\"}"),
    ])
    func `reports about no update of a known device count for nothing`(to: CodePushEndpoint, body: String)
        throws
    {
        #expect(try CodePushReport(Array(body.utf8), to: to).report == nil)
    }

    @Test func `requests that cannot be answered have a problem with its status`() throws {
        let long = String(repeating: "x", count: 600)
        let cases: [([String: String], Int)] = [
            ([:], 400), (["deployment_key": "production"], 400), (["app_version": "1"], 400),
            (["deployment_key": "Production:v1", "app_version": "1"], 404),
            (["deployment_key": long, "app_version": "1"], 400),
            (["deployment_key": "p", "app_version": "1", "client_unique_id": long], 400),
        ]
        for (parameters, status) in cases {
            let problem = #expect(throws: UpdateProblem.self) { try CodePushCheck(parameters) }
            #expect(problem?.status == status)
        }
        for (body, status) in [
            ("", 400), ("[]", 400), ("{}", 400), ("{\"deployment_key\":\"p\"}", 400),
            ("{\"deployment_key\":\"p\",\"app_version\":\"1\",\"label\":\"x\"}", 400),
            ("{\"deployment_key\":\"p\",\"app_version\":\"1\",\"label\":\"x\",\"status\":\"y\"}", 400),
            (String(repeating: " ", count: 20_000), 413),
        ] {
            let problem = #expect(throws: UpdateProblem.self) {
                try CodePushReport(Array(body.utf8), to: .deployReport)
            }
            #expect(problem?.status == status)
            let answer = DeviceAnswer(codePush: try #require(problem))
            #expect(answer.status == status && answer.mediaType == "text/plain" && !answer.body.isEmpty)
        }
    }
}
