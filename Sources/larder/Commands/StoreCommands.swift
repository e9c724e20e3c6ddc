internal import LarderKit
internal import Reports

/// `larder pin URL|PATTERN|SITE` and `larder unpin URL|PATTERN|SITE`
enum PinCommand {
    static func pin(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else { return await PinsCommand.run(arguments, terminal) }
        return await terminal.attempt {
            let change = try await arguments.larder.pin(name, as: try arguments.pinKind)
            terminal.report(arguments.has(.json) ? change.json : text(of: change, name, arguments))
            return .done
        }
    }

    static func unpin(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let change = try await arguments.larder.unpin(arguments.operands[0], as: try arguments.pinKind)
            let pin = change.pin
            terminal.say(
                arguments.has(.json)
                    ? change.json
                    : "The \(pin.kind.word) \(pin.value) is no longer pinned: \(PinsCommand.cover(of: pin))"
            )
            return .done
        }
    }

    private static func text(of change: PinChange, _ name: String, _ arguments: Arguments) -> String {
        let pin = change.pin
        var lines = [
            "The \(pin.kind.word) \(pin.value) is pinned\(change.isNew ? "" : " already"): \(PinsCommand.cover(of: pin))"
        ]
        if change.alsoNamesURL, change.isNew {
            lines.append(
                "To pin only the page with its assets: \(arguments.command("unpin", ["--site", name]))")
            lines.append("  and then: \(arguments.command("pin", ["--url", name]))")
        }
        if pin.kind == .pattern, pin.urls == 0, !pin.value.utf8.contains(UInt8(ascii: "/")) {
            let name = pin.value.drop { $0 == "*" }
            lines.append(
                "A pattern without a slash is compared with hosts; for files, use '/**\(name)'")
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder pins`
enum PinsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.pins()
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    private static func text(of report: PinsReport) -> String {
        guard !report.pins.isEmpty else { return "nothing is pinned; see: larder help pin" }
        return report.pins.map { pin in
            "\(pin.kind.word.padded(8))\(pin.value): \(cover(of: pin))"
        }.joined(separator: "\n")
    }

    static func cover(of pin: PinReport) -> String {
        pin.urls == 0
            ? "no stored URL matches"
            : "\(Wording.count(pin.urls, "URL")), \(Wording.bytes(pin.byteCount))"
    }
}

extension PinKind {
    var word: String {
        switch self {
        case .url: "URL"
        case .pattern: "pattern"
        case .site: "site"
        }
    }
}

extension Arguments {
    /// The kind of the operand, if an option sets it.
    fileprivate var pinKind: PinKind? {
        get throws(UsageError) {
            let given = [(Option.site, PinKind.site), (.url, .url), (.pattern, .pattern)].filter { has($0.0) }
            guard given.count <= 1 else {
                throw UsageError(
                    "\(given.map(\.0.name).joined(separator: " and ")) exclude each other; use one of them")
            }
            return given.first?.1
        }
    }
}

/// `larder gc`
enum GCCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let limit = try arguments.size(.maxSize)
            let keep = try arguments.keepRules()
            let allowsIncomplete = arguments.has(.allowIncomplete)
            let larder = try arguments.larder
            if arguments.has(.dryRun) {
                let forecast = try await larder.forecastCollection(
                    limit: limit, keep: keep, sites: arguments.operands, allowsIncomplete: allowsIncomplete)
                terminal.report(arguments.has(.json) ? forecast.json : text(of: forecast, arguments))
                return forecast.report.isWithinLimit ? .done : .incomplete
            }
            let watch = try Watch(arguments, terminal)
            let before = try await larder.snapshots()
            let report = try await watch.during(again: arguments.again, isStoppable: false) {
                try await larder.collectGarbage(
                    limit: limit, keep: keep, sites: arguments.operands, allowsIncomplete: allowsIncomplete,
                    progress: watch.progress("Removing unused data"))
            }
            let removed =
                report.droppedSnapshots == 0 ? [] : names(of: before, without: try await larder.snapshots())
            terminal.report(arguments.has(.json) ? report.json : text(of: report, removed, arguments))
            return report.isWithinLimit && report.shrinkFailure == nil ? .done : .incomplete
        }
    }

    private static let mostEvicted = 20

    /// The snapshots that one report has and the later one lacks, a line for each site.
    private static func names(of report: SnapshotsReport, without later: SnapshotsReport) -> [String] {
        report.sites.compactMap { site in
            let left = Set(later.sites.first { $0.name == site.name }?.snapshots.map(\.name) ?? [])
            let names = site.snapshots.map(\.name).filter { !left.contains($0) }
            return names.isEmpty ? nil : text(of: names, of: site.name)
        }
    }

    /// "snapshots 1, 2 of docs.example.com"
    private static func text(of snapshots: [SnapshotName], of site: String) -> String {
        let word = snapshots.count == 1 ? "snapshot" : "snapshots"
        return "\(word) \(snapshots.map(\.description).joined(separator: ", ")) of \(site)"
    }

    private static func text(of forecast: CollectionForecast, _ arguments: Arguments) -> String {
        let report = forecast.report
        var lines = summary(of: report, isDone: false)
        var snapshots: [(site: String, names: [SnapshotName])] = []
        for snapshot in forecast.snapshots {
            if snapshots.last?.site == snapshot.site {
                snapshots[snapshots.count - 1].names.append(snapshot.name)
            } else {
                snapshots.append((snapshot.site, [snapshot.name]))
            }
        }
        lines += snapshots.map { "  \(text(of: $0.names, of: $0.site))" }
        if snapshots.isEmpty, forecast.urls.isEmpty {
            lines.append("no live page and no earlier snapshot would be removed")
        } else if arguments.has(.details) {
            lines += forecast.urls.map { "  \($0)" }
        } else if !forecast.urls.isEmpty {
            lines.append("to list the URLs, add -v")
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            lines.append("The store would still be over the limit: \(text(of: obstacle, report, arguments))")
        }
        var options = arguments.operands + (report.limit.map { ["--max-size", "\($0.byteCount)"] } ?? [])
        for option in Option.keepOptions {
            if let value = arguments.text(option) { options += [option.name, value] }
        }
        if arguments.has(.allowIncomplete) { options.append("--allow-incomplete") }
        lines.append("This was a dry run; to remove the data: \(arguments.command("gc", options))")
        return lines.joined(separator: "\n")
    }

    /// The freed space, and what was removed for it.
    ///
    /// - Parameter isDone: false for a dry run.
    private static func summary(of report: CollectionReport, isDone: Bool) -> [String] {
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
        let lines = [
            isDone
                ? "freed \(space); the store takes \(after) now"
                : "would free about \(space); the store takes \(before) now, and about \(after) then"
        ]
        guard !removed.isEmpty else { return lines }
        return lines + ["  \(isDone ? "removed" : "would remove"): \(removed.joined(separator: ", "))"]
    }

    /// - Parameter snapshots: the removed snapshots, a line for each site.
    private static func text(
        of report: CollectionReport, _ snapshots: [String], _ arguments: Arguments
    ) -> String {
        var lines = summary(of: report, isDone: true) + snapshots.map { "  \($0)" }
        if report.evictedURLs > 0 {
            lines.append(
                "These URLs are not stored any more; to fetch them again: \(arguments.command("update"))")
            let listed = report.evicted.prefix(arguments.has(.details) ? .max : mostEvicted)
            lines += listed.map { "  \($0)" }
            if report.evictedURLs > listed.count {
                let more = Wording.number(report.evictedURLs - listed.count)
                lines.append("  and \(more) more (list: --json)")
            }
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            let limit = Wording.bytes(report.limit?.byteCount ?? 0)
            lines.append("Still \(Wording.bytes(report.excess)) over the limit of \(limit):")
            lines.append("  " + text(of: obstacle, report, arguments))
        } else if let failure = report.shrinkFailure {
            lines.append("The database file could not be shrunk: \(failure)")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(
        of obstacle: CollectionReport.Obstacle, _ report: CollectionReport, _ arguments: Arguments
    ) -> String {
        switch obstacle {
        case .pins:
            let urls = Wording.count(report.pinnedURLs, "URL")
            return "pins keep \(urls), \(Wording.bytes(report.pinnedByteCount)); to see them: "
                + arguments.command("pins")
        case .empty:
            return "nothing is stored any more; the empty database takes this space"
        case .live:
            return "everything left is live; to remove the least recently served pages: "
                + arguments.command(
                    "gc", ["--max-size", "\(report.limit?.byteCount ?? 0)", "--allow-incomplete"])
        case .disk:
            return "the database file could not be shrunk: \(report.shrinkFailure ?? "")"
        case .again:
            return "not all space could be freed; run this again when no other program reads the store"
        }
    }
}

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
                    repair: arguments.has(.repair),
                    progress: watch.progress("Verifying bodies"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isSound ? .done : .incomplete
        }
    }

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
        for damage in report.damaged.prefix(mostShown) {
            lines.append("damaged \(damage.sha256): \(damage.fault)")
            lines += damage.addresses.prefix(mostAddresses).map { "  \($0)" }
            let more = damage.addresses.count - mostAddresses
            if more > 0 { lines.append("  and \(Wording.count(more, "more URL"))") }
        }
        if report.damaged.count > mostShown {
            lines.append(
                "and \(Wording.number(report.damaged.count - mostShown)) more damaged (list: --json)")
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
