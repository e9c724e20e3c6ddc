internal import Glibc
internal import LarderKit
internal import System

/// `larder serve`: serves the stored sites and the portal until a signal such as SIGTERM stops it. SIGHUP reloads
/// certificates and, with `--preload`, the manifests.
///
/// Prints the address, and warnings such as that other machines can read the sites. Without a named port,
/// the next free one is used; a named port that is in use is an error.
///
/// Exit status 0 after a signal. 2: contradicting options. 3: a server of this store already runs, or the
/// port or the store cannot be used.
enum ServeCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let wantedPort = UInt16(try arguments.number(.port, in: 0...65535))
            let memory = try arguments.size(.memory)?.byteCount ?? 128 << 20
            let larder = try arguments.larder
            var options = try ServeCommand.options(arguments)
            options.notice = { terminal.fail($0) }
            options.processMemoryLimit = memory > 0 ? Int(clamping: memory) : nil
            options.isListed = true
            options.indexesInBackground = !options.isReadOnly
            // Sites can be added in the portal.
            options.createsStore = !options.isReadOnly
            if arguments.has(.scheduled), arguments.has(.noSchedule) {
                throw UsageError("--scheduled and --no-schedule contradict each other; use one of them")
            }
            options.isScheduled =
                arguments.has(.scheduled) || !arguments.has(.noSchedule) && !options.isReadOnly
            options.updateCommand = ScheduleCommand.dueCommand(arguments)
            if let running = larder.servers().first(where: { $0.port == wantedPort || !arguments.namesPort })
            {
                terminal.fail(alreadyRunningText(running, arguments))
                if arguments.has(.openBrowser), let address = running.address {
                    OpenCommand.show(address, terminal)
                }
                return .unable
            }
            let port = try freePort(wantedPort, options.address, arguments)
            let service = try larder.serve(
                port: port, memoryLimit: Int(clamping: memory), options: options)
            let stop = Signals.shared.interruption()
            Signals.shared.onHangUp(endsWithTerminal: true) { service.reload() }
            terminal.say("The server is at \(service.address) (Ctrl-C stops)")
            if port != wantedPort {
                terminal.say(otherPortText(port, insteadOf: wantedPort))
            }
            if let port = service.proxyPort {
                terminal.say("The proxy is at http://localhost:\(port)")
            }
            if service.isExposed { terminal.say(exposureText(service)) }
            if arguments.has(.scheduled), !service.isScheduled {
                terminal.fail(
                    "the store cannot be written to, so this server updates no sites; check its permissions")
            }
            if (try? await larder.snapshots())?.sites.isEmpty == true {
                terminal.say(
                    "Nothing is stored in \(larder.shownPath) yet; add the first site in the portal at this address, or with: "
                        + arguments.command("prefetch", ["URL"]))
            }
            if let root = options.root, !options.policy.allowsNetwork,
                (try? await larder.hasContent(for: root, orItsOrigin: true)) == false
            {
                terminal.fail(
                    "\(root) is not stored yet, and is served as soon as it is; store it with: "
                        + arguments.command("prefetch", [root]))
            }
            if arguments.has(.openBrowser) { OpenCommand.show(service.address, terminal) }
            let preloading = try startPreloading(arguments, larder, terminal)
            await stop.waitForRequest()
            preloading?.cancel()
            await preloading?.value
            service.stop()
            return .done
        }
    }

    /// The message that a server of the store already runs.
    private static func alreadyRunningText(_ running: RunningServer, _ arguments: Arguments) -> String {
        let other =
            arguments.namesPort ? "" : "; to run another one, name its port with \(Option.port.name)"
        return
            "already serving this store at \(running.address ?? "port \(running.port)") (pid \(running.processID)); "
            + "\(OpenCommand.stopCommand(arguments)) ends it\(other)"
    }

    /// The port to listen on: the wanted one, or if it is in use and the user has not named it, the next free one.
    private static func freePort(
        _ wanted: UInt16, _ address: String?, _ arguments: Arguments
    ) throws -> UInt16 {
        guard wanted != 0, let free = Larder.freePort(from: wanted, on: address), free != wanted else {
            return wanted
        }
        guard arguments.namesPort else { return free }
        throw LarderError(
            .machine,
            "port \(wanted) \(portUse(wanted)); the next free port is \(free): "
                + arguments.commandLine(changing: [Option.port.name: "\(free)"]))
    }

    /// The line about a server that does not use the usual port.
    static func otherPortText(_ port: UInt16, insteadOf wanted: UInt16) -> String {
        "It uses port \(port), because port \(wanted) \(portUse(wanted)); name another with \(Option.port.name)"
    }

    /// Says what uses a port, as a predicate.
    private static func portUse(_ port: UInt16) -> String {
        let store = RunningServer.all().first { $0.port == port }?.store
        return store.map { "serves another store (\($0))" } ?? "is in use by another program"
    }

    /// The options of the server that `serve`, `proxy`, `record` and `replay` share.
    static func options(_ arguments: Arguments) throws(UsageError) -> ServeOptions {
        let preloads = !arguments.texts(.preloaded).isEmpty
        if !preloads, try arguments.time(.every) != nil {
            throw UsageError("--every needs --preload; name the manifest")
        }
        if !preloads, arguments.has(.allowRollback) {
            throw UsageError("\(Option.allowRollback.name) needs --preload; name the manifest")
        }
        if !preloads, arguments.source(of: .trust) == .commandLine {
            throw UsageError("\(Option.trust.name) needs --preload; name the manifest")
        }
        var options = ServeOptions()
        options.root = arguments.text(.atRoot)
        options.address = arguments.text(.listen)
        options.policy = try arguments.choice(.policy) ?? options.policy
        options.rules = arguments.texts(.rule)
        options.patience = try arguments.time(.patience) ?? options.patience
        options.verification = try arguments.choice(.verify) ?? options.verification
        options.sizeLimit = try arguments.size(.maxSize)?.byteCount
        options.hasShim = !arguments.has(.noShim)
        options.allowsNetwork = arguments.has(.allowNetwork)
        options.showsPrivate = arguments.has(.showPrivate)
        options.hasBar = !arguments.has(.noBar)
        options.security = try security(arguments)
        options.requiresStrongDigests = arguments.has(.strong)
        options.isReadOnly = arguments.has(.readOnly)
        options.network = try network(arguments)
        options.updates = try updates(arguments)
        if let port = try arguments.numberIfGiven(.proxyPort, in: 0...65_535) {
            options.proxy = try ProxyCommand.proxyOptions(arguments, port: UInt16(port))
        }
        return options
    }

    /// The certificates of `--tls`; nil for HTTP.
    private static func security(_ arguments: Arguments) throws(UsageError) -> ServeSecurity? {
        let key = arguments.text(.tlsKey)
        guard let certificate = arguments.text(.tls) else {
            guard key == nil else { throw UsageError("--tls-key needs --tls; name the certificate") }
            return nil
        }
        guard certificate == "own" else { return .files(certificate: certificate, key: key ?? certificate) }
        guard key == nil else { throw UsageError("--tls own creates its own key; leave out --tls-key") }
        return .own
    }

    /// The options of `--updates`; nil without it.
    private static func updates(_ arguments: Arguments) throws(UsageError) -> UpdateServing? {
        guard arguments.has(.updates) else {
            for option in [Option.updatesURL, .updatesSign] where arguments.text(option) != nil {
                throw UsageError("\(option.name) needs --updates; add it")
            }
            return nil
        }
        var updates = UpdateServing()
        updates.url = arguments.text(.updatesURL)
        updates.signingKey = arguments.text(.updatesSign)
        return updates
    }

    /// The options for connections to origins.
    private static func network(_ arguments: Arguments) throws(UsageError) -> NetworkOptions {
        var network = try arguments.networkOptions()
        // `--timeout` has another meaning for servers: see `ServeOptions.patience`.
        network.timeout = nil
        return network
    }

    /// The warning about what other machines can read or change.
    private static func exposureText(_ service: MirrorService) -> String {
        let addresses = service.reachableAddresses.map { "\(service.scheme)://\($0):\(service.port)/" }
            .joined(separator: " and ")
        guard service.servesOnlyPortal else {
            return
                "Anyone who can reach this machine can read the stored sites without a password: \(addresses)"
        }
        return "Anyone with the password can read and change the store: \(addresses)"
    }

    // MARK: - Preloading

    /// Starts a task that preloads the manifests of `--preload` now, at every SIGHUP, and at the interval
    /// of `--every`. Returns nil without manifests.
    ///
    /// Requests to preload go through a stream that keeps only the newest one, so that signals during a
    /// preload lead to one more, not to many. The server serves new bundles as soon as they are published.
    private static func startPreloading(
        _ arguments: Arguments, _ larder: Larder, _ terminal: Terminal
    ) throws(UsageError) -> Task<Void, Never>? {
        let manifests = arguments.texts(.preloaded)
        let interval = try arguments.time(.every)
        guard !manifests.isEmpty else { return nil }
        var options = PreloadOptions()
        guard arguments.texts(.base).count <= 1 else {
            throw UsageError(
                "larder serve --preload accepts only one --base; run larder preload once for each")
        }
        options.base = arguments.text(.base)
        options.format = arguments.text(.format)
        options.trustedKeys = arguments.texts(.trust)
        options.allowsRollback = arguments.has(.allowRollback)
        options.requiresStrongDigests = arguments.has(.strong)
        options.includesAssets = try arguments.choice(.assets) ?? PreloadCommand.Assets.all == .all
        options.network = try network(arguments)
        let firstOptions = options
        let (requests, preloadNow) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        preloadNow.yield()
        Signals.shared.onHangUp(endsWithTerminal: false) { preloadNow.yield() }
        return Task {
            let clock = Task {
                while let interval, (try? await Task.sleep(for: interval)) != nil { preloadNow.yield() }
            }
            var options = firstOptions
            for await _ in requests {
                for manifest in manifests where !Task.isCancelled {
                    await preload(manifest, options, larder, terminal)
                }
                // The user accepts older manifests once. If the server accepted them as long as it runs, an attacker could
                // send it an old one at any time.
                options.allowsRollback = false
            }
            clock.cancel()
        }
    }

    /// Preloads one manifest, and prints the result. An error does not end the server, which continues to serve the
    /// bundles of the last successful preload.
    private static func preload(
        _ manifest: String, _ options: PreloadOptions, _ larder: Larder, _ terminal: Terminal
    ) async {
        do {
            let report = try await larder.preload(manifest, options: options)
            guard report.outcome != .interrupted else { return }
            terminal.say(PreloadCommand.summary(of: report))
            _ = PreloadCommand.status(of: report, isStrict: false, terminal)
        } catch {
            if !Task.isCancelled { terminal.fail("\(manifest): \(error); the stored bundles stay live") }
        }
    }
}
