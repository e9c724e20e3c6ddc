import Bundles
import Digest
import Rollouts
import Web

/// The readers of requests of the clients of CodePush and Capgo, and the answers to them.
struct DevicesTarget: Target {
    let name = "devices"
    let suffixes = [".devices"]
    let pieces = [
        "\"device_id\":\"d\"", "\"version_name\":\"builtin\"", "\"version_build\":\"1.0\"",
        "\"plugin_version\":\"8.0\"",
        "\"defaultChannel\":\"beta\"", "\"channel\":\"beta\"", "\"action\":\"update_fail\"",
        "\"action\":\"set\"",
        "\"deployment_key\":\"production\"", "\"app_version\":\"1.0\"", "\"label\":\"x\"",
        "\"status\":\"DeploymentFailed\"", "\"client_unique_id\":\"d\"", "{", "}", "[", "]", ",", "\"\"",
        "null", "1",
    ]

    /// Each request that can be read must have bounded values, and get an answer in JSON.
    func fault(_ input: [UInt8]) -> String? {
        var reports = (try? CapgoEvents(input))?.reports ?? []
        if let report = (try? CodePushReport(input, to: .deployReport))?.report { reports.append(report) }
        if let wrong = reports.first(where: {
            $0.device.utf8.count > 256 || $0.rollout.utf8.count > 64 || $0.device.isEmpty
                || $0.rollout.isEmpty
        }) {
            return "a report: \(wrong)"
        }
        var answers: [DeviceAnswer] = []
        for method in ["GET", "POST", "PUT", "DELETE"] {
            guard let request = try? CapgoChannelRequest(method: method, input) else { continue }
            guard AppName.isName(request.channel) else { return "a channel: \(request)" }
            answers += [true, false].map { DeviceAnswer(to: request, exists: $0) }
        }
        if let check = try? CapgoCheck(input) {
            guard AppName.isName(check.channel) else { return "a channel: \(check)" }
            guard let answer = answer(to: check) else { return "no release for \(check)" }
            answers.append(answer)
        }
        for answer in answers {
            let body = answer.body
            guard (try? JSONValue.parse(body.span)) != nil else {
                return "an answer: \(String(decoding: body, as: UTF8.self))"
            }
        }
        return nil
    }

    /// The answer with a release that is for all versions.
    private func answer(to check: CapgoCheck) -> DeviceAnswer? {
        let bytes = Array("x".utf8)
        let digest = DigestStream.digest(.sha256, of: bytes.span)
        let manifest = Manifest(bundles: [Bundle(reference: "index.html", digests: [digest], byteCount: 1)])
        guard let contents = ReleaseContents(manifest: Array(manifest.json.utf8)),
            let file = ReleaseFile(key: "k", url: "/a", sha256: digest, mediaType: "text/html", byteCount: 1)
        else { return nil }
        var channel = Channel(check.channel)
        let release = Release(
            platform: .any, runtimeVersions: [Rollout.anyVersion], launch: file, archive: file)
        let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
        channel.publish(.release(release), at: now)
        let answer = DeviceAnswer(
            to: check, channel.decision(for: check.device, at: now), ServedRelease(contents, base: "/"))
        return answer.kind == .update ? answer : nil
    }
}
