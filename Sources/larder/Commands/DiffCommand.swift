internal import LarderKit
internal import Reports
internal import System

/// `larder diff SITE [A] [B]`: lists the URLs that differ between two snapshots, by default the last two;
/// with `--pictures`, compares their screenshots. `larder diff PAGE [A] [B]` compares the text of a page. With `--patch FILE`, writes an update file between the snapshots, or
/// between the folders of `larder diff OLD NEW`.
///
/// Exit status 0, whether they differ or not. 1: something could not be included in the update file. 2: no such site or
/// snapshot. 3: the store cannot be read, or the file cannot be written.
enum DiffCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            if let file = arguments.text(.updateFile) {
                return try await writeUpdate(file, arguments, terminal)
            }
            for option in [
                Option.updateSigningKey, .updateBase, .updateVersion, .updateFromVersion, .replaceFile,
            ]
            where arguments.commandLineValue(of: option) != nil {
                throw UsageError(
                    "\(option.name) needs \(Option.updateFile.name) FILE; name the update file to write")
            }
            if arguments.operands.count == 2, arguments.operands.allSatisfy({ Folder.exists($0) }) {
                throw UsageError(
                    "folders are compared for an update file; name it with \(Option.updateFile.name) FILE")
            }
            let (site, larder) = (arguments.operands[0], try arguments.larder)
            let isPage = try await isPage(site, arguments, larder)
            let from = try await arguments.snapshot(1, of: site, larder)
            let to = try await arguments.snapshot(2, of: site, larder)
            if isPage {
                let report = try await larder.pageDiff(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
            } else if arguments.has(.pictures) {
                let report = try await arguments.larder.screenshotDifferences(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : screenshotText(of: report, arguments))
            } else {
                let report = try await arguments.larder.diff(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
            }
            return .done
        }
    }

    /// Whether the text of a page is compared: with `--text`, or if the operand is a stored URL and no site.
    private static func isPage(
        _ operand: String, _ arguments: Arguments, _ larder: Larder
    ) async throws -> Bool {
        guard arguments.has(.pageText) else { return try await larder.isPageOnly(operand) }
        guard !arguments.has(.pictures) else {
            throw UsageError(
                "\(Option.pictures.name) and \(Option.pageText.name) exclude each other; use one of them")
        }
        return true
    }

    // MARK: Update files

    private static func writeUpdate(
        _ file: String, _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        guard !arguments.has(.pictures) else {
            throw UsageError(
                "\(Option.pictures.name) and \(Option.updateFile.name) exclude each other; use one of them")
        }
        let operands = arguments.operands
        let areFolders = operands.count == 2 && operands.allSatisfy { Folder.exists($0) }
        if operands.count == 2, SnapshotName(operands[1]) == nil, Folder.exists(operands[1]),
            !Folder.exists(operands[0])
        {
            throw UsageError(
                "the folder \(operands[0]) of the earlier release does not exist; for a first release, create an empty one"
            )
        }
        var options = UpdateFileOptions()
        options.base = arguments.text(.updateBase)
        options.version = arguments.text(.updateVersion)
        options.fromVersion = arguments.text(.updateFromVersion)
        options.created = Timestamp(secondsSinceEpoch: try arguments.sourceDate())
        options.replacesFile = arguments.has(.replaceFile)
        if arguments.has(.updateSigningKey) {
            options.key = try ManifestCommand.signingKey(arguments, folders: operands)
        }
        let larder = try arguments.larder
        let display = try ProgressDisplay(arguments, terminal)
        options.progress = display.progress("Comparing files")
        let wanted = options
        let report: UpdateFileReport
        if areFolders {
            report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.writeUpdate(
                    fromFolder: operands[0], toFolder: operands[1], file: file, options: wanted)
            }
        } else {
            let (from, to) = (try arguments.snapshot(1), try arguments.snapshot(2))
            report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.writeUpdate(
                    ofSite: operands[0], from: from, to: to, file: file, options: wanted)
            }
        }
        for skipped in report.skipped {
            terminal.fail("left out of the update: \(skipped.name): \(skipped.reason)")
        }
        terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
        return report.skipped.isEmpty ? .done : .incomplete
    }

    /// The counts and sizes as text, and the command for the other machine.
    private static func text(of report: UpdateFileReport, _ arguments: Arguments) -> String {
        let share = report.releaseByteCount == 0 ? 0 : report.byteCount * 1000 / report.releaseByteCount
        var lines = [
            "\(report.file): \(Wording.bytes(report.byteCount)), \(share / 10).\(share % 10) % of the release "
                + "(\(Wording.count(report.files, "file")), \(Wording.bytes(report.releaseByteCount)))",
            "  \(Wording.number(report.changed)) changed (\(Wording.bytes(report.changedByteCount))), "
                + "\(Wording.number(report.patched)) of them as differences",
        ]
        if let signer = report.signer {
            lines.append("  signed by \(signer)")
        } else {
            lines.append(
                "  not signed: sites that trust a key refuse it; sign it with \(Option.updateSigningKey.name) KEY"
            )
        }
        if report.site == nil, arguments.text(.updateBase) == nil {
            lines.append(
                "  names no URL: only machines with the earlier release know where it belongs; for others, name the URL of the "
                    + "files with \(Option.updateBase.name) URL")
        }
        lines.append("To apply it on another machine: \(CommandLine.shellCommand(["preload", report.file]))")
        return lines.joined(separator: "\n")
    }

    /// The comparison of screenshots as text: a line for each page that differs, then the counts.
    private static func screenshotText(of report: ScreenshotReport, _ arguments: Arguments) -> String {
        let snapshots = "\(report.site), snapshot \(report.from) to \(report.to)"
        guard !report.pages.isEmpty else {
            let prefetch = arguments.command(
                "prefetch", [report.site, "--render", "always", "--render-pictures"])
            return "\(snapshots): no screenshots are stored; a prefetch stores them with: \(prefetch)"
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

    /// The differences of a page as text: its lines, removed ones with `-` and added ones with `+`, then the counts.
    private static func text(of report: PageDiffReport) -> String {
        let title = "\(report.url), snapshot \(report.from) to \(report.to)"
        guard report.isInEarlier else { return "\(title): the page is new" }
        guard report.isInLater else { return "\(title): the page is not in snapshot \(report.to)" }
        guard let difference = report.difference else {
            return "\(title): the copies cannot be compared, since one of them has no text or is too large"
        }
        guard !difference.isEmpty else { return "\(title): the text is the same" }
        var (lines, removed, added): ([String], Int, Int) = ([], 0, 0)
        for line in difference.lines {
            switch line {
            case .same(let text): lines.append("  \(text)")
            case .removed(let text):
                lines.append("- \(text)")
                removed += 1
            case .added(let text):
                lines.append("+ \(text)")
                added += 1
            case .gap(let count): lines.append("  (\(Wording.count(count, "equal line")))")
            }
        }
        lines.append("\(title): \(Wording.count(removed, "line")) removed, \(Wording.number(added)) added")
        return lines.joined(separator: "\n")
    }

    /// The differences as text: a line for each URL, then the counts.
    private static func text(of report: DiffReport) -> String {
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
        if report.unfetchedPages > 0 {
            let pages = Wording.count(report.unfetchedPages, "page")
            lines.append(
                "\(pages) of snapshot \(report.from) not fetched for snapshot \(report.to), and still served as before"
            )
        }
        return lines.joined(separator: "\n")
    }
}
