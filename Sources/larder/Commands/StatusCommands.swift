internal import LarderKit
internal import Reports

/// `larder sites`: prints the names of the stored sites, one on each line. Exit status 0, also if there are
/// none.
enum SitesCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.snapshots()
            if arguments.has(.json) {
                terminal.reportJSON(report.json)
            } else {
                // Only names, for use in shell scripts.
                for site in report.sites { terminal.say(site.name) }
            }
            return .done
        }
    }
}

/// `larder status`: prints a table of the sites with their live snapshots and figures, and a line for each
/// one that needs attention. Exit status 0, whatever the state of the sites is.
enum StatusCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.status()
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return .done
        }
    }

    /// A number, or a dash if it is not known.
    private static func count(_ number: Int?) -> String { number.map(Wording.number) ?? "-" }

    /// The report as text: the size of the store, a table of the sites, then a line for each site whose last run
    /// is not complete or whose manifest must be signed, and one if scheduled updates do not run.
    private static func text(of report: StatusReport, _ arguments: Arguments) -> String {
        // The sum of the column, as on the home page of the portal. The store also has earlier snapshots.
        let live = report.sites.reduce(0) { $0 + ($1.figures?.byteCount ?? 0) }
        let all =
            report.diskByteCount.map {
                "\(Wording.bytes($0)) on disk, with the search index and all snapshots"
            } ?? "\(Wording.bytes(report.byteCount)) with all snapshots"
        let head =
            "\(report.path): \(Wording.count(report.sites.count, "site")), \(Wording.bytes(live)) (\(all))"
        guard !report.sites.isEmpty else {
            return "\(head)\nTo download a site: \(arguments.command("prefetch", ["URL"]))"
        }
        var table = TextTable([
            ("Site", .left), ("Snapshot", .right), ("Fetched", .left), ("Checked", .left), ("Pages", .right),
            ("Size", .right),
            ("Failed", .right), ("Broken", .right), ("Not fetched", .right),
            ("Next update", .left),
        ])
        for site in report.sites {
            let live = site.snapshots.first { $0.isLive && !$0.name.isOverlay }
            table.add([
                site.name, site.live.map { "\($0)" } ?? "-",
                live.map { LocalTime.age(of: $0.age.fetched) } ?? "-",
                live?.age.checked.map { LocalTime.age(of: $0) } ?? "-",
                site.figures.map { Wording.number($0.pages) } ?? "-",
                site.figures.map { Wording.bytes($0.byteCount) } ?? "-",
                count(site.figures?.missing?.failed), count(site.figures?.missing?.broken),
                // As in the portal: the links of a site that is one page because the user chose that are nothing to report.
                count(
                    site.figures?.completeness == .onlyStartPages ? nil : site.figures?.missing?.notFetched),
                site.next.map { $0 == 0 ? "now" : LocalTime.wait(until: $0) } ?? "-",
            ])
        }
        let unfinished = report.sites.filter { $0.live == nil }.map { site in
            "\(site.name) has no complete snapshot; to continue: \(arguments.command("prefetch", site.start))"
        }
        let cutShort = report.sites.filter { $0.figures?.missing?.isCutShort == true }.map { site in
            "a limit ended the last run of \(site.name) before it was complete; to continue: "
                + arguments.command("prefetch", site.start)
        }
        // Only a missing runner is worth a line: the table says when the next update is.
        let idle =
            report.runner == nil && report.sites.contains { $0.schedule != nil }
            ? [ScheduleCommand.runnerText(nil, arguments)] : []
        let trust = report.sites.compactMap { site in site.trustText.map { "\(site.name): \($0)" } }
        let lines = table.lines.map { "  " + $0 }
        return ([head] + lines + unfinished + cutShort + trust + idle).joined(separator: "\n")
    }
}
