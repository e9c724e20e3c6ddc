internal import LarderKit

/// `larder prefetch URL...`
enum PrefetchCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = PrefetchOptions()
            options.connectionsPerHost = try arguments.number(.perHost, in: 1...256)
            if terminal.isWatched {
                options.progress = { now in
                    terminal.show(
                        "\(Quantities.grouped(now.done)) fetched, \(now.running) running, "
                            + "\(Quantities.grouped(now.known)) known, \(Quantities.bytes(now.byteCount))")
                }
            }
            let larder = try arguments.larder
            let wanted = options
            let report = try await Signals.shared.cancelling {
                try await larder.prefetch(arguments.operands, options: wanted)
            }
            terminal.show("")
            terminal.say(arguments.has(.json) ? report.json : PrefetchSummary.text(of: report, arguments))
            return status(of: report, terminal)
        }
    }

    private static func status(of report: PrefetchReport, _ terminal: Terminal) -> ExitStatus {
        if report.isInterrupted { return .interrupted }
        guard report.isPublished else {
            let reason = report.missing.first.map { "\($0.url): \($0.reason)" } ?? "no start URL was reached"
            terminal.fail("nothing was prefetched: \(reason); check the address and the network, then try again")
            return .unable
        }
        return report.isComplete ? .done : .incomplete
    }
}
