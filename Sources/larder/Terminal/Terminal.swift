internal import Glibc

/// Where output goes: reports to stdout, errors and progress to stderr.
struct Terminal: Sendable {
    let isQuiet: Bool

    /// A person watches stderr.
    var isWatched: Bool { !isQuiet && isatty(STDERR_FILENO) == 1 }

    /// The report, or a line of it.
    func say(_ text: String) {
        guard !isQuiet else { return }
        Self.write(text + "\n", to: STDOUT_FILENO)
    }

    func fail(_ message: String) {
        Self.write("larder: \(message)\n", to: STDERR_FILENO)
    }

    /// A line that the next one takes the place of; an empty one clears it.
    func show(_ line: String) {
        guard isWatched else { return }
        Self.write("\r\u{1b}[K\(line)", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to file: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            // Nobody reads any more, or the disk is full: there is nowhere left to say so.
            guard count > 0 || (count < 0 && errno == EINTR) else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
