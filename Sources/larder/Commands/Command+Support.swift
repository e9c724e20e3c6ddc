internal import Glibc
internal import LarderKit
internal import Synchronization

extension Arguments {
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

    /// A command may ask for its store more than once.
    private static let hasWarned = Atomic(false)

    /// The folder that holds the larder.
    private var store: String {
        get throws(UsageError) {
            if let path = text(.store) { return path }
            let path = Larder.defaultPath(environment: Settings.environment())
            // Nobody looks for a larder in whatever folder a job happened to start in.
            guard path.hasPrefix("/") else {
                throw UsageError("HOME is not set: say where the larder is with --store DIR or $LARDER_STORE")
            }
            return path
        }
    }

    /// The same for a job, which knows nothing of this shell's variables: nil where it finds the larder by itself.
    var namedStore: String? {
        let home = Settings.environment()["HOME"] ?? ""
        guard let path = try? store else { return nil }
        return text(.store) == nil && path == Larder.defaultPath(environment: ["HOME": home]) ? nil : path
    }

    /// Nil when the option is not given.
    func size(_ option: Option) throws(UsageError) -> ByteSize? {
        guard let text = text(option) else { return nil }
        guard let size = ByteSize(text) else {
            throw wrong(option, "wants a size such as 500M, 2G, 1.5GiB or 0, not \"\(text)\"")
        }
        return size
    }

    /// Nil when the option is not given.
    var typeFilter: TypeFilter? {
        get throws(UsageError) {
            guard let text = text(.type) else { return nil }
            guard let filter = TypeFilter(text) else {
                throw UsageError(
                    "--type wants a media type such as text/html or image/*, or one of "
                        + "\(TypeFilter.names.joined(separator: ", ")), not \"\(text)\"")
            }
            return filter
        }
    }

    /// A command on the same larder, to be typed or pasted into a shell.
    func command(_ name: String, _ operands: [String] = []) -> String {
        CommandLine.shown(
            [name] + operands + (given(.store).map { ["--store", Larder(at: $0).shownPath] } ?? []))
    }
}

extension Terminal {
    /// Runs what a command does, says what stopped it, and gives the exit status.
    func attempt(_ body: () async throws -> ExitStatus) async -> ExitStatus {
        do {
            return try await body()
        } catch let error as UsageError {
            fail(error.message)
            return .usage
        } catch let error as LarderError {
            let status = failed(error)
            // If there is no memory for another thread, the Swift runtime would wait for one for ever.
            if ProcessLimits.isMemoryLimited { _exit(status.rawValue) }
            return status
        } catch {
            fail("\(error)")
            return .unable
        }
    }

    /// Tells what stopped a call.
    func failed(_ error: LarderError, _ beginning: String = "") -> ExitStatus {
        fail(beginning + error.description + (error.remedy.map { " with \($0.options)" } ?? ""))
        switch error.kind {
        case .input: return .usage
        case .machine: return .unable
        case .interrupted: return .interrupted
        }
    }
}

extension Remedy {
    /// What a person types.
    var options: String {
        switch self {
        case .larder: Option.store.name
        case .newLarder:
            "\(Option.store.name), or begin with an empty one, which its portal stocks, with \(Option.openBrowser.name)"
        case .repair: CommandLine.shown(["fsck", Option.repair.name])
        case .base: "\(Option.base.name) URL"
        case .format(let form): "\(Option.format.name) \(form)"
        case .root: "\(Option.atRoot.name) SITE"
        case .port: Option.port.name
        case .address: Option.listen.name
        case .proxyLogin: "\(Option.proxyUser.name) USER:PASSWORD"
        case .pinKind(let kinds): kinds.map { "--\($0.rawValue)" }.joined(separator: " or ")
        case .maxPages: Option.maxPages.name
        case .maxBytes: Option.maxBytes.name
        case .maxTime: Option.maxTime.name
        case .depth: Option.depth.name
        case .nofollow: "\(Option.nofollow.name) ignore"
        case .patience: Option.patience.name
        case .browser: "\(Option.browser.name) PATH"
        case .privateToo: Option.privateToo.name
        case .folderAddress: "\(Option.folderAddress.name) URL"
        case .siteName(let name): "\(Option.intoSite.name) \(name)"
        }
    }

    /// In brackets behind what is told of something that did not come.
    static func hint(_ remedy: Remedy?) -> String { remedy.map { " (\($0.options))" } ?? "" }
}
