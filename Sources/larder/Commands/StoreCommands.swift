internal import LarderKit
internal import Reports

/// `larder pin URL|PATTERN|SITE` and `larder unpin URL|PATTERN|SITE`
enum PinCommand {
    static func pin(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let name = arguments.operands[0]
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
                    : "The \(pin.kind.word) \(pin.value) is pinned no more: \(PinsCommand.cover(of: pin))"
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
                "To pin that page alone, with what it needs: \(arguments.command("unpin", ["--site", name]))")
            lines.append("  and then \(arguments.command("pin", ["--url", name]))")
        }
        if pin.kind == .pattern, pin.urls == 0, !pin.value.utf8.contains(UInt8(ascii: "/")) {
            let name = pin.value.drop { $0 == "*" }
            lines.append(
                "A pattern without a slash is held against hosts; for files write it like '/**\(name)'")
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

    static func cover(of pin: HeldPin) -> String {
        pin.urls == 0
            ? "nothing that is held now"
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
    /// What the operand is, when an option says so.
    fileprivate var pinKind: PinKind? {
        get throws(UsageError) {
            let given = [(Option.site, PinKind.site), (.url, .url), (.pattern, .pattern)].filter { has($0.0) }
            guard given.count <= 1 else {
                throw UsageError(
                    "only one of \(given.map(\.0.name).joined(separator: " and ")) can be: say which")
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
            let keepLast = try arguments.numberIfGiven(.keepLast, in: 1...1_000_000)
            let allowsIncomplete = arguments.has(.allowIncomplete)
            let larder = try arguments.larder
            if arguments.has(.dryRun) {
                let forecast = try await larder.forecastCollection(
                    limit: limit, keepLast: keepLast, allowsIncomplete: allowsIncomplete)
                terminal.report(arguments.has(.json) ? forecast.json : text(of: forecast, arguments))
                return forecast.report.isWithinLimit ? .done : .incomplete
            }
            let watch = try Watch(arguments, terminal)
            let report = try await watch.during(again: arguments.again, isStoppable: false) {
                try await larder.collect(
                    limit: limit, keepLast: keepLast, allowsIncomplete: allowsIncomplete,
                    progress: watch.progress("Removing what is not needed"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isWithinLimit && report.shrinkFailure == nil ? .done : .incomplete
        }
    }

    private static let mostEvicted = 20

    private static func text(of forecast: CollectionForecast, _ arguments: Arguments) -> String {
        let report = forecast.report
        var lines = forecast.visits.map { "visit \($0.number) of \($0.site)" } + forecast.urls
        if lines.isEmpty { lines.append("nothing that is shown, or kept for a roll-back, would go") }
        lines.append(
            "\(Wording.bytes(report.byteCountBefore)) now, about \(Wording.bytes(report.byteCountAfter)) then: "
                + taken(report, isDone: false))
        if let obstacle = report.obstacle, !report.isWithinLimit {
            lines.append("It would still be over the limit: \(text(of: obstacle, report, arguments))")
        }
        var options = report.limit.map { ["--max-size", "\($0.byteCount)"] } ?? []
        if let keepLast = arguments.text(.keepLast) { options += ["--keep-last", keepLast] }
        if arguments.has(.allowIncomplete) { options.append("--allow-incomplete") }
        lines.append("Nothing was taken; to take it: \(arguments.command("gc", options))")
        return lines.joined(separator: "\n")
    }

    private static func taken(_ report: CollectionReport, isDone: Bool) -> String {
        let gone = [
            report.droppedVisits > 0 ? "\(Wording.count(report.droppedVisits, "visit")) dropped" : nil,
            report.removedOverlayURLs > 0
                ? "\(Wording.count(report.removedOverlayURLs, "URL")) loaded while serving removed" : nil,
            report.evictedURLs > 0 ? "\(Wording.count(report.evictedURLs, "URL")) evicted" : nil,
            report.removedBodies > 0
                ? "\(Wording.count(report.removedBodies, "body", plural: "bodies")) removed" : nil,
        ].compactMap { $0 }
        guard gone.isEmpty else { return gone.joined(separator: ", ") }
        let nothing = isDone ? "nothing had to go" : "nothing has to go"
        guard report.byteCountAfter < report.byteCountBefore,
            Wording.bytes(report.byteCountAfter) != Wording.bytes(report.byteCountBefore)
        else { return nothing }
        return "\(nothing), only room that nothing \(isDone ? "used was" : "uses would be") given back"
    }

    private static func text(of report: CollectionReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(Wording.bytes(report.byteCountBefore)) before, \(Wording.bytes(report.byteCountAfter)) now: "
                + taken(report, isDone: true)
        ]
        if report.evictedURLs > 0 {
            lines.append(
                "Evicted, and missing until they are fetched again (\(arguments.command("update"))):")
            lines += report.evicted.prefix(mostEvicted).map { "  \($0)" }
            if report.evictedURLs > mostEvicted {
                let more = Wording.grouped(report.evictedURLs - mostEvicted)
                lines.append("  and \(more) more (--json lists them)")
            }
        }
        if let obstacle = report.obstacle, !report.isWithinLimit {
            let limit = Wording.bytes(report.limit?.byteCount ?? 0)
            lines.append("Still \(Wording.bytes(report.excess)) over the limit of \(limit):")
            lines.append("  " + text(of: obstacle, report, arguments))
        } else if let failure = report.shrinkFailure {
            lines.append("The database file could not be made smaller: \(failure)")
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
            return "nothing is held any more; the empty database takes that"
        case .live:
            return "what is left is served now; to evict the pages that were not used for longest: "
                + arguments.command(
                    "gc", ["--max-size", "\(report.limit?.byteCount ?? 0)", "--allow-incomplete"])
        case .disk:
            return "the database file could not be made smaller: \(report.shrinkFailure ?? "")"
        case .again:
            return "what could go has gone; run this again when no other program reads the larder"
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
                    progress: watch.progress("Comparing bodies with their digests"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return report.isSound ? .done : .incomplete
        }
    }

    private static func text(of report: InspectionReport, _ arguments: Arguments) -> String {
        var lines: [String] = []
        for damage in report.damaged.prefix(mostShown) {
            lines.append("damaged \(damage.sha256): \(damage.fault)")
            lines += damage.addresses.prefix(mostAddresses).map { "  \($0)" }
            let more = damage.addresses.count - mostAddresses
            if more > 0 { lines.append("  and \(Wording.count(more, "address", plural: "addresses")) more") }
        }
        if report.damaged.count > mostShown {
            lines.append(
                "and \(Wording.grouped(report.damaged.count - mostShown)) more damaged (--json lists them)")
        }
        lines += report.databaseFaults.map { "database: \($0)" }
        lines += report.journalFaults.map { "journal: \($0)" }
        if !report.damagedLinkTables.isEmpty {
            let count = Wording.count(report.damagedLinkTables.count, "page")
            lines.append("link table damaged: \(count), such as \(report.damagedLinkTables[0])")
        }
        if let rebuilt = report.rebuilt {
            lines.append(
                "the database was made anew: \(Wording.count(rebuilt.addresses, "address", plural: "addresses")) are "
                    + "held again; the old one is in the folder quarantine")
            if rebuilt.lostBodies > 0 {
                let lost = Wording.count(rebuilt.lostBodies, "body", plural: "bodies")
                lines.append("\(lost) could not be had again; to fetch them: \(arguments.command("update"))")
            }
        }
        let checked = Wording.count(report.bodiesChecked, "body", plural: "bodies")
        let bytes = Wording.bytes(report.bytesChecked)
        let damaged = report.damaged.isEmpty ? "all as they were fetched" : "\(report.damaged.count) damaged"
        lines.append("\(checked), \(bytes): \(damaged)")
        if !report.isIndexSound {
            lines.append(
                "the index of words is damaged\(report.isRepaired ? " and was removed" : ""); to make it anew: "
                    + arguments.command("index"))
        }
        if report.orphanBodies > 0 || !report.orphanFiles.isEmpty {
            let orphans = report.orphanBodies + report.orphanFiles.count
            lines.append(
                "\(orphans) left over, which nothing refers to" + (report.isRepaired ? ": removed" : ""))
        }
        if report.isRepaired, !report.damaged.isEmpty {
            lines.append(
                "What was damaged is out of service; to have it again: \(arguments.command("update"))")
        } else if !report.damaged.isEmpty {
            lines.append("To take it out of service: \(arguments.command("fsck", ["--repair"]))")
        } else if !report.isRepaired, !report.isSound {
            lines.append("To repair it: \(arguments.command("fsck", ["--repair"]))")
        }
        return lines.joined(separator: "\n")
    }
}
