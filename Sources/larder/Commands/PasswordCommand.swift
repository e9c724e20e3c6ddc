internal import Glibc
internal import LarderKit

/// `larder password`
enum PasswordCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            if arguments.has(.forget) {
                let wasSet = try larder.forgetPortalPassword()
                terminal.say(wasSet ? "the password is forgotten" : "there was no password")
                return .done
            }
            guard let password = line("Password: ") else {
                throw UsageError("there is no password: type one, or send it to the standard input")
            }
            if isatty(STDIN_FILENO) == 1, line("The same again: ") != password {
                throw UsageError("the two are not the same; nothing was changed: try again")
            }
            try larder.setPortalPassword(password)
            terminal.say("the password is set; servers that run already ask for it from now on")
            return .done
        }
    }

    /// A line of the standard input. In a terminal nobody sees it.
    private static func line(_ prompt: String) -> String? {
        var before = termios()
        let isTerminal = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before) == 0
        if isTerminal {
            _ = Output.errors.write(prompt)
            var hidden = before
            hidden.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        }
        defer {
            if isTerminal {
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
                _ = Output.errors.write("\n")
            }
        }
        let line = readLine()
        return line.flatMap { $0.isEmpty ? nil : $0 }
    }
}
