internal import LarderKit
internal import Reports

/// `larder store copy FROM TO`, `larder store status` and `larder store migrate`: copies a store between
/// folders and PostgreSQL, shows its place, version and size, or migrates it.
///
/// Exit status 0: done. 1: bodies were damaged and left out of the copy, or the store needs migration or is
/// an incomplete copy (`status`). 2: an unknown subcommand. 3: a store cannot be read or written. 130:
/// interrupted; the same `copy` continues.
enum StoreCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let words = arguments.operands
            switch (words[0], words.count) {
            case ("copy", 3): return try await copy(from: words[1], to: words[2], arguments, terminal)
            case ("copy", _):
                throw UsageError(
                    "store copy needs two stores, FROM and TO; see: \(CommandLine.shellCommand(["help", "store"]))"
                )
            case ("status", 1):
                let report = try await arguments.larder.storeStatus()
                terminal.report(arguments.has(.json) ? report.json : statusText(of: report, arguments))
                return report.needsMigration || report.isCopying ? .incomplete : .done
            case ("migrate", 1):
                let report = try await arguments.larder.migrateStore()
                terminal.report(arguments.has(.json) ? report.json : migrationText(of: report))
                return .done
            case ("status", _), ("migrate", _):
                throw UsageError(
                    "store \(words[0]) accepts no argument; name the store with --store; see: "
                        + CommandLine.shellCommand(["help", "store"]))
            default:
                throw UsageError(
                    "unknown command \"store \(words[0])\"; use copy, status or migrate; see: "
                        + CommandLine.shellCommand(["help", "store"]))
            }
        }
    }

    // MARK: Copy

    /// Runs `larder store copy`. A copy cannot stop early: the first signal ends the process, and the same
    /// command continues the copy.
    private static func copy(
        from: String, to: String, _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let display = try ProgressDisplay(arguments, terminal)
        let shownPaths = [from, to].map { Larder(at: $0).shownPath }
        let isVerified = arguments.has(.verifyCopy)
        let givenOptions = [Option.verifyCopy, .compress].filter { arguments.has($0) }.map(\.name)
        let resumeCommand = CommandLine.shellCommand(["store", "copy"] + shownPaths + givenOptions)
        var larder = Larder(at: from)
        larder.compresses = arguments.has(.compress)
        let report = try await display.run(orContinueWith: resumeCommand, isStoppable: false) { [larder] in
            try await larder.copyStore(
                to: to, verify: isVerified, progress: display.progress("Copying the store"))
        }
        terminal.report(arguments.has(.json) ? report.json : copyText(of: report, shownPaths))
        return report.isWhole ? .done : .incomplete
    }

    /// The maximum number of damaged bodies in each list. The counts include the others.
    private static let maxListedBodies = 5

    /// The report of a copy as text.
    ///
    /// - Parameter paths: the paths or addresses of both stores, without passwords.
    private static func copyText(of report: CopyReport, _ paths: [String]) -> String {
        let copied = Wording.count(report.copiedBodies, "body", plural: "bodies")
        var lines = [
            (report.isContinued ? "continued an earlier copy: " : "")
                + "\(copied) copied, \(Wording.bytes(report.copiedByteCount))"
        ]
        lines.append(
            "\(report.to) contains \(Wording.count(report.sites, "site")), "
                + "\(Wording.count(report.snapshots, "snapshot")), "
                + "\(Wording.count(report.responses, "response")) and "
                + "\(Wording.count(report.bodies, "body", plural: "bodies")), all counted and compared")
        if let verified = report.verifiedBodies {
            lines.append(
                "verified: \(Wording.count(verified, "body", plural: "bodies")) read back and equal")
        }
        for damage in report.damaged.prefix(maxListedBodies) {
            lines.append("damaged \(damage.sha256): \(damage.fault)")
            lines += damage.addresses.prefix(2).map { "  \($0)" }
        }
        for damage in report.mismatched.prefix(maxListedBodies) {
            lines.append("damaged in the copy \(damage.sha256): \(damage.fault)")
        }
        if !report.damaged.isEmpty {
            lines.append(
                "\(Wording.count(report.damaged.count, "body", plural: "bodies")) damaged and left out, with "
                    + "\(Wording.count(report.leftOutResponses, "response")); to fetch them: "
                    + CommandLine.shellCommand(["update", Option.store.name, paths[1]]))
        }
        if !report.mismatched.isEmpty {
            lines.append(
                "the copy is damaged; see: "
                    + CommandLine.shellCommand(["fsck", Option.store.name, paths[1]]))
        }
        lines.append(
            "Not copied: logins, the proxy's authority, the portal's password and the search index; to index the copy: "
                + CommandLine.shellCommand(["index", Option.store.name, paths[1]]))
        return lines.joined(separator: "\n")
    }

    // MARK: Status

    /// The report of `larder store status` as text: kind, version, contents, size of each part, and writers.
    private static func statusText(of report: StoreReport, _ arguments: Arguments) -> String {
        var lines: [String] = [report.path]
        if let server = report.serverVersion {
            lines.append(
                "PostgreSQL \(server)" + (report.isStandby ? ", a standby (read-only)" : ""))
        } else {
            lines.append("a folder with SQLite")
        }
        lines.append(
            "version \(report.version)"
                + (report.needsMigration
                    ? "; migrate it to version \(report.newestVersion) with: "
                        + arguments.command("store", ["migrate"])
                    : ", up to date"))
        if report.isCopying {
            lines.append("incomplete copy; to continue it, run the same larder store copy again")
        }
        lines.append("\(Wording.count(report.sites, "site")), \(Wording.count(report.snapshots, "snapshot"))")
        lines.append("\(Wording.bytes(report.byteCount)):")
        let width = report.parts.map(\.name.utf8.count).max() ?? 0
        lines += report.parts.map { "  \($0.name.padded(width + 2))\(Wording.bytes($0.byteCount))" }
        lines += report.writers.map { "being written to" + writerText(of: $0) }
        if report.writers.isEmpty { lines.append("not being written to") }
        return lines.joined(separator: "\n")
    }

    /// The end of the line about a process that writes to the store: the session and address, if the store is in
    /// PostgreSQL, and its sites.
    private static func writerText(of writer: StoreReport.Writer) -> String {
        var words = ""
        if let session = writer.session { words += " by session \(session)" }
        if let address = writer.address { words += " from \(address)" }
        if let since = writer.since { words += " since \(LocalTime.minute(since))" }
        if writer.isExclusive { words += ", exclusively" }
        return words + (writer.sites.isEmpty ? "" : ": " + writer.sites.joined(separator: ", "))
    }

    /// The result of a migration as text: the names of the steps that were needed.
    private static func migrationText(of report: MigrationReport) -> String {
        report.steps.isEmpty
            ? "\(report.path) is up to date"
            : "\(report.path) is up to date now: \(report.steps.joined(separator: ", "))"
    }
}
