internal import Glibc
internal import LarderKit
internal import Reports
internal import Synchronization
internal import System

/// `larder demo`: a site comes up, is prefetched, goes away, and is still there.
enum DemoCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            return try await Signals.shared.cancelling {
                do {
                    if arguments.has(.siteOnly) { return try await showSite(UInt16(port), terminal) }
                    return try await show(UInt16(port), arguments, terminal)
                } catch  where Task.isCancelled {
                    return .interrupted
                }
            }
        }
    }

    /// For whoever wants to try the commands on a site that is there.
    private static func showSite(_ port: UInt16, _ terminal: Terminal) async throws -> ExitStatus {
        let site = try FileService(port: port) { path in
            DemoSite.file(at: path, of: .first).map { (type: $0.type, body: $0.body) }
        }
        defer { site.stop() }
        let stop = Signals.shared.first()
        terminal.say("The site is up at \(site.origin)/ (Ctrl-C stops)")
        await stop.requested()
        return .done
    }

    /// Leaves nothing behind, however it ends.
    private static func show(_ port: UInt16, _ arguments: Arguments, _ terminal: Terminal) async throws
        -> ExitStatus
    {
        let folder = try Folder.makeTemporary(named: "larder-demo")
        defer { Folder.remove(folder) }
        let larder = Larder(at: folder + "/larder")

        let (origin, report) = try await stock(larder, terminal)
        guard !report.isInterrupted else { return .interrupted }
        terminal.say(
            "6. Prefetched: \(Wording.count(report.pages, "page")), "
                + "\(Wording.count(report.requisites, "requisite")), "
                + "\(Wording.bytes(report.wireByteCount)) in \(Wording.time(report.elapsed))")
        let last = try await larder.preload(origin + DemoSite.manifestPath)
        terminal.say(
            "7. The site is down again: the bundles of \(last.sinceDate ?? "before") are still there")

        let check = try await checkBundle(larder, origin: origin)
        // What was stopped on the way has nothing to say of the bundles.
        guard !Task.isCancelled else { return .interrupted }
        for item in check.items { terminal.say("8. Bundle \(item.url): \(item.verdict.rawValue)") }

        let service = try larder.serve(port: port)
        defer { service.stop() }
        let address = service.address(of: origin + "/") ?? service.address
        let page = try await service.visit(origin + "/")
        terminal.say("9. The larder shows it all the same: \(address) (\(Wording.bytes(page.count)))")
        if !arguments.has(.once) {
            let stop = Signals.shared.first()
            terminal.say("   Everything it holds: \(service.address) (Ctrl-C stops)")
            await stop.requested()
        }
        return report.isComplete && check.isClean && last.isServed ? .done : .incomplete
    }

    /// The site is up for as long as the preloads and the prefetch take.
    private static func stock(
        _ larder: Larder, _ terminal: Terminal
    ) async throws -> (origin: String, report: PrefetchReport) {
        let release = Mutex(DemoSite.Release.first)
        let site = try FileService { path in
            DemoSite.file(at: path, of: release.withLock { $0 }).map { (type: $0.type, body: $0.body) }
        }
        defer { site.stop() }
        terminal.say("1. A small site is up at \(site.origin)/")
        let steps: [(DemoSite.Release, String)] = [
            (.first, "2. Preloaded its bundles"), (.first, "3. And once more"),
            (.broken, "4. A new release is announced, and the server sends something else"),
            (.second, "5. Now it sends what it says"),
        ]
        for (next, text) in steps {
            release.withLock { $0 = next }
            let report = try await larder.preload(site.origin + DemoSite.manifestPath)
            terminal.say("\(text): \(outcome(of: report))")
        }
        return (site.origin, try await larder.prefetch([site.origin + "/"]))
    }

    private static func outcome(of report: PreloadReport) -> String {
        switch report.outcome {
        case .current: "nothing differs, nothing is fetched"
        case .changed: "\(report.fetched) fetched, verified, and served from now on"
        case .refused: "refused, and the last good set stays"
        case .unreachable: "not to be had, and the last good set stays"
        case .interrupted: "interrupted"
        }
    }

    private static func checkBundle(_ larder: Larder, origin: String) async throws -> CheckReport {
        var options = CheckOptions()
        options.places = [.held]
        return try await larder.check(origin + DemoSite.manifestPath, options: options)
    }
}
