internal import LarderKit

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
            lines += text(of: row, seen: report.rows[..<place], shownAt: row.isShown ? report.shownAt : nil, listsLinks)
        }
        if !report.linkedFrom.isEmpty {
            lines.append("linked from \(Quantities.count(report.linkedFrom.count, "URL"))")
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
        let body = row.body.map { "\(row.type ?? "no type"), \(Quantities.bytes($0.byteCount))" } ?? "no body"
        var lines = [
            "visit \(row.visit) of \(row.site)\(row.isShown ? ", shown" : "")",
            "  \(row.status), \(body), \(role), fetched \(row.fetchDate)",
        ]
        func say(_ name: String, _ value: String?) {
            if let value { lines.append("  \(name.padded(14))\(value)") }
        }
        say("shown at", shownAt)
        say("asked for by", row.referrer)
        say("request", row.request)
        say("given to", row.variant?.replacing("\n", with: "; "))
        if row.isInvalidated { say("state", "to be asked about before it is used again") }
        if row.isPart { say("state", "only a part is held") }
        if row.isPrivate { say("state", "private: fetched with credentials") }
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
        say("read as", body.form.replacing(";", with: ", "))
        say("SHA-256", body.sha256)
        say("MD5", body.md5)
        say("damaged", body.fault)
        say("kept in", body.place)
    }

    private static func text(of links: HoldingReport.Links, _ listsLinks: Bool) -> [String] {
        guard !links.isEmpty else { return [] }
        var counts = [
            Quantities.count(links.pages.count, "page"), Quantities.count(links.requisites.count, "requisite"),
        ]
        if !links.guesses.isEmpty { counts.append(Quantities.count(links.guesses.count, "guess", plural: "guesses")) }
        var lines = ["  \("links to".padded(14))\(counts.joined(separator: ", "))"]
        guard listsLinks else { return lines }
        for (role, targets) in [("page", links.pages), ("requisite", links.requisites), ("guess", links.guesses)] {
            lines += targets.map { "    \(role.padded(12))\($0)" }
        }
        return lines
    }
}

extension HoldingReport.Links {
    fileprivate var isEmpty: Bool { pages.isEmpty && requisites.isEmpty && guesses.isEmpty }
}
