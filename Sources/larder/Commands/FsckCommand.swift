internal import LarderKit
internal import Reports

/// `larder fsck [--repair]`: verifies bodies, link tables, the database and the journal, and with
/// `--repair` takes damaged bodies out of service and rebuilds tables.
///
/// Exit status 0: nothing is damaged any more. 1: something is damaged. 3: the store cannot be read.
enum FsckCommand {
    /// The maximum number of damaged bodies that are listed. The others are counted.
    private static let maxListedBodies = 5
    /// The maximum number of URLs that are listed for a damaged body. The others are counted.
    private static let maxURLsPerBody = 2

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let display = try ProgressDisplay(arguments, terminal)
            let report = try await display.run(orContinueWith: arguments.commandLine, isStoppable: false) {
                try await larder.inspect(
                    repair: arguments.has(.repair),
                    progress: display.progress("Verifying bodies"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isSound ? .done : .incomplete
        }
    }

    /// The report as text: the counts, a line for each fault, and the command that repairs the store.
    private static func text(of report: InspectionReport, _ arguments: Arguments) -> String {
        let checked = Wording.count(report.bodiesChecked, "body", plural: "bodies")
        let result =
            report.damaged.isEmpty ? "all intact" : "\(Wording.number(report.damaged.count)) damaged"
        var lines = ["\(checked), \(Wording.bytes(report.bytesChecked)): \(result)"]
        if let rebuilt = report.rebuilt {
            lines.append(
                "the database was rebuilt: \(Wording.count(rebuilt.addresses, "URL")) recovered; "
                    + "the old database is in the folder quarantine")
            if rebuilt.lostBodies > 0 {
                let lost = Wording.count(rebuilt.lostBodies, "body", plural: "bodies")
                lines.append("\(lost) could not be recovered; to fetch them: \(arguments.command("update"))")
            }
        }
        for damage in report.damaged.prefix(maxListedBodies) {
            lines.append("damaged \(damage.sha256): \(damage.fault)")
            lines += damage.addresses.prefix(maxURLsPerBody).map { "  \($0)" }
            let more = damage.addresses.count - maxURLsPerBody
            if more > 0 { lines.append("  and \(Wording.count(more, "more URL"))") }
        }
        if report.damaged.count > maxListedBodies {
            lines.append(
                "and \(Wording.number(report.damaged.count - maxListedBodies)) more damaged (--json lists all)"
            )
        }
        lines += report.databaseFaults.map { "database: \($0)" }
        lines += report.journalFaults.map { "journal: \($0)" }
        if !report.damagedLinkTables.isEmpty {
            let count = Wording.count(report.damagedLinkTables.count, "page")
            lines.append("link tables damaged: \(count), such as \(report.damagedLinkTables[0])")
        }
        if !report.isIndexSound {
            lines.append(
                "the search index is damaged\(report.isRepaired ? " and was removed" : ""); to create it again: "
                    + arguments.command("index"))
        }
        if report.orphanBodies > 0 || !report.orphanFiles.isEmpty {
            let orphans = report.orphanBodies + report.orphanFiles.count
            lines.append(
                Wording.count(
                    orphans, "unreferenced body or file", plural: "unreferenced bodies and files")
                    + (report.isRepaired ? " removed" : ""))
        }
        if report.isRepaired, !report.damaged.isEmpty {
            lines.append(
                "The damaged bodies are out of service; to fetch them again: \(arguments.command("update"))")
        } else if !report.damaged.isEmpty {
            lines.append("To take damaged bodies out of service: \(arguments.command("fsck", ["--repair"]))")
        } else if !report.isRepaired, !report.isSound {
            lines.append("To repair the store: \(arguments.command("fsck", ["--repair"]))")
        }
        return lines.joined(separator: "\n")
    }
}
