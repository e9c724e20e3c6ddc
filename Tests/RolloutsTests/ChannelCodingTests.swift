import Testing
import Web

@testable import Rollouts

@Suite struct ChannelCodingTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

    private func channel() throws -> Channel {
        var channel = Channel("production")
        let release = Release(
            platform: .android, runtimeVersions: ["1", "2"], launch: try Sample.file("app.js"),
            assets: [try Sample.file("a.png", mediaType: "image/png")],
            archive: try Sample.file("a.zip", mediaType: "application/zip", byteCount: 12),
            metadata: ["branch": "main"])
        channel.publish(.release(release), at: Self.now)
        let second = channel.publish(.release(release), share: Share("12.5%") ?? .none, at: Self.now)
        channel.update(second.id) { rollout in
            rollout.ramp = [Rollout.Step(at: Self.now.adding(seconds: 60), share: .all)]
            rollout.allowedDevices = ["a", "b"]
            rollout.haltRule = Rollout.HaltRule(share: Share("3%") ?? .none, minReports: 2)
        }
        channel.update(second.id) { $0.stop(ifFailed: 2, of: 52) }
        channel.rollBack(channel.rollouts[0].id, at: Self.now)
        return channel
    }

    @Test func `a channel that becomes too large loses its oldest updates, but not the last two`() throws {
        var channel = Channel("production")
        for number in 0..<10 {
            let release = Release(
                platform: .any, runtimeVersions: ["1"], launch: try Sample.file("\(number)"),
                assets: [try Sample.file("a"), try Sample.file("b")])
            channel.publish(.release(release), at: Self.now)
        }
        let (all, ids) = (channel.storedText.utf8.count, channel.rollouts.map(\.id))
        var changed = channel
        #expect(changed.shrunkText(usualBytes: all, maxBytes: all) == channel.storedText)
        #expect(changed == channel)
        let half = changed.shrunkText(usualBytes: all / 2, maxBytes: all) ?? ""
        #expect(half.utf8.count <= all / 2)
        #expect(Channel(storedText: half) == changed)
        #expect((3...5).contains(changed.rollouts.count))
        #expect(changed.rollouts.map(\.id) == ids.suffix(changed.rollouts.count))
        _ = changed.shrunkText(usualBytes: 1, maxBytes: all)
        #expect(changed.rollouts.map(\.id) == ids.suffix(2))
        #expect(changed.shrunkText(usualBytes: 1, maxBytes: 100) == nil)
    }

    private func parse(_ text: String) throws -> JSONValue {
        let bytes = Array(text.utf8)
        return try JSONValue.parse(bytes.span)
    }

    @Test func `a stored channel decides as before`() throws {
        let channel = try channel()
        #expect(channel.rollouts[1].halt == .failures(failed: 2, of: 52))
        let restored = Channel(try parse(channel.members.text()))
        #expect(restored == channel)
        #expect(Channel(try parse(Channel("empty").members.text())) == Channel("empty"))
    }

    @Test(arguments: [
        ("\"format\":1", "\"format\":2"), ("\"name\":\"production\"", "\"name\":1"), ("12.5%", "112.5%"),
        ("2027-01-15T08:00:01Z", "2027-01-15T07:00:01Z"), ("\"by\":\"failures\"", "\"by\":\"magic\""),
        ("\"platform\":\"android\"", "\"platform\":\"web\""), ("\"minReports\":2", "\"minReports\":-2"),
        ("\"failed\":2", "\"failed\":\"2\""), ("\"allowedDevices\":[\"a\"", "\"allowedDevices\":[1"),
        ("\"sha256\":\"", "\"sha256\":\"0"), ("\"order\":2", "\"order\":\"2\""),
        ("\"branch\":\"main\"", "\"branch\":1"), ("\"bytes\":12", "\"bytes\":-1"),
        (",\"bytes\":12", ""),
    ])
    func `a damaged state is rejected as a whole`(old: String, new: String) throws {
        let text = try channel().members.text(.compact)
        let damaged = text.replacing(old, with: new)
        #expect(damaged != text)
        #expect(Channel(try parse(damaged)) == nil)
    }
}
