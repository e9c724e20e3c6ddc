internal import LarderKit
internal import Reports

/// `larder show URL`: prints everything that is stored for a URL: a block for each snapshot, with headers,
/// digests and links.
///
/// Exit status 0: stored. 1: not stored; similar URLs are printed. 2: an invalid URL. 3: the store cannot
/// be read.
enum ShowCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let usualPort = try arguments.portOfServe()
            let port = larder.server(preferring: usualPort)?.port ?? usualPort
            // The report has all snapshots.
            let url = try await larder.splitSnapshotName(arguments.operands[0]).site
            let report = try await larder.describe(url, servedOn: port)
            if arguments.has(.json) {
                terminal.reportJSON(report.json)
            } else {
                let portal = try await larder.address(of: nil, at: port)
                terminal.say(URLReportText.text(of: report, portal: portal, arguments))
            }
            return report.isStored ? .done : .incomplete
        }
    }
}

/// The report of `larder show` as text. Rows have a name of 14 columns, and are left out if there is no
/// value.
enum URLReportText {
    /// The report as text: the reason if the URL is not stored, else a block for each response, then the number
    /// of URLs that link to it.
    ///
    /// - Parameter portal: the URL of the portal, which redirects to earlier snapshots.
    static func text(of report: URLReport, portal: String, _ arguments: Arguments) -> String {
        var lines: [String] = []
        if let absence = report.absence {
            lines.append(AbsenceText.text(of: report.url, absence, arguments))
        } else {
            lines.append(report.url)
        }
        let listsLinks = arguments.has(.links)
        // The text and the screenshot that the page had when it was rendered are shown with the page.
        let isOfRendering = { (row: URLReport.Response) in ["shown", "pictured"].contains(row.request) }
        let rows = report.responses.filter { !isOfRendering($0) }
        for (place, row) in rows.enumerated() {
            lines += responseLines(
                of: row, isLive: report.isLive(row), seen: rows[..<place],
                servedAt: row.isServed
                    ? report.servedAt
                    : row.request == nil && !row.snapshot.isOverlay
                        ? "\(portal)@\(row.snapshot)/\(report.url)" : nil, listsLinks)
            let rendered = report.responses.filter {
                isOfRendering($0) && $0.snapshot == row.snapshot && $0.site == row.site && row.request == nil
            }
            if !rendered.isEmpty {
                let parts = rendered.map { $0.request == "shown" ? "its text" : "a screenshot" }.sorted()
                lines.append("  \("rendered".padded(14))\(parts.joined(separator: " and ")) stored")
            }
        }
        if !report.linkedFrom.isEmpty {
            lines.append("linked from \(Wording.count(report.linkedFrom.count, "URL"))")
            if listsLinks { lines += report.linkedFrom.map { "  \($0)" } }
        }
        let hasLinks = !report.linkedFrom.isEmpty || report.responses.contains { $0.links?.isEmpty == false }
        if hasLinks, !listsLinks {
            lines.append("to list the links: \(arguments.command("show", [report.url, "--links"]))")
        }
        return lines.joined(separator: "\n")
    }

    /// The lines about one stored response.
    ///
    /// - Parameter seen: the responses above it, whose details are not repeated.
    private static func responseLines(
        of row: URLReport.Response, isLive: Bool, seen: ArraySlice<URLReport.Response>, servedAt: String?,
        _ listsLinks: Bool
    ) -> [String] {
        let role = row.isAsset ? "asset" : "page"
        let body = row.body.map { "\(row.type ?? "no type"), \(Wording.bytes($0.byteCount))" } ?? "no body"
        var lines = [
            "snapshot \(row.snapshot) of \(row.site)"
                + (isLive ? ", live" : row.isServed ? ", unfinished, but served" : ""),
            "  \(row.status), \(body), \(role), fetched \(LocalTime.minute(row.fetched))"
                + (row.checked.map { ", checked \(LocalTime.minute($0))" } ?? ""),
        ]
        func addRow(_ name: String, _ value: String?) {
            if let value { lines.append("  \(name.padded(14))\(value)") }
        }
        addRow("served at", servedAt)
        addRow("confirmed", row.confirmed.map { "in snapshot \($0)" })
        if row.provenance != .fetched { addRow("provenance", row.provenanceDescription) }
        addRow("requested by", row.referrer)
        addRow("request", row.request)
        addRow("variant for", row.variant?.replacing("\n", with: "; "))
        for state in row.states { addRow("state", state) }
        // The details of a body that several snapshots share are shown once.
        if let twin = row.body.flatMap({ body in seen.first { $0.body == body && $0.links == row.links } }) {
            addRow("body", "the same as in snapshot \(twin.snapshot)")
        } else {
            if let body = row.body { addRows(of: body, addRow) }
            if let links = row.links { lines += linkLines(of: links, listsLinks) }
        }
        for (place, header) in row.headers.enumerated() {
            lines.append("  \((place == 0 ? "headers" : "").padded(14))\(header.name): \(header.value)")
        }
        return lines
    }

    /// Adds the rows about a body.
    private static func addRows(of body: URLReport.Body, _ addRow: (String, String?) -> Void) {
        addRow("title", body.title)
        addRow("parsed as", body.formDescription)
        addRow("SHA-256", body.sha256)
        addRow("MD5", body.md5)
        addRow("damaged", body.fault)
        addRow("stored in", body.place)
    }

    /// The counts of links, and with `listsLinks` the URLs.
    private static func linkLines(of links: URLReport.Links, _ listsLinks: Bool) -> [String] {
        guard !links.isEmpty else { return [] }
        var counts = [
            Wording.count(links.pages.count, "page"), Wording.count(links.assets.count, "asset"),
        ]
        if !links.guesses.isEmpty {
            counts.append(Wording.count(links.guesses.count, "guess", plural: "guesses"))
        }
        var lines = ["  \("links to".padded(14))\(counts.joined(separator: ", "))"]
        guard listsLinks else { return lines }
        for (role, targets) in [
            ("page", links.pages), ("asset", links.assets), ("guess", links.guesses),
        ] {
            lines += targets.map { "    \(role.padded(12))\($0)" }
        }
        return lines
    }
}

extension URLReport.Links {
    fileprivate var isEmpty: Bool { pages.isEmpty && assets.isEmpty && guesses.isEmpty }
}

/// The text about a URL that is not stored.
enum AbsenceText {
    /// The text of the reason why a URL is not stored, with a URL that can be shown instead, or URLs nearby.
    static func text(of url: String, _ absence: Absence, _ arguments: Arguments) -> String {
        var lines = ["\(url) is not stored" + (absence.failure.map { ": \($0)" } ?? "")]
        if let substitute = absence.substitute {
            lines.append("\(substitute.reason): \(arguments.command("show", [substitute.url]))")
        } else if absence.nearby.isEmpty {
            lines.append(
                "nothing of its host is stored; to list all stored URLs: \(arguments.command("list"))")
        } else {
            lines.append("stored nearby:")
            lines += absence.nearby.map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder cat URL`: writes the stored body to standard output, byte for byte.
///
/// Exit status 0: written. 1: there is no body to write; one line on standard error says why and names the
/// next command. 2: an invalid URL or snapshot. 3: the store cannot be read, or the output cannot be
/// written.
enum CatCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let parts = try await larder.splitSnapshotName(arguments.operands[0])
            let option = try await arguments.snapshotOption(larder, target: parts.site)
            let snapshot = option.map(\.name) ?? parts.snapshot
            let site = option?.site ?? parts.owner
            let report = try await larder.read(parts.site, snapshot: snapshot, of: site) {
                terminal.writePart($0)
            }
            guard let failure = failureText(report, snapshot, arguments) else { return .done }
            terminal.fail(failure)
            return .incomplete
        }
    }

    /// The error if the body could not be printed; nil if it was printed.
    private static func failureText(_ report: BodyReport, _ snapshot: SnapshotName?, _ arguments: Arguments)
        -> String?
    {
        let url = report.url
        switch report.outcome {
        case .complete, .stopped:
            return nil
        case .damaged(let fault):
            let repair = arguments.command("fsck", ["--repair"])
            return "\(url) is damaged: \(fault); take it out of service with: \(repair)"
        case .redirect(let status, let target?):
            return
                "\(url) is a redirect (\(status)); print its target with: \(arguments.command("cat", [target]))"
        case .redirect(let status, nil):
            return
                "\(url) is a redirect (\(status)) without a valid target; see: \(arguments.command("show", [url]))"
        case .empty(let status):
            return
                "\(url) has no body: the server answered \(status); see: \(arguments.command("show", [url]))"
        case .notInSnapshot(let snapshots):
            let last = snapshots.last.map { "\($0)" } ?? ""
            return
                "snapshot \(snapshot?.description ?? "") does not contain \(url); print it from the last one that does with: "
                + arguments.command("cat", [url, "--snapshot", last])
        case .notStored(let absence):
            if let substitute = absence.substitute {
                return
                    "\(url) is not stored; \(substitute.reason): \(arguments.command("cat", [substitute.url]))"
            }
            let reason = absence.failure.map { ": \($0)" } ?? ""
            return "\(url) is not stored\(reason); see similar URLs with: \(arguments.command("show", [url]))"
        }
    }
}
