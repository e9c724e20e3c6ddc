internal import Glibc
internal import LarderKit
internal import Reports
internal import System

/// `larder proxy`: runs an HTTP proxy that answers from the store according to `--policy`, and stores what
/// it loads.
///
/// Prints its address, and at the end the counts of requests. Runs until the first signal; SIGHUP reloads.
/// Exit status 0 after a signal. 2: a wrong option. 3: the port or the store cannot be used.
enum ProxyCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = try ServeCommand.options(arguments)
            options.notice = { terminal.fail($0) }
            options.policy = try arguments.choice(.policy) ?? .protocol
            let port = try arguments.number(.port, in: 0...65_535)
            let memory = try arguments.size(.memory)?.byteCount ?? 128 << 20
            options.processMemoryLimit = memory > 0 ? Int(clamping: memory) : nil
            let isOffline = !options.policy.allowsNetwork
            let service = try arguments.larder.proxy(
                proxyOptions(arguments, port: UInt16(port)), serving: options,
                memoryLimit: Int(clamping: memory))
            let stop = Signals.shared.interruption()
            Signals.shared.onHangUp(endsWithTerminal: true) { service.reload() }
            terminal.say("The proxy is at http://localhost:\(service.proxyPort ?? 0) (Ctrl-C stops)")
            await stop.waitForRequest()
            service.stop()
            if let traffic = service.traffic {
                terminal.say(summary(of: traffic, isOffline: isOffline))
                if let losses = losses(of: traffic) { terminal.remark(losses) }
            }
            return .done
        }
    }

    /// The options that `proxy`, `serve --proxy-port`, `record` and `replay` share.
    static func proxyOptions(_ arguments: Arguments, port: UInt16) throws(UsageError) -> ProxyOptions {
        var options = ProxyOptions()
        options.port = port
        options.site = arguments.text(.into)
        options.login = arguments.text(.proxyUser)
        options.passthroughHosts = arguments.texts(.passthrough)
        for text in arguments.texts(.connectPort) {
            guard let port = Int(text), (0...65_535).contains(port) else {
                throw arguments.invalidValue(
                    .connectPort, "must be a number from 0 to 65535, not \"\(text)\"")
            }
            options.connectPorts.append(port)
        }
        return options
    }

    /// The counts of requests that passed through the proxy.
    ///
    /// - Parameter isOffline: the policy loaded nothing, so that a request without a response is a miss.
    static func summary(of traffic: ProxyTraffic, isOffline: Bool) -> String {
        let confirmed = traffic.confirmed > 0 ? " (\(traffic.confirmed) confirmed by the server)" : ""
        var parts = ["\(Wording.count(traffic.answeredFromStore, "response")) from the store\(confirmed)"]
        if traffic.loadedFromOrigins > 0 {
            parts.append("\(traffic.loadedFromOrigins) loaded, \(traffic.stored) of them stored")
        }
        if traffic.tunnels > 0 { parts.append("\(traffic.tunnels) passed through unchanged") }
        if traffic.missedCount > 0 {
            parts.append("\(traffic.missedCount) \(isOffline ? "missed" : "could not be loaded")")
        }
        return parts.joined(separator: "; ")
    }

    /// The responses that could not be stored, with the reason; nil if there are none.
    static func losses(of traffic: ProxyTraffic) -> String? {
        traffic.reasonNotStored.map { why in
            traffic.notStored == 1
                ? "1 could not be stored: \(why)"
                : "\(traffic.notStored) could not be stored; the last one: \(why)"
        }
    }
}

/// `larder record COMMAND...` and `larder replay COMMAND...`: run another program behind a proxy of
/// their own, which stores all responses, or answers only from the store.
///
/// Standard input and output belong to that program; counts of requests and missed URLs go to standard
/// error. Signals are forwarded to it. The exit status is that of the program, 128 plus the number of the
/// signal that ended it, or 127 or 126 if it could not be started. Statuses 2 and 3 may also come from
/// `larder` itself, before the program starts.
enum RecordCommand {
    /// Runs `larder record`: the proxy loads by the policy and stores all responses.
    static func record(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await runThroughProxy(arguments, terminal, hint: replayHint(arguments)) { options, proxy in
            proxy.storesEverything = true
        }
    }

    /// The command is not repeated here, because it may contain a password, and this line may be in a log.
    private static func replayHint(_ arguments: Arguments) -> String {
        let store =
            arguments.commandLineValue(of: .store).map { ["--store", Larder(at: $0).shownPath] } ?? []
        return "To replay it offline: \(CommandLine.shellCommand(["replay"] + store + ["COMMAND"]))"
    }

    /// Runs `larder replay`: the proxy answers from the store only, and makes no network requests.
    static func replay(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await runThroughProxy(arguments, terminal) { options, proxy in
            options.policy = .offline
            // Recorded responses to POST are found only with this.
            proxy.storesEverything = true
        }
    }

    /// Starts the proxy, runs the program, and prints the counts of requests. Does not return unless the proxy
    /// could not be started.
    ///
    /// - Parameters:
    ///   - hint: printed at the end, if anything was stored.
    ///   - change: sets the options in which `record` and `replay` differ.
    private static func runThroughProxy(
        _ arguments: Arguments, _ terminal: Terminal, hint: String? = nil,
        _ change: @escaping @Sendable (inout ServeOptions, inout ProxyOptions) -> Void
    ) async -> ExitStatus {
        await terminal.attempt {
            var options = try ServeCommand.options(arguments)
            options.notice = { terminal.fail($0) }
            options.policy = try arguments.choice(.policy) ?? .revalidate
            var proxy = try ProxyCommand.proxyOptions(arguments, port: 0)
            // The proxy serves only the user's own command, which may connect to any port.
            proxy.connectPorts = [0]
            change(&options, &proxy)
            let isOffline = !options.policy.allowsNetwork
            let larder = try arguments.larder
            Signals.shared.beginForwarding()
            let service = try larder.proxy(proxy, serving: options)
            let folder: TrustFolder
            do { folder = try TrustFolder(larder.authority()) } catch {
                service.stop()
                throw error
            }
            let status = Self.runProgram(
                arguments.operands, folder.environment(ofProxyAt: service.proxyPort ?? 0), terminal)
            service.stop()
            folder.remove()
            if let traffic = service.traffic {
                report(traffic, isOffline: isOffline, terminal)
                if let hint, traffic.stored + traffic.answeredFromStore > 0 { terminal.remark(hint) }
            }
            fflush(nil)
            // The status of the command need not be a case of `ExitStatus`.
            _exit(status)
        }
    }

    /// The maximum number of URLs without a response that are listed. The others are counted.
    private static let maxListedURLs = 20

    /// Prints the counts of requests, and the URLs without a response, to standard error.
    private static func report(_ traffic: ProxyTraffic, isOffline: Bool, _ terminal: Terminal) {
        terminal.remark(ProxyCommand.summary(of: traffic, isOffline: isOffline))
        if let losses = ProxyCommand.losses(of: traffic) { terminal.remark(losses) }
        for url in traffic.missedURLs.prefix(maxListedURLs) {
            terminal.remark(isOffline ? "missed \(url)" : "could not be loaded: \(url)")
        }
        let more = traffic.missedURLs.count - maxListedURLs
        if more > 0 {
            let state = isOffline ? "missed" : "that could not be loaded"
            terminal.remark("and \(more) more \(state); list them with: larder misses")
        }
    }

    /// Runs the command. Returns its exit status as shells do: 128 plus the number of the signal that ended
    /// it; 127 or 126 if it could not be started.
    private static func runProgram(
        _ words: [String], _ environment: [String: String], _ terminal: Terminal
    ) -> Int32 {
        let arguments = words.map { strdup($0) } + [nil]
        let settings = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + settings { free(text) } }
        // The command must not inherit the signal settings of this process.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, standard) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&standard)
        sigaddset(&standard, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var child: pid_t = 0
        if let number = Signals.shared.firstForwarded { return 128 + number }
        let code = posix_spawnp(&child, words[0], nil, &attributes, arguments, settings)
        guard code == 0 else {
            terminal.fail(
                "cannot run \(words[0]): \(SystemError.text(of: code)); check the name of the command")
            return code == ENOENT ? 127 : 126
        }
        Signals.shared.forward(to: child)
        var end = siginfo_t()
        // With WNOWAIT the process keeps its number, until no more signals are passed on to it.
        while waitid(P_PID, id_t(child), &end, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        Signals.shared.forward(to: nil)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}

/// A temporary folder with the files and settings that make programs trust the authority of the proxy. It
/// contains no secrets, and `remove` deletes it.
///
/// There is no common setting: OpenSSL, curl, Python, git, Node, wget, apt and others each have an
/// environment variable or a file of their own.
struct TrustFolder {
    private let path: String
    private var certificate: String { path + "/larder-ca.pem" }
    private var bundle: String { path + "/bundle.pem" }

    /// Creates the folder and its files. Removes it again if a file cannot be written.
    init(_ authority: ProxyAuthority) throws(SystemError) {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/larder-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(errno, doing: "make a folder in", base) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do throws(SystemError) {
            // Readable by all, because programs that change their user need it too. It contains no secrets.
            chmod(path, 0o755)
            try WholeFile.replace(certificate, with: authority.certificate, mode: 0o644)
            let system =
                SystemCertificates.path().flatMap { try? WholeFile.read($0, atMost: 16 << 20) } ?? []
            let all = String(decoding: system, as: UTF8.self) + "\n" + authority.certificate
            try WholeFile.replace(bundle, with: all, mode: 0o644)
            let own = getenv("HOME").flatMap {
                try? WholeFile.read(String(cString: $0) + "/.wgetrc", atMost: 1 << 20)
            }
            let rules = own.map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
            try WholeFile.replace(path + "/wgetrc", with: rules + "ca_certificate = \(bundle)\n", mode: 0o644)
            try WholeFile.replace(
                path + "/apt.conf", with: "Acquire::https::CAInfo \"\(bundle)\";\n", mode: 0o644)
        } catch {
            remove()
            throw error
        }
    }

    /// Deletes the folder. Errors are ignored, since it is a temporary folder.
    func remove() {
        for name in ["larder-ca.pem", "bundle.pem", "wgetrc", "apt.conf"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// The environment of the command: that of this process, with the proxy and its authority in place of
    /// other proxies.
    func environment(ofProxyAt port: UInt16) -> [String: String] {
        var values: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "=") {
                values[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        for name in ["no_proxy", "NO_PROXY"] { values[name] = nil }
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            values[name] = "http://127.0.0.1:\(port)"
            values[name.uppercased()] = "http://127.0.0.1:\(port)"
        }
        for name in [
            "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
            "CARGO_HTTP_CAINFO",
            "AWS_CA_BUNDLE", "npm_config_cafile",
        ] {
            values[name] = bundle
        }
        values["NODE_EXTRA_CA_CERTS"] = certificate
        values["NODE_USE_ENV_PROXY"] = "1"
        // Settings that the user has made for these programs have precedence.
        if values["WGETRC"] == nil { values["WGETRC"] = path + "/wgetrc" }
        if values["APT_CONFIG"] == nil { values["APT_CONFIG"] = path + "/apt.conf" }
        return values
    }
}

/// `larder ca`: prints the certificate authority of the store, with instructions for clients; with `--pem`
/// only the certificate. Creates the authority on first use.
///
/// Exit status 0: printed. 3: the store cannot be read or written.
enum AuthorityCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let authority = try arguments.larder.authority()
            if arguments.has(.pem) {
                terminal.say(String(authority.certificate.dropLast()))
            } else if arguments.has(.json) {
                terminal.reportJSON(authority.json)
            } else {
                terminal.say(text(authority))
            }
            return .done
        }
    }

    /// The authority as text, with the commands that make common clients trust it.
    private static func text(_ authority: ProxyAuthority) -> String {
        """
        Certificate authority of this store: SHA-256 \(authority.fingerprint)
        Its key is in \(authority.file), which only you can read.

        Save the certificate once as larder-ca.pem:
          larder ca --pem > larder-ca.pem

        Then make the clients of the proxy trust it:
          Debian, Ubuntu    sudo cp larder-ca.pem /usr/local/share/ca-certificates/larder.crt
                            sudo update-ca-certificates
          Chromium, Chrome  certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n larder -i larder-ca.pem
            for one run     --ignore-certificate-errors-spki-list=\(authority.keyDigest)
          Firefox           certutil -d sql:PROFILE -A -t C,, -n larder -i larder-ca.pem
          OpenSSL, Python   SSL_CERT_FILE=larder-ca.pem
          requests          REQUESTS_CA_BUNDLE=larder-ca.pem
          pip               pip --cert larder-ca.pem
          curl              curl --cacert larder-ca.pem
          git               git -c http.sslCAInfo=larder-ca.pem
          Node              NODE_EXTRA_CA_CERTS=larder-ca.pem

        larder record and larder replay do this for the command that they run.
        """
    }
}
