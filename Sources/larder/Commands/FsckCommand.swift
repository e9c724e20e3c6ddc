internal import LarderKit

/// `larder fsck [--repair]`
enum FsckCommand {
    private static let mostShown = 5
    private static let mostAddresses = 2

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let watch = try Watch(arguments, terminal)
            let report = try await watch.during(again: arguments.again, isStoppable: false) {
                try await larder.inspect(
                    repair: arguments.has(.repair), progress: watch.progress("Comparing bodies with their digests"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isSound ? .done : .incomplete
        }
    }

    private static func text(of report: InspectionReport, _ arguments: Arguments) -> String {
        var lines: [String] = []
        for damage in report.damaged.prefix(mostShown) {
            lines.append("damaged \(damage.sha256): \(damage.fault)")
            lines += damage.addresses.prefix(mostAddresses).map { "  \($0)" }
            let more = damage.addresses.count - mostAddresses
            if more > 0 { lines.append("  and \(Quantities.count(more, "address", plural: "addresses")) more") }
        }
        if report.damaged.count > mostShown {
            lines.append("and \(Quantities.grouped(report.damaged.count - mostShown)) more damaged (--json lists them)")
        }
        lines += report.databaseFaults.map { "database: \($0)" }
        if let rebuilt = report.rebuilt {
            lines.append(
                "the database was made anew: \(Quantities.count(rebuilt.addresses, "address", plural: "addresses")) are "
                    + "held again; the old one is in the folder quarantine")
            if rebuilt.lostBodies > 0 {
                let lost = Quantities.count(rebuilt.lostBodies, "body", plural: "bodies")
                lines.append("\(lost) could not be had again; to fetch them: \(arguments.command("update"))")
            }
        }
        let checked = Quantities.count(report.bodiesChecked, "body", plural: "bodies")
        let bytes = Quantities.bytes(report.bytesChecked)
        let damaged = report.isSound ? "all as they were fetched" : "\(report.damaged.count) damaged"
        lines.append("\(checked), \(bytes): \(damaged)")
        if report.orphanBodies > 0 || !report.orphanFiles.isEmpty {
            let orphans = report.orphanBodies + report.orphanFiles.count
            lines.append("\(orphans) left over, which nothing refers to" + (report.isRepaired ? ": removed" : ""))
        }
        if report.isRepaired, !report.damaged.isEmpty {
            lines.append("What was damaged is out of service; to have it again: \(arguments.command("update"))")
        } else if !report.damaged.isEmpty {
            lines.append("To take it out of service: \(arguments.command("fsck", ["--repair"]))")
        }
        return lines.joined(separator: "\n")
    }
}
