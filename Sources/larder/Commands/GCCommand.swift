internal import LarderKit

/// `larder gc`
enum GCCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let limit = try arguments.size(.maxSize)
            let larder = try arguments.larder
            let watch = try Watch(arguments, terminal)
            let report = try await watch.during(again: arguments.again, isStoppable: false) {
                try await larder.collect(limit: limit, progress: watch.progress("Taking away what can go"))
            }
            terminal.say(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isWithinLimit && report.shrinkFailure == nil ? .done : .incomplete
        }
    }

    private static func text(of report: CollectionReport, _ arguments: Arguments) -> String {
        let gone = [
            report.droppedVisits > 0 ? "\(Quantities.count(report.droppedVisits, "visit")) dropped" : nil,
            report.evictedURLs > 0 ? "\(Quantities.count(report.evictedURLs, "URL")) evicted" : nil,
            report.removedBodies > 0
                ? "\(Quantities.count(report.removedBodies, "body", plural: "bodies")) removed" : nil,
        ].compactMap { $0 }
        var lines = [
            "\(Quantities.bytes(report.byteCountBefore)) before, \(Quantities.bytes(report.byteCountAfter)) now: "
                + (gone.isEmpty ? "nothing had to go" : gone.joined(separator: ", "))
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
