internal import Glibc
internal import LarderKit
internal import System

/// Reads the passphrase of a secret key from `--passphrase-file`, from a variable, or from the terminal.
enum SecretKeyInput {
    static let variable = "LARDER_KEY_PASSPHRASE"
    /// More than any passphrase, so that a wrong file is noticed.
    private static let maxFileBytes = 4096

    /// Returns the key of a file, and reads the passphrase if it has one.
    static func unlock(
        _ file: ManifestKeyFile, _ path: String, _ arguments: Arguments
    ) throws -> ManifestKey {
        guard file.needsPassphrase else { return try file.unlock(nil) }
        if let given = try givenPassphrase(arguments) { return try file.unlock(given) }
        guard let passphrase = terminalLine("Passphrase of \(path): ") else { throw noPassphrase(path) }
        return try file.unlock(passphrase)
    }

    /// Returns the passphrase for a new key. On a terminal, it has to be typed twice.
    static func newPassphrase(_ arguments: Arguments) throws(UsageError) -> String {
        if let given = try givenPassphrase(arguments) { return given }
        guard let passphrase = terminalLine("Passphrase for the new key: ") else {
            throw UsageError(
                "no passphrase was entered; type one, set $\(variable), use \(Option.passphraseFile.name), or leave the "
                    + "key unprotected with \(Option.noPassphrase.name)")
        }
        guard terminalLine("Repeat the passphrase: ") == passphrase else {
            throw UsageError("the passphrases differ, and no key was made; try again")
        }
        return passphrase
    }

    private static func noPassphrase(_ path: String) -> UsageError {
        UsageError(
            "the key \(path) needs its passphrase; type it, set $\(variable), or use \(Option.passphraseFile.name)"
        )
    }

    /// The passphrase of the option or the variable; nil if neither is given.
    private static func givenPassphrase(_ arguments: Arguments) throws(UsageError) -> String? {
        if let path = arguments.text(.passphraseFile) {
            let text: String
            do throws(SystemError) {
                text = String(decoding: try WholeFile.read(path, atMost: maxFileBytes), as: UTF8.self)
            } catch {
                throw UsageError("\(error.problem); name a file with the passphrase in its first line")
            }
            // Not by `Character`: "\r\n" is a single one.
            let line = String(decoding: text.utf8.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
            guard !line.isEmpty else {
                throw UsageError("\(path) has no passphrase in its first line; write it there")
            }
            return line
        }
        let text = getenv(variable).map { String(cString: $0) } ?? ""
        return text.isEmpty ? nil : text
    }

    /// Reads a line from the terminal without showing it, also if the standard streams are something else; nil if there is no
    /// terminal or the line is empty.
    private static func terminalLine(_ prompt: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        guard HiddenInput.isTerminal(terminal) else { return nil }
        return HiddenInput.line(prompt, on: terminal, prompts: Output(terminal))
    }
}

/// Reads lines from a terminal without showing them.
enum HiddenInput {
    private static let maxLineBytes = 4096

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Prints the prompt to `prompts` and reads a line; nil if that is empty or the input ends.
    static func line(_ prompt: String, on terminal: Int32, prompts: Output) -> String? {
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else { return nil }
        // Without this, the terminal would not show typed characters after Ctrl-C.
        Signals.shared.onFirst { [before] in
            var shown = before
            tcsetattr(terminal, TCSAFLUSH, &shown)
            _exit(ExitStatus.interrupted.rawValue)
        }
        var hidden = before
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(terminal, TCSAFLUSH, &hidden)
        // After the change of the terminal, which discards characters that were typed before.
        _ = prompts.write(prompt)
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            _ = prompts.write("\n")
        }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < maxLineBytes {
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
