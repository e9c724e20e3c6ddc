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
        _ = isTaken(reports.write(text.printable + "\n"))
    }

    /// A piece of a report that is no text, or too long to be held. Whether there is a use for more.
    func put(_ piece: Span<UInt8>) -> Bool {
        !reports.hasFailed && isTaken(reports.write(piece))
    }

    private func isTaken(_ code: Int32?) -> Bool {
        guard let code else { return true }
        // Whoever reads stopped on purpose, as `head` does, and wants to hear nothing of it.
        if code != EPIPE { fail("cannot write to standard output: \(String(cString: strerror(code)))") }
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
    var printable: String {
        guard utf8.contains(where: { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 >= 0x7F }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if Self.isObeyed(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0...0x1F, 0x7F...0x9F: true
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the ends of lines that are no line feed.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
