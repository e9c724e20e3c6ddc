internal import LarderKit
internal import System

/// `larder serve`
enum ServeCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            let memory = try arguments.size(.memory)?.byteCount ?? 64 << 20
            let larder = try arguments.larder
            let service = try larder.serve(
                port: UInt16(port), memoryLimit: Int(clamping: memory), options: options(arguments))
            let mark = ServerMark(port: UInt16(service.port))
            let stop = Signals.shared.first()
            terminal.say("The larder is at \(service.address) (Ctrl-C stops)")
            if service.isExposed { terminal.say(exposure(of: service)) }
            let preloading = try preloading(arguments, larder, terminal)
            await stop.requested()
            preloading?.cancel()
            await preloading?.value
            withExtendedLifetime(mark) { service.stop() }
            return .done
        }
    }

    private static func options(_ arguments: Arguments) throws(UsageError) -> ServeOptions {
        var options = ServeOptions()
        options.root = arguments.text(.atRoot)
        options.address = arguments.text(.listen)
        options.policy = arguments.text(.policy) ?? options.policy
        options.rules = arguments.texts(.rule)
        options.patience = try arguments.time(.patience) ?? options.patience
        options.verification = arguments.text(.verify) ?? options.verification
        options.sizeLimit = try arguments.size(.maxSize)?.byteCount
        options.hasShim = !arguments.has(.noShim)
        options.allowsNetwork = arguments.has(.allowNetwork)
        options.showsPrivate = arguments.has(.showPrivate)
        options.network = try network(arguments)
        options.mayBeEmpty = arguments.has(.preloaded)
        return options
    }

    private static func network(_ arguments: Arguments) throws(UsageError) -> NetworkOptions {
        var network = try arguments.networkOptions()
        // A server's own is how long it waits with what it shows.
        network.timeout = nil
        return network
    }

    private static func exposure(of service: MirrorService) -> String {
        let places = service.reachable.map { "http://\($0):\(service.port)/" }.joined(separator: " and ")
        return "Everybody who reaches this machine can read what is held, without a password: at \(places)"
    }

    // MARK: - Preloading

    /// Asks the manifests now, at every SIGHUP, and as often as is wanted. What it brings in is shown by the server as soon as
    /// it is published.
    private static func preloading(
        _ arguments: Arguments, _ larder: Larder, _ terminal: Terminal
    ) throws(UsageError) -> Task<Void, Never>? {
        let manifests = arguments.texts(.preloaded)
        let interval = try arguments.time(.every)
        guard !manifests.isEmpty else {
            guard interval == nil else { throw UsageError("--every goes with --preload: name the manifest") }
            return nil
        }
        var options = PreloadOptions()
        options.base = arguments.text(.base)
        options.format = arguments.text(.format)
        options.hasRequisites = try arguments.choice(.requisites) ?? PreloadCommand.Requisites.all == .all
        options.network = try network(arguments)
        let wanted = options
        let (asked, ask) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        ask.yield()
        Signals.shared.onHangUp { ask.yield() }
        return Task {
            let clock = Task {
                while let interval, (try? await Task.sleep(for: interval)) != nil { ask.yield() }
            }
            for await _ in asked {
                for manifest in manifests where !Task.isCancelled {
                    await preload(manifest, wanted, larder, terminal)
                }
            }
            clock.cancel()
        }
    }

    private static func preload(
        _ manifest: String, _ options: PreloadOptions, _ larder: Larder, _ terminal: Terminal
    ) async {
        do {
            let report = try await larder.preload(manifest, options: options)
            guard report.outcome != .interrupted else { return }
            terminal.say(PreloadCommand.summary(of: report))
            _ = PreloadCommand.status(of: report, isStrict: false, terminal)
        } catch {
            if !Task.isCancelled { terminal.fail("\(manifest): \(error); what is held is served as before") }
        }
    }
}
