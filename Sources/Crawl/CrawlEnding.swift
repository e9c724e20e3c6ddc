internal import Store
internal import Synchronization

/// The end of a crawl's snapshot, which is published, rejected, kept open or forgotten.
///
/// A snapshot that would go live is rejected if it has too few pages, if it is a login page in place of the site, or if
/// the gate (`CrawlPlan.publishCheck`) rejects it. The last two are checked once everything is stored.
struct CrawlEnding {
    let plan: CrawlPlan
    /// The `Snapshot.id` of the snapshot that ends.
    let snapshot: Int64
    let writes: WriteQueue
    let cacheLookup: CacheLookup?

    /// Ends the snapshot, and completes the report with the result.
    func end(_ report: inout CrawlReport, hasFailed: Bool, now: Int64) throws(StoreError) {
        var ending = hasFailed ? SnapshotEnding.keepOpen : report.ending(now: now)
        if ending.isPublishing, let minPages = plan.minPages, report.limit == nil {
            // Failed pages keep their earlier response, so they are not lost.
            let failed = report.missing.count {
                !$0.isAsset && !$0.failure.isGone && $0.failure != .softNotFound
            }
            var stored = report.pages + failed
            if stored < minPages { stored += try storedPagesLeftOut(report) }
            if stored < minPages {
                // The responses may not come from the site at all.
                ending = .reject(now: now)
                report.hasShrunk = true
                report.isRejected = true
                report.isPublished = false
            }
        }
        // A login page in place of the site is the better explanation for a snapshot with too few pages.
        let hasShrunk = report.hasShrunk
        guard
            plan.rejectsInterceptionPages && (ending.isPublishing || hasShrunk)
                || plan.publishCheck != nil && ending.isPublishing
        else { return try noteUnchanged(writes.finish(ending), in: &report) }
        let (snapshot, mismatches, plan) = (snapshot, report.digestMismatches, plan)
        // If there is a gate, a run with a time or byte limit must not add to the live snapshot
        // (`publishSoFar`).
        let passing = plan.publishCheck == nil ? ending : .publishIfChanged(now: now)
        let found = Mutex<(isRejected: Bool, interception: InterceptionPage?, passwordPage: String?)>(
            (false, nil, nil))
        let unchanged = try writes.finish { () throws(StoreError) in
            var interception: InterceptionPage?
            if plan.rejectsInterceptionPages {
                let reader = try StoreReader(plan.folder)
                interception = try InterceptionPage.find(
                    in: snapshot, start: plan.start, hadSession: plan.hadSession, reader)
                if !plan.hasSession {
                    let page = try InterceptionPage.passwordPage(among: plan.start, in: snapshot, reader)
                    found.withLock { $0.passwordPage = page }
                }
            }
            if interception == nil, !hasShrunk, try plan.publishCheck?(snapshot, mismatches) ?? true {
                return passing
            }
            found.withLock { ($0.isRejected, $0.interception) = (true, interception) }
            return .reject(now: now)
        }
        noteUnchanged(unchanged, in: &report)
        (report.isRejected, report.interceptionPage, report.passwordPage) = found.withLock { $0 }
        report.isPublished = !report.isRejected
    }

    /// - Parameter number: the number of the live snapshot, if the new one shows the same.
    private func noteUnchanged(_ number: Int64?, in report: inout CrawlReport) {
        guard let number else { return }
        report.isUnchanged = true
        report.snapshot = number
    }

    /// The number of pages of earlier snapshots that are left out now because they are not content.
    private func storedPagesLeftOut(_ report: CrawlReport) throws(StoreError) -> Int {
        guard let cacheLookup else { return 0 }
        var count = 0
        for skipped in report.skipped where !skipped.isAsset && skipped.cause.isNoContent {
            if try cacheLookup.hasResponse(for: skipped.address) { count += 1 }
        }
        return count
    }
}
