internal import LarderKit
internal import Reports

/// `larder visits [SITE]`
enum VisitsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.visits(of: arguments.operands.first)
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    static func text(of report: VisitsReport) -> String {
        guard !report.sites.isEmpty else { return "no site is held" }
        return report.sites.flatMap { site in
            [site.name] + site.visits.map { "  " + text(of: $0, in: site) }
        }.joined(separator: "\n")
    }

    private static func text(of visit: StatusReport.Visit, in site: StatusReport.Site) -> String {
        let responses = Wording.count(visit.responses, "response")
        let state =
            switch site.state(of: visit) {
            case .served: ", served"
            case .loaded(let base, let isServed):
                ", loaded by a server over visit \(base)\(isServed ? ", served" : "")"
            case .unfinished: ", not complete"
            case .heldBack: ", held back and never served"
            case .kept: ""
            }
        return "visit \(visit.number), \(visit.startDate): \(responses)\(state)"
    }
}

/// `larder rollback SITE [VISIT]`
enum RollbackCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let site = arguments.operands[0]
            let visit = try arguments.visit(1)
            let larder = try arguments.larder
            let served = try await larder.rollBack(site, to: visit)
            terminal.say(
                arguments.has(.json)
                    ? try await larder.visits(of: site).json : "\(site): visit \(served) is served now")
            return .done
        }
    }
}

extension Arguments {
    /// The number of a visit; nil when the operand is not given.
    func visit(_ place: Int) throws(UsageError) -> Int64? {
        guard operands.count > place else { return nil }
        guard let number = Int64(operands[place]), number > 0 else {
            throw UsageError(
                "\"\(operands[place])\" is no visit: visits are numbers; see: \(command("visits"))")
        }
        return number
    }
}

/// `larder diff SITE [A] [B]`
enum DiffCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (site, from, to) = (arguments.operands[0], try arguments.visit(1), try arguments.visit(2))
            if arguments.has(.pictures) {
                let report = try await arguments.larder.pictures(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            } else {
                let report = try await arguments.larder.difference(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
            }
            return .done
        }
    }

    private static func text(of report: PictureReport, _ arguments: Arguments) -> String {
        let visits = "\(report.site), visit \(report.from) to \(report.to)"
        guard !report.pages.isEmpty else {
            let prefetch = arguments.command(
                "prefetch", [report.site, "--render", "always", "--render-pictures"])
            return "\(visits): no picture of its pages was kept; a prefetch keeps them with: \(prefetch)"
        }
        var lines = report.differing.map { page in
            let word = page.state.rawValue
            return word + String(repeating: " ", count: max(1, 8 - word.utf8.count)) + page.url
        }
        let counts = PictureReport.State.allCases.map { ($0, report.count($0)) }.filter { $0.1 > 0 }.map {
            state, count in
            switch state {
            case .changed, .added, .gone: "\(count) \(state.rawValue)"
            case .same: "\(count) the same"
            case .kept: "\(count) not taken again"
            }
        }
        lines.append(
            "\(visits): \(Wording.count(report.pages.count, "picture")), \(counts.joined(separator: ", "))")
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
            "\(report.site), visit \(report.from) to \(report.to): "
                + (report.isEmpty
                    ? "no difference"
                    : "\(report.added.count) added, \(report.changed.count) changed, "
                        + "\(report.gone.count) gone, \(report.moved.count) moved"))
        return lines.joined(separator: "\n")
    }
}

/// `larder drop SITE VISIT...`
enum DropCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let visits = try arguments.operands.indices.dropFirst().compactMap { try arguments.visit($0) }
            let report = try await arguments.larder.drop(visits, of: arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, visits.count, arguments))
            return .done
        }
    }

    private static func text(of report: VisitsReport, _ count: Int, _ arguments: Arguments) -> String {
        """
        \(Wording.count(count, "visit")) dropped; to have the room back: \(arguments.command("gc"))
        \(VisitsCommand.text(of: report))
        """
    }
}

/// `larder remove SITE|URL|PATTERN`
enum RemoveCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let what =
                switch try await arguments.larder.remove(arguments.operands[0]) {
                case .site(let name): "\(name) is removed"
                case .urls(1): "\(arguments.operands[0]) is removed from all visits"
                case .urls(let count): "\(Wording.count(count, "URL")) are removed from all visits"
                }
            terminal.say("\(what). The room comes back with: \(arguments.command("gc"))")
            return .done
        }
    }
}
