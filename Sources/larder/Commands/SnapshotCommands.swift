internal import LarderKit
internal import Reports

/// `larder snapshots [SITE]`: prints a table of the snapshots of each site. Exit status 0; 2 for an unknown
/// site.
enum SnapshotsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.snapshots(of: arguments.operands.first)
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    /// The report as text: for each site, its name, the keys that may sign its manifest, and a table of its snapshots.
    static func text(of report: SnapshotsReport) -> String {
        guard !report.sites.isEmpty else { return "No site is stored" }
        return report.sites.flatMap { site in
            var table = TextTable([
                ("Snapshot", .right), ("Date", .left), ("Responses", .right), ("State", .left),
            ])
            for snapshot in site.snapshots {
                table.add([
                    snapshot.name.description, LocalTime.minute(snapshot.started),
                    Wording.number(snapshot.responses), state(of: snapshot, in: site),
                ])
            }
            let trust = site.trustText.map { ["  \($0)"] } ?? []
            return [site.name] + trust + table.lines.map { "  " + $0 }
        }.joined(separator: "\n")
    }

    /// The state of a snapshot, as the last column of the table; empty for an earlier snapshot that is complete.
    private static func state(of snapshot: StatusReport.Snapshot, in site: StatusReport.Site) -> String {
        switch site.state(of: snapshot) {
        case .live: "live" + (snapshot.age.checked.map { ", checked \(LocalTime.minute($0))" } ?? "")
        case .overlay(let isLive): "loaded by a server or proxy" + (isLive ? ", live" : "")
        case .unfinished: "incomplete"
        case .rejected: "rejected"
        case .complete: ""
        }
    }
}

/// `larder rollback SITE [SNAPSHOT]` and `larder rollback SITE@N`: makes an earlier snapshot live, by
/// default the one before. Removes nothing.
///
/// Exit status 0: live now. 2: no such site or snapshot, or an overlay. 3: the store cannot be written.
enum RollbackCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var (site, snapshot) = (arguments.operands[0], try arguments.snapshot(1))
            if snapshot == nil {
                let parts = SnapshotName.split(site)
                (site, snapshot) = (parts.site, parts.snapshot)
            }
            if let snapshot, snapshot.isOverlay {
                throw UsageError(
                    "an overlay cannot be made live on its own: name a snapshot, such as \(snapshot.number)")
            }
            let larder = try arguments.larder
            let live = try await larder.rollBack(site, to: snapshot?.number)
            terminal.say(
                arguments.has(.json)
                    ? try await larder.snapshots(of: site).json
                    : "\(site): snapshot \(live) is live now, until the next update of the site")
            return .done
        }
    }
}

extension Arguments {
    /// The operand at the index, as a snapshot; nil if it is not given.
    func snapshot(_ place: Int) throws(UsageError) -> SnapshotName? {
        guard operands.count > place else { return nil }
        return try snapshotName(operands[place])
    }

    /// The operand at the index, as a snapshot of a site: a number, or a date such as `yesterday`. Nil for the live
    /// snapshot, and if it is not given.
    func snapshot(_ place: Int, of site: String, _ larder: Larder) async throws -> SnapshotName? {
        guard operands.count > place else { return nil }
        return try await larder.snapshot(operands[place], of: site)
    }

    /// The value of `--snapshot`: `N`, a date such as `2026-11-29` or `yesterday`, or one of them after `SITE@`. Nil if the
    /// option is not given. The name is nil for the live snapshot.
    ///
    /// - Parameter target: the site or URL of the command, whose snapshots a date without a site means.
    func snapshotOption(
        _ larder: Larder, target: String?
    ) async throws -> (name: SnapshotName?, site: String?)? {
        guard let value = self.text(.snapshot) else { return nil }
        if let sign = value.lastIndex(of: "@") {
            let site = String(value[..<sign])
            return (try await larder.snapshot(String(value[value.index(after: sign)...]), of: site), site)
        }
        guard let target else { return (try snapshotName(value), nil) }
        return (try await larder.snapshot(value, of: target), nil)
    }

    /// Parses the number of a snapshot. Throws a `UsageError` with the command that lists them.
    private func snapshotName(_ text: String) throws(UsageError) -> SnapshotName {
        guard let name = SnapshotName(text) else {
            throw UsageError(
                "\"\(text)\" is not the number of a snapshot; list them with: \(command("snapshots"))")
        }
        return name
    }
}
