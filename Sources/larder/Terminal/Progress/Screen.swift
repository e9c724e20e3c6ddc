internal import Glibc

/// What the terminal behind standard error is like.
struct Screen: Equatable {
    var width = 80
    var height = 24
    /// It can be drawn on: a terminal that knows how to move its cursor.
    var isDrawable = false
    var isColored = false

    init() {}

    /// As the environment says, for a terminal.
    init(isTerminal: Bool, environment: (String) -> String?) {
        let kind = environment("TERM") ?? ""
        isDrawable = isTerminal && !kind.isEmpty && kind != "dumb"
        // https://no-color.org: set and not empty.
        isColored = isDrawable && (environment("NO_COLOR") ?? "").isEmpty
    }

    static func ofErrors() -> Screen {
        var screen = Screen(isTerminal: isatty(STDERR_FILENO) == 1) { name in getenv(name).map { String(cString: $0) } }
        screen.measure()
        return screen
    }

    /// Terminals change their size.
    mutating func measure() {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return }
        width = Int(size.ws_col)
        height = Int(size.ws_row)
    }
}
