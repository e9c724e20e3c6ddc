import Testing
import Web

@testable import Mirror
@testable import Portal

@Suite struct JobQueueTests {
    @Test func `a command joins a waiting job only if that job has at least the same rights`() {
        var queue = JobQueue()
        #expect(queue.add(update("a"), by: .remoteUser, now: 0, date: 0) == 1)
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 2)
        #expect(queue.add(update("a"), by: .remoteUser, now: 0, date: 0) == 2)
        #expect(queue.jobs.map(\.principal) == [.remoteUser, .localUser])
    }

    @Test func `users of other machines see no job, outcome or host that may reveal private responses`()
        throws
    {
        func ended(_ principal: Principal, _ number: Int) -> PortalJob {
            PortalJob(
                number: number, command: .check(site: "a"), principal: principal, end: .withProblems,
                outcome: [Phrase(.untranslated, "secret")], addedAt: 0)
        }
        var queue = JobQueue([ended(.localUser, 1), ended(.remoteUser, 2), ended(.schedule, 3)])
        #expect(queue.add(.fetch(url: "https://a.test/secret"), by: .localUser, now: 0, date: 0) == 4)
        #expect(queue.add(.update(site: "a"), by: .remoteUser, now: 0, date: 0) == 5)
        #expect(queue.add(.check(site: "a"), by: .remoteUser, now: 0, date: 0) == 6)
        var progress = JobProgress()
        progress.hosts = [
            .init(name: "secret.test", running: 1, queued: 0, requestsPerSecond: 1, pausedSeconds: nil)
        ]
        queue.setProgress(progress, ofJob: 5)
        queue.end(6, .done, [Phrase(.checkClean, "2")])
        let shown = queue.withoutPrivate
        #expect(shown.jobs.map(\.number) == [2, 3, 5, 6])
        #expect(shown.jobs.map(\.outcome) == [[], [], [], [Phrase(.checkClean, "2")]])
        let event = String(decoding: JobRunner.event(shown), as: UTF8.self)
        #expect(!event.contains("secret") && event.contains("\"job\":5"), "\(event)")
        #expect(String(decoding: JobRunner.event(queue), as: UTF8.self).contains("secret.test"))
    }

    private static func ended(_ command: PortalCommand, _ end: JobEnd = .done) -> PortalJob {
        PortalJob(number: 1, command: command, principal: .localUser, end: end, outcome: [], addedAt: 0)
    }

    @Test func `the last removal can be undone until another command changes the removals`() {
        let removal = Self.ended(.remove(site: "a"))
        #expect([removal, Self.ended(.update(site: "b"))].removalToUndo == removal)
        #expect([removal, Self.ended(.undo)].removalToUndo == nil)
        #expect([removal, Self.ended(.undo, .withProblems)].removalToUndo == removal)
        #expect([Self.ended(.remove(site: "a"), .failed)].removalToUndo == nil)
        #expect([removal, Self.ended(.collect(limit: nil))].removalToUndo == nil)
        var queue = JobQueue()
        #expect(queue.add(.remove(site: "a"), by: .localUser, now: 0, date: 0) == 1)
        #expect(queue.jobs.removalToUndo?.number == 1)
    }

    @Test(
        arguments: [
            ("https://a.test/b", JobEnd.failed, "http://a.test/b"), ("https://a.test/b", .done, nil),
            ("https://a.test:8443/", .failed, nil), ("http://a.test/", .failed, nil),
        ] as [(String, JobEnd, String?)])
    func `a prefetch over https that stored nothing can be tried over http`(
        address: String, end: JobEnd, other: String?
    ) {
        let form = SiteSettingsForm()
        #expect(
            Self.ended(.prefetch(address: address, form), end).plainCommand
                == other.map { .prefetch(address: $0, form) })
    }

    private func update(_ site: String) -> PortalCommand { .update(site: site) }

    @Test func `each lane runs one job at a time, in order`() throws {
        var queue = JobQueue()
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 1)
        #expect(queue.add(update("b"), by: .localUser, now: 0, date: 0) == 2)
        #expect(queue.add(.check(site: "a"), by: .localUser, now: 0, date: 0) == 3)
        #expect(queue.startNext(.network, now: 0)?.number == 1)
        #expect(queue.startNext(.network, now: 0) == nil)
        #expect(queue.startNext(.store, now: 0)?.number == 3)
        queue.end(1, .done, [])
        #expect(queue.startNext(.network, now: 0)?.number == 2)
    }

    @Test func `a command that already waits or runs is not added again`() {
        var queue = JobQueue()
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 1)
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 1)
        _ = queue.startNext(.network, now: 0)
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 1)
        queue.end(1, .done, [])
        #expect(queue.add(update("a"), by: .localUser, now: 0, date: 0) == 2)
    }

    @Test func `a removal starts after a delay, can be cancelled until then, and blocks no other job`() {
        var queue = JobQueue()
        let removal = queue.add(.remove(site: "a"), by: .localUser, now: 0, date: 0)
        _ = queue.add(.check(site: "b"), by: .localUser, now: 0, date: 0)
        #expect(queue.nextPlannedTime(.store) == 10_000)
        #expect(queue.startNext(.store, now: 0)?.command == .check(site: "b"))
        queue.end(2, .done, [])
        #expect(queue.startNext(.store, now: 9_999) == nil)
        let isToCancel = queue.stop(1)
        #expect(removal == 1 && !isToCancel)
        #expect(queue[1]?.state == .ended(.cancelled))
        #expect(queue.startNext(.store, now: 20_000) == nil)
        _ = queue.add(.remove(site: "a"), by: .localUser, now: 20_000, date: 0)
        #expect(queue.startNext(.store, now: 30_000)?.command == .remove(site: "a"))
    }

    @Test func `a command for a site cancels the planned removal of the site`() {
        var queue = JobQueue()
        let site = "https://a.test/"
        let commands: [PortalCommand] = [
            .prefetch(address: "https://a.test", SiteSettingsForm()), .update(site: site),
        ]
        for (number, command) in commands.enumerated() {
            _ = queue.add(.remove(site: site), by: .localUser, now: 0, date: 0)
            _ = queue.add(command, by: .localUser, now: 1, date: 0)
            #expect(queue[2 * number + 1]?.state == .ended(.cancelled))
            #expect(queue[2 * number + 2]?.state == .waiting)
        }
        _ = queue.add(.remove(site: site), by: .localUser, now: 0, date: 0)
        _ = queue.add(.update(site: "https://b.test/"), by: .localUser, now: 1, date: 0)
        #expect(queue[5]?.isPlanned == true)
    }

    @Test func `a running job is stopping until its worker returns`() {
        var queue = JobQueue()
        _ = queue.add(update("a"), by: .localUser, now: 0, date: 0)
        _ = queue.startNext(.network, now: 0)
        #expect(queue.stop(1) == true)
        #expect(queue.stop(1) == false)
        #expect(queue[1]?.state == .stopping)
        queue.end(1, .stopped, [Phrase(.endedInterrupted)])
        #expect(queue[1]?.state == .ended(.stopped))
    }

    @Test func `each change increases the version, and nothing else does`() {
        var queue = JobQueue()
        let first = queue.version
        _ = queue.add(update("a"), by: .localUser, now: 0, date: 0)
        #expect(queue.version != first)
        _ = queue.startNext(.network, now: 0)
        var progress = JobProgress()
        progress.pages = 3
        let before = queue.version
        queue.setProgress(progress, ofJob: 1)
        let after = queue.version
        queue.setProgress(progress, ofJob: 1)
        queue.setProgress(progress, ofJob: 9)
        #expect(before != after && queue.version == after)
    }

    @Test func `the numbers of unfinished and of ended jobs are limited`() {
        var queue = JobQueue()
        for number in 0..<JobQueue.maxUnfinishedJobs {
            _ = queue.add(update("\(number)"), by: .localUser, now: 0, date: 0)
        }
        #expect(queue.add(update("more"), by: .localUser, now: 0, date: 0) == nil)
        for job in queue.jobs { queue.end(job.number, .done, []) }
        _ = queue.add(update("more"), by: .localUser, now: 0, date: 0)
        #expect(queue.jobs.count < 50)
    }
}
