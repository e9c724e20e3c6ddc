import Testing
import Web

@testable import Rollouts

@Suite struct RolloutTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

    private func release(
        _ name: String, platform: Release.Platform = .ios, versions: Set<String> = ["1"]
    ) throws -> Release {
        try Release(platform: platform, runtimeVersions: versions, launch: Sample.file(name))
    }

    private func device(_ id: String?, version: String = "1", current: String? = nil) -> Device {
        Device(id: id, platform: .ios, runtimeVersion: version, currentUpdate: current)
    }

    /// The ID of the update that a device gets; nil if it gets no release.
    private func update(_ channel: Channel, _ device: Device, at now: HTTPDate = now) -> String? {
        guard case .release(_, let rollout, _) = channel.decision(for: device, at: now) else { return nil }
        return rollout.id
    }

    // MARK: Shares

    @Test(arguments: [
        ("10%", 1000), ("10", 1000), ("0.5%", 50), ("0.05%", 5), ("12.34%", 1234), ("100%", 10_000),
        ("0%", 0),
    ])
    func `a percentage is read and written`(text: String, hundredths: Int) {
        let share = Share(text)
        #expect(share?.hundredths == hundredths)
        #expect(share.flatMap { Share($0.description) } == share)
    }

    @Test(arguments: [
        "", "%", "-1%", "101%", "100.01%", "1.234%", "1.%", ".5%", "a", "1e2", "10 %", "1000", "1.2.3",
    ])
    func `another text is no percentage`(text: String) {
        #expect(Share(text) == nil)
    }

    @Test func `updates of two apps have different IDs, also for equal files and for roll-backs`() throws {
        let file = try Sample.file("a")
        let ids = ["https://one.app.invalid/1/a", "https://two.app.invalid/1/a"].map { url in
            var channel = Channel("production")
            let release = Release(platform: .ios, runtimeVersions: ["1"], launch: file.withURL(url))
            channel.publish(.release(release), at: Self.now)
            channel.rollBackLast(at: Self.now)
            return channel.rollouts.map(\.id)
        }
        #expect(Set(ids.joined()).count == 4)
    }

    @Test func `at 10 per cent a tenth of 100,000 devices gets a release, and keeps it at 20 per cent`()
        throws
    {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let new = channel.publish(
            .release(try release("b")), share: try #require(Share("10%")), at: Self.now.adding(seconds: 60))
        let devices = (0..<100_000).map { device("device-\($0)") }
        let first = devices.filter { update(channel, $0) == new.id }
        #expect((9_500...10_500).contains(first.count), "\(first.count)")
        #expect(devices.allSatisfy { [old.id, new.id].contains(update(channel, $0)) })

        channel.update(new.id) { $0.share = Share("20%") ?? .none }
        #expect(first.allSatisfy { update(channel, $0) == new.id })
        let second = devices.filter { update(channel, $0) == new.id }
        #expect((19_300...20_700).contains(second.count), "\(second.count)")

        channel.update(new.id) { $0.share = .all }
        #expect(devices.allSatisfy { update(channel, $0) == new.id })
        channel.update(new.id) { $0.share = .none }
        #expect(devices.allSatisfy { update(channel, $0) == old.id })
    }

    @Test func `each roll-out begins with other devices`() {
        let share = Share("10%") ?? .none
        let devices = (0..<20_000).map { "device-\($0)" }
        let both = devices.filter {
            share.contains(device: $0, of: "a") && share.contains(device: $0, of: "b")
        }
        // Of two independent tenths, a hundredth is in both.
        #expect((130...270).contains(both.count), "\(both.count)")
    }

    @Test func `a device that runs a release keeps it when the share is reduced`() throws {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let new = channel.publish(.release(try release("b")), share: .none, at: Self.now)
        #expect(update(channel, device("x")) == old.id)
        #expect(update(channel, device("x", current: new.id)) == new.id)
        channel.update(new.id) { $0.stop() }
        #expect(update(channel, device("x", current: new.id)) == old.id)
    }

    @Test func `a device without an ID gets only releases for all`() throws {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let new = channel.publish(.release(try release("b")), share: Share("99.99%") ?? .none, at: Self.now)
        for id in [nil, "", String(repeating: "x", count: 257)] {
            #expect(update(channel, device(id)) == old.id)
        }
        channel.update(new.id) { $0.share = .all }
        #expect(update(channel, device(nil)) == new.id)
    }

    @Test func `the reasons name the same update as the decision`() throws {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let halted = channel.publish(.release(try release("b")), at: Self.now)
        channel.update(halted.id) { $0.stop() }
        let new = channel.publish(.release(try release("c")), share: Share("50%") ?? .none, at: Self.now)
        channel.update(new.id) { $0.allowedDevices = ["tester"] }
        func reasons(_ device: Device) -> [Rollout.Membership] {
            channel.candidates(for: device, at: Self.now).map(\.membership)
        }
        #expect(reasons(device("tester")) == [.allowed])
        #expect(reasons(device(nil)) == [.noID, .halted, .all])
        #expect(reasons(device("x", current: new.id)) == [.kept])
        #expect(reasons(device("tester", current: halted.id)) == [.allowed])
        #expect(reasons(device("x", version: "2")) == [])
        let devices = (0..<200).map { device("device-\($0)") }
        #expect(Set(devices.map(reasons)) == [[.share], [.outside, .halted, .all]])
        for device in devices {
            let found = channel.candidates(for: device, at: Self.now).last
            #expect(found?.membership.isIncluded == true)
            #expect(found?.rollout.id == update(channel, device))
        }
        // Clients do not return to an older update.
        let outsider = try #require(devices.first { update(channel, $0) == old.id }?.id)
        #expect(reasons(device(outsider, current: halted.id)) == [.outside, .keptAfterHalt])
        let decision = channel.decision(for: device(outsider, current: halted.id), at: Self.now)
        guard case .release(_, _, isNew: false) = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    @Test func `allowed devices get a release whatever its share`() throws {
        var channel = Channel("production")
        let rollout = channel.publish(.release(try release("a")), share: .none, at: Self.now)
        channel.update(rollout.id) { $0.allowedDevices = ["tester"] }
        #expect(update(channel, device("tester")) == rollout.id)
        #expect(update(channel, device("other")) == nil && update(channel, device(nil)) == nil)
    }

    @Test func `a ramp raises the share at its times, and never lowers it`() throws {
        var rollout = Rollout(
            id: "a", date: Self.now, content: .release(try release("a")), share: Share("5%") ?? .none)
        rollout.ramp = [
            Rollout.Step(at: Self.now.adding(seconds: 7200), share: .all),
            Rollout.Step(at: Self.now.adding(seconds: 3600), share: Share("50%") ?? .none),
            Rollout.Step(at: Self.now.adding(seconds: 3700), share: Share("1%") ?? .none),
        ]
        let shares = [0, 3599, 3600, 3700, 7200].map {
            rollout.share(at: Self.now.adding(seconds: $0)).description
        }
        #expect(shares == ["5%", "5%", "50%", "50%", "100%"])
    }

    // MARK: Platforms and versions

    @Test func `a device gets only releases for its platform and runtime version`() throws {
        var channel = Channel("production")
        let one = channel.publish(.release(try release("a", versions: ["1", "1.1"])), at: Self.now)
        let two = channel.publish(.release(try release("b", versions: ["2"])), at: Self.now)
        channel.publish(.release(try release("c", platform: .android)), at: Self.now)
        #expect(update(channel, device("x", version: "1")) == one.id)
        #expect(update(channel, device("x", version: "1.1")) == one.id)
        #expect(update(channel, device("x", version: "2")) == two.id)
        #expect(channel.decision(for: device("x", version: "3"), at: Self.now) == .none)
    }

    // MARK: Failures

    @Test func `3 per cent of failures stop a release before the next request`() throws {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let new = channel.publish(.release(try release("b")), at: Self.now)
        channel.update(new.id) { $0.haltRule = Rollout.HaltRule(share: Share("3%") ?? .all, minReports: 100) }
        channel.update(new.id) { $0.stop(ifFailed: 2, of: 99) }
        #expect(update(channel, device("x")) == new.id)
        channel.update(new.id) { $0.stop(ifFailed: 3, of: 100) }
        #expect(update(channel, device("x")) == old.id)
        #expect(channel.rollouts.last?.halt == .failures(failed: 3, of: 100))
        // A device that has it gets no older one.
        guard
            case .release(_, let rollout, let isNew) = channel.decision(
                for: device("x", current: new.id), at: Self.now)
        else {
            Issue.record("no release")
            return
        }
        #expect(rollout.id == old.id && !isNew)

        channel.update(new.id) { $0.resume() }
        #expect(update(channel, device("x")) == new.id)
    }

    @Test func `few reports stop nothing, and neither do successes`() throws {
        var rollout = Rollout(id: "a", date: Self.now, content: .release(try release("a")))
        rollout.haltRule = Rollout.HaltRule(share: Share("3%") ?? .all, minReports: 10)
        rollout.stop(ifFailed: 9, of: 9)
        #expect(rollout.halt == nil)
        var calm = Rollout(id: "a", date: Self.now, content: .release(try release("a")))
        calm.haltRule = Rollout.HaltRule(share: .none, minReports: 0)
        calm.stop(ifFailed: 0, of: 20)
        #expect(calm.halt == nil)
    }

    @Test func `a change of an unknown update changes nothing`() throws {
        var channel = Channel("production")
        channel.publish(.release(try release("a")), at: Self.now)
        let before = channel
        for id in ["unknown", ""] { channel.update(id) { $0.stop() } }
        #expect(channel == before)
    }

    // MARK: Roll-back

    @Test func `a roll-back announces the release before as a new update`() throws {
        var channel = Channel("production")
        let old = channel.publish(.release(try release("a")), at: Self.now)
        let new = channel.publish(.release(try release("b")), at: Self.now)
        let announced = channel.rollBack(new.id, at: Self.now)
        let again = try #require(announced)
        #expect(again.content == old.content && again.id != old.id && again.date > new.date)
        #expect(update(channel, device("x", current: new.id)) == again.id)
        let unknown = channel.rollBack("unknown", at: Self.now)
        #expect(unknown == nil)
    }

    @Test func `a roll-back of the first release leads to the code that the app was built with`() throws {
        var channel = Channel("production")
        let first = channel.publish(.release(try release("a", versions: ["1", "2"])), at: Self.now)
        channel.rollBack(first.id, at: Self.now)
        for version in ["1", "2"] {
            guard
                case .embedded = channel.decision(
                    for: device("x", version: version, current: first.id), at: Self.now)
            else {
                Issue.record("\(version)")
                continue
            }
        }
        #expect(channel.decision(for: device("x", version: "3"), at: Self.now) == .none)
    }

    @Test func `a release for all versions is for devices of any version`() throws {
        var channel = Channel("production")
        let first = channel.publish(.release(try release("a", versions: ["1"])), at: Self.now)
        let second = channel.publish(.release(try release("b", versions: [""])), at: Self.now)
        for version in ["", "1", "2"] { #expect(update(channel, device("x", version: version)) == second.id) }
        // A device that does not give its version gets no release for a single one.
        channel.update(second.id) { $0.stop() }
        #expect(update(channel, device("x")) == first.id)
        #expect(update(channel, device("x", version: "")) == nil)
    }

    @Test func `a roll-back of a release for all versions gives each version its earlier update`() throws {
        var channel = Channel("production")
        let first = channel.publish(.release(try release("a", versions: ["1"])), at: Self.now)
        let second = channel.publish(.release(try release("b", versions: [""])), at: Self.now)
        channel.rollBackLast(at: Self.now)
        #expect(update(channel, device("x", current: second.id)) == channel.rollouts.last?.id)
        #expect(channel.rollouts.last?.content == first.content)
        guard case .embedded = channel.decision(for: device("x", version: "2"), at: Self.now) else {
            Issue.record("another version does not run the code that it was built with")
            return
        }
        #expect(channel.last.count == 2)
    }

    @Test func `updates of one second have different times and IDs`() throws {
        var channel = Channel("production")
        for _ in 0..<5 { channel.publish(.release(try release("a")), at: Self.now) }
        #expect(Set(channel.rollouts.map(\.id)).count == 5)
        #expect(Set(channel.rollouts.map(\.date.secondsSinceEpoch)).count == 5)
        // A clock that goes back makes no older update.
        let late = channel.publish(.release(try release("b")), at: Self.now.adding(seconds: -1000))
        #expect(channel.rollouts.allSatisfy { $0.date <= late.date })
    }
}
