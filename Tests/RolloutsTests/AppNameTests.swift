import Digest
import Testing
import Web

@testable import Rollouts

@Suite struct AppNameTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

    @Test(arguments: ["", "-a", "a-", "A", "a.b", "a/b", "a b", "é", String(repeating: "a", count: 41)])
    func `a text that cannot be a part of a host name is no name`(text: String) {
        #expect(AppName(text) == nil)
    }

    @Test(arguments: [("My Shop", "my-shop"), ("shop_2.0", "shop-2-0"), ("__x__", "x"), ("--", nil)])
    func `a name is derived from the name of a folder`(folder: String, name: String?) {
        #expect(AppName(folder: folder)?.text == name)
    }

    @Test func `a ramp reaches all devices step by step`() throws {
        let ramp = try #require(Rollout.Ramp("40%/2h"))
        let start = try #require(Share("10%"))
        let steps = ramp.steps(from: start, at: Self.now)
        #expect(steps.map(\.share.description) == ["50%", "90%", "100%"])
        #expect(
            steps.map { $0.time.secondsSinceEpoch - Self.now.secondsSinceEpoch } == [7200, 14_400, 21_600])
        #expect(ramp.steps(from: .all, at: Self.now).isEmpty)
    }

    @Test(arguments: [
        "", "10%", "10%/", "10%/1", "10%/0d", "10%/1y", "0%/1d", "0.01%/1d", "200%/1d", "1%/2%/1d",
    ])
    func `a malformed ramp is refused`(text: String) { #expect(Rollout.Ramp(text) == nil) }

    @Test func `the roll-outs of one command are changed and rolled back together`() throws {
        var channel = Channel("production")
        func release(_ name: String, _ platform: Release.Platform) throws -> Release {
            Release(
                platform: platform, runtimeVersions: ["1"], launch: try Sample.file(name),
                metadata: [Release.idKey: name])
        }
        for name in ["a", "b"] {
            let number = channel.nextCommandNumber
            for platform in [Release.Platform.android, .ios] {
                channel.publish(.release(try release(name, platform)), commandNumber: number, at: Self.now)
            }
        }
        #expect(channel.last.map(\.releaseID) == ["b", "b"])
        channel.updateLast { $0.share = Share("10%") ?? .none }
        #expect(channel.rollouts.map(\.share.description) == ["100%", "100%", "10%", "10%"])
        let back = channel.rollBackLast(at: Self.now)
        #expect(back.map(\.releaseID) == ["a", "a"] && back.map(\.platform) == [.android, .ios])
        #expect(
            channel.last == back
                && channel.rollouts.map { $0.halt != nil } == [false, false, true, true, false, false])
        #expect(Channel(storedText: channel.storedText) == channel)
    }

    @Test func `a release of an app without anything before it is rolled back to the built-in code`() throws {
        var channel = Channel("production")
        #expect(channel.rollBackLast(at: Self.now).isEmpty && channel.last.isEmpty)
        channel.publish(
            .release(
                Release(platform: .any, runtimeVersions: ["1"], launch: try Sample.file("a"))), at: Self.now)
        #expect(channel.rollBackLast(at: Self.now).map(\.content) == [.embedded(.any, runtimeVersion: "1")])
    }

    @Test func `a second roll-back goes to the release before`() throws {
        var channel = Channel("production")
        for name in ["a", "b", "c"] {
            channel.publish(
                .release(
                    Release(
                        platform: .any, runtimeVersions: ["1"], launch: try Sample.file(name),
                        metadata: [Release.idKey: name])), at: Self.now)
        }
        #expect(channel.rollBackLast(at: Self.now).map(\.releaseID) == ["b"])
        #expect(channel.rollBackLast(at: Self.now).map(\.releaseID) == ["a"])
        #expect(channel.rollBackLast(at: Self.now).map(\.releaseID) == [nil])
    }

    @Test func `counted reports stop a roll-out`() throws {
        var rollout = Rollout(
            id: "x", date: Self.now, content: .embedded(.any, runtimeVersion: "1"))
        rollout.stop(ifFailed: 100, of: 100)
        #expect(rollout.halt == nil)
        rollout.haltRule = Rollout.HaltRule(share: try #require(Share("3%")), minReports: 50)
        rollout.stop(ifFailed: 40, of: 49)
        rollout.stop(ifFailed: 2, of: 100)
        #expect(rollout.halt == nil)
        rollout.stop(ifFailed: 3, of: 100)
        #expect(rollout.halt == .failures(failed: 3, of: 100))
    }
}
