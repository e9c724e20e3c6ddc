internal import Glibc
internal import LarderKit
internal import Synchronization
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

    /// A report for people, which a terminal would break within words, or one for programs, which stays as it
    /// is, and was asked for whoever wants to read nothing.
    func report(_ text: String) {
        if text.hasPrefix("{") || text.hasPrefix("[") { return reportJSON(text) }
        say(reports.columns.map { Wrapping.fit(text.printable, to: $0) } ?? text)
    }

    func reportJSON(_ text: String) {
        guard !reports.hasFailed else { return }
        _ = isTaken(reports.write(text.printable + "\n"))
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

    /// A line about what was done, beside somebody else's report.
    func remark(_ line: String) {
        if !isQuiet { fail(line) }
    }

    /// A line for a person who watches, and no part of the report.
    func note(_ line: String) {
        guard isWatched else { return }
        _ = remarks.write(line.printable + "\n")
    }
}

extension String {
    /// The same with what a terminal obeys, or what turns the direction of text around, written as JSON would
    /// write it: titles and header fields are whatever a server wants. Line feeds and tabs stay.
    var printable: String { Larder.printable(self) }
}

/// A stream of text to whoever runs the command. What it could not take is not forgotten.
final class Output: Sendable {
    static let standard = Output(STDOUT_FILENO)
    static let errors = Output(STDERR_FILENO)

    private let file: Int32
    private let failed = Atomic(false)

    init(_ file: Int32) {
        self.file = file
    }

    /// Something was not written, for whatever reason.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// How wide the terminal is; nil for what is none.
    var columns: Int? {
        var size = winsize()
        guard isatty(file) == 1 else { return nil }
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes all of it, however slow the reader; else gives the error's number.
    func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// The same for what is no text.
    func write(_ bytes: Span<UInt8>) -> Int32? {
        bytes.withUnsafeBytes { write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        let code = File.write(bytes, to: file)
        guard code != 0 else { return nil }
        failed.store(true, ordering: .relaxed)
        return code
    }
}

/// Another program, started and left alone.
enum Program {
    /// False when it cannot be started.
    static func start(_ name: String, _ operands: [String]) -> Bool {
        spawn(name, [name] + operands, output: nil)
    }

    /// Starts larder once more, in a session of its own, which no Ctrl-C reaches. Returns the first line that
    /// it prints, be it of an error, after which nobody listens to it; nil when it cannot be started or ends
    /// without a word.
    static func startDetached(_ operands: [String]) -> String? {
        guard let pipe = try? Pipe() else { return nil }
        defer { close(pipe.reading) }
        let hasStarted = spawn("/proc/self/exe", ["larder"] + operands, output: pipe.writing)
        close(pipe.writing)
        guard hasStarted else { return nil }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(pipe.reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// `POSIX_SPAWN_SETSID`, which the importer does not see.
    private static let newSession: Int16 = 0x80

    private static func spawn(_ path: String, _ words: [String], output: Int32?) -> Bool {
        var words = words.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return false }
        defer { posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        guard posix_spawnattr_init(&attributes) == 0 else { return false }
        defer { posix_spawnattr_destroy(&attributes) }
        guard posix_spawnattr_setflags(&attributes, Self.newSession) == 0 else { return false }
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            let code =
                if let output, stream != STDIN_FILENO {
                    posix_spawn_file_actions_adddup2(&actions, output, stream)
                } else {
                    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
                }
            guard code == 0 else { return false }
        }
        var child = pid_t()
        return posix_spawnp(&child, path, &actions, &attributes, words, environ) == 0
    }
}

extension CommandLine {
    /// A command of larder's, to be typed or pasted into a shell: by the name under which larder was called.
    static func shown(_ words: [String], program: String = program) -> String {
        ([program] + words).map(quoted).joined(separator: " ")
    }

    /// For those who look for programs elsewhere than a shell does.
    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return program }
        defer { free(path) }
        return String(cString: path)
    }

    /// `scripts/larder` says so of itself.
    static var program: String {
        let name = getenv("LARDER_CALLED").map { String(cString: $0) } ?? ""
        return name.isEmpty ? "larder" : name
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x2d...0x3a).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                || byte == 0x5f
                || byte == 0x3d
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
