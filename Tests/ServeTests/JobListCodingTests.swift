import Glibc
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Mirror
@testable import Portal

@Suite struct JobListCodingTests {
    private static let commands: [PortalCommand] = {
        var plan = SiteSettingsForm()
        (plan.scope, plan.render, plan.depth, plan.maxPages, plan.maxBytes) = ("path", "never", 2, 9, "200M")
        var page = SiteSettingsForm()
        page.isOnlyPage = true
        var settings = SiteSettingsForm()
        (settings.robots, settings.connectionsPerHost) = ("ignore", 4)
        (settings.include, settings.exclude) = (["/a/**", "b.test"], ["*.pdf"])
        return [
            .prefetch(address: "https://a.test/", plan), .update(site: nil),
            .prefetch(address: "https://a.test/b", page), .update(site: "https://a.test/"),
            .fetch(url: "https://a.test/x"),
            .check(site: "https://a.test/"), .pin(.init(isSite: true, name: "https://a.test/")),
            .unpin(.init(isSite: false, name: "https://a.test/x")),
            .drop(snapshot: 3, site: "https://a.test/"),
            .rollBack(site: "https://a.test/", snapshot: 2), .forecast(limit: nil), .collect(limit: "2G"),
            .undo, .changeSettings(site: "https://a.test/", settings), .installTimer,
            .save(upload: String(repeating: "1c", count: 16), name: "page.mhtml"),
            .export(site: "https://a.test/", snapshot: nil, form: "wacz"),
            .export(site: "https://a.test/", snapshot: 7, form: "zip"),
            .importArchive(upload: String(repeating: "0a", count: 16), name: "a b.har", site: nil, base: nil),
            .importArchive(
                upload: String(repeating: "9f", count: 16), name: "a.zip", site: "https://a.test/",
                base: "https://a.test/docs/"),
        ]
    }()

    @Test(arguments: commands)
    func `every command is saved as its form and parsed back`(command: PortalCommand) throws {
        let form = command.form
        #expect(try PortalCommand(form.name, PortalRequest(path: "/", fields: form.fields)) == command)
    }

    @Test func `after a restart ended jobs are listed, and unfinished ones are interrupted or cancelled`()
        throws
    {
        var queue = JobQueue()
        for site in ["a", "b", "c"] { _ = queue.add(.update(site: site), by: .localUser, now: 0, date: 7) }
        _ = queue.add(.remove(site: "d"), by: .localUser, now: 0, date: 8)
        _ = queue.startNext(.network, now: 0)
        queue.end(
            1, .withProblems,
            [Phrase(.endedPages, "1", "2", "3 MB", "4 s"), Phrase(.untranslated, "\"so\"\n")])
        _ = queue.startNext(.network, now: 0)
        let jobs = JobListCoding.decode(Array(JobListCoding.encode(queue.jobs).utf8))
        #expect(jobs.map(\.number) == [1, 2, 3, 4])
        #expect(jobs.map(\.command) == queue.jobs.map(\.command))
        #expect(
            jobs.map(\.state) == [
                .ended(.withProblems), .ended(.interrupted), .ended(.interrupted), .ended(.cancelled),
            ])
        #expect(jobs[0].outcome == queue.jobs[0].outcome)
        #expect(jobs.map(\.addedAt) == [7, 7, 7, 8])
        var next = JobQueue(jobs)
        #expect(next.add(.update(site: "b"), by: .localUser, now: 0, date: 0) == 5)
    }

    @Test(arguments: [Principal.localUser, .remoteUser, .schedule])
    func `a job keeps its principal`(principal: Principal) {
        var queue = JobQueue()
        _ = queue.add(.update(site: "a"), by: principal, now: 0, date: 7)
        let text = JobListCoding.encode(queue.jobs)
        #expect(JobListCoding.decode(Array(text.utf8)).map(\.principal) == [principal])
    }

    @Test(arguments: ["", #""by":"somebody","#, #""by":7,"#])
    func `a stored job without a known principal counts as one of a remote user`(member: String) {
        let text =
            #"{"version":1,"jobs":[{"job":1,"order":"update",\#(member)"fields":[],"state":"done","asked":1,"outcome":[]}]}"#
        #expect(JobListCoding.decode(Array(text.utf8)).map(\.principal) == [.remoteUser])
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{\"version\":2,\"jobs\":[]}", "{\"version\":1,\"jobs\":7}",
        "{\"version\":1,\"jobs\":[1,null,{}, {\"job\":1}]}",
        #"{"version":1,"jobs":[{"job":-1,"order":"update","fields":[],"state":"done","asked":1,"outcome":[]}]}"#,
        #"{"version":1,"jobs":[{"job":1,"order":"erase","fields":[],"state":"done","asked":1,"outcome":[]}]}"#,
        #"{"version":1,"jobs":[{"job":1,"order":"fetch","fields":[["url","file:///etc/passwd"]],"state":"done","asked":1,"outcome":[]}]}"#,
        "\u{0}\u{0}\u{0}",
    ])
    func `a damaged job list is empty`(text: String) {
        #expect(JobListCoding.decode(Array(text.utf8)).isEmpty)
    }

    @Test func `valid entries of a job list are read, and repeated numbers skipped`() {
        let job =
            #"{"job":1,"order":"update","fields":[],"state":"done","asked":1,"outcome":[["nonsense"],["quoted","x"],7]}"#
        let text =
            "{\"version\":1,\"jobs\":[\(job),\(job),{\"job\":2},\(job.replacing("\"job\":1", with: "\"job\":5"))]}"
        let jobs = JobListCoding.decode(Array(text.utf8))
        #expect(jobs.map(\.number) == [1, 5])
        #expect(jobs[0].outcome == [Phrase(.untranslated, "x")])
    }

    @Test func `the number of saved jobs is limited`() {
        var queue = JobQueue()
        for number in 0..<500 {
            guard let added = queue.add(.update(site: "\(number)"), by: .localUser, now: 0, date: 0) else {
                continue
            }
            queue.end(added, .done, [])
        }
        #expect(JobQueue(JobListCoding.decode(Array(JobListCoding.encode(queue.jobs).utf8))).jobs.count <= 41)
    }

    @Test func `jobs that a server's stop interrupted are listed by the next run and can be restarted`()
        throws
    {
        let savedList = Mutex("")
        func jobRunner(_ worker: @escaping JobRunner.Worker) -> JobRunner {
            let text = savedList.withLock { $0 }
            return JobRunner(
                jobList: JobListFile(saved: text.isEmpty ? nil : Array(text.utf8)) { text in
                    savedList.withLock { $0 = text }
                }, worker)
        }
        let first = jobRunner { _, run in
            let isCancelled = Monitor(false)
            run.onCancel { isCancelled.change { $0 = true } }
            _ = isCancelled.wait { $0 ? true : nil }
            return (.stopped, [Phrase(.endedInterrupted)])
        }
        let number = try #require(first.add(.update(site: "https://a.test/"), by: .localUser))
        while first.jobs.first?.state != .running { sched_yield() }
        // The file has the job as running, in case the server is killed.
        while !savedList.withLock({ $0.contains("\"running\"") }) { sched_yield() }
        first.close()
        #expect(savedList.withLock { $0.contains("\"interrupted\"") })

        let done = Mutex<[PortalCommand]>([])
        let second = jobRunner { command, _ in
            done.withLock { $0.append(command) }
            return (.done, [])
        }
        #expect(second.jobs.map(\.state) == [.ended(.interrupted)])
        #expect(second.restart(number, by: .localUser) == number + 1)
        while second.jobs.last?.isOver != true { sched_yield() }
        #expect(done.withLock { $0 } == [.update(site: "https://a.test/")])
        second.close()
        #expect(jobRunner { _, _ in (.done, []) }.jobs.map(\.state) == [.ended(.interrupted), .ended(.done)])
    }

    @Test func `each change is saved at once, so that a killed server loses nothing`() throws {
        let savedList = Mutex("")
        let jobRunner = JobRunner(
            jobList: JobListFile(saved: nil) { text in savedList.withLock { $0 = text } }
        ) {
            _, _ in
            (.done, [])
        }
        for (site, count) in [("https://a.test/", 1), ("https://b.test/", 2), ("https://c.test/", 3)] {
            _ = try #require(jobRunner.add(.update(site: site), by: .localUser))
            while savedList.withLock({
                JobListCoding.decode(Array($0.utf8)).count { $0.state == .ended(.done) }
            })
                < count
            { sched_yield() }
        }
        jobRunner.close()
    }

    @Test func `only one of two servers saves the job list`() throws {
        let scratch = try TemporaryFolder()
        let folder = StoreFolder(scratch.path)
        var first = folder.lockPortal()
        #expect(first != nil)
        #expect(folder.lockPortal() == nil)
        first = nil
        #expect(folder.lockPortal() != nil)
    }
}
