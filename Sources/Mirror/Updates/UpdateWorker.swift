internal import HTTPServer
internal import Portal
internal import Rollouts
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Records the reports of devices, and answers devices that wait for a change. Both happen on the thread `larder-updates`, so
/// that the threads of the server never wait for a disk.
///
/// All reports that arrive while one transaction is written are recorded in the next one.
final class UpdateWorker: Sendable {
    /// A request whose answer comes later.
    struct Pending: Sendable {
        let inquiry: UpdateInquiry
        let app: AppName
        /// The name of the channel.
        let channel: String
        /// The label of the request in the metrics.
        let service: String
        let slot: ReplySlot
        /// The place of a device that waits; nil for another request.
        var place: Place?

        func send(_ answer: UpdateAnswer, _ counts: UpdateCounts) {
            counts.record(service, answer.outcome)
            slot.send(Reply(answer: answer.answer))
        }
    }

    /// The place of a device that waits. It is free again when the device is answered or disconnects, whichever is first.
    final class Place: Sendable {
        private let counters: Counters
        private let isFree = Atomic(false)

        fileprivate init(_ counters: Counters) { self.counters = counters }

        func release() {
            guard !isFree.exchange(true, ordering: .relaxed) else { return }
            counters.waiting.subtract(1, ordering: .relaxed)
        }
    }

    fileprivate enum Message: Sendable {
        /// Reports, and the request that is answered once they are stored; nil if it was answered already.
        case reports([ChannelDatabase.Report], Pending?)
        /// A device that waits until a time in milliseconds of the service's clock.
        case wait(Pending, until: Int64)
        case stop
    }

    let service: UpdateService
    private let inbox: Inbox<Message>
    private let state: Counters
    private let thread: NamedThread

    /// The number of messages in the inbox, and of devices that wait.
    fileprivate final class Counters: Sendable {
        let queued = Atomic(0)
        let waiting = Atomic(0)
    }

    /// The maximum number of queued messages. Beyond it, reports are refused or dropped: the devices repeat them.
    private static let maxQueued = 10_000
    /// The maximum number of devices that wait. Each has a connection. Beyond it, devices are answered at once.
    private static let maxWaiting = 4000
    /// The maximum time for which a device waits, in seconds.
    static let maxWaitSeconds = 60
    /// The time after which a device that could not wait asks again, in seconds.
    static let secondsToRetry = 30
    /// How often channels are read for devices that wait.
    fileprivate static let pollInterval = Duration.milliseconds(250)

    init(_ service: UpdateService) throws(SystemError) {
        let (inbox, state) = (Inbox<Message>(), Counters())
        (self.service, self.inbox, self.state) = (service, inbox, state)
        thread = try NamedThread.start("larder-updates") {
            UpdateWork(service, inbox, state).run()
        }
    }

    /// The figures for the metrics.
    var figures: UpdateFigures {
        var figures = service.counts.figures
        figures.waiting = state.waiting.load(ordering: .relaxed)
        return figures
    }

    /// Records reports. Returns false if too many are queued.
    func record(_ reports: [ChannelDatabase.Report], then pending: Pending?) -> Bool {
        guard state.queued.load(ordering: .relaxed) < Self.maxQueued else {
            service.counts.addDroppedReports(reports.count)
            return false
        }
        return put(.reports(reports, pending))
    }

    /// Reserves a place for a device that wants to wait; nil if all are taken.
    func reservePlace() -> Place? {
        guard state.waiting.add(1, ordering: .relaxed).newValue <= Self.maxWaiting else {
            state.waiting.subtract(1, ordering: .relaxed)
            return nil
        }
        return Place(state)
    }

    /// Answers a request when the channel has changed for its device, or when its time is over.
    ///
    /// - Parameters:
    ///   - pending: the request, with the place that was reserved for it.
    ///   - answer: the answer if the server is stopping.
    func wait(_ pending: Pending, otherwise answer: UpdateAnswer) {
        let deadline = service.milliseconds() + Int64(pending.inquiry.waitSeconds) * 1000
        guard !put(.wait(pending, until: deadline)) else { return }
        pending.place?.release()
        pending.send(answer, service.counts)
    }

    private func put(_ message: Message) -> Bool {
        state.queued.add(1, ordering: .relaxed)
        if inbox.put(message) { return true }
        state.queued.subtract(1, ordering: .relaxed)
        return false
    }

    /// Answers all devices that wait, and returns when the thread has ended. May be called repeatedly, from any other thread.
    func stop() {
        inbox.put(.stop)
        inbox.close()
        thread.join()
    }
}

/// The work of the thread `larder-updates`. It belongs to that thread.
private final class UpdateWork {
    private let service: UpdateService
    private let inbox: Inbox<UpdateWorker.Message>
    private let counters: UpdateWorker.Counters
    private let desk: UpdateDesk
    private var groups: [Group.Key: Group] = [:]
    private var isStopping = false

    /// The devices that wait for a change of one channel.
    private struct Group {
        struct Key: Hashable {
            let app: AppName
            let channel: String
        }

        var waiters: [Waiter] = []
        /// The channel as of the last answers.
        var state: State?
    }

    /// The facts on which the answers of a channel depend, apart from the device.
    private struct State: Equatable {
        let version: Int64
        /// The shares grow with the time, without a new version.
        let shares: [Int]
    }

    private struct Waiter {
        let pending: UpdateWorker.Pending
        let deadline: Int64
        /// The answer if nothing changes.
        let answer: UpdateAnswer
    }

    init(
        _ service: UpdateService, _ inbox: Inbox<UpdateWorker.Message>, _ counters: UpdateWorker.Counters
    ) {
        (self.service, self.inbox, self.counters) = (service, inbox, counters)
        let folder = service.folder
        var reader: StoreReader?
        desk = UpdateDesk(service) { () throws(StoreError) in
            if let reader, !reader.isOutdated { return reader }
            let opened = try StoreReader(failingFast: folder)
            reader = opened
            return opened
        }
    }

    func run() {
        var lastCheck = ContinuousClock.now
        while !isStopping {
            let first = groups.isEmpty ? inbox.next() : inbox.next(atMost: UpdateWorker.pollInterval)
            let messages = (first.map { [$0] } ?? []) + inbox.takeAll()
            counters.queued.subtract(messages.count, ordering: .relaxed)
            take(messages)
            // Not after each message: thousands of devices may wait, and each check looks at all of them.
            guard messages.isEmpty || ContinuousClock.now - lastCheck >= UpdateWorker.pollInterval else {
                continue
            }
            checkGroups()
            lastCheck = .now
        }
        for group in groups.values {
            for waiter in group.waiters { waiter.pending.send(waiter.answer, service.counts) }
        }
    }

    private func take(_ messages: [UpdateWorker.Message]) {
        var reports: [ChannelDatabase.Report] = []
        var reporting: [UpdateWorker.Pending] = []
        var waiting: [(UpdateWorker.Pending, until: Int64)] = []
        for message in messages {
            switch message {
            case .reports(let new, let pending):
                reports += new
                if let pending { reporting.append(pending) }
            case .wait(let pending, let deadline): waiting.append((pending, deadline))
            case .stop: isStopping = true
            }
        }
        let areRecorded = record(reports)
        for pending in reporting {
            pending.send(areRecorded ? answer(pending) : .failure, service.counts)
        }
        for (pending, deadline) in waiting { add(pending, until: deadline) }
    }

    /// Records reports, and halts releases that have failed too often. Returns false if the store failed.
    private func record(_ reports: [ChannelDatabase.Report]) -> Bool {
        guard !reports.isEmpty else { return true }
        do throws(StoreError) {
            let known = try failedRollouts(reports)
            let new = try desk.withDatabase { (database) throws(StoreError) in
                try database.record(
                    reports,
                    mayHalt: { known[$0.rollout]?.shouldHalt(ifFailed: $1.failed, of: $1.count) ?? true }
                ) { report, state, outcome in
                    guard var channel = Channel(storedText: state) else { return nil }
                    channel.update(report.rollout) { $0.stop(ifFailed: outcome.failed, of: outcome.count) }
                    return channel.storedText
                }
            }
            for report in reports { service.didRecord(report) }
            service.counts.addReports(new?.count ?? 0)
            if new?.contains(where: \.hasFailed) == true { service.didChangeChannel() }
            return true
        } catch {
            service.counts.addDroppedReports(reports.count)
            return false
        }
    }

    /// The updates that devices report failures of, as this thread knows them. They are read before the transaction: a channel
    /// that is read in one may never be stored.
    private func failedRollouts(_ reports: [ChannelDatabase.Report]) throws(StoreError) -> [String: Rollout] {
        var rollouts: [String: Rollout] = [:]
        for report in reports where report.hasFailed && rollouts[report.rollout] == nil {
            guard let app = AppName(report.key.app) else { continue }
            rollouts[report.rollout] = try desk.channel(report.key.channel, of: app)?.rollouts
                .last { $0.id == report.rollout }
        }
        return rollouts
    }

    /// The answer as of now.
    private func answer(_ pending: UpdateWorker.Pending) -> UpdateAnswer {
        do throws(StoreError) {
            guard let channel = try desk.channel(pending.channel, of: pending.app) else {
                return pending.inquiry.missing
            }
            let situation = UpdateSituation(
                app: pending.app, channel: channel, now: service.now(), desk: desk)
            return try pending.inquiry.answer(situation)
        } catch {
            return .failure
        }
    }

    // MARK: - Devices that wait

    private func add(_ pending: UpdateWorker.Pending, until deadline: Int64) {
        let key = Group.Key(app: pending.app, channel: pending.channel)
        // Before the answer, so that the next check notices a change after it, such as the removal of the channel.
        let state = groups[key] == nil ? try? state(of: key) : nil
        // The channel may have changed since the device was told to wait.
        let answer = answer(pending)
        guard answer.canWait, !isStopping else { return end(pending, answer) }
        groups[key, default: Group(state: state)].waiters.append(
            Waiter(pending: pending, deadline: deadline, answer: answer))
    }

    private func end(_ pending: UpdateWorker.Pending, _ answer: UpdateAnswer) {
        pending.place?.release()
        pending.send(answer, service.counts)
    }

    /// Answers the devices for which their channel has changed, and those whose time is over.
    private func checkGroups() {
        let now = service.milliseconds()
        for (key, group) in groups {
            let state: State?
            do throws(StoreError) {
                state = try self.state(of: key)
            } catch {
                // The devices go on waiting.
                state = group.state
            }
            let hasChanged = state != group.state
            var waiters: [Waiter] = []
            for waiter in group.waiters {
                let answer = hasChanged ? answer(waiter.pending) : waiter.answer
                if answer.canWait, now < waiter.deadline, !waiter.pending.slot.isClientGone {
                    waiters.append(
                        Waiter(pending: waiter.pending, deadline: waiter.deadline, answer: answer))
                } else {
                    end(waiter.pending, answer)
                }
            }
            groups[key] = waiters.isEmpty ? nil : Group(waiters: waiters, state: state)
        }
    }

    private func state(of key: Group.Key) throws(StoreError) -> State? {
        guard let version = try desk.version(ofChannel: key.channel, of: key.app),
            let channel = try desk.channel(key.channel, of: key.app)
        else { return nil }
        let now = service.now()
        return State(version: version, shares: channel.rollouts.map { $0.share(at: now).hundredths })
    }
}

extension UpdateAnswer {
    /// Whether the answer says that there is nothing new, so that a device may wait for another one.
    var canWait: Bool { outcome == .current || outcome == .none }

    static var unknownChannel: UpdateAnswer { .refusal(404, "There is no such app or channel.") }
}
