internal import LarderKit
internal import Reports

/// `larder preload MANIFEST|URL|UPDATE...`: fetches the bundles of manifests, verifies them, and publishes each
/// complete set. A set that does not verify never replaces the set before. Update files contain the bundles.
///
/// Prints a summary for each manifest; `--json` prints an array. The first line on standard error says why
/// a set is not live.
///
/// Exit status 0: all sets are live, or could not be updated while an earlier set stays live (with
/// `--strict`, that is 1). 1: a set was refused, or a file that the pages of a set need. 2: a wrong manifest name. 3: unreachable, and nothing is
/// live. 130: interrupted.
enum PreloadCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let display = try ProgressDisplay(arguments, terminal)
            let options = try options(arguments, display)
            let larder = try arguments.larder
            let operands = arguments.operands
            let results = try await display.run(orContinueWith: arguments.commandLine) {
                await preload(operands, options, in: larder)
            }
            return show(results, arguments, isStrict: arguments.has(.strict), terminal)
        }
    }

    /// Applies update files one after the other, as `larder import` does it too.
    static func applyUpdates(
        _ files: [String], _ options: PreloadOptions, _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let larder = try arguments.larder
        let results = try await Signals.shared.runCancellable { await preload(files, options, in: larder) }
        return show(results, arguments, isStrict: false, terminal)
    }

    /// The results of preloads of several manifests or update files.
    private struct Results: Sendable {
        var reports: [PreloadReport] = []
        /// The error that ended the command.
        var failure: LarderError?
        /// The update file that was not applied, and the operands after it.
        var remaining: [String] = []
    }

    /// Preloads manifests and update files in their order. Each set goes live as a whole. Stops after an update file that cannot
    /// be applied: the next one usually builds on it.
    private static func preload(
        _ names: [String], _ options: PreloadOptions, in larder: Larder
    ) async -> Results {
        var results = Results()
        for (index, name) in names.enumerated() {
            do throws(LarderError) {
                let report = try await larder.preload(name, options: options)
                results.reports.append(report)
                guard report.outcome != .interrupted else { break }
                guard report.isFromUpdate, report.outcome != .current, report.outcome != .changed else {
                    continue
                }
            } catch {
                results.failure = error
            }
            if Larder.isUpdateFile(name) { results.remaining = Array(names[index...]) }
            break
        }
        return results
    }

    /// Prints the reports and what went wrong, and returns the exit status.
    private static func show(
        _ results: Results, _ arguments: Arguments, isStrict: Bool, _ terminal: Terminal
    ) -> ExitStatus {
        let reports = results.reports
        if results.failure == nil || !reports.isEmpty {
            if arguments.has(.json) {
                terminal.reportJSON("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else {
                terminal.report(reports.map { text(of: $0, arguments) }.joined(separator: "\n"))
            }
        }
        var status = reports.reduce(ExitStatus.done) {
            PrefetchCommand.firstFailure($0, Self.status(of: $1, isStrict: isStrict, terminal))
        }
        if let failure = results.failure {
            status = PrefetchCommand.firstFailure(status, terminal.reportError(failure))
        }
        if !results.remaining.isEmpty, arguments.operands.count > 1 {
            let applied = reports.filter { $0.outcome == .current || $0.outcome == .changed }.map(\.manifest)
            terminal.fail(
                "applied: \(applied.isEmpty ? "none" : applied.joined(separator: ", ")); not applied: "
                    + results.remaining.joined(separator: ", "))
        }
        return status
    }

    /// The options of a preload, with the callbacks of the progress display.
    private static func options(_ arguments: Arguments, _ display: ProgressDisplay) throws(UsageError)
        -> PreloadOptions
    {
        var prefetch = PrefetchOptions()
        display.attach(to: &prefetch)
        var options = PreloadOptions()
        guard arguments.texts(.base).count <= 1 else {
            throw UsageError("larder preload accepts only one --base; run it once for each")
        }
        options.base = arguments.text(.base)
        options.format = arguments.text(.format)
        options.rehashesStoredBundles = arguments.has(.rehashStored)
        options.trustedKeys = arguments.texts(.trust)
        options.allowsRollback = arguments.has(.allowRollback)
        options.requiresStrongDigests = arguments.has(.strong)
        options.includesAssets = try arguments.choice(.assets) ?? Assets.all == .all
        options.connectionsPerHost = try arguments.numberIfGiven(.perHost, in: 1...256)
        options.network = try arguments.networkOptions()
        options.progress = prefetch.progress
        options.fetched = prefetch.fetched
        return options
    }

    /// The values of `--assets`: whether the assets that bundles need are fetched too.
    enum Assets: String, CaseIterable {
        case all, none
    }

    /// Prints what went wrong, and returns the exit status.
    static func status(
        of report: PreloadReport, isStrict: Bool, _ terminal: Terminal
    ) -> ExitStatus {
        if let warning = report.manifestWarning { terminal.fail(warning) }
        switch report.outcome {
        case .current, .changed:
            if let first = report.refused.first(where: \.isRequired) {
                let others = report.refused.count { $0.isRequired } - 1
                terminal.fail(
                    "\(report.manifest): the server has another file at \(first.url)"
                        + (others > 0 ? " and \(others) more" : "")
                        + ", which is refused; the set is live without it: correct it at the origin")
                return .incomplete
            }
            return isStrict && !report.missing.isEmpty ? .incomplete : .done
        case .refused:
            terminal.fail(refusalReason(of: report) + liveSetText(of: report))
            return .incomplete
        case .unreachable:
            terminal.fail("\(report.manifest): not everything could be fetched" + liveSetText(of: report))
            return report.isServed ? isStrict ? .incomplete : .done : .unable
        case .expired:
            terminal.fail((report.manifestFailure ?? report.manifest) + liveSetText(of: report))
            return report.isServed && !isStrict ? .done : .incomplete
        case .interrupted:
            return .interrupted
        }
    }

    /// The end of an error line, about the set that stays live.
    private static func liveSetText(of report: PreloadReport) -> String {
        guard let since = report.since, let snapshot = report.snapshot else {
            guard report.outcome != .refused || report.manifestFailure == nil, report.outcome != .expired
            else {
                return "; nothing is live yet"
            }
            let next =
                report.outcome == .refused
                ? "when the server sends what the manifest lists" : "when the server can be reached"
            return "; nothing is live yet: preload it again \(next)"
        }
        return "; snapshot \(snapshot) of \(LocalTime.minute(since)) stays live"
    }

    /// The reason why the preload was refused, as a sentence without a period. Names the manifest.
    private static func refusalReason(of report: PreloadReport) -> String {
        if let failure = report.manifestFailure {
            return failure + (report.refusalRemedy.map { " with \($0.options)" } ?? "")
        }
        let reason =
            report.refused.contains(where: \.isRequired)
            ? "bundles do not match the manifest" : "required bundles are gone"
        return "\(report.manifest): \(reason)"
    }

    /// The maximum number of refused or missing bundles in a list. The others are counted.
    private static let maxListedProblems = 5

    /// The summary, and the command to run next.
    static func text(of report: PreloadReport, _ arguments: Arguments) -> String {
        var lines = [summary(of: report)]
        if arguments.texts(.trust) == ["none"], report.outcome == .changed || report.outcome == .current {
            lines.append(
                "  not verified: \(Option.trust.name) none accepts it without a signature"
                    + (report.hasNewKeys ? ", and this site requires none from now on" : ""))
        }
        switch report.outcome {
        case .changed: lines.append("To serve them: \(arguments.command("serve"))")
        case .interrupted: lines.append("Interrupted; to continue: \(arguments.commandLine)")
        case .current, .refused, .expired, .unreachable: break
        }
        return lines.joined(separator: "\n")
    }

    /// The counts, the refused and missing bundles, and the live snapshot. `serve --preload` prints it too.
    static func summary(of report: PreloadReport) -> String {
        var lines: [String] = []
        let bundles = Wording.count(report.bundles, "bundle")
        switch report.outcome {
        case .current:
            lines.append("\(report.manifest): \(bundles), all stored and current; nothing fetched")
        case .refused where report.isFromUpdate && report.manifestFailure != nil:
            // The error line gives the first problem, and --json all of them.
            return "\(report.manifest): the update file is refused; nothing changed"
        case .refused where report.manifestFailure != nil:
            // The error line gives the reason.
            lines.append("\(report.manifest): the manifest is refused; nothing fetched")
        case .expired:
            lines.append("\(report.manifest): the manifest has expired; nothing fetched")
        case .changed, .refused, .interrupted:
            lines.append("\(report.manifest): \(bundles), \(countsText(of: report))")
        case .unreachable:
            lines.append(
                "\(report.manifest): \(report.manifestFailure ?? "\(bundles), \(countsText(of: report))")")
        }
        if report.assets > 0 {
            lines.append("  \(Wording.count(report.assets, "asset")) fetched with them")
        }
        if report.isInsecure { lines.append("  INSECURE: certificates were not verified") }
        // The notes about weak digests say the same if they count all bundles.
        if let proof = report.proofSummary, !report.hasOnlyWeakProofs {
            lines.append("  verified by \(proof)")
        }
        // The whole key, so that it can be compared with the one that its publisher names.
        if let signer = report.signer {
            lines.append(
                "  signed by \(signer)" + (report.hasNewKeys ? ", which this site requires from now on" : ""))
        }
        if let note = report.unlistedNote { lines.append("  \(note); --assets none fetches no such files") }
        lines += problemLines(report.refused, "refused")
        lines += problemLines(report.missing, "not fetched")
        lines += report.weakProofs.map { "  \($0)" }
        if let snapshot = report.snapshot, let since = report.since {
            lines.append("  \(report.site): snapshot \(snapshot) of \(LocalTime.minute(since)) is live")
        }
        return lines.joined(separator: "\n")
    }

    /// The counts of reused and fetched bundles, the bytes and the time, for a line about the manifest.
    private static func countsText(of report: PreloadReport) -> String {
        "\(Wording.number(report.reused)) reused, \(Wording.number(report.fetched)) "
            + (report.isFromUpdate ? "from the update file, " : "fetched, ")
            + "\(Wording.bytes(report.byteCount)) in \(Wording.time(report.elapsed))"
    }

    /// The lines about bundles with one kind of problem.
    ///
    /// - Parameter word: the end of the heading, such as `refused`.
    private static func problemLines(_ problems: [PreloadReport.Problem], _ word: String) -> [String] {
        guard !problems.isEmpty else { return [] }
        var lines = ["  \(Wording.number(problems.count)) \(word):"]
        for problem in problems.prefix(maxListedProblems) {
            lines.append("    \(problem.url): \(problem.reason.withShortDigests)")
        }
        if problems.count > maxListedProblems {
            lines.append(
                "    and \(Wording.number(problems.count - maxListedProblems)) more (--json lists all)")
        }
        return lines
    }
}
