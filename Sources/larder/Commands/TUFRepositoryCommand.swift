internal import LarderKit
internal import Reports

/// `larder tuf init|add|remove|sign|rotate|publish|status REPO`: creates and changes a TUF repository.
///
/// Exit status 0: done. 1: files were left out, signatures are missing, or clients would reject the published
/// metadata (`status`). 2: a wrong argument, key or passphrase, or metadata that clients would reject. 3: a file could not be
/// read or written.
enum TUFRepositoryCommand {
    /// The words after `tuf`.
    static let names = ["init", "add", "remove", "sign", "rotate", "publish", "status"]

    static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitStatus {
        let word = arguments.operands[0]
        guard let folder = arguments.operands.dropFirst().first else {
            throw UsageError("tuf \(word) needs the folder of the repository; see: \(help)")
        }
        let operands = Array(arguments.operands.dropFirst(2))
        var repository = TUFRepository(at: folder)
        repository.periods = try periods(arguments)
        switch (word, operands.isEmpty) {
        case ("init", true): return try create(repository, arguments, terminal)
        case ("add", false): return try add(operands, to: repository, arguments, terminal)
        case ("remove", false): return try remove(operands, from: repository, arguments, terminal)
        case ("sign", true): return try sign(repository, arguments, terminal)
        case ("rotate", true): return try rotate(repository, arguments, terminal)
        case ("publish", true): return try publish(repository, arguments, terminal)
        case ("status", true): return try status(of: repository, arguments, terminal)
        case ("add", true): throw UsageError("tuf add needs a folder or files; see: \(help)")
        case ("remove", true): throw UsageError("tuf remove needs the names of targets; see: \(help)")
        default: throw UsageError("tuf \(word) accepts only the folder of the repository; see: \(help)")
        }
    }

    private static var help: String { CommandLine.shellCommand(["help", "tuf"]) }

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
            removesOthers: arguments.has(.deleteTargets))
        show(report, arguments, terminal) { changesText(of: $0) }
        for file in report.skipped { terminal.fail("left out: \(file.name): \(file.reason)") }
        return report.skipped.isEmpty ? .done : .incomplete
    }

    private static func remove(
        _ targets: [String], from repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        show(try repository.remove(targets), arguments, terminal) { changesText(of: $0) }
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
                "none of these keys belongs to a role that waits for signatures; give keys of root or targets"
            )
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
        let keys = try secretKeys(for: repository, isPublishing: false, arguments, terminal)
        show(keys.isEmpty ? report : try repository.sign(keys), arguments, terminal) { draftsText(of: $0) }
        return .done
    }

    private static func publish(
        _ repository: TUFRepository, _ arguments: Arguments, _ terminal: Terminal
    ) throws -> ExitStatus {
        let keys = try secretKeys(for: repository, isPublishing: true, arguments, terminal)
        let report = try repository.publish(keys, hasPlainNames: arguments.has(.plainNames))
        show(report, arguments, terminal) { publicationText(of: $0) }
        for waiting in report.waiting {
            let reason =
                waiting.missingSignatures == 0
                ? "the signatures of the targets"
                : "\(Wording.count(waiting.missingSignatures, "more signature"))"
            terminal.fail(
                "\(waiting.role) \(waiting.version) waits for \(reason) and is not published; add them with "
                    + CommandLine.shellCommand(["tuf", "sign", repository.path]))
        }
        if report.written.contains("1.root.json") {
            terminal.note("give clients \(repository.path)/metadata/1.root.json as their trusted root")
        }
        return report.waiting.isEmpty ? .done : .incomplete
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

    private static func draftLines(of report: TUFRepositoryReport) -> [String] {
        report.drafts.map { draft in
            let missing =
                draft.missingSignatures == 0
                ? "all signatures" : "\(Wording.count(draft.missingSignatures, "missing signature"))"
            return "draft: \(draft.role) \(draft.version), \(missing), expires "
                + "\(Wording.date(draft.expires)) (\(draft.file))"
        }
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
        var lines = report.roles.map { role in
            "\(role.name.padded(10))version \(role.version), \(role.isExpired ? "EXPIRED" : "expires") "
                + "\(Wording.date(role.expires)), \(role.threshold) of \(Wording.count(role.keyIDs.count, "key")): "
                + role.keyIDs.map { String($0.prefix(16)) }.joined(separator: ", ")
        }
        lines.append(
            "\(Wording.count(report.targetCount, "target")), \(Wording.bytes(report.targetByteCount))")
        lines += draftLines(of: report) + report.targets.prefix(maxShownTargets)
        if report.targets.count > maxShownTargets {
            lines.append("and \(report.targets.count - maxShownTargets) more (\(Option.json.name) lists all)")
        }
        return lines.joined(separator: "\n")
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
