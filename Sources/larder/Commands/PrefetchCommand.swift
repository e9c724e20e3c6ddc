internal import LarderKit
internal import System

/// `larder prefetch URL...`
enum PrefetchCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let watch = try Watch(arguments, terminal)
            let options = try options(arguments, watch)
            let larder = try arguments.larder
            let manifest = try manifest(arguments)
            let report = try await watch.during(again: arguments.again) {
                if let manifest {
                    try await larder.prefetch(manifest: manifest, base: arguments.text(.base), options: options)
                } else {
                    try await larder.prefetch(arguments.operands, options: options)
                }
            }
            terminal.report(arguments.has(.json) ? report.json : PrefetchSummary.text(of: report, arguments))
            let status = status(of: report, isStrict: arguments.has(.strict), terminal)
            return worse(status, try await collect(arguments, terminal))
        }
    }

    static func options(_ arguments: Arguments, _ watch: Watch) throws(UsageError) -> PrefetchOptions {
        var options = try arguments.prefetchOptions()
        _ = try arguments.size(.maxSize)
        watch.watch(&options)
        return options
    }

    /// The manifest that is named in place of addresses: a file that is there, what ends as one does, or what is said to be.
    private static func manifest(_ arguments: Arguments) throws(UsageError) -> String? {
        let manifests =
            arguments.has(.manifest)
            ? arguments.operands : arguments.operands.filter { $0.hasSuffix(".json") || WholeFile.isThere($0) }
        guard let manifest = manifests.first else { return nil }
        guard arguments.operands.count == 1 else {
            throw UsageError("larder prefetch takes one manifest, or addresses, not both: run it once for each")
        }
        return manifest
    }

    static func status(of report: PrefetchReport, isStrict: Bool, _ terminal: Terminal) -> ExitStatus {
        if report.isInterrupted { return .interrupted }
        if report.hasShrunk {
            terminal.fail(
                "\(report.site): less than half of its pages came, as when a login or the portal of a network answers, so that "
                    + "the visit is not served; if that is right, run the same command with --allow-shrink")
            return .incomplete
        }
        if let wall = report.wall {
            terminal.fail(
                "\(report.site): \(wall), so that the visit is not served; give larder what logs in (--cookies FILE, --user) and "
                    + "run the same command again or, if that is the site, run it with --allow-shrink")
            return .incomplete
        }
        if report.isHeldBack {
            terminal.fail(
                "\(report.site): bundles do not verify, so that the visit is not served; "
                    + "put right what is told above at the origin, then run the same command again")
            return .incomplete
        }
        if let failure = report.manifestFailure {
            terminal.fail("\(failure); the last known manifest of \(report.site) holds")
        }
        if let good = report.lastGood {
            let failed = report.missing.first { !$0.isGone }.map { "\($0.url): \($0.reason)" }
            let reason = failed ?? "not enough could be had"
            terminal.fail("\(reason); visit \(good.visit) of \(good.date) is served as before")
            return isStrict ? .incomplete : .done
        }
        guard report.isPublished else {
            let reason =
                report.missing.first.map { "\($0.url): \($0.reason)" }
                ?? report.skipped.first.map { "\($0.url): \($0.reason)" } ?? "no start URL was reached"
            let kept =
                report.missing.contains(where: \.isKeptFromBefore) ? "; what was held before is shown as before" : ""
            terminal.fail("nothing was prefetched: \(reason); check the address and the network, then try again\(kept)")
            return .unable
        }
        for session in report.lostSessions {
            terminal.fail(
                "\(report.site): the session with \(session.origin) ended on the way; give larder what logs in anew "
                    + "(--cookies FILE, --user) and run the same command again")
        }
        return report.isComplete ? .done : .incomplete
    }

    /// Takes away what goes beyond `--max-size`, if that is given.
    static func collect(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let limit = try arguments.size(.maxSize) else { return .done }
        let report = try await arguments.larder.collect(limit: limit)
        if report.evictedURLs > 0 {
            terminal.fail(
                "\(Quantities.count(report.evictedURLs, "URL")) had to go for --max-size "
                    + "\(arguments.text(.maxSize) ?? ""), and are missing now; the next prefetch of their sites fetches them"
            )
        }
        guard !report.isWithinLimit else { return report.evictedURLs > 0 ? .incomplete : .done }
        terminal.fail("the larder is over --max-size; see why with: \(arguments.command("gc"))")
        return .incomplete
    }

    static func worse(_ first: ExitStatus, _ second: ExitStatus) -> ExitStatus {
        first == .done ? second : first
    }
}
