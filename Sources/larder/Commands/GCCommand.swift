internal import LarderKit
internal import Reports

/// `larder gc`: removes data that nothing refers to, snapshots outside the retention rules, and with
/// `--max-size` the least recently served pages until the store fits. `--dry-run` only lists them.
///
/// Exit status 0: done, and within the limit. 1: still over the limit, or the database file could not be
/// shrunk. 2: a wrong option. 3: the store cannot be written.
enum GCCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let limit = try arguments.size(.maxSize)
            let keep = try arguments.keepRules()
            let allowsIncomplete = arguments.has(.allowIncomplete)
            let larder = try arguments.larder
            if arguments.has(.dryRun) {
                let preview = try await larder.previewPruning(
                    limit: limit, keep: keep, sites: arguments.operands, allowsIncomplete: allowsIncomplete)
                terminal.report(arguments.has(.json) ? preview.json : previewText(of: preview, arguments))
                return preview.report.isWithinLimit ? .done : .incomplete
            }
            let display = try ProgressDisplay(arguments, terminal)
            let before = try await larder.snapshots()
            let report = try await display.run(orContinueWith: arguments.commandLine, isStoppable: false) {
                try await larder.prune(
                    limit: limit, keep: keep, sites: arguments.operands, allowsIncomplete: allowsIncomplete,
                    progress: display.progress("Removing unused data"))
            }
            let removed =
                report.droppedSnapshots == 0
                ? [] : removedSnapshots(from: before, without: try await larder.snapshots())
            terminal.report(arguments.has(.json) ? report.json : text(of: report, removed, arguments))
            return report.isWithinLimit && report.shrinkFailure == nil ? .done : .incomplete
        }
    }

    /// The maximum number of removed URLs that are listed without `-v`. The others are counted.
    private static let maxListedEvictions = 20

    /// The snapshots that one report has and the later one lacks, a line for each site.
    private static func removedSnapshots(from report: SnapshotsReport, without later: SnapshotsReport)
        -> [String]
    {
        report.sites.compactMap { site in
            let left = Set(later.sites.first { $0.name == site.name }?.snapshots.map(\.name) ?? [])
            let names = site.snapshots.map(\.name).filter { !left.contains($0) }
            return names.isEmpty ? nil : snapshotNames(names, of: site.name)
        }
    }

    /// "snapshots 1, 2 of docs.example.com"
    private static func snapshotNames(_ snapshots: [SnapshotName], of site: String) -> String {
        let word = snapshots.count == 1 ? "snapshot" : "snapshots"
        return "\(word) \(snapshots.map(\.description).joined(separator: ", ")) of \(site)"
    }

    /// The report of `--dry-run`. It ends with the same command without that option.
    private static func previewText(of preview: PruningPreview, _ arguments: Arguments) -> String {
        let report = preview.report
        var lines = summary(of: report, isDone: false)
        var snapshots: [(site: String, names: [SnapshotName])] = []
        for snapshot in preview.snapshots {
            if let place = snapshots.firstIndex(where: { $0.site == snapshot.site }) {
                snapshots[place].names.append(snapshot.name)
            } else {
                snapshots.append((snapshot.site, [snapshot.name]))
            }
        }
        lines += snapshots.map { "  \(snapshotNames($0.names, of: $0.site))" }
        if arguments.has(.details) {
            lines += preview.snapshots.map { snapshot in
                let size = Wording.bytes(snapshot.byteCount)
                return "  \(snapshot.site)@\(snapshot.name): \(Wording.moment(snapshot.started)), \(size)"
            }
        }
        let lastEarlier = preview.snapshots.filter(\.isLastEarlier).count
        if lastEarlier > 0 {
            let sites = Wording.count(lastEarlier, "site")
            lines.append("No earlier version of \(sites) would be left; gc cannot be undone.")
        }
        if snapshots.isEmpty, preview.urls.isEmpty {
            lines.append("no live page and no earlier snapshot would be removed")
        } else if arguments.has(.details) {
            lines += preview.urls.map { "  \($0)" }
        } else if !preview.urls.isEmpty {
            lines.append("to list the URLs, add -v")
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            lines.append(
                "The store would still be over the limit: \(obstacleText(of: obstacle, report, arguments))")
        }
        var options = arguments.operands + (arguments.text(.maxSize).map { ["--max-size", $0] } ?? [])
        for option in Option.keepOptions {
            if let value = arguments.text(option) { options += [option.name, value] }
        }
        if arguments.has(.allowIncomplete) { options.append("--allow-incomplete") }
        lines.append("This was a dry run; to remove the data: \(arguments.command("gc", options))")
        return lines.joined(separator: "\n")
    }

    /// The freed space, the counts of removed snapshots, URLs and bodies, and the part of the search index.
    ///
    /// - Parameter isDone: false for a dry run.
    private static func summary(of report: PruningReport, isDone: Bool) -> [String] {
        let removed = [
            report.droppedSnapshots > 0 ? Wording.count(report.droppedSnapshots, "snapshot") : nil,
            report.removedOverlayURLs > 0
                ? "\(Wording.count(report.removedOverlayURLs, "URL")) of overlays" : nil,
            report.evictedURLs > 0 ? "\(Wording.count(report.evictedURLs, "URL")) of live snapshots" : nil,
            report.removedBodies > 0 ? Wording.count(report.removedBodies, "body", plural: "bodies") : nil,
        ].compactMap { $0 }
        let (before, after) = (Wording.bytes(report.byteCountBefore), Wording.bytes(report.byteCountAfter))
        guard !removed.isEmpty || report.byteCountAfter < report.byteCountBefore && before != after else {
            return ["nothing to remove; the store takes \(before)"]
        }
        if isDone, !removed.isEmpty, report.byteCountAfter >= report.byteCountBefore {
            return [
                "removed \(removed.joined(separator: ", ")); their space will be used for new data, and the store takes \(after)"
            ]
        }
        let freed = Wording.bytes(max(0, report.byteCountBefore - report.byteCountAfter))
        let space = removed.isEmpty ? "\(freed) of unused space" : freed
        var lines = [
            isDone
                ? "freed \(space); the store takes \(after) now"
                : "would free about \(space); the store takes \(before) now, and about \(after) then"
        ]
        if !removed.isEmpty {
            lines.append("  \(isDone ? "removed" : "would remove"): \(removed.joined(separator: ", "))")
        }
        if report.freedIndexByteCount > 0 {
            let index = Wording.bytes(report.freedIndexByteCount)
            lines.append(
                isDone
                    ? "  the search index was compacted: \(index)"
                    : "  would compact the search index: \(index)")
        }
        return lines
    }

    /// The report as text: the summary, the removed snapshots and URLs, and why the store is still over the limit.
    ///
    /// - Parameter snapshots: the removed snapshots, a line for each site.
    private static func text(
        of report: PruningReport, _ snapshots: [String], _ arguments: Arguments
    ) -> String {
        var lines = summary(of: report, isDone: true) + snapshots.map { "  \($0)" }
        if report.evictedURLs > 0 {
            lines.append(
                "These URLs are not stored any more; to fetch them again: \(arguments.command("update"))")
            let listed = report.evicted.prefix(arguments.has(.details) ? .max : maxListedEvictions)
            lines += listed.map { "  \($0)" }
            if report.evictedURLs > listed.count {
                let more = Wording.number(report.evictedURLs - listed.count)
                lines.append("  and \(more) more (--json lists all)")
            }
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            let limit = Wording.bytes(report.limit?.byteCount ?? 0)
            lines.append("Still \(Wording.bytes(report.excess)) over the limit of \(limit):")
            lines.append("  " + obstacleText(of: obstacle, report, arguments))
        } else if let failure = report.shrinkFailure {
            lines.append("The database file could not be shrunk: \(failure)")
        }
        return lines.joined(separator: "\n")
    }

    /// Says why the store is still over the limit, and what to do.
    private static func obstacleText(
        of obstacle: PruningReport.Obstacle, _ report: PruningReport, _ arguments: Arguments
    ) -> String {
        switch obstacle {
        case .pins:
            let urls = Wording.count(report.pinnedURLs, "URL")
            return "pins keep \(urls), \(Wording.bytes(report.pinnedByteCount)); to see them: "
                + arguments.command("pin")
        case .empty:
            return "nothing is stored any more; the empty database takes this space"
        case .live:
            return
                "everything left is live, the search index, or the database; to remove the least recently served pages: "
                + arguments.command(
                    "gc", ["--max-size", arguments.text(.maxSize) ?? "0", "--allow-incomplete"])
        case .unreachable:
            let size = Wording.bytes(report.attainableByteCount ?? report.byteCountAfter)
            let limit = arguments.text(.maxSize) ?? "0"
            return
                "without all earlier snapshots, the store would take about \(size), so they stay; to remove them all the same: "
                + arguments.command("gc", ["--keep-last", "1"])
                + "; to remove the least recently served pages too: "
                + arguments.command("gc", ["--max-size", limit, "--allow-incomplete"])
        case .disk:
            return "the database file could not be shrunk: \(report.shrinkFailure ?? "")"
        case .again:
            return "not all space could be freed; run this again when no other program reads the store"
        }
    }
}
