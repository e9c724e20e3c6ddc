internal import Glibc
internal import LarderKit
internal import Synchronization

extension Arguments {
    /// The store that the options name. Warns once if another user owns it.
    var larder: Larder {
        get throws(UsageError) {
            var larder = Larder(at: try store)
            larder.compresses = has(.compress)
            if let warning = larder.ownerWarning, !Self.hasWarned.exchange(true, ordering: .relaxed) {
                Terminal(isQuiet: false).fail(warning)
            }
            return larder
        }
    }

    /// Whether the warning has been printed. A command may open its store more than once.
    private static let hasWarned = Atomic(false)

    /// The path or address of the store.
    private var store: String {
        get throws(UsageError) {
            if let path = text(.store) { return path }
            let path = Larder.defaultPath(environment: Settings.environment())
            // A relative path would depend on the folder in which a job happens to start.
            guard path.hasPrefix("/") else {
                throw UsageError("HOME is not set; name the store with --store DIR or $LARDER_STORE")
            }
            return path
        }
    }

    /// The store to name in the command line of a job, which does not have the variables of this shell; nil
    /// if the job finds the store without it.
    var namedStore: String? {
        let home = Settings.environment()["HOME"] ?? ""
        guard let path = try? store else { return nil }
        return text(.store) == nil && path == Larder.defaultPath(environment: ["HOME": home]) ? nil : path
    }

    /// Whether the user has named a port, on the command line, in a variable or in a file.
    var namesPort: Bool { source(of: .port) != .defaultValue }

    /// The value as a size; nil if the option is not given.
    func size(_ option: Option) throws(UsageError) -> ByteSize? {
        guard let text = text(option) else { return nil }
        guard let size = ByteSize(text) else {
            throw invalidValue(option, "must be a size such as 500M, 2G, 1.5GiB or 0, not \"\(text)\"")
        }
        return size
    }

    /// The value of `--type`; nil if it is not given.
    var typeFilter: TypeFilter? {
        get throws(UsageError) {
            guard let text = text(.type) else { return nil }
            guard let filter = TypeFilter(text) else {
                throw UsageError(
                    "--type must be a media type such as text/html or image/*, or one of "
                        + "\(TypeFilter.names.joined(separator: ", ")), not \"\(text)\"")
            }
            return filter
        }
    }

    /// The command line of another command on the same store, quoted for a shell. `--store` is repeated
    /// only if it was on the command line.
    func command(_ name: String, _ operands: [String] = []) -> String {
        CommandLine.shellCommand(
            [name] + operands
                + (commandLineValue(of: .store).map { ["--store", Larder(at: $0).shownPath] } ?? []))
    }
}

extension Arguments {
    /// The command that stores a URL: the page alone if a site of its host is stored, else the site that starts there. A
    /// prefetch of one page of a stored site would store all of its host as another site.
    func storingCommand(for url: String, _ larder: Larder) async throws(LarderError) -> String {
        guard let site = try await larder.site(onHostOf: url) else { return command("prefetch", [url]) }
        // Without a scheme, `larder add` would try https.
        let scheme = !url.contains("://") && site.hasPrefix("http:") ? "http://" : ""
        return command("add", [scheme + url, "--page"])
    }
}

extension Terminal {
    /// Runs the body of a command, prints the error that it throws, and returns the exit status: 2 for a
    /// `UsageError`, that of its kind for a `LarderError`, 3 for any other error.
    func attempt(_ body: () async throws -> ExitStatus) async -> ExitStatus {
        do {
            return try await body()
        } catch let error as UsageError {
            fail(error.message)
            return .usage
        } catch let error as LarderError {
            let status = reportError(error)
            // If there is no memory for another thread, the Swift runtime would wait for one for ever.
            if ProcessLimits.isMemoryLimited { _exit(status.rawValue) }
            return status
        } catch {
            fail("\(error)")
            return .unable
        }
    }

    /// Prints an error of the library, and returns its exit status.
    ///
    /// - Parameter prefix: words before the message, such as the site.
    func reportError(_ error: LarderError, _ prefix: String = "") -> ExitStatus {
        fail(prefix + error.description + (error.remedy.map { " with \($0.options)" } ?? ""))
        switch error.kind {
        case .input: return .usage
        case .machine: return .unable
        case .refused: return .incomplete
        case .interrupted: return .interrupted
        }
    }
}

extension Remedy {
    /// The options or the command to use, as they are typed. The library knows no options, so its errors
    /// carry a `Remedy`, and the command adds the words.
    var options: String {
        switch self {
        case .store: Option.store.name
        case .newStore:
            "\(Option.store.name), or leave out \(Option.readOnly.name), to fill the store through the portal"
        case .repair: CommandLine.shellCommand(["fsck", Option.repair.name])
        case .base: "\(Option.base.name) URL"
        case .newManifest(let site): "\(Option.trust.name) KEY \(Option.base.name) \(site)"
        case .format(let form): "\(Option.format.name) \(form)"
        case .allowRollback: Option.allowRollback.name
        case .trust: "\(Option.trust.name) KEY"
        case .root: "\(Option.atRoot.name) SITE"
        case .port: Option.port.name
        case .address: Option.listen.name
        case .proxyLogin: "\(Option.proxyUser.name) USER:PASSWORD"
        case .pinKind(let kinds): kinds.map { "--\($0.rawValue)" }.joined(separator: " or ")
        case .maxPages: Option.maxPages.name
        case .maxBytes: Option.maxBytes.name
        case .maxTime: Option.maxTime.name
        case .depth: Option.depth.name
        case .nofollow: "\(Option.nofollow.name) follow"
        case .allowActions: "\(Option.allowActions.name) PATTERN"
        case .includeHistory: Option.includeHistory.name
        case .includeForms: Option.includeForms.name
        case .includeViews: Option.includeViews.name
        case .media: "\(Option.media.name) best"
        case .patience: Option.patience.name
        case .browser: "\(Option.browser.name) PATH"
        case .includePrivate: Option.withPrivate.name
        case .replaceFile: Option.replaceFile.name
        case .folderAddress: "\(Option.folderAddress.name) URL"
        case .siteName(let name):
            "\(Option.intoSite.name) \(name); to keep it apart, import it with \(Option.intoSite.name) NAME"
        case .runtimeVersion: "\(Option.runtime.name) VERSION"
        case .appName: "\(Option.app.name) NAME"
        case .changeRelease(let app, let channel):
            Self.publish(app, channel, [Option.rollout.name, "50%"])
        case .resumeRelease(let app, let channel):
            Self.publish(app, channel, [Option.resumeRelease.name])
        case .rollBackChannel(let app):
            CommandLine.shellCommand(["publish", Option.rollBackRelease.name, Option.app.name, app])
        case .removeChannel(let app, let channel):
            Self.publish(app, channel, [Option.removeChannel.name])
        case .channels: CommandLine.shellCommand(["publish", Option.channelStatus.name])
        }
    }

    private static func publish(_ app: String, _ channel: String, _ words: [String]) -> String {
        CommandLine.shellCommand(["publish", Option.app.name, app, Option.channel.name, channel] + words)
    }

    /// The remedy in parentheses, to follow a reason; empty if there is none.
    static func hint(_ remedy: Remedy?) -> String { remedy.map { " (\($0.options))" } ?? "" }
}
