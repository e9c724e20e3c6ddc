internal import Glibc
internal import LarderKit
internal import Reports
internal import Synchronization
internal import System

/// `larder demo`: starts a small built-in site, preloads and prefetches it, stops it, and serves it from
/// the store. Everything is in a temporary folder, and needs no network.
///
/// Prints a line for each step. `--site-only` serves the demo site itself instead. Exit status 0: every
/// step succeeded. 1: one did not. 3: the port or the disk failed. 130: interrupted before the server
/// started.
enum DemoCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            return try await Signals.shared.runCancellable {
                do {
                    if arguments.has(.siteOnly) { return try await serveSiteOnly(UInt16(port), terminal) }
                    return try await runDemo(UInt16(port), arguments, terminal)
                } catch  where Task.isCancelled {
                    return .interrupted
                }
            }
        }
    }

    /// Serves the demo site until Ctrl-C, for trying other commands on it.
    private static func serveSiteOnly(_ port: UInt16, _ terminal: Terminal) async throws -> ExitStatus {
        let site = try InMemorySite(port: port) { path in
            DemoSite.file(at: path, of: .first).map { (type: $0.type, body: $0.body) }
        }
        defer { site.stop() }
        let stop = Signals.shared.interruption()
        terminal.say("The demo site is at \(site.origin)/ (Ctrl-C stops)")
        await stop.waitForRequest()
        return .done
    }

    /// Runs the demo in a temporary folder, and removes it at the end, also after an error.
    private static func runDemo(_ port: UInt16, _ arguments: Arguments, _ terminal: Terminal) async throws
        -> ExitStatus
    {
        let folder = try Folder.makeTemporary(named: "larder-demo")
        defer { Folder.remove(folder) }
        let larder = Larder(at: folder + "/larder")

        let (origin, report) = try await fillStore(larder, terminal)
        guard !report.isInterrupted else { return .interrupted }
        terminal.say(
            "6. Prefetched the site: \(Wording.count(report.pages, "page")), "
                + "\(Wording.count(report.assets, "asset")), "
                + "\(Wording.bytes(report.wireByteCount)) in \(Wording.time(report.elapsed))")
        let last = try await larder.preload(origin + DemoSite.manifestPath)
        terminal.say(
            "7. Stopped the site: the bundles of \(last.since.map(LocalTime.minute) ?? "before") are still served"
        )

        let check = try await checkBundle(larder, origin: origin)
        // An interrupted check has no result.
        guard !Task.isCancelled else { return .interrupted }
        for item in check.items {
            terminal.say("8. Checked the bundle \(item.url): \(item.verdict.rawValue)")
        }

        let service = try larder.serve(port: port)
        defer { service.stop() }
        let address = service.address(of: origin + "/") ?? service.address
        let page = try await service.load(origin + "/")
        terminal.say("9. Served the page from the store: \(address) (\(Wording.bytes(page.count)))")
        if !arguments.has(.once) {
            let stop = Signals.shared.interruption()
            terminal.say("   Portal: \(service.address) (Ctrl-C stops)")
            await stop.waitForRequest()
        }
        return report.isComplete && check.isClean && last.isServed ? .done : .incomplete
    }

    /// Preloads four releases and prefetches the site, which runs only for that time. The second release is
    /// broken on purpose, to show that it does not replace the first.
    private static func fillStore(
        _ larder: Larder, _ terminal: Terminal
    ) async throws -> (origin: String, report: PrefetchReport) {
        let release = Mutex(DemoSite.Release.first)
        let site = try InMemorySite { path in
            DemoSite.file(at: path, of: release.withLock { $0 }).map { (type: $0.type, body: $0.body) }
        }
        defer { site.stop() }
        terminal.say("1. Started a small site at \(site.origin)/")
        let steps: [(DemoSite.Release, String)] = [
            (.first, "2. Preloaded its bundles"), (.first, "3. Preloaded them again"),
            (.broken, "4. Preloaded a new release that does not match its manifest"),
            (.second, "5. Preloaded the corrected release"),
        ]
        for (next, text) in steps {
            release.withLock { $0 = next }
            let report = try await larder.preload(site.origin + DemoSite.manifestPath)
            terminal.say("\(text): \(outcome(of: report))")
        }
        return (site.origin, try await larder.prefetch([site.origin + "/"]))
    }

    /// The result of a preload, as the end of a line about a step.
    private static func outcome(of report: PreloadReport) -> String {
        switch report.outcome {
        case .current: "nothing has changed, nothing fetched"
        case .changed: "\(report.fetched) fetched and verified, live now"
        case .refused: "refused, the last good set stays live"
        case .expired: "the manifest has expired, the last good set stays live"
        case .unreachable: "not reachable, the last good set stays live"
        case .interrupted: "interrupted"
        }
    }

    /// Compares the stored bundle with the stored manifest. The site has stopped, so this shows that the check
    /// needs no network.
    private static func checkBundle(_ larder: Larder, origin: String) async throws -> CheckReport {
        var options = CheckOptions()
        options.places = [.stored]
        return try await larder.check(origin + DemoSite.manifestPath, options: options)
    }
}
