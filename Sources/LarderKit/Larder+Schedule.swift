public import Check
internal import Crawl
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
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if the store cannot be written.
    @discardableResult
    public func schedule(
        _ site: String, _ schedule: UpdateSchedule?
    ) async throws(LarderError) -> ScheduleReport.Site {
        let name = try await reading("larder-schedule") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            let writer = try StoreWriter(reader.folder)
            try writer.keep(schedule: schedule, ofSite: held.name)
            // An earlier version stored no zone with a site. The user of this machine, who schedules it, names it.
            var plan = SitePlan(text: held.settings)
            if schedule != nil, plan.zone == nil {
                plan.zone = Principal.localUser.nearestZone
                try writer.keep(settings: plan.text, ofSite: held.name)
            }
            return held.name
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
        try await reading("larder-schedule") { (reader) throws(StoreError) in
            try Self.schedules(names, reader)
        }
    }

    static func schedules(
        _ names: [String] = [], _ reader: StoreReader
    ) throws(StoreError) -> ScheduleReport {
        let held = try reader.sites()
        var wanted: [Site] = []
        for name in names { wanted.append(try SiteName.site(name, in: held)) }
        let sites = names.isEmpty ? held : wanted
        return ScheduleReport(sites, NoteBook.attempts(reader.folder, for: sites))
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
            let isOurs = try await Self.onThread("larder-schedule") { () throws(LarderError) in
                try storing { () throws(StoreError) in try Self.begin(site.name, folder) }
            }
            guard isOurs else { continue }
            do throws(LarderError) {
                // The zone that is stored with a site limits its updates.
                for report in try await update([site.name], options: options, by: .localUser) {
                    updates.append(SiteUpdate(site: site.name, result: .success(report)))
                    options.doubted.formUnion(report.doubted)
                    if report.isInterrupted { return updates }
                }
            } catch {
                updates.append(SiteUpdate(site: site.name, result: .failure(error)))
                if error.kind == .interrupted { return updates }
            }
        }
        return updates
    }

    /// Records that the update of a site begins. False if it is not due any more because another process has begun
    /// it.
    static func begin(_ name: String, _ folder: StoreFolder) throws(StoreError) -> Bool {
        let (reader, book) = (try StoreReader(folder), try NoteBook(folder))
        let now = SystemClock.secondsSinceEpoch()
        let known = try book.attempts()[name]
        guard let site = try reader.sites().first(where: { $0.name == name }),
            let next = site.nextUpdate(after: known), next <= now
        else { return false }
        let count = Int64(site.failures(known)) + 1
        return try book.begin(UpdateAttempt(at: now, count: count), of: name, after: known)
    }
}

/// Updates the sites that are due, for a running server. Safe to use from any thread.
final class DueUpdates: Sendable {
    private let isStopped = Monitor(false)
    private let thread = Mutex<NamedThread?>(nil)

    /// The time between two checks. After a suspend, due sites are found at most this much later.
    private static let interval = Duration.seconds(20)

    /// - Parameters:
    ///   - notice: receives why due sites cannot be determined.
    ///   - isBusy: whether an update of the site is queued or running.
    ///   - update: queues an update of the site.
    init(
        _ folder: StoreFolder, notice: @escaping @Sendable (String) -> Void,
        isBusy: @escaping @Sendable (_ site: String) -> Bool,
        update: @escaping @Sendable (_ site: String) -> Void
    ) throws(LarderError) {
        do throws(SystemError) {
            let isStopped = isStopped
            let started = try NamedThread.start("larder-due") {
                var failure: String?
                repeat {
                    let found = Self.look(folder, isBusy, update)
                    if let found, found != failure { notice("cannot update due sites: \(found)") }
                    failure = found
                } while isStopped.wait(atMost: Self.interval, { $0 ? true : nil }) == nil
            }
            thread.withLock { $0 = started }
        } catch {
            throw LarderError(error)
        }
    }

    /// Begins the updates that are due. The error message if the store cannot be read; else nil.
    private static func look(
        _ folder: StoreFolder, _ isBusy: (String) -> Bool, _ update: (String) -> Void
    ) -> String? {
        do throws(StoreError) {
            // The store may be created later.
            guard folder.exists else { return nil }
            let report = try Larder.schedules([], StoreReader(folder))
            for site in report.due(at: SystemClock.secondsSinceEpoch()) where !isBusy(site.name) {
                if try Larder.begin(site.name, folder) { update(site.name) }
            }
            return nil
        } catch {
            return error.description
        }
    }

    func stop() {
        isStopped.change { $0 = true }
        thread.withLock { $0.take() }?.join()
    }
}
