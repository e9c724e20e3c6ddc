internal import Glibc
internal import LarderKit

/// `larder password`: sets the password that other machines need for the portal, or removes it with
/// `--forget`. It is read from the terminal twice, or once from standard input.
///
/// Exit status 0: set or removed. 2: no or different passwords, or one that is not accepted. 3: the store
/// cannot be written.
enum PasswordCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            if arguments.has(.forget) {
                let wasSet = try larder.forgetPortalPassword()
                terminal.say(wasSet ? "the password is removed" : "no password was set")
                return .done
            }
            guard let password = line("Password: ") else {
                throw UsageError("no password was entered; type one, or send it to standard input")
            }
            if isatty(STDIN_FILENO) == 1, line("Repeat the password: ") != password {
                throw UsageError("the passwords differ, and nothing was changed; try again")
            }
            try larder.setPortalPassword(password)
            terminal.say("the password is set; running servers require it from now on")
            return .done
        }
    }

    /// Reads a line of standard input; nil if it is empty. On a terminal, prints the prompt and turns the echo off.
    private static func line(_ prompt: String) -> String? {
        if HiddenInput.isTerminal(STDIN_FILENO) {
            return HiddenInput.line(prompt, on: STDIN_FILENO, prompts: .errors)
        }
        return readLine().flatMap { $0.isEmpty ? nil : $0 }
    }
}
