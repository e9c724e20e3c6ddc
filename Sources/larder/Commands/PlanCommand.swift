internal import LarderKit
internal import Reports

/// `larder plan URL...`
enum PlanCommand {
    private static let mostShown = 20

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let options = try arguments.prefetchOptions()
            let mostPages = try arguments.number(.sample, in: 1...10_000)
            // Nothing is kept, so that no larder is needed.
            let larder = Larder(at: "/")
            let watch = try Watch(arguments, terminal)
            let report = try await watch.during(again: arguments.again) {
                try await larder.plan(
                    arguments.operands, options: options, mostPages: mostPages,
                    progress: watch.progress("Looking at some pages"))
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            guard !report.isInterrupted else { return .interrupted }
            guard !report.groups.isEmpty else {
                terminal.fail("no page of \(report.site) was to be had; check the address and the network")
                return .unable
            }
            return .done
        }
    }

    private static func text(of report: PlanReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site): \(count(report.pages)) \(pages(report.pages)), \(bytes(report.byteCount)) with what they need, "
                + "about \(time(report.seconds))"
        ]
        lines.append(
            "  judged by \(Wording.count(report.groups.reduce(0) { $0 + $1.sampled }, "page")), "
                + "\(Wording.count(report.requests, "request")), \(Wording.bytes(report.fetchedByteCount)) fetched"
        )
        let shown = report.groups.prefix(mostShown)
        let width = shown.map { count($0.pages).utf8.count }.max() ?? 0
        for group in shown {
            lines.append(
                "  \(count(group.pages).padded(width, left: true)) \(pages(group.pages)), \(bytes(group.byteCount)): \(group.pattern)"
            )
        }
        if report.groups.count > mostShown {
            lines.append("  and \(report.groups.count - mostShown) patterns more (--json lists them)")
        }
        for trap in report.traps { lines.append("  looks like \(trap)") }
        if report.refusedByRobots > 0 {
            lines.append(
                "  \(Wording.count(report.refusedByRobots, "page")) refused by robots.txt, and not counted")
        }
        if let delay = report.crawlDelay { lines.append("  robots.txt asks for \(delay) s between requests") }
        if report.isSampleTooSmall {
            lines.append(
                "  too many lists of pages were not looked at to say how many more: --sample 600 tells more")
        } else if report.pages.high == nil {
            lines.append("  no end in sight: limit it with --depth, --max-pages, --exclude or --scope path")
        }
        lines.append("To prefetch it: \(arguments.again(as: "prefetch"))")
        return lines.joined(separator: "\n")
    }

    private static func range(_ bounds: PlanEstimate.Bounds, _ text: (Int) -> String) -> String {
        guard let high = bounds.high else { return "\(text(bounds.low)) or more" }
        let (least, most) = (text(bounds.low), text(high))
        return least == most ? least : "\(least) to \(most)"
    }

    private static func pages(_ bounds: PlanEstimate.Bounds) -> String {
        bounds.low == 1 && bounds.high == 1 ? "page" : "pages"
    }

    private static func count(_ bounds: PlanEstimate.Bounds) -> String { range(bounds, Wording.grouped) }

    private static func bytes(_ bounds: PlanEstimate.Bounds) -> String { range(bounds) { Wording.bytes($0) } }

    private static func time(_ bounds: PlanEstimate.Bounds) -> String {
        range(bounds) { Wording.time(.seconds($0)) }
    }
}

/// `larder explain URL`
enum ExplainCommand {
    private static let mostShown = 10

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.explain(arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return .done
        }
    }

    private static func text(of report: ExplainReport, _ arguments: Arguments) -> String {
        var lines = [report.url]
        lines.append(report.heldStatus.map { "  held, with status \($0)" } ?? "  not held")
        for site in report.sites {
            lines.append("  in \(site.name)")
            lines.append("    as a page: \(site.asPage)\(Remedy.hint(site.remedy))")
            if site.isPageFollowed, let robots = site.robots { lines.append("    robots.txt: \(robots)") }
            lines.append("    as what a page needs: \(site.asRequisite)")
        }
        if report.sites.isEmpty {
            lines.append(
                "  the larder holds no site; what would be fetched is told by: \(arguments.command("plan"))")
        }
        if !report.chain.isEmpty { lines.append("  found by way of") }
        for (depth, href) in report.chain.enumerated() {
            lines.append("    " + String(repeating: "  ", count: min(depth, 8)) + href)
        }
        if !report.linkedFrom.isEmpty {
            lines.append(
                "  linked from \(Wording.count(report.linkedFrom.count, "address", plural: "addresses"))")
            lines += report.linkedFrom.prefix(mostShown).map { "    \($0)" }
            if report.linkedFrom.count > mostShown {
                lines.append(
                    "    and \(Wording.grouped(report.linkedFrom.count - mostShown)) more (--json lists them)"
                )
            }
        }
        return lines.joined(separator: "\n")
    }
}
