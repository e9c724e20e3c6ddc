internal import Glibc
internal import LarderKit
internal import Reports
internal import Web

/// `larder snapshots [SITE]`
enum SnapshotsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.snapshots(of: arguments.operands.first)
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

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
            return [site.name] + table.lines.map { "  " + $0 }
        }.joined(separator: "\n")
    }

    private static func state(of snapshot: StatusReport.Snapshot, in site: StatusReport.Site) -> String {
        switch site.state(of: snapshot) {
        case .live: "live" + (snapshot.confirmed.map { ", confirmed \(LocalTime.minute($0))" } ?? "")
        case .overlay(let isLive): "loaded by a server or proxy" + (isLive ? ", live" : "")
        case .unfinished: "incomplete"
        case .rejected: "rejected"
        case .complete: ""
        }
    }
}

/// `larder rollback SITE [SNAPSHOT]` and `larder rollback SITE@N`
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

    /// The value of `--snapshot`: `N`, or `SITE@N`.
    var snapshotOption: (name: SnapshotName, site: String?)? {
        get throws(UsageError) {
            guard let value = self.text(.snapshot) else { return nil }
            guard let sign = value.lastIndex(of: "@") else { return (try snapshotName(value), nil) }
            return (try snapshotName(String(value[value.index(after: sign)...])), String(value[..<sign]))
        }
    }

    private func snapshotName(_ text: String) throws(UsageError) -> SnapshotName {
        guard let name = SnapshotName(text) else {
            throw UsageError(
                "\"\(text)\" is not the number of a snapshot; list them with: \(command("snapshots"))")
        }
        return name
    }
}

/// `larder diff SITE [A] [B]`
enum DiffCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (site, from, to) = (
                arguments.operands[0], try arguments.snapshot(1), try arguments.snapshot(2)
            )
            if arguments.has(.pictures) {
                let report = try await arguments.larder.screenshotDifferences(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            } else {
                let report = try await arguments.larder.difference(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
            }
            return .done
        }
    }

    private static func text(of report: ScreenshotReport, _ arguments: Arguments) -> String {
        let snapshots = "\(report.site), snapshot \(report.from) to \(report.to)"
        guard !report.pages.isEmpty else {
            let prefetch = arguments.command(
                "prefetch", [report.site, "--render", "always", "--render-pictures"])
            return "\(snapshots): no picture of its pages was kept; a prefetch keeps them with: \(prefetch)"
        }
        var lines = report.differing.map { page in
            let word = page.state.rawValue
            return word + String(repeating: " ", count: max(1, 8 - word.utf8.count)) + page.url
        }
        let counts = ScreenshotReport.Comparison.allCases.map { ($0, report.count($0)) }.filter { $0.1 > 0 }
            .map {
                state, count in
                switch state {
                case .changed, .added, .gone: "\(count) \(state.rawValue)"
                case .same: "\(count) the same"
                case .reused: "\(count) not taken again"
                }
            }
        lines.append(
            "\(snapshots): \(Wording.count(report.pages.count, "picture")), \(counts.joined(separator: ", "))"
        )
        if report.count(.changed) > 0 {
            lines.append("To see them side by side: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(of report: DifferenceReport) -> String {
        var lines = report.added.map { "added   \($0)" }
        lines += report.changed.map { "changed \($0)" }
        lines += report.gone.map { "gone    \($0)" }
        lines += report.moved.map { "moved   \($0.from) to \($0.to)" }
        lines.append(
            "\(report.site), snapshot \(report.from) to \(report.to): "
                + (report.isEmpty
                    ? "no difference"
                    : "\(report.added.count) added, \(report.changed.count) changed, "
                        + "\(report.gone.count) gone, \(report.moved.count) moved"))
        return lines.joined(separator: "\n")
    }
}

/// `larder drop SITE SNAPSHOT...`
enum DropCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let snapshots = try arguments.operands.indices.dropFirst().compactMap {
                try arguments.snapshot($0)
            }
            let report = try await arguments.larder.removeSnapshots(snapshots, of: arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, snapshots.count, arguments))
            return .done
        }
    }

    private static func text(of report: SnapshotsReport, _ count: Int, _ arguments: Arguments) -> String {
        """
        \(Wording.count(count, "snapshot")) dropped; to have the room back: \(arguments.command("gc"))
        \(SnapshotsCommand.text(of: report))
        """
    }
}

/// `larder remove SITE|SITE@N|URL|PATTERN...`
enum RemoveCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            if !arguments.has(.yes), isatty(STDIN_FILENO) == 1 {
                guard try await isConfirmed(arguments.operands, in: larder) else {
                    terminal.fail(
                        "nothing was removed; to remove it without a question, add \(Option.yes.name)")
                    return .incomplete
                }
            }
            for removal in try await larder.remove(arguments.operands) { terminal.say(text(of: removal)) }
            terminal.say(
                "To undo this, before anything else is removed: \(arguments.command("undo")); to free the disk space, which "
                    + "makes it final: \(arguments.command("gc"))")
            return .done
        }
    }

    /// Asks on the terminal whether to remove all this. Sites are listed with their sizes.
    private static func isConfirmed(_ operands: [String], in larder: Larder) async throws(LarderError) -> Bool
    {
        let sites = try await larder.status().sites
        let lines = operands.map { operand in
            guard let site = sites.first(where: { [operand, operand + "/"].contains($0.name) }) else {
                return "  \(operand)"
            }
            let figures =
                site.figures.map { ", \(Wording.count($0.pages, "page")), \(Wording.bytes($0.byteCount))" }
                ?? ""
            return "  \(site.name): \(Wording.count(site.snapshots.count, "snapshot"))\(figures)"
        }
        _ = Output.errors.write(
            "This will be removed:\n\(lines.joined(separator: "\n").printable)\nRemove it? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }

    private static func text(of removal: Larder.Removal) -> String {
        switch removal {
        case .site(let name): "Removed \(name)"
        case .snapshot(let name, let site): "Removed snapshot \(name) of \(site)"
        case .urls(1, let name): "Removed \(name) from all snapshots"
        case .urls(let count, _): "Removed \(Wording.count(count, "URL")) from all snapshots"
        }
    }
}

/// `larder undo`
enum UndoCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            guard let restored = try await arguments.larder.undoRemoval() else {
                terminal.fail(
                    "nothing to undo: only the last removal can be undone, and only until the next larder gc"
                )
                return .incomplete
            }
            if arguments.has(.json) {
                let report: JSONMembers = ["restored": restored.names, "responses": restored.responses]
                terminal.report(report.text())
            } else {
                for name in restored.names { terminal.say("Restored \(name)") }
                terminal.say("\(Wording.count(restored.responses, "response")) stored again")
            }
            return .done
        }
    }
}
