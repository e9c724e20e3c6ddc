import Bundles
import Digest
import Testing
import Web

@testable import Rollouts

@Suite struct CordovaTests {
    private func answer(_ request: CordovaRequest, _ channel: Channel) throws -> DeviceAnswer {
        DeviceAnswer(
            cordova: channel.decision(for: request.device, at: UpdateSample.now), try UpdateSample.served())
    }

    @Test func `the two files name the release and its files, as Larder's reader reads them`() throws {
        let (channel, rollout) = try UpdateSample.channel()
        let configuration = try answer(try CordovaRequest([:]), channel)
        let json = try UpdateSample.json(configuration)
        #expect(json["release"]?.string == rollout.id && json["content_url"]?.string == UpdateSample.base)
        let list = DeviceAnswer(cordovaListOf: try UpdateSample.served().contents)
        let named = try Manifest(configuration.body, file: "chcp.json")
        #expect(named.format == .cordova && named.version == rollout.id && named.base == UpdateSample.base)
        #expect(named.continuationDigest == DigestStream.digest(.sha256, of: list.body.span))
        let manifest = try Manifest(list.body, file: "chcp.manifest")
        #expect(
            manifest.format == .cordova && manifest.bundles.map(\.reference) == ["index.html", "js/app.js"])
        #expect(
            manifest.bundles[1].digests == [DigestStream.digest(.md5, of: Array("app".utf8).span)])
    }

    @Test func `the URL names the channel, the version and the device`() throws {
        let request = try CordovaRequest(["channel": "beta", "runtime": "5", "device": "x"])
        #expect(request.channel == "beta" && request.device.runtimeVersion == "5" && request.device.id == "x")
        #expect(try CordovaRequest([:]).channel == "production")
        #expect(throws: UpdateProblem.unknownChannel("B")) { try CordovaRequest(["channel": "B"]) }
        var channel = Channel("beta")
        channel.publish(.release(try UpdateSample.release("a", versions: ["5"])), at: UpdateSample.now)
        #expect(try answer(request, channel).status == 200)
        #expect(try answer(try CordovaRequest([:]), channel).status == 404)
    }

    @Test func `without an update the answer is an error`() throws {
        var (channel, rollout) = try UpdateSample.channel()
        channel.rollBack(rollout.id, at: UpdateSample.now)
        let answer = try answer(try CordovaRequest([:]), channel)
        #expect(answer.status == 404 && answer.mediaType == "text/plain")
    }
}
