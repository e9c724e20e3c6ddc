internal import LarderKit
internal import Reports

/// `larder work [URL...]`: prefetches a site together with workers on other machines, which share a
/// PostgreSQL store.
///
/// Prints a report for each shared snapshot: the worker that completes one prints the report of the whole
/// snapshot, the others their own share.
///
/// Exit status 0: the snapshots are published. 1: one is incomplete or not live. 2: a wrong URL, or a store
/// that is a folder. 3: no page was reached. 130: interrupted; other workers continue.
enum WorkCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let display = try ProgressDisplay(arguments, terminal)
            var options = try arguments.prefetchOptions()
            display.attach(to: &options)
            let larder = try arguments.larder
            let (wanted, stays) = (options, arguments.has(.stay))
            let reports = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.runWorker(arguments.operands, options: wanted, waitsForMore: stays)
            }
            if arguments.has(.json) {
                terminal.reportJSON("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else if reports.isEmpty {
                terminal.say("No shared snapshot exists; start one with: larder work URL")
            } else {
                terminal.report(reports.map { text(of: $0, arguments) }.joined(separator: "\n"))
            }
            return reports.reduce(ExitStatus.done) {
                PrefetchCommand.firstFailure($0, status(of: $1, arguments, terminal))
            }
        }
    }

    /// The report of this worker as text. Only the worker that finished the snapshot has the figures of all
    /// workers.
    private static func text(of report: PrefetchReport, _ arguments: Arguments) -> String {
        guard let work = report.work else { return PrefetchSummary.text(of: report, arguments) }
        var lines: [String] = []
        if work.isLast {
            lines.append(PrefetchSummary.text(of: report, arguments))
            lines.append("Worker \(work.worker) completed the snapshot")
        } else {
            lines.append(
                "\(report.site): worker \(work.worker) sent \(Wording.count(report.requests, "request")), "
                    + "\(Wording.bytes(report.wireByteCount)) downloaded, \(Wording.time(report.elapsed)) in total"
            )
            if report.isInterrupted {
                lines.append(
                    "Interrupted; other workers continue. To join them again: \(arguments.commandLine)")
            } else {
                lines.append(
                    report.isPublished
                        ? "  another worker completed the snapshot"
                        : "  another worker completed the snapshot, which is not live")
            }
        }
        if work.lostLeases > 0 {
            lines.append("  other workers took over its hosts \(Wording.count(work.lostLeases, "time"))")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns the exit status of one snapshot. If another worker finished it, only whether it is live counts.
    private static func status(
        of report: PrefetchReport, _ arguments: Arguments, _ terminal: Terminal
    ) -> ExitStatus {
        guard let work = report.work, !work.isLast else {
            return PrefetchCommand.status(of: report, isStrict: arguments.has(.strict), terminal)
        }
        if report.isInterrupted { return .interrupted }
        return report.isPublished ? .done : .incomplete
    }
}
