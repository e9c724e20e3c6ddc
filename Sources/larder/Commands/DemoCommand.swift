internal import Glibc
internal import LarderKit

/// `larder demo`: a site comes up, is prefetched, goes away, and is still there.
enum DemoCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            return try await Signals.shared.cancelling { try await show(UInt16(port), arguments, terminal) }
        }
    }

    /// Leaves nothing behind, however it ends.
    private static func show(_ port: UInt16, _ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let larder = Larder(at: folder.path + "/larder")

        let (origin, report) = try await stock(larder, terminal)
        guard !report.isInterrupted else { return .interrupted }
        terminal.say(
            "2. Prefetched: \(Quantities.count(report.pages, "page")), "
                + "\(Quantities.count(report.requisites, "requisite")), "
                + "\(Quantities.bytes(report.wireByteCount)) in \(Quantities.time(report.elapsed))")
        terminal.say("3. The site is down again")

        let check = try await checkBundle(larder, origin: origin, folder)
        for item in check.items { terminal.say("4. Bundle \(item.url): \(item.verdict.rawValue)") }

        let service = try larder.serve(port: port)
        defer { service.stop() }
        let address = service.address(of: origin + "/") ?? service.address
        let page = try await service.visit(origin + "/")
        terminal.say("5. The larder shows it all the same: \(address) (\(Quantities.bytes(page.count)))")
        if !arguments.has(.once) {
            let stop = Signals.shared.first()
            terminal.say("   Everything it holds: \(service.address) (Ctrl-C stops)")
            await stop.arrival()
        }
        return report.isComplete && check.isClean ? .done : .incomplete
    }

    /// The site is up for as long as the prefetch takes.
    private static func stock(
        _ larder: Larder, _ terminal: Terminal
    ) async throws -> (origin: String, report: PrefetchReport) {
        let site = try FileService { path in
            DemoSite.file(at: path).map { (type: $0.type, body: $0.body) }
        }
        defer { site.stop() }
        terminal.say("1. A small site is up at \(site.origin)/")
        return (site.origin, try await larder.prefetch([site.origin + "/"]))
    }

    private static func checkBundle(
        _ larder: Larder, origin: String, _ folder: TemporaryFolder
    ) async throws -> CheckReport {
        let manifest = try folder.write(DemoSite.manifest, to: "demo.json")
        var options = CheckOptions()
        options.places = [.held]
        options.bases = [origin]
        return try await larder.check(manifest, options: options)
    }
}
