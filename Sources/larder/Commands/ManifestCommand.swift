internal import LarderKit
internal import Reports
internal import System

/// `larder manifest DIR|SITE|URL`: writes a manifest, and signs it with `--sign`.
///
/// Exit status 0: written. 1: something could not be included; it is named. 2: a wrong source, key or option.
/// 3: a file could not be written, or the store could not be read.
enum ManifestCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let source = arguments.operands[0]
            let types = try arguments.typeFilter
            let output = arguments.text(.output)
            guard output != nil || arguments.source(of: .json) != .commandLine else {
                throw UsageError("--json needs --output FILE: the manifest is JSON itself")
            }
            let options = try options(arguments)
            let form = try signatureForm(arguments, options.format)
            // The passphrase first: listing a large folder takes longer.
            let key = try form.map { _ in try signingKey(arguments, folders: [source]) }
            let larder = try arguments.larder
            var report = try await Signals.shared.runCancellable {
                try await larder.manifest(
                    of: source, types: types, isLive: arguments.has(.fetched), options: options)
            }
            if let form, let key {
                let name = output?.split(separator: "/").last.map(String.init)
                report = try report.signed(by: key, form, file: name, at: try arguments.sourceDate())
            }
            if let file = output {
                try write(report, to: file, arguments, terminal)
            } else if report.signer != nil {
                // `say` escapes some characters, and the signature would not match.
                let bytes = Array(report.text.utf8)
                if !terminal.isQuiet { _ = terminal.writePart(bytes.span) }
            } else {
                terminal.say(String(report.text.dropLast()))
            }
            for skipped in report.skipped {
                terminal.fail("left out of the manifest: \(skipped.name): \(skipped.reason)")
            }
            if output == nil {
                let signer = report.signer.map { ", signed by \($0.fingerprint)" } ?? ""
                terminal.note(sizeText(of: report) + signer)
            }
            return report.skipped.isEmpty ? .done : .incomplete
        }
    }

    /// Writes the files of the manifest, and reports each of them.
    private static func write(
        _ report: ManifestReport, to file: String, _ arguments: Arguments, _ terminal: Terminal
    ) throws {
        let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
        let configurationFile = folder + ManifestReport.configurationName
        let signer = report.signer.map { "signed by \($0.fingerprint)" } ?? ""
        let manifestSigner = report.signer != nil && report.signature == nil ? ", \(signer)" : ""
        // The configuration names a release whose manifest must exist first.
        let files: [(path: String, text: String?, note: String)] = [
            (file, report.text, sizeText(of: report) + manifestSigner),
            (file + ManifestReport.signatureSuffix, report.signature, "signature of \(file), \(signer)"),
            (
                configurationFile + ManifestReport.signatureSuffix, report.configurationSignature,
                "signature of \(configurationFile), \(signer)"
            ),
            (configurationFile, report.configuration, "the release, which names the manifest"),
        ]
        var lines: [String] = []
        for (path, text, note) in files {
            guard let text else { continue }
            try WholeFile.write(text, to: path)
            lines.append("\(path): \(note)")
        }
        guard arguments.has(.json) else { return terminal.say(lines.joined(separator: "\n")) }
        terminal.report(
            report.json(
                file: file,
                signatureFile: report.signature == nil ? nil : file + ManifestReport.signatureSuffix,
                configurationFile: report.configuration == nil ? nil : configurationFile))
    }

    /// The number and size of the bundles.
    private static func sizeText(of report: ManifestReport) -> String {
        "\(Wording.count(report.bundles, "bundle")), \(Wording.bytes(report.byteCount))"
    }

    private static func options(_ arguments: Arguments) throws(UsageError) -> ManifestOptions {
        var options = ManifestOptions()
        options.format = try arguments.choice(.writtenFormat) ?? .larder
        options.version = arguments.text(.releaseVersion)
        let now = try arguments.sourceDate()
        options.created = arguments.has(.created) ? Timestamp(secondsSinceEpoch: now) : nil
        options.expires = try arguments.time(.expires).map {
            Timestamp(secondsSinceEpoch: now + $0.components.seconds)
        }
        options.base = arguments.text(.filesBase)
        options.output = arguments.text(.output) ?? "/dev/stdout"
        guard options.format != .cordova || options.version == nil || arguments.has(.output) else {
            throw UsageError(
                "chcp.json is written beside the manifest: name its file with --output, such as www/chcp.manifest"
            )
        }
        return options
    }

    /// The place of the signature; nil without `--sign`.
    ///
    /// - Throws: `UsageError` for options that have no effect together.
    private static func signatureForm(
        _ arguments: Arguments, _ format: ManifestOptions.Format
    ) throws(UsageError) -> ManifestReport.SignatureForm? {
        let form: ManifestReport.SignatureForm? = try arguments.choice(.signatureForm)
        guard arguments.has(.signingKey) else {
            for option in [Option.signatureForm, .passphraseFile]
            where arguments.commandLineValue(of: option) != nil {
                throw UsageError(
                    "\(option.name) needs \(Option.signingKey.name) KEY; make a key with: "
                        + CommandLine.shellCommand(["key", "new"]))
            }
            return nil
        }
        guard form != .inside || format == .larder else {
            throw UsageError(
                "only manifests in Larder's own format contain a signature; leave out \(Option.signatureForm.name) inside"
            )
        }
        guard arguments.has(.output) else {
            guard form != .detached, format == .larder else {
                throw UsageError(
                    "a detached signature is a second file; name the first with \(Option.output.name) FILE"
                        + (format == .larder
                            ? ", or put the signature into the manifest with \(Option.signatureForm.name) inside"
                            : ""))
            }
            return .inside
        }
        return form ?? .detached
    }

    /// Reads the secret key of `--sign`.
    ///
    /// - Parameter folders: the sources, which need not be folders.
    /// - Throws: `UsageError` if the key is in a folder whose files are listed: such a folder is published.
    static func signingKey(_ arguments: Arguments, folders: [String]) throws -> ManifestKey {
        let path = arguments.text(.signingKey) ?? ""
        for folder in folders
        where Folder.exists(folder) && Folder.resolved(path).hasPrefix(Folder.resolved(folder) + "/") {
            throw UsageError(
                "the secret key \(path) is in the folder \(folder), which would publish it; move it elsewhere"
            )
        }
        return try SecretKeyInput.unlock(try ManifestKeyFile(path), path, arguments)
    }
}
