internal import Glibc

/// Where output goes: reports to stdout, errors and progress to stderr.
struct Terminal: Sendable {
    let isQuiet: Bool
    private let reports: Output
    private let remarks: Output

    init(isQuiet: Bool, reports: Output = .standard, remarks: Output = .errors) {
        self.isQuiet = isQuiet
        self.reports = reports
        self.remarks = remarks
    }

    /// A person watches stderr.
    var isWatched: Bool { !isQuiet && isatty(STDERR_FILENO) == 1 }

    /// The report, or a line of it.
    func say(_ text: String) {
        guard !isQuiet, !reports.hasFailed else { return }
        guard let code = reports.write(text + "\n") else { return }
        // Whoever reads stopped on purpose, as `head` does, and wants to hear nothing of it.
        if code != EPIPE { fail("cannot write to standard output: \(String(cString: strerror(code)))") }
    }

    func fail(_ message: String) {
        _ = remarks.write("larder: \(message)\n")
    }

    /// A line that the next one takes the place of; an empty one clears it.
    func show(_ line: String) {
        guard isWatched else { return }
        _ = remarks.write("\r\u{1b}[K\(line)")
    }
}
