internal import LarderKit
internal import Reports

/// `larder export SITE FILE|DIR/`: writes a snapshot as an archive, a folder, a single page or an
/// executable file. The format follows from the file name unless `--format` names it.
///
/// Exit status 0: complete. 1: something was left out or damaged, or the verification failed. 2: options
/// that contradict each other, or an existing file without `--force`. 3: the disk or the store failed. 130:
/// interrupted.
enum ExportCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = ExportOptions()
            let larder = try arguments.larder
            let parts = try await larder.splitSnapshotName(arguments.operands[0])
            options.snapshot = try await arguments.snapshotOption(larder, target: parts.site)?.name
            if let snapshot = parts.snapshot {
                guard options.snapshot == nil || options.snapshot == snapshot else {
                    throw UsageError(
                        "\(arguments.operands[0]) and \(Option.snapshot.name) name different snapshots; leave one of them out"
                    )
                }
                options.snapshot = snapshot
            }
            options.format = try arguments.choice(.archiveFormat)
            options.program = "/proc/self/exe"
            if arguments.has(.selfServing) {
                guard options.format == nil || options.format == .program else {
                    throw UsageError(
                        "\(Option.selfServing.name) and \(Option.archiveFormat.name) name different formats; leave one of them out"
                    )
                }
                options.format = .program
            }
            options.includesPrivate = arguments.has(.withPrivate)
            options.replacesFile = arguments.has(.replaceFile)
            options.maxFileSize = try arguments.size(.split)
            if let split = options.maxFileSize, split.byteCount < 1_000_000 {
                throw UsageError(
                    "--split must be at least 1M; each file repeats the records that all of them need")
            }
            // An option in a configuration file applies only to the formats that have it.
            func applies(_ option: Option, _ forms: ArchiveFormat...) -> Bool {
                let form = options.format ?? ArchiveFormat(path: arguments.operands[1])
                return form.map(forms.contains) ?? true || arguments.source(of: option) == .commandLine
            }
            let appliesPatterns = { (option: Option) in
                applies(option, .warc, .wacz, .har, .folder, .zip, .tar, .zim, .program, .html, .mhtml)
            }
            options.include = appliesPatterns(.include) ? arguments.texts(.include) : []
            options.exclude = appliesPatterns(.exclude) ? arguments.texts(.exclude) : []
            options.language = applies(.language, .zim) ? arguments.text(.language) : nil
            options.includesScripts = !(applies(.noScripts, .html) && arguments.has(.noScripts))
            options.maxAssetSize = try arguments.size(.maxBody)
            options.browser = arguments.text(.browser)
            options.viewport = applies(.oneViewport, .pdf, .png) ? arguments.text(.oneViewport) : nil
            options.prefersDark = applies(.dark, .pdf, .png) && arguments.has(.dark)
            options.isVerified = arguments.has(.verifyCopy)
            options.isSigned = arguments.has(.sign)
            let display = try ProgressDisplay(arguments, terminal)
            options.progress = display.progress("Exporting")
            let (wanted, site, path) = (options, parts.site, arguments.operands[1])
            let report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.export(site, to: path, options: wanted)
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, at: path))
            return report.isComplete ? .done : .incomplete
        }
    }

    /// The maximum number of items in each list. The others are counted.
    private static let maxListedItems = 5

    /// The number of missing URLs, the first of them, and where a list of all is.
    private static func missingLines(of report: ExportReport, at path: String) -> [String] {
        let broken = report.missing.count(where: \.isBroken)
        let notStored = report.missing.count - broken
        let counts = [
            report.failed.isEmpty
                ? nil : Wording.count(report.failed.count, "URL") + " that could not be fetched",
            notStored == 0
                ? nil
                : Wording.count(notStored, "file") + " that pages need and that "
                    + (notStored == 1 ? "is" : "are") + " not stored",
            broken == 0
                ? nil : Wording.count(broken, "file") + " that pages need, broken on the live site",
        ].compactMap { $0 }
        guard !counts.isEmpty else { return [] }
        let failed = report.failed.map { "  not fetched: \($0.url) (\($0.reason))" }
        let missing = report.missing.map { asset in
            let state = asset.isBroken ? "broken on the live site" : "not stored"
            return "  \(state): \(asset.url) (needed by \(asset.neededBy))"
        }
        let lines =
            ["  missing: \(counts.joined(separator: ", "))"] + failed.prefix(maxListedItems)
            + missing.prefix(maxListedItems)
        guard max(failed.count, missing.count) > maxListedItems else { return lines }
        let list =
            switch report.format {
            case .folder: "\(path.hasSuffix("/") ? path : path + "/")~missing.txt lists all"
            case .zip, .tar: "~missing.txt in the file lists all"
            case .warc, .wacz, .har, .html, .mhtml, .zim, .pdf, .png, .program: "--json lists all"
            }
        return lines + ["  \(list)"]
    }

    /// The report as text: the counts and files, then a line for each kind of content that the export lacks, and
    /// the result of the verification.
    private static func text(of report: ExportReport, at path: String) -> String {
        let snapshot = report.snapshot.map { ", snapshot \($0)" } ?? ""
        var lines = [
            "\(report.site)\(snapshot): \(Wording.count(report.responses, "response")) "
                + "(\(Wording.count(report.pages, "page"))), \(Wording.bytes(report.byteCount))"
        ]
        if report.otherPages > 0 {
            let all = CommandLine.shellCommand(["export", report.site, "FOLDER/"])
            lines.append(
                "  This is the start page, without the other \(Wording.count(report.otherPages, "page")) of the site; "
                    + "to save all of them: \(all)")
        }
        for file in report.files { lines.append("  \(file.path): \(Wording.bytes(file.byteCount))") }
        if let first = report.removedFiles.first {
            let count = Wording.count(report.removedFiles.count, "surplus file")
            lines.append("  \(count) of an earlier export removed, the first: \(first)")
        }
        if report.leftOutPrivate > 0 {
            lines.append(
                "  \(Wording.count(report.leftOutPrivate, "response")) left out that were fetched with a login or cookies; "
                    + "include them with: \(Option.withPrivate.name)")
        }
        if report.leftOutCookies > 0 {
            lines.append(
                "  \(Wording.count(report.leftOutCookies, "header")) left out that set cookies; "
                    + "include them with: \(Option.withPrivate.name)")
        }
        if report.leftOutByPattern > 0 {
            lines.append("  \(Wording.count(report.leftOutByPattern, "response")) left out by a pattern")
        }
        if report.leftOutByFormat > 0 {
            let others = report.leftOutByFormat - report.leftOutRedirects - report.leftOutNotFound
            let kinds = [
                report.leftOutRedirects > 0
                    ? "\(Wording.count(report.leftOutRedirects, "redirect")) (links go to the targets)" : nil,
                report.leftOutNotFound > 0
                    ? "\(Wording.count(report.leftOutNotFound, "other response")) with status 404 or 410 (the website has no such page)"
                    : nil,
                others > 0 ? "\(Wording.count(others, "other response")), such as those to POST" : nil,
            ].compactMap { $0 }
            lines.append(
                "  left out, because this format cannot contain them: \(kinds.joined(separator: ", "))")
        }
        if report.frozenPages > 0 {
            lines.append(
                "  \(Wording.count(report.frozenPages, "page")) written as frozen copies: as a browser showed them, without scripts"
            )
        }
        if report.pagesWithScripts > 0 {
            lines.append(
                "  \(Wording.count(report.pagesWithScripts, "page")) written with scripts that do not work offline; "
                    + "larder serve, folders and ZIM files show frozen copies instead")
        }
        for url in report.damaged.prefix(maxListedItems) { lines.append("  damaged and left out: \(url)") }
        let more = report.damaged.count - maxListedItems
        if more > 0 { lines.append("  and \(Wording.number(more)) more damaged (--json lists all)") }
        if let signer = report.signer { lines.append("Signed with the key \(signer)") }
        for part in report.tooLarge.prefix(maxListedItems) {
            lines.append(
                "  left out, \(Wording.bytes(part.byteCount)) (limit: \(Option.maxBody.name)): \(part.url)"
            )
        }
        lines += missingLines(of: report, at: path)
        if report.tooLarge.count > maxListedItems {
            let others = Wording.number(report.tooLarge.count - maxListedItems)
            lines.append("  and \(others) more left out (--json lists all)")
        }
        let libraries = report.libraries.filter { name in
            // Every Linux system with glibc has these.
            !["libc.so.", "libm.so.", "ld-linux-"].contains { name.hasPrefix($0) }
        }
        if !libraries.isEmpty {
            lines.append(
                "  It runs on Linux machines of this kind that have these libraries: "
                    + libraries.joined(separator: ", "))
            if report.libraries.contains(where: { $0.hasPrefix("libswift") }) {
                lines.append(
                    "  This larder was built without the Swift libraries, so the machine needs them too; scripts/larder builds one with them"
                )
            }
        }
        if report.isTruncated {
            lines.append(
                "  The screenshot has the maximum height and lacks the end of the page; export a .pdf to get all of it"
            )
        }
        if let first = report.urlsNeedingServer.first {
            let count = report.urlsNeedingServer.count
            let subject = count == 1 ? "1 file uses" : "\(Wording.number(count)) files use"
            let folder = report.format == .folder ? path : "FOLDER"
            lines.append(
                "  \(subject) 3D models, workers or other content that browsers do not load from a folder: "
                    + "parts of those pages stay empty; START-HERE.html lists them; to see them, run: "
                    + "python3 -m http.server -d \(CommandLine.quoted(folder)) (the first: \(first))")
        }
        switch report.isVerified {
        case true?: lines.append("Verified: the export matches the store")
        case false? where report.format == .zim:
            lines.append("zimcheck reports errors in the export; to see them: zimcheck FILE")
        case false?:
            lines.append(
                "Verification failed: the export differs from the store; export it again, to another disk")
        case nil: break
        }
        switch report.format {
        case .folder:
            let start = (path.hasSuffix("/") ? path : path + "/") + "START-HERE.html"
            lines.append("To read it, open in a browser: \(start)")
        case .program:
            lines.append("To serve it: \(CommandLine.quoted(path.contains("/") ? path : "./" + path))")
        case .zip, .tar: lines.append("To read it, unpack it and open its START-HERE.html in a browser")
        case .warc, .wacz, .har, .html, .mhtml, .zim, .pdf, .png: break
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder import FILE...`: stores the responses of archives, folders or saved pages as a new snapshot, and
/// indexes its pages unless `--no-index` is given. Applies update files as `larder preload` does.
///
/// Exit status 0: everything was imported. 1: responses were refused or left out, with the reason. 2: not
/// an archive, or the site exists already. 3: a file or the store failed. 130: interrupted; if only the indexing
/// was interrupted, the snapshot is live, and the next indexing continues.
enum ImportCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let display = try ProgressDisplay(arguments, terminal)
            let progress = display.progress("Importing", phase: "importing")
            let (paths, site, base) = (
                arguments.operands, arguments.text(.intoSite), arguments.text(.folderAddress)
            )
            let growth = try arguments.size(.growth)
            let updates = paths.filter { Larder.isUpdateFile($0) }
            if !updates.isEmpty {
                guard updates.count == paths.count else {
                    throw UsageError("\(updates[0]) is an update file; import it without other archives")
                }
                guard site == nil else {
                    throw UsageError(
                        "\(updates[0]) is an update file, which names its site; leave out --site")
                }
                var options = PreloadOptions()
                (options.base, options.trustedKeys) = (base, arguments.texts(.trust))
                options.allowsRollback = arguments.has(.allowRollback)
                return try await PreloadCommand.applyUpdates(updates, options, arguments, terminal)
            }
            let report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.importArchives(
                    paths, into: site, at: base, sizeAllowance: growth, progress: progress)
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            if report.isPublished, !arguments.has(.noIndex) {
                let site = report.site
                let display = try ProgressDisplay(arguments, terminal)
                let progress = display.progress("Indexing pages", phase: "indexing")
                let found = try await display.run(orContinueWith: arguments.command("index")) {
                    try await larder.index(site, progress: progress)
                }
                terminal.note(IndexCommand.text(of: found))
                if found.isInterrupted { return .interrupted }
            }
            return report.isComplete ? .done : .incomplete
        }
    }

    /// The maximum number of faults in each list. The others are counted.
    private static let maxListedFaults = 5

    /// The report as text: the counts, then the responses that were not stored as they are in the archives, with
    /// the reasons, and the command to run next.
    private static func text(of report: ImportReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site), snapshot \(report.snapshot): \(Wording.count(report.responses, "response")) "
                + "(\(Wording.count(report.pages, "page"))), \(Wording.bytes(report.byteCount))"
        ]
        if report.superseded > 0 {
            lines.append(
                "  \(Wording.count(report.superseded, "response")) left out because a newer one for the same URL was imported"
            )
        }
        for (status, count) in report.skippedByStatus.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(Wording.count(count, "response")) with status \(status) not stored")
        }
        lines += faultLines(report.refused, report.refusedCount, "refused")
        if report.exceedsExpansionLimit {
            lines.append(
                "  Archives that expand this much are usually made to fill disks; to allow it: \(Option.growth.name) SIZE"
            )
        }
        lines += faultLines(report.doubtful, report.doubtfulCount, "imported, but doubtful")
        lines += faultLines(report.leftOut, report.leftOutCount, "left out")
        if let site = report.leftOut.lazy.compactMap(\.site).first {
            lines.append(
                "  To import it as a snapshot of that site: \(arguments.commandLine(changing: [Option.intoSite.name: site]))"
            )
        }
        for signer in report.signers { lines.append("Valid signature by the key \(signer)") }
        lines.append(
            report.isPublished
                ? "To read it: \(arguments.command("open", [report.site]))"
                : "Nothing was stored; the store is unchanged")
        return lines.joined(separator: "\n")
    }

    /// The lines about faults of one kind.
    ///
    /// - Parameters:
    ///   - count: the number of all faults; `faults` may have fewer.
    ///   - word: the state at the start of each line, such as `refused`.
    private static func faultLines(_ faults: [ImportReport.Fault], _ count: Int, _ word: String) -> [String] {
        var lines = faults.prefix(maxListedFaults).map { fault in
            "  \(word): \(fault.url.map { "\($0): " } ?? "")\(fault.reason) (\(fault.place))"
        }
        let more = count - maxListedFaults
        if more > 0 { lines.append("  and \(Wording.number(more)) more \(word) (--json lists all)") }
        return lines
    }
}
