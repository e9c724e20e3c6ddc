internal import Glibc
internal import LarderKit
internal import System

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
        _ = isTaken(reports.write(text.printable + "\n"))
    }

    /// A report for people, which a terminal would break within words, or one for programs, which stays as it is.
    func report(_ text: String) {
        let isJSON = text.hasPrefix("{") || text.hasPrefix("[")
        say(isJSON ? text : reports.columns.map { Wrapping.fit(text.printable, to: $0) } ?? text)
    }

    /// A piece of a report that is no text, or too long to be held. Whether there is a use for more.
    func put(_ piece: Span<UInt8>) -> Bool {
        !reports.hasFailed && isTaken(reports.write(piece))
    }

    private func isTaken(_ code: Int32?) -> Bool {
        guard let code else { return true }
        // Whoever reads stopped on purpose, as `head` does, and wants to hear nothing of it.
        if code != EPIPE { fail("cannot write to standard output: \(SystemError.text(of: code))") }
        return false
    }

    func fail(_ message: String) {
        _ = remarks.write("larder: \(message.printable)\n")
    }

    /// A line for a person who watches, and no part of the report.
    func note(_ line: String) {
        guard isWatched else { return }
        _ = remarks.write(line.printable + "\n")
    }
}

extension String {
    /// The same with what a terminal obeys, or what turns the direction of text around, written as JSON would write it: titles
    /// and header fields are whatever a server wants. Line feeds and tabs stay.
    var printable: String { Larder.printable(self) }
}
