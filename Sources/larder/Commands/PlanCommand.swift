internal import LarderKit
internal import Reports

/// `larder plan URL...`: fetches a sample of a site, and prints an estimate of pages, size and time. Stores
/// nothing.
///
/// Exit status 0: there is an estimate, however rough. 2: a wrong URL. 3: no page could be fetched. 130:
/// interrupted, with an estimate from the pages fetched so far.
enum PlanCommand {
    /// The maximum number of URL patterns with a line. The others are counted.
    private static let maxListedPatterns = 10

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let options = try arguments.prefetchOptions()
            let maxRequests = try arguments.number(.sample, in: 1...10_000)
            // A plan stores nothing, so it needs no store.
            let larder = Larder(at: "/")
            let display = try ProgressDisplay(arguments, terminal)
            let report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.plan(
                    arguments.operands, options: options, maxRequests: maxRequests,
                    progress: display.progress("Fetching a sample"))
            }
            let hasPages = !report.groups.isEmpty
            if arguments.has(.json) {
                terminal.report(report.json)
            } else if hasPages {
                terminal.report(text(of: report, arguments))
            }
            guard !report.isInterrupted else { return .interrupted }
            guard hasPages else {
                let reason = report.failureReason.map { ": \($0)" } ?? ""
                terminal.fail(
                    "no page of \(report.site) could be fetched\(reason); "
                        + PrefetchSummary.advice(
                            afterStatus: report.errorStatus, isOfTLS: report.isOfTLS,
                            login: options.network.login))
                return .unable
            }
            return .done
        }
    }

    /// The report as text: the estimate and its basis, the patterns with the most pages, and the command that
    /// prefetches the site with the same options.
    private static func text(of report: PlanReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site): \(count(report.pages)) \(pages(report.pages)), \(bytes(report.byteCount)) with their assets, "
                + "\(time(report.seconds)); \(report.confidence) confidence"
        ]
        lines.append(
            "  estimated from \(Wording.count(report.requests, "request")), \(Wording.bytes(report.fetchedByteCount)) downloaded"
        )
        for reason in report.reasons { lines.append("  \(reason)") }
        if let larger = report.largerSample {
            let again = arguments.commandLine(changing: ["--sample": "\(larger)"])
            lines.append("  for a narrower range: \(again)")
        }
        // Links without a page behind them can have a pattern of their own.
        let groups = report.groups.filter { $0.pages.high != 0 }
        let shown = groups.prefix(maxListedPatterns)
        let width = shown.map { count($0.pages).utf8.count }.max() ?? 0
        for group in shown {
            lines.append(
                "  \(count(group.pages).padded(width, left: true)) \(pages(group.pages)), \(bytes(group.byteCount)): \(group.pattern)"
            )
        }
        if groups.count > maxListedPatterns {
            lines.append("  and \(groups.count - maxListedPatterns) more patterns (--json lists all)")
        }
        for trap in report.traps { lines.append("  looks like \(trap)") }
        if report.refusedByRobots > 0 {
            lines.append(
                "  \(Wording.count(report.refusedByRobots, "page")) disallowed by robots.txt, not counted")
        }
        if let delay = report.crawlDelay { lines.append("  robots.txt requires \(delay) s between requests") }
        if report.pages.high == nil {
            lines.append(
                "  no upper limit found; limit the prefetch with --depth, --max-pages, --exclude or --scope path"
            )
        }
        lines.append(
            report.hasLoginPage
                ? "To plan the pages behind the login: \(PrefetchSummary.loginAdvice), then the same command again"
                : "To prefetch it: \(arguments.commandLine(of: "prefetch"))")
        return lines.joined(separator: "\n")
    }

    /// An estimate as text: `120`, `100 to 140`, or `100 or more` without an upper bound.
    private static func range(_ bounds: PlanEstimate.Bounds, _ text: (Int) -> String) -> String {
        guard let high = bounds.high else { return "\(text(bounds.low)) or more" }
        guard bounds.low < high else { return text(high) }
        let (least, most) = (text(rounded(bounds.low, up: false)), text(rounded(high, up: true)))
        return least == most ? least : "\(least) to \(most)"
    }

    /// The number with two significant digits, since the ends of a range are estimates.
    private static func rounded(_ number: Int, up: Bool) -> Int {
        var unit = 1
        while number / unit >= 100 { unit *= 10 }
        return (number + (up ? unit - 1 : 0)) / unit * unit
    }

    private static func pages(_ bounds: PlanEstimate.Bounds) -> String {
        bounds.low == 1 && bounds.high == 1 ? "page" : "pages"
    }

    private static func count(_ bounds: PlanEstimate.Bounds) -> String { range(bounds, Wording.number) }

    private static func bytes(_ bounds: PlanEstimate.Bounds) -> String { range(bounds) { Wording.bytes($0) } }

    /// Short times are not given as a range, because rendering pages in a browser takes some seconds more.
    private static func time(_ bounds: PlanEstimate.Bounds) -> String {
        if let high = bounds.high, high <= maxShortSeconds { return "about a minute or less" }
        return "about " + range(bounds) { Wording.time(.seconds($0)) }
    }

    /// The maximum duration in seconds that counts as short.
    private static let maxShortSeconds = 60
}

/// `larder explain URL`: prints for each site whether the URL would be fetched as a page and as an asset,
/// and why. Makes no network requests.
///
/// Exit status 0, whatever the answer is. 2: an invalid URL. 3: the store cannot be read.
enum ExplainCommand {
    /// The maximum number of URLs that link to the URL. The others are counted.
    private static let maxListedLinks = 10

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.explain(arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return .done
        }
    }

    /// The report as text: for each site, the decision and its reason, then the chain of pages from the start to
    /// the URL, and the URLs that link to it.
    private static func text(of report: ExplainReport, _ arguments: Arguments) -> String {
        var lines = [report.url]
        lines.append(report.storedStatus.map { "  stored, with status \($0)" } ?? "  not stored")
        // Many sites have the same rules.
        var decisions: [(sites: [String], lines: [String])] = []
        for site in report.sites {
            var decision = ["    as a page: \(site.asPage)\(Remedy.hint(site.remedy))"]
            if site.isPageFollowed, let robots = site.robots { decision.append("    robots.txt: \(robots)") }
            decision.append("    as an asset: \(site.asAsset)")
            if let place = decisions.firstIndex(where: { $0.lines == decision }) {
                decisions[place].sites.append(site.name)
            } else {
                decisions.append(([site.name], decision))
            }
        }
        for decision in decisions { lines += decision.sites.map { "  in \($0)" } + decision.lines }
        if report.sites.isEmpty {
            lines.append(
                "  no site is stored; to see what a prefetch would fetch: \(arguments.command("plan"))")
        }
        if !report.chain.isEmpty { lines.append("  found through") }
        for (depth, href) in report.chain.enumerated() {
            lines.append("    " + String(repeating: "  ", count: min(depth, 8)) + href)
        }
        if !report.linkedFrom.isEmpty {
            lines.append(
                "  linked from \(Wording.count(report.linkedFrom.count, "URL"))")
            lines += report.linkedFrom.prefix(maxListedLinks).map { "    \($0)" }
            if report.linkedFrom.count > maxListedLinks {
                lines.append(
                    "    and \(Wording.number(report.linkedFrom.count - maxListedLinks)) more (--json lists all)"
                )
            }
        }
        return lines.joined(separator: "\n")
    }
}
