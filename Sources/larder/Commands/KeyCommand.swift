internal import LarderKit

/// `larder key new` and `larder key show FILE`: makes a key that signs manifests, or shows the public key of a file.
///
/// Exit status 0: done. 2: a wrong option, file or passphrase, or a file that exists. 3: a file could not be written.
enum KeyCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let words = arguments.operands
            switch (words[0], words.count) {
            case ("new", 1): try make(arguments, terminal)
            case ("new", _):
                throw UsageError(
                    "key new accepts no argument; name the file with \(Option.keyFile.name) FILE")
            case ("show", 2): try show(words[1], arguments, terminal)
            case ("show", _): throw UsageError("key show needs the file of a key; see: \(help)")
            default: throw UsageError("unknown command \"key \(words[0])\"; use new or show; see: \(help)")
            }
            return .done
        }
    }

    private static var help: String { CommandLine.shellCommand(["help", "key"]) }

    private static func make(_ arguments: Arguments, _ terminal: Terminal) throws {
        let file = arguments.text(.keyFile) ?? defaultFile
        let publicFile = (file.hasSuffix(".key") ? String(file.dropLast(4)) : file) + ".pub"
        let isProtected = !arguments.has(.noPassphrase)
        if !isProtected, arguments.commandLineValue(of: .passphraseFile) != nil {
            throw UsageError(
                "\(Option.passphraseFile.name) and \(Option.noPassphrase.name) exclude each other; use one of them"
            )
        }
        let passphrase = isProtected ? try SecretKeyInput.newPassphrase(arguments) : nil
        let key = try ManifestKey.new()
        try key.write(
            to: file, publicKeyFile: publicFile, passphrase: passphrase,
            replacesFiles: arguments.has(.replaceFile))
        let report = ManifestKeyReport(
            publicKey: key.publicKey, file: file, publicKeyFile: publicFile, isProtected: isProtected)
        guard !arguments.has(.json) else { return terminal.report(report.json) }
        terminal.say(
            """
            secret key: \(file) (\(isProtected ? "needs the passphrase" : "not protected by a passphrase"); keep it secret)
            public key: \(publicFile)
            \(key.publicKey.text)
            """)
        terminal.note(
            "sign with: " + CommandLine.shellCommand(["manifest", "dist", Option.signingKey.name, file]))
    }

    private static let defaultFile = "larder.key"

    private static func show(_ file: String, _ arguments: Arguments, _ terminal: Terminal) throws {
        let report: ManifestKeyReport
        if let key = try? ManifestPublicKey(file: file) {
            report = ManifestKeyReport(publicKey: key, file: file, publicKeyFile: nil, isProtected: nil)
        } else {
            let secret = try ManifestKeyFile(file)
            let key = try SecretKeyInput.unlock(secret, file, arguments)
            report = ManifestKeyReport(
                publicKey: key.publicKey, file: file, publicKeyFile: nil, isProtected: secret.needsPassphrase)
        }
        guard !arguments.has(.json) else { return terminal.report(report.json) }
        terminal.say(
            """
            public key:  \(report.publicKey.text)
            fingerprint: \(report.publicKey.fingerprint)
            key ID:      \(report.publicKey.id)
            """)
    }
}
