internal import Glibc
internal import LarderKit
internal import System

/// `larder serve`
enum ServeCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            let memory = try arguments.size(.memory)?.byteCount ?? 128 << 20
            let larder = try arguments.larder
            var options = try ServeCommand.options(arguments)
            options.notice = { terminal.fail($0) }
            options.processMemoryLimit = memory > 0 ? Int(clamping: memory) : nil
            let service = try larder.serve(
                port: UInt16(port), memoryLimit: Int(clamping: memory), options: options)
            let mark = ServerMark(port: UInt16(service.port))
            let stop = Signals.shared.first()
            Signals.shared.onHangUp(endsWithTerminal: true) { service.reload() }
            terminal.say("The server is at \(service.address) (Ctrl-C stops)")
            if let port = service.proxyPort {
                terminal.say("The proxy is at http://localhost:\(port)")
            }
            if service.isExposed { terminal.say(exposure(of: service)) }
            if (try? await larder.snapshots())?.sites.isEmpty == true {
                terminal.say(
                    "Nothing is stored yet; prefetch a site in the portal at this address, or with: larder prefetch URL"
                )
            }
            if let root = options.root, options.policy == .offline,
                (try? await larder.holds(root, orOfItsOrigin: true)) == false
            {
                terminal.fail(
                    "\(root) is not stored yet, and is served as soon as it is; store it with: "
                        + arguments.command("prefetch", [root]))
            }
            if arguments.has(.openBrowser) { OpenCommand.show(service.address, terminal) }
            let preloading = try preloading(arguments, larder, terminal)
            await stop.requested()
            preloading?.cancel()
            await preloading?.value
            withExtendedLifetime(mark) { service.stop() }
            return .done
        }
    }

    /// The options of the server or proxy.
    static func options(_ arguments: Arguments) throws(UsageError) -> ServeOptions {
        if arguments.texts(.preloaded).isEmpty, try arguments.time(.every) != nil {
            throw UsageError("--every needs --preload; name the manifest")
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
        options.hasBar = arguments.has(.bar)
        options.security = try security(arguments)
        options.requiresStrongDigests = arguments.has(.strong)
        options.isReadOnly = arguments.has(.readOnly)
        options.isScheduled = arguments.has(.scheduled)
        options.network = try network(arguments)
        options.mayBeEmpty = arguments.has(.preloaded) || arguments.has(.openBrowser)
        if let port = try arguments.numberIfGiven(.proxyPort, in: 0...65_535) {
            options.proxy = try ProxyCommand.proxyOptions(arguments, port: UInt16(port))
        }
        return options
    }

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

    private static func network(_ arguments: Arguments) throws(UsageError) -> NetworkOptions {
        var network = try arguments.networkOptions()
        // `--timeout` has another meaning for servers: see `ServeOptions.patience`.
        network.timeout = nil
        return network
    }

    private static func exposure(of service: MirrorService) -> String {
        let places = service.reachable.map { "\(service.scheme)://\($0):\(service.port)/" }.joined(
            separator: " and ")
        guard service.isPortalAlone else {
            return
                "Anyone who can reach this machine can read the stored sites without a password: \(places)"
        }
        return "Anyone with the password can read and change the store: \(places)"
    }

    // MARK: - Preloading

    /// Preloads the manifests of `--preload` now, at every SIGHUP, and at the interval of `--every`. The
    /// server serves new bundles as soon as they are published.
    private static func preloading(
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
        options.requiresStrongDigests = arguments.has(.strong)
        options.hasAssets = try arguments.choice(.assets) ?? PreloadCommand.Assets.all == .all
        options.network = try network(arguments)
        let wanted = options
        let (asked, ask) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        ask.yield()
        Signals.shared.onHangUp(endsWithTerminal: false) { ask.yield() }
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
            if !Task.isCancelled { terminal.fail("\(manifest): \(error); the stored bundles stay live") }
        }
    }
}

/// `larder open [SITE|URL]`
enum OpenCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = UInt16(try arguments.number(.port, in: 1...65535))
            if arguments.has(.stop) { return try await stop(port, arguments, terminal) }
            let larder = try arguments.larder
            var (name, snapshot) = (arguments.operands.first, SnapshotName?.none)
            if let text = name {
                let parts = SnapshotName.parted(text)
                (name, snapshot) = (parts.site, parts.snapshot)
            }
            let address = try await larder.address(of: name, in: snapshot, at: port)
            if let name, try await !larder.holds(name) {
                terminal.fail(
                    "\(name) is not stored; store it with: \(arguments.command("prefetch", [name]))")
                return .incomplete
            }
            let served = await larder.served(at: port)
            if case .other(let store) = served {
                terminal.fail(
                    "port \(port) serves another store (\(store)); name a free port with \(Option.port.name)")
                return .unable
            }
            if served == .nothing, let failure = start(larder, port) {
                terminal.fail(failure)
                return .unable
            }
            show(address, terminal)
            if served == .nothing {
                terminal.say(
                    "The server keeps running in the background; to stop it: \(stopCommand(arguments))")
            }
            return .done
        }
    }

    /// Starts a server that keeps running after this command ends. Returns the error, or nil if the server is
    /// ready.
    private static func start(_ larder: Larder, _ port: UInt16) -> String? {
        let line = Program.startDetached(["serve", "--port", "\(port)", "--store", larder.path])
        let mark = "larder: "
        guard let line else {
            return "the server does not start; to see why: \(CommandLine.shown(["serve"]))"
        }
        return line.hasPrefix(mark) ? String(line.dropFirst(mark.count)) : nil
    }

    private static func stop(
        _ port: UInt16, _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("--stop accepts no site or URL; see: larder help open")
        }
        if case .other(let store) = await (try arguments.larder).served(at: port) {
            terminal.fail(
                "port \(port) serves another store; stop that server with: "
                    + CommandLine.shown(["open", "--stop", "--port", "\(port)", "--store", store]))
            return .unable
        }
        guard ServerMark.stopServer(port: port) else {
            terminal.fail(
                "no server of yours runs on port \(port); name another port with --port")
            return .unable
        }
        terminal.say("The server on port \(port) has stopped")
        return .done
    }

    private static func stopCommand(_ arguments: Arguments) -> String {
        CommandLine.shown(
            ["open", "--stop"] + (arguments.given(.port).map { ["--port", $0] } ?? [])
                + (arguments.given(.store).map { ["--store", Larder(at: $0).shownPath] } ?? []))
    }

    /// Opens a URL in `$BROWSER`, else in the browser of the desktop.
    static func show(_ address: String, _ terminal: Terminal) {
        let browser = getenv("BROWSER").map { String(cString: $0) } ?? "xdg-open"
        terminal.say(address)
        guard !Program.start(browser, [address]) else { return }
        terminal.fail("cannot start \(browser); open the URL above yourself, or set BROWSER")
    }
}

/// A locked file that marks a running server of this user, so that it can be found by its port. The kernel
/// releases the lock when the server ends for any reason. Unlike a file with a process number, it cannot be
/// stale.
final class ServerMark: Sendable {
    private let file: Int32

    /// Marks this process as the server on the port. Nil if the file cannot be created, or another server has
    /// locked it; a server works without a mark, too.
    init?(port: UInt16) {
        guard let path = Self.path(port: port, makesFolder: true) else { return nil }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return nil }
        var lock = Self.lock()
        guard fcntl(file, F_SETLK, &lock) == 0 else {
            close(file)
            return nil
        }
        self.file = file
    }

    deinit { close(file) }

    /// Stops the server on the port, and waits for its end. Returns false if there is none.
    static func stopServer(port: UInt16) -> Bool {
        guard let path = path(port: port, makesFolder: false) else { return false }
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        var lock = Self.lock()
        guard fcntl(file, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0,
            kill(lock.l_pid, SIGTERM) == 0
        else { return false }
        var own = Self.lock()
        while fcntl(file, F_SETLKW, &own) != 0 { guard errno == EINTR else { return false } }
        return true
    }

    private static func lock() -> flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    /// The path of the file, in a folder that only this user can write to.
    private static func path(port: UInt16, makesFolder: Bool) -> String? {
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let folder = runtime.hasPrefix("/") ? runtime + "/larder" : "/tmp/larder-\(geteuid())"
        if makesFolder { mkdir(folder, 0o700) }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid()
        else {
            return nil
        }
        return folder + "/serve-\(port).lock"
    }
}
