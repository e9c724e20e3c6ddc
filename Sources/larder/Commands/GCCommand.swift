internal import LarderKit

/// `larder gc`
enum GCCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let limit = try arguments.size(.maxSize)
            let larder = try arguments.larder
            if arguments.has(.dryRun) {
                let forecast = try await larder.forecastCollection(limit: limit)
                terminal.report(arguments.has(.json) ? forecast.json : text(of: forecast, arguments))
                return forecast.report.isWithinLimit ? .done : .incomplete
            }
            let watch = try Watch(arguments, terminal)
            let report = try await watch.during(again: arguments.again, isStoppable: false) {
                try await larder.collect(limit: limit, progress: watch.progress("Taking away what can go"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isWithinLimit && report.shrinkFailure == nil ? .done : .incomplete
        }
    }

    private static func text(of forecast: CollectionForecast, _ arguments: Arguments) -> String {
        let report = forecast.report
        var lines = forecast.visits.map { "visit \($0.number) of \($0.site)" } + forecast.urls
        if lines.isEmpty { lines.append("nothing that is shown, or kept for a roll-back, would go") }
        lines.append(
            "\(Quantities.bytes(report.byteCountBefore)) now, about \(Quantities.bytes(report.byteCountAfter)) then: "
                + taken(report, isDone: false))
        if let obstacle = report.obstacle, !report.isWithinLimit {
            lines.append("It would still be over the limit: \(text(of: obstacle, report, arguments))")
        }
        let limit = report.limit.map { ["--max-size", "\($0.byteCount)"] } ?? []
        lines.append("Nothing was taken; to take it: \(arguments.command("gc", limit))")
        return lines.joined(separator: "\n")
    }

    private static func taken(_ report: CollectionReport, isDone: Bool) -> String {
        let gone = [
            report.droppedVisits > 0 ? "\(Quantities.count(report.droppedVisits, "visit")) dropped" : nil,
            report.evictedURLs > 0 ? "\(Quantities.count(report.evictedURLs, "URL")) evicted" : nil,
            report.removedBodies > 0
                ? "\(Quantities.count(report.removedBodies, "body", plural: "bodies")) removed" : nil,
        ].compactMap { $0 }
        guard gone.isEmpty else { return gone.joined(separator: ", ") }
        let nothing = isDone ? "nothing had to go" : "nothing has to go"
        guard report.byteCountAfter < report.byteCountBefore,
            Quantities.bytes(report.byteCountAfter) != Quantities.bytes(report.byteCountBefore)
        else { return nothing }
        return "\(nothing), only room that nothing \(isDone ? "used was" : "uses would be") given back"
    }

    private static func text(of report: CollectionReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(Quantities.bytes(report.byteCountBefore)) before, \(Quantities.bytes(report.byteCountAfter)) now: "
                + taken(report, isDone: true)
        ]
        if report.evictedURLs > 0 {
            lines.append("What was evicted is missing now; to have it again: \(arguments.command("update"))")
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            let limit = Quantities.bytes(report.limit?.byteCount ?? 0)
            lines.append("Still \(Quantities.bytes(report.excess)) over the limit of \(limit):")
            lines.append("  " + text(of: obstacle, report, arguments))
        } else if let failure = report.shrinkFailure {
            lines.append("The database file could not be made smaller: \(failure)")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(
        of obstacle: CollectionReport.Obstacle, _ report: CollectionReport, _ arguments: Arguments
    ) -> String {
        switch obstacle {
        case .pins:
            let urls = Quantities.count(report.pinnedURLs, "URL")
            return "pins keep \(urls), \(Quantities.bytes(report.pinnedByteCount)); to see them: "
                + arguments.command("pins")
        case .empty:
            return "nothing is held any more; the empty database takes that"
        case .disk:
            return "the database file could not be made smaller: \(report.shrinkFailure ?? "")"
        case .again:
            return "what could go has gone; run this again when no other program reads the larder"
        }
    }
}
