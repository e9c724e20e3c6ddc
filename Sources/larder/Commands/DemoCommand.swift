internal import Glibc
internal import LarderKit

/// `larder demo`: a site comes up, is prefetched, goes away, and is still there.
enum DemoCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535, standard: 0)
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let larder = Larder(at: folder.path + "/larder")

            let site = try FileService { path in
                DemoSite.file(at: path).map { (type: $0.type, body: $0.body) }
            }
            terminal.say("1. A small site is up at \(site.origin)/")
            let origin = site.origin
            let stocked = await Task { try await larder.prefetch([origin + "/"]) }.result
            site.stop()
            let report = try stocked.get()
            terminal.say(
                "2. Prefetched: \(Quantities.count(report.pages, "page")), "
                    + "\(Quantities.count(report.requisites, "requisite")), "
                    + "\(Quantities.bytes(report.wireByteCount)) in \(Quantities.time(report.elapsed))")
            terminal.say("3. The site is down again")

            let check = try await checkBundle(larder, origin: origin, folder)
            for item in check.items { terminal.say("4. Bundle \(item.url): \(item.verdict.rawValue)") }

            let service = try larder.serve(port: UInt16(port))
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
    }

    private static func checkBundle(
        _ larder: Larder, origin: String, _ folder: TemporaryFolder
    ) async throws -> CheckReport {
        let manifest = try folder.write(DemoSite.manifest, to: "demo.json")
        var options = CheckOptions()
        options.place = .held
        options.base = origin
        return try await larder.check(manifest, options: options)
    }
}
