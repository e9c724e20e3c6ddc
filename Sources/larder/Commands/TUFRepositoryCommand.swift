internal import LarderKit
internal import Reports

/// The commands of `larder tuf` that create and change a repository. `TUFCommand.entry` describes them.
///
/// Exit status 0: done. 1: files were left out, signatures are missing, or clients would reject the published
/// metadata (`status`). 2: a wrong argument, key or passphrase, or metadata that clients would reject. 3: a file could not be
/// read or written.
enum TUFRepositoryCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitStatus {
        let word = arguments.operands[0]
        let operands = Array(arguments.operands.dropFirst(2))
        var repository = TUFRepository(at: arguments.operands[1])
        repository.periods = try periods(arguments)
        switch word {
        case "init": return try create(repository, arguments, terminal)
        case "add": return try add(operands, to: repository, arguments, terminal)
        case "remove": return try remove(operands, from: repository, arguments, terminal)
        case "delegate": return try delegate(to: operands[0], in: repository, arguments, terminal)
        case "undelegate":
            let report = try repository.removeDelegation(to: operands[0])
            return try signAndShow(report, repository, arguments, terminal)
        case "sign": return try sign(repository, arguments, terminal)
        case "rotate": return try rotate(repository, arguments, terminal)
        case "publish": return try publish(repository, arguments, terminal)
        case "clean": return try clean(repository, arguments, terminal)
        default: return try status(of: repository, arguments, terminal)
        }
    }

    // MARK: - Options

    /// Ten years. If the network withholds newer roots, clients only notice when the old root expires.
    private static let maxPeriod = Duration.seconds(3650 * 86_400)

    /// The values of `--expires ROLE=TIME`.
    private static func periods(_ arguments: Arguments) throws(UsageError) -> [TUFRole: Duration] {
        var periods: [TUFRole: Duration] = [:]
        for text in arguments.texts(.metadataExpiry) {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let role = TUFRole(rawValue: parts[0]),
                let period = Arguments.time(parts[1]), period <= maxPeriod
            else {
                throw arguments.invalidValue(
                    .metadataExpiry,
                    "must be a role and a time up to 3650d, such as timestamp=1d or root=365d, not \"\(text)\""
                )
            }
            periods[role] = period
        }
        return periods
    }

    private static func publicKeys(
        _ option: Option, _ arguments: Arguments
    ) throws(LarderError) -> [TUFPublicKey] {
        var keys: [TUFPublicKey] = []
        for text in arguments.texts(option) { keys.append(try TUFPublicKey(text)) }
        return keys
    }

    /// Unlocks the secret keys of `--keys` whose signatures are needed.
    private static func secretKeys(
        for repository: TUFRepository, isPublishing: Bool, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> [ManifestKey] {
        var keys: [ManifestKey] = []
        for place in arguments.texts(.secretKeys) {
            for file in try repository.keyFiles(at: place, isPublishing: isPublishing) {
                do {
                    let locked = try ManifestKeyFile(file.path)
                    keys.append(try SecretKeyInput.unlock(locked, file.path, arguments))
                } catch let error as UsageError where !file.isRequired {
                    // A job has no user who enters a passphrase, and the targets are still valid for half of their
                    // period.
                    terminal.fail("\(error.message); the targets are not renewed now")
                }
            }
        }
        return keys
    }

    // MARK: - Commands

    private static func create(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        guard let folder = arguments.texts(.secretKeys).last else {
            throw UsageError(
                "tuf init needs a folder for the secret keys; name it with \(Option.secretKeys.name) DIR")
        }
        try repository.requireAbsent()
        let rootKeys = try publicKeys(.rootKey, arguments)
        let threshold = try arguments.numberIfGiven(.signatureThreshold, in: 1...100) ?? 1
        var passphrase: String?
        let made = rootKeys.isEmpty ? TUFRole.allCases : TUFRole.allCases.filter { $0 != .root }
        var keys = try TUFRepository.createKeys(for: made, in: folder) { role in
            // A job signs with the keys of snapshot and timestamp.
            let isOnline = role == .snapshot || role == .timestamp
            guard !isOnline, !arguments.has(.noPassphrase) else { return nil }
            if passphrase == nil { passphrase = try SecretKeyInput.newPassphrase(arguments) }
            return passphrase
        }
        if !rootKeys.isEmpty { keys[.root] = rootKeys }
        let report = try repository.create(keys: keys, thresholds: [.root: threshold])
        guard !arguments.has(.json) else {
            terminal.report(report.json)
            return .done
        }
        terminal.say(
            """
            repository: \(repository.path) (nothing is published yet)
            keys: \(made.map { "\(folder)/\($0.rawValue).key" }.joined(separator: ", ")) (keep them secret)
            """)
        terminal.note(
            "next: " + CommandLine.shellCommand(["tuf", "add", repository.path, "dist"]) + ", then "
                + CommandLine.shellCommand([
                    "tuf", "publish", repository.path, Option.secretKeys.name, folder,
                ]))
        return .done
    }

    private static func add(
        _ sources: [String], to repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let report = try repository.add(
            sources, prefix: arguments.text(.targetPrefix) ?? "",
            removesOthers: arguments.has(.deleteTargets), to: arguments.text(.targetRole))
        show(report, arguments, terminal) { changesText(of: $0) }
        for file in report.skipped { terminal.fail("left out: \(file.name): \(file.reason)") }
        return report.skipped.isEmpty ? .done : .incomplete
    }

    private static func remove(
        _ targets: [String], from repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let report = try repository.remove(targets, from: arguments.text(.targetRole))
        show(report, arguments, terminal) { changesText(of: $0) }
        return .done
    }

    private static func delegate(
        to role: String, in repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        guard arguments.has(.roleKey), arguments.has(.delegatedPaths) else {
            throw UsageError(
                "tuf delegate needs the keys and paths of the role; name them with \(Option.roleKey.name) KEY and "
                    + "\(Option.delegatedPaths.name) PATH")
        }
        let report = try repository.delegate(
            to: role, keys: try publicKeys(.roleKey, arguments),
            threshold: try arguments.numberIfGiven(.signatureThreshold, in: 1...100) ?? 1,
            paths: arguments.texts(.delegatedPaths), isTerminating: arguments.has(.isTerminating))
        return try signAndShow(report, repository, arguments, terminal)
    }

    /// Signs the drafts with the keys of `--keys`, if there are any, and shows what waits.
    private static func signAndShow(
        _ report: TUFRepositoryReport, _ repository: TUFRepository, _ arguments: Arguments,
        _ terminal: Terminal
    ) throws -> ExitStatus {
        let keys = try secretKeys(for: repository, isPublishing: false, arguments, terminal)
        show(keys.isEmpty ? report : try repository.sign(keys), arguments, terminal) { draftsText(of: $0) }
        return .done
    }

    private static func clean(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let report = try repository.clean(
            keepingFor: try arguments.time(.replacedBefore) ?? .seconds(86_400),
            isDryRun: arguments.has(.dryRun))
        guard !arguments.has(.json) else {
            terminal.report(report.json)
            return .done
        }
        let names = report.metadata.map { "metadata/" + $0 } + report.targets.map { "targets/" + $0 }
        let count = Wording.count(names.count, "file")
        var lines = report.isDryRun ? names : []
        lines.append(
            names.isEmpty
                ? "nothing to remove"
                : "\(report.isDryRun ? "would be removed" : "removed"): \(count), \(Wording.bytes(report.byteCount))"
        )
        terminal.report(lines.joined(separator: "\n"))
        return .done
    }

    private static func sign(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let copies = arguments.texts(.signedCopy)
        guard arguments.has(.secretKeys) || !copies.isEmpty else {
            throw UsageError(
                "tuf sign needs keys or signatures; name them with \(Option.secretKeys.name) or "
                    + Option.signedCopy.name
            )
        }
        let keys = try secretKeys(for: repository, isPublishing: false, arguments, terminal)
        guard !keys.isEmpty || !copies.isEmpty else {
            throw UsageError(
                "none of these keys belongs to a role that waits for signatures; see what waits with: "
                    + CommandLine.shellCommand(["tuf", "status", repository.path]))
        }
        show(try repository.sign(keys, copies: copies), arguments, terminal) { draftsText(of: $0) }
        return .done
    }

    private static func rotate(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let role = try arguments.choice(.tufRole, of: TUFRole.self) ?? .root
        let report = try repository.rotate(
            role, adding: try publicKeys(.addKey, arguments), removing: arguments.texts(.removeKey),
            threshold: try arguments.numberIfGiven(.signatureThreshold, in: 1...100))
        return try signAndShow(report, repository, arguments, terminal)
    }

    private static func publish(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let keys = try secretKeys(for: repository, isPublishing: true, arguments, terminal)
        let report = try repository.publish(keys, hasPlainNames: arguments.has(.plainNames))
        show(report, arguments, terminal) { publicationText(of: $0) }
        for waiting in report.waiting {
            let reason =
                waiting.missingSignatures > 0
                ? "\(Wording.count(waiting.missingSignatures, "more signature"))"
                : waiting.role == "targets"
                    ? "the signatures of roles to which they delegate" : "the signatures of the targets"
            terminal.fail(
                "\(waiting.role) \(waiting.version) waits for \(reason) and is not published; add them with "
                    + CommandLine.shellCommand(["tuf", "sign", repository.path]))
        }
        let expired = report.roles.filter { $0.isExpired && $0.delegation != nil }
        for role in expired {
            terminal.fail(
                "\(role.name) has expired, so that clients cannot use its targets; publish with its key, or remove it with "
                    + CommandLine.shellCommand(["tuf", "undelegate", repository.path, role.name]))
        }
        if report.written.contains("1.root.json") {
            terminal.note("give clients \(repository.path)/metadata/1.root.json as their trusted root")
        }
        return report.waiting.isEmpty && expired.isEmpty ? .done : .incomplete
    }

    private static func status(
        of repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let report = try repository.status()
        show(report, arguments, terminal) { statusText(of: $0) }
        return report.isCurrent ? .done : .incomplete
    }

    // MARK: - Reports

    private static func show(
        _ report: TUFRepositoryReport, _ arguments: Arguments, _ terminal: Terminal,
        _ text: (TUFRepositoryReport) -> String
    ) {
        terminal.report(arguments.has(.json) ? report.json : text(report))
    }

    private static func changesText(of report: TUFRepositoryReport) -> String {
        guard let changes = report.changes else { return draftsText(of: report) }
        let line =
            "\(Wording.count(changes.added, "target")) added, \(changes.changed) changed, \(changes.removed) removed, "
            + "\(changes.unchanged) unchanged"
        return ([line] + draftLines(of: report)).joined(separator: "\n")
    }

    private static func draftsText(of report: TUFRepositoryReport) -> String {
        let lines = draftLines(of: report)
        return lines.isEmpty ? "nothing waits to be published" : lines.joined(separator: "\n")
    }

    /// A line for each draft, and one that says what to do next.
    private static func draftLines(of report: TUFRepositoryReport) -> [String] {
        let lines = report.drafts.map { draft in
            let missing =
                draft.missingSignatures == 0
                ? "all signatures" : "needs \(Wording.count(draft.missingSignatures, "more signature"))"
            return "draft: \(draft.role) \(draft.version), \(missing), expires "
                + "\(Wording.date(draft.expires)) (\(draft.file))"
        }
        guard !lines.isEmpty else { return [] }
        let unsigned = report.drafts.filter { $0.missingSignatures > 0 }.map(\.role)
        let publish = CommandLine.shellCommand(["tuf", "publish", report.path, Option.secretKeys.name, "DIR"])
        let sign = CommandLine.shellCommand(["tuf", "sign", report.path, Option.secretKeys.name, "FILE"])
        guard !unsigned.isEmpty else { return lines + ["next: \(publish)"] }
        return lines + [
            "next: \(publish), with the keys of \(unsigned.joined(separator: ", ")) in DIR; or first \(sign) for each of them"
        ]
    }

    private static func publicationText(of report: TUFRepositoryReport) -> String {
        guard !report.written.isEmpty else { return "nothing is published" }
        var lines = ["published: \(report.written.joined(separator: ", "))"]
        if let earliest = report.roles.min(by: { $0.expires < $1.expires }) {
            lines.append(
                "\(Wording.count(report.targetCount, "target")); publish again before "
                    + "\(Wording.date(earliest.expires)), when \(earliest.name) expires")
        }
        return lines.joined(separator: "\n")
    }

    private static func statusText(of report: TUFRepositoryReport) -> String {
        guard !report.roles.isEmpty else {
            return (["nothing is published yet"] + draftLines(of: report)).joined(separator: "\n")
        }
        let width = max(10, (report.roles.map(\.name.utf8.count).max() ?? 0) + 1)
        var lines = report.roles.map { role in
            "\(role.name.padded(width))version \(role.version), \(role.isExpired ? "EXPIRED" : "expires") "
                + "\(Wording.date(role.expires)), \(role.threshold) of \(Wording.count(role.keyIDs.count, "key")): "
                + role.keyIDs.map { String($0.prefix(16)) }.joined(separator: ", ")
                + (role.delegation.map { "; " + delegationText(of: $0) } ?? "")
        }
        lines.append(
            "\(Wording.count(report.targetCount, "target")), \(Wording.bytes(report.targetByteCount))")
        lines += draftLines(of: report) + report.targets.prefix(maxShownTargets)
        if report.targets.count > maxShownTargets {
            lines.append("and \(report.targets.count - maxShownTargets) more (\(Option.json.name) lists all)")
        }
        return lines.joined(separator: "\n")
    }

    private static func delegationText(of delegation: TUFRepositoryReport.Delegation) -> String {
        let shown = delegation.patterns.prefix(3).joined(separator: ", ")
        let others = delegation.patterns.count > 3 ? " and \(delegation.patterns.count - 3) more" : ""
        return "\(Wording.count(delegation.targetCount, "target")) in \(shown)\(others)"
            + (delegation.isTerminating ? ", terminating" : "")
    }

    /// The maximum number of targets that `status` lists for people.
    private static let maxShownTargets = 100
}

extension Option {
    static let secretKeys = Option(
        name: "--keys", placeholder: "DIR|FILE",
        help: "Secret keys to sign with: a folder with NAME.key files, or one file (see larder key)",
        brief: "Folder or file with secret keys", isRepeatable: true)
    static let rootKey = Option(
        name: "--root-key", placeholder: "KEY",
        help: "Public key of a person who signs the root, instead of a new key: a .pub file, or RW...",
        brief: "Public key of a person who signs the root", isRepeatable: true, isCommandLineOnly: true)
    static let signatureThreshold = Option(
        name: "--threshold", placeholder: "N",
        help: "Signatures that the role needs (init: the root)", isCommandLineOnly: true)
    static let roleKey = Option(
        name: "--key", placeholder: "KEY", help: "Public key of the role: a .pub file, or RW...",
        isRepeatable: true, isCommandLineOnly: true)
    static let delegatedPaths = Option(
        name: "--paths", placeholder: "PATH",
        help: "Targets that the role may list: docs/ for all below a folder, or a pattern such as docs/*.js",
        brief: "Targets of the role: docs/, or a pattern", isRepeatable: true, isCommandLineOnly: true)
    static let isTerminating = Option(
        name: "--terminating", placeholder: nil,
        help: "Later delegations are ignored for these paths", isCommandLineOnly: true)
    static let targetRole = Option(
        name: "--role", placeholder: "ROLE",
        help: "Delegated role that lists the targets (see larder tuf delegate)",
        brief: "Delegated role that lists the targets", defaultValue: "the top-level targets",
        isCommandLineOnly: true)
    static let replacedBefore = Option(
        name: "--replaced-before", placeholder: "TIME",
        help: "Remove versions that were replaced longer ago than this, such as 7d or 12h",
        brief: "Remove what was replaced longer ago than this", defaultValue: "1d")
    static let metadataExpiry = Option(
        name: "--expires", placeholder: "ROLE=TIME",
        help: "Time until new metadata of a role expires, such as timestamp=1d",
        brief: "Lifetime of a role's metadata, such as timestamp=1d",
        defaultValue: "root=365d, targets=90d, snapshot=30d, timestamp=7d", isRepeatable: true)
    static let targetPrefix = Option(
        name: "--prefix", placeholder: "PATH", help: "Put this before the paths of the targets, such as app/")
    static let deleteTargets = Option(
        name: "--delete", placeholder: nil,
        help: "Also remove the targets (below --prefix) that are not among the added files",
        brief: "Also remove targets that are not added", isCommandLineOnly: true)
    static let plainNames = Option(
        name: "--plain-names", placeholder: nil,
        help: "Also publish each target without the digest in its name, for pages that link to it",
        brief: "Also publish targets under plain names")
    static let signedCopy = Option(
        name: "--signed", placeholder: "FILE",
        help: "Copy of a draft that another person signed; its signatures are added",
        brief: "Copy of a draft with more signatures", isRepeatable: true, isCommandLineOnly: true)
    static let tufRole = Option(
        name: "--role", placeholder: "ROLE",
        help: "Role whose keys change: root, targets, snapshot or timestamp",
        brief: "Role: root, targets, snapshot or timestamp", defaultValue: "root",
        isCommandLineOnly: true)
    static let addKey = Option(
        name: "--add", placeholder: "KEY", help: "Public key that the role gets: a .pub file, or RW...",
        isRepeatable: true, isCommandLineOnly: true)
    static let removeKey = Option(
        name: "--remove", placeholder: "KEY",
        help: "Key that the role loses: a .pub file, RW..., or the beginning of its key id",
        brief: "Key that the role loses: file, RW... or key id", isRepeatable: true, isCommandLineOnly: true)
}
