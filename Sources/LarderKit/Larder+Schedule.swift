public import Check
internal import Crawl
internal import Mirror
public import Prefetch
public import Reports
public import Store
internal import Synchronization
internal import System
internal import Web

extension Larder {
    /// Sets how often `updateDue`, or a server with `ServeOptions.isScheduled`, updates a site. Later prefetches of
    /// the site do not change it.
    ///
    /// ```swift
    /// try await larder.schedule("https://example.com/", .daily)
    /// ```
    ///
    /// - Parameter schedule: nil ends scheduled updates.
    /// - Returns: The schedule of the site, with the time of its next update.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, or if it is updated by update files, `.machine` if the
    ///   store cannot be written.
    @discardableResult
    public func schedule(
        _ site: String, _ schedule: UpdateSchedule?
    ) async throws(LarderError) -> ScheduleReport.Site {
        let name = try await readStore("larder-schedule") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites())
            // An earlier version stored no zone with a site. The user of this machine, who schedules it, names it.
            var plan = SitePlan(text: storedSite.settings)
            guard schedule == nil || plan.manifest?.isUpdateFile != true else {
                throw StoreError(
                    .request, doing: "schedule", path: storedSite.name,
                    detail: "it is updated by update files",
                    advice: "apply the next one with: larder preload FILE")
            }
            let writer = try StoreWriter(reader.folder)
            try writer.storeSchedule(schedule, ofSite: storedSite.name)
            if schedule != nil, plan.zone == nil {
                plan.zone = Principal.localUser.nearestZone
                try writer.storeSettings(plan.text, ofSite: storedSite.name)
            }
            return storedSite.name
        }
        let report = try await schedules([name])
        guard let known = report.sites.first else {
            throw LarderError(.input, "\(name) was removed meanwhile; list sites with: larder status")
        }
        return known
    }

    /// The update schedules of sites, and the times of their next updates.
    ///
    /// - Parameter names: names of sites; empty for all sites.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read.
    public func schedules(_ names: [String] = []) async throws(LarderError) -> ScheduleReport {
        let runner = scheduleRunner
        return try await readStore("larder-schedule") { (reader) throws(StoreError) in
            try Self.schedules(names, runner, reader)
        }
    }

    /// The runner of the scheduled updates of this store on this machine, if one is known: a server, or a systemd
    /// timer of this user. Nil if nothing does.
    public var scheduleRunner: ScheduleRunner? {
        if let server = servers().first(where: \.isScheduled) {
            return .server(
                address: server.address ?? MirrorServer.portalAddress(at: server.port),
                processID: server.processID)
        }
        return UpdateTimer(of: self, command: "").isEnabled ? .timer(UpdateTimer.unit(of: self)) : nil
    }

    static func schedules(
        _ names: [String] = [], _ runner: ScheduleRunner? = nil, _ reader: StoreReader
    ) throws(StoreError) -> ScheduleReport {
        let allSites = try reader.sites()
        var wanted: [Site] = []
        for name in names { wanted.append(try SiteName.site(name, in: allSites)) }
        let sites = names.isEmpty ? allSites : wanted
        return ScheduleReport(sites, ActivityDatabase.attempts(reader.folder, for: sites), runner: runner)
    }

    /// Updates the sites that are due, one after the other. Several machines that share a store divide the sites
    /// among them. A site that fails does not delay the others.
    ///
    /// - Parameters:
    ///   - names: names of sites; empty for all sites.
    ///   - options: network, limits, policy and progress, as for `update`.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read.
    public func updateDue(
        _ names: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [SiteUpdate] {
        var options = options
        var updates: [SiteUpdate] = []
        for site in try await schedules(names).due(at: SystemClock.secondsSinceEpoch()) {
            guard !Task.isCancelled else { break }
            let folder = folder
            let isOurs = try await Self.runOnThread("larder-schedule") { () throws(LarderError) in
                try mapStoreError { () throws(StoreError) in try Self.beginScheduledUpdate(site.name, folder)
                }
            }
            guard isOurs else { continue }
            do throws(LarderError) {
                // The zone that is stored with a site limits its updates.
                for report in try await update([site.name], options: options, by: .localUser) {
                    updates.append(SiteUpdate(site: site.name, result: .success(report)))
                    options.failedRobotsOrigins.formUnion(report.failedRobotsOrigins)
                    if report.isInterrupted || report.isRehearsalInterrupted { return updates }
                }
            } catch {
                updates.append(SiteUpdate(site: site.name, result: .failure(error)))
                if error.kind == .interrupted { return updates }
            }
        }
        return updates
    }

    /// Records that the update of a site begins. False if it is not due any more because another process has begun
    /// it, and while a run of the site takes longer than the time after which a failed update is repeated.
    static func beginScheduledUpdate(
        _ name: String, _ folder: StoreFolder, now: Int64 = SystemClock.secondsSinceEpoch()
    ) throws(StoreError) -> Bool {
        let (reader, book) = (try StoreReader(folder), try ActivityDatabase(folder))
        let known = try book.attempts()[name]
        guard let site = try reader.sites().first(where: { $0.name == name }),
            let next = site.nextUpdate(after: known), next <= now, try !folder.isPrefetching(site)
        else { return false }
        let count = Int64(site.failedUpdateCount(known)) + 1
        return try book.begin(UpdateAttempt(at: now, count: count), of: name, after: known)
    }
}

/// Decides when a server reads the schedules of its store again: after a change of the database, when an update is due, and
/// at least every ten minutes. Without a change, a check costs two calls of `stat`.
struct ScheduleRereadPolicy: Equatable {
    /// The state that was read last; nil if the schedules must be read at the next check.
    private var lastRead: (stamp: StoreStamp, next: Int64?, at: Int64)?

    /// The time in seconds after which the schedules are read even if the database seems unchanged.
    static let maxAgeSeconds: Int64 = 600

    /// Whether the schedules must be read now.
    ///
    /// - Parameter stamp: the state of the database; nil if it is not known.
    func needsReread(at now: Int64, _ stamp: StoreStamp?) -> Bool {
        guard let lastRead, let stamp, stamp == lastRead.stamp else { return true }
        return now < lastRead.at || now - lastRead.at >= Self.maxAgeSeconds
            || lastRead.next.map { $0 <= now } ?? false
    }

    /// Records the schedules that were read.
    ///
    /// - Parameters:
    ///   - stamp: the state of the database before it was read.
    ///   - next: the time of the next update; nil if no site has a schedule.
    mutating func didRead(at now: Int64, _ stamp: StoreStamp?, next: Int64?) {
        lastRead = stamp.map { ($0, next, now) }
    }

    mutating func didFail() { lastRead = nil }

    static func == (one: ScheduleRereadPolicy, other: ScheduleRereadPolicy) -> Bool {
        one.lastRead?.stamp == other.lastRead?.stamp && one.lastRead?.next == other.lastRead?.next
            && one.lastRead?.at == other.lastRead?.at
    }
}

/// Updates the sites that are due, for a running server, on a thread of its own. May be used from any thread.
///
/// Every 20 seconds the thread looks for due sites. Before it starts an update it records the attempt in the store
/// (`Larder.beginScheduledUpdate`), so that of several processes and machines with the same store only one updates a site.
final class DueUpdateScheduler: Sendable {
    private let isStopped = Monitor(false)
    private let thread = Mutex<NamedThread?>(nil)

    /// The time between two checks. After a suspend, due sites are found at most this much later.
    private static let interval = Duration.seconds(20)

    /// - Parameters:
    ///   - notice: receives why due sites cannot be determined.
    ///   - isBusy: whether the server could not begin an update at once. Else other processes would begin it again
    ///     while it waits.
    ///   - update: starts an update of the site.
    init(
        _ folder: StoreFolder, notice: @escaping @Sendable (String) -> Void,
        isBusy: @escaping @Sendable () -> Bool,
        update: @escaping @Sendable (_ site: String) -> Void
    ) throws(LarderError) {
        do throws(SystemError) {
            let isStopped = isStopped
            let started = try NamedThread.start("larder-due") {
                var failure: String?
                var clock = ScheduleRereadPolicy()
                repeat {
                    let message = Self.beginDueUpdates(folder, &clock, isBusy, update)
                    if let message, message != failure { notice("cannot update due sites: \(message)") }
                    failure = message
                } while isStopped.wait(atMost: Self.interval, { $0 ? true : nil }) == nil
            }
            thread.withLock { $0 = started }
        } catch {
            throw LarderError(error)
        }
    }

    /// Starts the updates that are due. Returns the error message if the store cannot be read; else nil.
    private static func beginDueUpdates(
        _ folder: StoreFolder, _ clock: inout ScheduleRereadPolicy, _ isBusy: () -> Bool,
        _ update: (String) -> Void
    ) -> String? {
        let (now, stamp) = (SystemClock.secondsSinceEpoch(), folder.stamp)
        // The store may be created later.
        guard clock.needsReread(at: now, stamp), folder.exists else { return nil }
        do throws(StoreError) {
            let report = try Larder.schedules([], nil, StoreReader(folder))
            clock.didRead(at: now, stamp, next: report.sites.compactMap(\.next).min())
            for site in report.due(at: now) where !isBusy() {
                if try Larder.beginScheduledUpdate(site.name, folder) { update(site.name) }
            }
            return nil
        } catch {
            clock.didFail()
            return error.description
        }
    }

    func stop() {
        isStopped.change { $0 = true }
        thread.withLock { $0.take() }?.join()
    }
}
