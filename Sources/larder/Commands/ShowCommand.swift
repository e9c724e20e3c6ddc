internal import LarderKit
internal import Reports

/// `larder show URL`
enum ShowCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.show(arguments.operands[0])
            terminal.say(arguments.has(.json) ? report.json : HoldingText.text(of: report, arguments))
            return report.isHeld ? .done : .incomplete
        }
    }
}

/// All that is known of an URL, for people.
enum HoldingText {
    static func text(of report: HoldingReport, _ arguments: Arguments) -> String {
        var lines: [String] = []
        if let absence = report.absence {
            lines.append(AbsenceText.text(of: report.url, absence, arguments))
        } else {
            lines.append(report.url)
        }
        let listsLinks = arguments.has(.links)
        for (place, row) in report.rows.enumerated() {
            lines += text(
                of: row, seen: report.rows[..<place], shownAt: row.isShown ? report.shownAt : nil, listsLinks)
        }
        if !report.linkedFrom.isEmpty {
            lines.append("linked from \(Wording.count(report.linkedFrom.count, "URL"))")
            if listsLinks { lines += report.linkedFrom.map { "  \($0)" } }
        }
        let hasLinks = !report.linkedFrom.isEmpty || report.rows.contains { $0.links?.isEmpty == false }
        if hasLinks, !listsLinks {
            lines.append("to list the links: \(arguments.command("show", [report.url, "--links"]))")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(
        of row: HoldingReport.Row, seen: ArraySlice<HoldingReport.Row>, shownAt: String?, _ listsLinks: Bool
    ) -> [String] {
        let role = row.isRequisite ? "requisite" : "page"
        let body = row.body.map { "\(row.type ?? "no type"), \(Wording.bytes($0.byteCount))" } ?? "no body"
        var lines = [
            "visit \(row.visit) of \(row.site)\(row.isShown ? ", shown" : "")",
            "  \(row.status), \(body), \(role), fetched \(row.fetchDate)",
        ]
        func say(_ name: String, _ value: String?) {
            if let value { lines.append("  \(name.padded(14))\(value)") }
        }
        say("shown at", shownAt)
        say("confirmed", row.confirmed.map { "in visit \($0)" })
        if row.provenance != .fetched { say("provenance", row.provenanceText) }
        say("asked for by", row.referrer)
        say("request", row.request)
        say("given to", row.variant?.replacing("\n", with: "; "))
        for state in row.states { say("state", state) }
        // The same body in another visit has the same to say.
        if let twin = row.body.flatMap({ body in seen.first { $0.body == body && $0.links == row.links } }) {
            say("body", "the same as in visit \(twin.visit)")
        } else {
            if let body = row.body { describe(body, say) }
            if let links = row.links { lines += text(of: links, listsLinks) }
        }
        for (place, header) in row.headers.enumerated() {
            lines.append("  \((place == 0 ? "headers" : "").padded(14))\(header.name): \(header.value)")
        }
        return lines
    }

    private static func describe(_ body: HoldingReport.Body, _ say: (String, String?) -> Void) {
        say("title", body.title)
        say("read as", body.readAs)
        say("SHA-256", body.sha256)
        say("MD5", body.md5)
        say("damaged", body.fault)
        say("kept in", body.place)
    }

    private static func text(of links: HoldingReport.Links, _ listsLinks: Bool) -> [String] {
        guard !links.isEmpty else { return [] }
        var counts = [
            Wording.count(links.pages.count, "page"), Wording.count(links.requisites.count, "requisite"),
        ]
        if !links.guesses.isEmpty {
            counts.append(Wording.count(links.guesses.count, "guess", plural: "guesses"))
        }
        var lines = ["  \("links to".padded(14))\(counts.joined(separator: ", "))"]
        guard listsLinks else { return lines }
        for (role, targets) in [
            ("page", links.pages), ("requisite", links.requisites), ("guess", links.guesses),
        ] {
            lines += targets.map { "    \(role.padded(12))\($0)" }
        }
        return lines
    }
}

extension HoldingReport.Links {
    fileprivate var isEmpty: Bool { pages.isEmpty && requisites.isEmpty && guesses.isEmpty }
}

/// What there is of an URL that is not held, for people.
enum AbsenceText {
    static func text(of url: String, _ absence: Absence, _ arguments: Arguments) -> String {
        var lines = ["\(url) is not held"]
        if let standIn = absence.standIn {
            lines.append("\(standIn.reason): \(arguments.command("show", [standIn.url]))")
        } else if absence.nearby.isEmpty {
            lines.append("nor is anything else of its host; to see what is: \(arguments.command("list"))")
        } else {
            lines.append("held nearby:")
            lines += absence.nearby.map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder cat URL`
enum CatCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let visit = try arguments.numberIfGiven(.visit, in: 1...Int.max).map(Int64.init)
            let report = try await arguments.larder.read(arguments.operands[0], visit: visit) {
                terminal.put($0)
            }
            guard let refusal = refusal(report, visit, arguments) else { return .done }
            terminal.fail(refusal)
            return .incomplete
        }
    }

    /// Nil when there was something to print, and it was right.
    private static func refusal(_ report: BodyReport, _ visit: Int64?, _ arguments: Arguments) -> String? {
        let url = report.url
        switch report.outcome {
        case .whole, .cut:
            return nil
        case .damaged(let fault):
            let repair = arguments.command("fsck", ["--repair"])
            return "\(url) is damaged: \(fault); take it out of service with: \(repair)"
        case .redirect(let status, let target?):
            return "\(url) is a redirect (\(status)); what it leads to: \(arguments.command("cat", [target]))"
        case .redirect(let status, nil):
            return
                "\(url) is a redirect (\(status)) that leads nowhere; see: \(arguments.command("show", [url]))"
        case .empty(let status):
            return
                "\(url) has no body: the server answered \(status); see: \(arguments.command("show", [url]))"
        case .notInVisit(let visits):
            let last = visits.last.map { "\($0)" } ?? ""
            return "visit \(visit ?? 0) does not show \(url); the last that has it: "
                + arguments.command("cat", [url, "--visit", last])
        case .notHeld(let absence):
            if let standIn = absence.standIn {
                return "\(url) is not held; \(standIn.reason): \(arguments.command("cat", [standIn.url]))"
            }
            return "\(url) is not held; see what is near it with: \(arguments.command("show", [url]))"
        }
    }
}
