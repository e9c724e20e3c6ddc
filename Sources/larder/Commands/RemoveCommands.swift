internal import Glibc
internal import LarderKit
internal import Reports
internal import Web

/// `larder remove SITE|SITE@N|URL|PATTERN...`: removes sites, snapshots or URLs, after a question on a
/// terminal. Either all operands are removed or none.
///
/// Exit status 0: removed. 1: not confirmed. 2: an operand names nothing. 3: the store cannot be written.
/// `larder undo` restores the last removal until the next `gc`.
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
                "To undo this (until the next removal or gc): \(arguments.command("undo"))\nTo free the disk space for good: "
                    + arguments.command("gc"))
            return .done
        }
    }

    /// Asks on the terminal whether to remove these. The question goes to standard error; any answer but y
    /// or yes means no.
    private static func isConfirmed(_ operands: [String], in larder: Larder) async throws(LarderError) -> Bool
    {
        let sites = try await larder.status().sites
        let names = sites.map(\.name)
        let lines = operands.map { operand in
            guard let place = SiteName.exactIndex(of: operand, among: names) else {
                let (name, number) = SiteName.split(operand, among: names)
                guard let number, let place = SiteName.index(of: name, among: names, acceptsOrigin: true),
                    let snapshot = sites[place].snapshots.first(where: { $0.name == number })
                else { return "  \(operand): from all snapshots" }
                return
                    "  snapshot \(number) of \(names[place]): \(Wording.count(snapshot.responses, "response"))"
            }
            let site = sites[place]
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

    /// The line about an operand whose content was removed.
    private static func text(of removal: Larder.Removal) -> String {
        switch removal {
        case .site(let name): "Removed \(name)"
        case .snapshot(let name, let site): "Removed snapshot \(name) of \(site)"
        case .urls(1, let name): "Removed \(name) from all snapshots"
        case .urls(let count, _): "Removed \(Wording.count(count, "URL")) from all snapshots"
        }
    }

    // MARK: - larder drop, the earlier form of larder remove SITE@N

    /// `larder drop SITE SNAPSHOT...`: removes snapshots and prints the others. There is no question, and
    /// scripts rely on that.
    static func drop(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let snapshots = try arguments.operands.indices.dropFirst().compactMap {
                try arguments.snapshot($0)
            }
            let report = try await arguments.larder.removeSnapshots(snapshots, of: arguments.operands[0])
            terminal.report(
                arguments.has(.json) ? report.json : dropText(of: report, snapshots.count, arguments))
            return .done
        }
    }

    /// The result of `larder drop`: the count of removed snapshots, and the table of the others.
    private static func dropText(of report: SnapshotsReport, _ count: Int, _ arguments: Arguments) -> String {
        """
        \(Wording.count(count, "snapshot")) removed; to free the disk space: \(arguments.command("gc"))
        \(SnapshotsCommand.text(of: report))
        """
    }
}

/// `larder undo`: restores the last removal. Exit status 0: restored. 1: there is nothing to restore.
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
