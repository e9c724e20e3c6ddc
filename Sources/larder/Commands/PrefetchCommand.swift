internal import LarderKit
internal import Reports
internal import System

/// `larder prefetch URL...` and `larder prefetch MANIFEST`: downloads a site, and publishes it as a
/// snapshot.
///
/// The report goes to standard output, the reason why a snapshot is rejected or incomplete to standard
/// error. With `--max-size`, the store is reduced afterwards.
///
/// Exit status 0: published, and nothing failed. 1: a URL failed, the snapshot is rejected, the session
/// ended, or the store is larger than `--max-size`; with `--strict` also broken links of the site. 2: a
/// wrong URL or manifest. 3: no start URL was reached. 130: interrupted.
enum PrefetchCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let display = try ProgressDisplay(arguments, terminal)
            let options = try options(arguments, display)
            let larder = try arguments.larder
            let manifest = try manifest(arguments)
            if manifest == nil, arguments.source(of: .trust) == .commandLine {
                throw UsageError(
                    "\(Option.trust.name) is for manifests; name the manifest, for example: larder prefetch site.json "
                        + "\(Option.trust.name) KEY")
            }
            if manifest != nil, !options.followsLinks {
                throw UsageError("--page needs the URL of a page, not a manifest; name the page")
            }
            let report = try await display.run(orContinueWith: arguments.commandLine) {
                if let manifest {
                    try await larder.prefetch(
                        manifest: manifest, base: arguments.text(.base), options: options)
                } else {
                    try await larder.prefetch(arguments.operands, options: options)
                }
            }
            if arguments.has(.json) {
                terminal.report(report.json)
            } else if PrefetchSummary.hasContent(report) {
                terminal.report(PrefetchSummary.text(of: report, arguments))
            }
            let status = status(
                of: report, isStrict: arguments.has(.strict), login: options.network.login,
                operands: arguments.operands, terminal)
            return firstFailure(status, try await enforceMaxSize(arguments, terminal))
        }
    }

    /// The options of a prefetch, with the callbacks of the progress display. `--max-size` is parsed too,
    /// so that a wrong size is reported before anything is fetched.
    static func options(_ arguments: Arguments, _ display: ProgressDisplay) throws(UsageError)
        -> PrefetchOptions
    {
        var options = try arguments.prefetchOptions()
        _ = try arguments.size(.maxSize)
        display.attach(to: &options)
        return options
    }

    /// The manifest that is named instead of URLs: the path of an existing file, a name that ends with
    /// `.json`, a TUF repository, or the argument of `--manifest`; nil if URLs are named.
    private static func manifest(_ arguments: Arguments) throws(UsageError) -> String? {
        let manifests =
            arguments.has(.manifest)
            ? arguments.operands
            : arguments.operands.filter {
                $0.hasSuffix(".json") || $0.hasPrefix("tuf+http") || WholeFile.exists($0)
            }
        guard let manifest = manifests.first else { return nil }
        guard arguments.operands.count == 1 else {
            throw UsageError(
                "larder prefetch accepts either one manifest or URLs; run it once for each")
        }
        return manifest
    }

    /// Prints what went wrong to standard error, and returns the exit status.
    ///
    /// The order of the checks matters: a rejected snapshot explains its missing pages, so the first reason
    /// that applies is the only one printed. A required response that is missing keeps the earlier snapshot
    /// live; that is status 0 unless `isStrict` is set, because the site can still be served.
    ///
    /// - Parameters:
    ///   - isUpdate: whether the site was stored before.
    ///   - login: the login that the user named.
    ///   - operands: the addresses as the user typed them, perhaps without a scheme.
    static func status(
        of report: PrefetchReport, isStrict: Bool, isUpdate: Bool = false,
        login: NetworkOptions.Login? = nil, operands: [String] = [], _ terminal: Terminal
    ) -> ExitStatus {
        if report.isInterrupted { return .interrupted }
        if let warning = report.manifestWarning { terminal.fail(warning) }
        if let reason = report.loginPage {
            terminal.fail(
                "\(report.site): nothing new is stored: \(reason); log in with larder login \(report.site), or with --cookies FILE "
                    + "or --user, and run the same command again (--allow-shrink stores the page as it is)")
            return .incomplete
        }
        if report.hasShrunk {
            terminal.fail(
                "\(report.site): the new snapshot is rejected, because it has less than half of the previous pages; if a login "
                    + "page or captive portal came instead, \(PrefetchSummary.sessionAdvice), else accept the snapshot with "
                    + "--allow-shrink")
            return .incomplete
        }
        if report.isRejected {
            terminal.fail(
                "\(report.site): the new snapshot is rejected, because bundles do not match the manifest; "
                    + "correct them at the origin, then run the same command again")
            return .incomplete
        }
        let manifestFailure = report.manifestFailure.map {
            "\($0); the last known manifest of \(report.site) applies"
        }
        if let good = report.lastGood {
            let failed = report.missing.first { !$0.isBroken }.map { "\($0.url): \($0.reason)" }
            let reasons = [manifestFailure, failed].compactMap { $0 }
            let reason = reasons.isEmpty ? "a required response is missing" : reasons.joined(separator: "; ")
            terminal.fail(
                "\(reason); snapshot \(good.snapshot), fetched \(LocalTime.minute(good.since)), stays live")
            return isStrict ? .incomplete : .done
        }
        if let manifestFailure { terminal.fail(manifestFailure) }
        guard report.isPublished else {
            let first =
                report.missing.first.map { ($0.url, $0.reason) }
                ?? report.skipped.first.map { ($0.url, $0.reason) }
            let reason =
                first.map { $0.0 == report.site ? $0.1 : "\($0.0): \($0.1)" } ?? "no start URL was reached"
            let kept =
                report.missing.contains(where: \.isKeptFromBefore) ? "; its stored copy stays" : ""
            let advice =
                report.challengedHosts.isEmpty
                ? PrefetchSummary.advice(
                    afterStatus: report.missing.first?.errorStatus,
                    isOfTLS: report.missing.first?.isOfTLS ?? false, login: login,
                    addressWithoutScheme: operands.first { !$0.contains("://") })
                : PrefetchSummary.challengeAdvice
            let result = isUpdate ? "not updated" : "nothing was prefetched"
            terminal.fail("\(report.site): \(result): \(reason)\(kept); \(advice)")
            return .unable
        }
        if report.rendering.mode == .always, let failure = report.rendering.failure {
            terminal.fail(
                "\(report.site): no page was rendered: \(failure); name another browser with --browser, or use "
                    + "--render never")
            return .incomplete
        }
        for session in report.lostSessions {
            terminal.fail(
                "\(report.site): the session with \(session.origin) ended during the run; log in again "
                    + "(larder login URL, --cookies FILE, --user) and run the same command again")
        }
        if report.isRehearsalInterrupted { return .interrupted }
        if report.hasSucceeded {
            let isWhole =
                report.isComplete && report.manifestFailure == nil
                && !report.missing.contains { $0.isAsset && $0.isBroken }
            return isStrict && !isWhole ? .incomplete : .done
        }
        // With --quiet, the report is not printed.
        if terminal.isQuiet, !report.isInterrupted, let first = firstMissing(of: report) {
            terminal.fail(
                "\(report.site): \(first); see what is missing with: larder check \(report.site)")
        }
        return .incomplete
    }

    /// The failed URL to name if the report is not printed; nil if none failed.
    private static func firstMissing(of report: PrefetchReport) -> String? {
        if let reason = report.reasonForOnePage { return "it has only one page: \(reason)" }
        let failed = report.missing.filter { !$0.isBroken && !$0.isRecordedMiss }
        return failed.first.map { first in
            "\(Wording.count(failed.count, "URL")) failed, the first: \(first.url) (\(first.reason))"
        }
    }

    /// Reduces the store to `--max-size`, if it is given. Returns `incomplete` if what must stay is larger: live and pinned
    /// pages, and the last earlier snapshot of each site if its removal would not be enough.
    static func enforceMaxSize(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let limit = try arguments.size(.maxSize) else { return .done }
        let report = try await arguments.larder.prune(limit: limit, enforcesLimit: true)
        guard !report.isWithinLimit else { return .done }
        let size = arguments.text(.maxSize) ?? ""
        terminal.fail(
            "the store is larger than --max-size \(size), also without all that may be removed for it; to see what else could be: "
                + arguments.command("gc", ["--max-size", size, "--allow-incomplete", "--dry-run"]))
        return .incomplete
    }

    /// Combines exit statuses: returns the first one that is not `done`.
    static func firstFailure(_ first: ExitStatus, _ second: ExitStatus) -> ExitStatus {
        first == .done ? second : first
    }
}

/// `larder update [SITE...]`: refetches changed URLs of the named sites, of all sites, or with `--due`
/// of those that are due.
///
/// Prints a report for each site that was reached, with its changes, and an error line for each other site.
/// `--json` prints an array of reports.
///
/// Exit status 0: all sites are updated. 1: a site is not updated, or something failed; its earlier
/// snapshot stays live. 2: an unknown site. 130: interrupted.
enum UpdateCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let display = try ProgressDisplay(arguments, terminal)
            let options = try PrefetchCommand.options(arguments, display)
            guard !arguments.has(.newTrust) || !arguments.operands.isEmpty else {
                throw UsageError(
                    "\(Option.newTrust.name) replaces the keys of the named sites; name one, for example: larder update "
                        + "example.com \(Option.newTrust.name) KEY")
            }
            // Each site gets the login, so one for all sites would be sent to servers that the user does not mean.
            let logins = [Option.user, .bearer].filter { arguments.source(of: $0) == .commandLine }
            if let login = logins.first, arguments.operands.isEmpty {
                throw UsageError(
                    "\(login.name) is sent to the server of each site that is updated; name the sites that it is for, for example: "
                        + "larder update example.com \(login.name) \(login.placeholder ?? "")")
            }
            let larder = try arguments.larder
            let (sites, isDue) = (arguments.operands, arguments.has(.due))
            let updates = try await display.run(orContinueWith: arguments.commandLine) {
                isDue
                    ? try await larder.updateDue(sites, options: options)
                    : try await larder.updateEach(sites, options: options)
            }
            let reports = updates.compactMap { try? $0.result.get() }
            let failed = updates.reduce(ExitStatus.done) { status, update in
                guard case .failure(let error) = update.result else { return status }
                return PrefetchCommand.firstFailure(status, terminal.reportError(error, "\(update.site): "))
            }
            if arguments.has(.json) {
                terminal.reportJSON("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else if reports.isEmpty, isDue {
                if failed == .done { terminal.say("No site is due") }
            } else if updates.isEmpty, sites.isEmpty, try await larder.snapshots().sites.isEmpty {
                terminal.say("No site is stored; store one with: larder prefetch URL")
            } else {
                var texts: [String] = []
                for report in reports where PrefetchSummary.hasContent(report) {
                    // After a rollback, readers did not see the newest snapshot.
                    let changes =
                        report.isPublished && !report.isUnchanged
                        ? try? await larder.diff(
                            of: report.site, from: report.previousSnapshot.map { SnapshotName($0) },
                            to: SnapshotName(report.snapshot)) : nil
                    texts.append(PrefetchSummary.text(of: report, changes: changes, arguments))
                }
                let unchanged = reports.count(where: \.isUnchanged)
                if updates.count > 1, reports.count == updates.count, reports.allSatisfy(\.isPublished) {
                    texts.append(
                        "\(Wording.count(updates.count, "site")) updated: \(updates.count - unchanged) with changes, "
                            + "\(unchanged) without")
                }
                if !texts.isEmpty { terminal.report(texts.joined(separator: "\n")) }
            }
            let status = reports.reduce(failed) {
                let own = PrefetchCommand.status(
                    of: $1, isStrict: arguments.has(.strict), isUpdate: true, login: options.network.login,
                    terminal)
                // The previous copy can still be read, so the status is not that of a broken machine.
                return PrefetchCommand.firstFailure($0, own == .unable ? .incomplete : own)
            }
            // A site of bundles whose manifest has expired has nothing to update: its last good set stays live.
            let unchanged = updates.filter { update in
                guard let report = try? update.result.get() else { return true }
                return !report.isPublished && !report.isManifestExpired
            }.map(\.site)
            if updates.count > 1, !unchanged.isEmpty, status != .interrupted {
                terminal.fail(failureText(of: unchanged, among: updates.count))
            }
            let whole = PrefetchCommand.firstFailure(status, unchanged.isEmpty ? .done : .incomplete)
            return PrefetchCommand.firstFailure(
                whole, try await PrefetchCommand.enforceMaxSize(arguments, terminal))
        }
    }

    /// The last line of an update of several sites, some of which were not updated.
    private static func failureText(of failed: [String], among count: Int) -> String {
        let updated = "\(count - failed.count) of \(Wording.count(count, "site")) updated"
        let names = failed.prefix(maxNamedSites).joined(separator: ", ")
        let more = failed.count > maxNamedSites ? " and \(failed.count - maxNamedSites) more" : ""
        let copies = failed.count == 1 ? "its previous copy stays" : "their previous copies stay"
        return "\(updated); not updated: \(names)\(more); \(copies)"
    }

    /// The maximum number of sites in the last line. The others are counted.
    private static let maxNamedSites = 3
}
