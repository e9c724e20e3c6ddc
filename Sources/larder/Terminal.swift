internal import Glibc
internal import LarderKit
internal import Synchronization
internal import System

/// The output of a command. Reports go to standard output; errors, warnings and progress go to standard
/// error, so that a report can be piped.
///
/// | function | stream | with `--quiet` | for |
/// | --- | --- | --- | --- |
/// | `say` | output | not printed | reports and results that are short lines |
/// | `sayStyled` | output | not printed | the program's own text with colours, such as help |
/// | `report` | output | JSON only | reports; wraps text to the terminal, prints JSON unchanged |
/// | `reportJSON` | output | printed | JSON that the command puts together, such as a list of reports |
/// | `writePart` | output | printed | parts of long or binary output, such as bodies |
/// | `fail` | errors | printed | errors and warnings, with the prefix `larder: ` |
/// | `remark` | errors | not printed | results of commands whose output belongs to another program |
/// | `note` | errors | not printed | hints, only if standard error is a terminal |
///
/// All text except that of `sayStyled` and `writePart` passes through `String.printable`, because it may
/// quote servers. The streams are shared by all values of this type, and have no lock: use one thread for
/// reports.
struct Terminal: Sendable {
    /// Whether `--quiet` is given.
    let isQuiet: Bool
    private let reports: Output
    private let errors: Output

    init(isQuiet: Bool, reports: Output = .standard, errors: Output = .errors) {
        self.isQuiet = isQuiet
        self.reports = reports
        self.errors = errors
    }

    /// Whether a user probably watches: standard error is a terminal, and `--quiet` is not given.
    var isInteractive: Bool { !isQuiet && isatty(STDERR_FILENO) == 1 }

    /// Writes a report or a line of it, unless `--quiet` is given.
    func say(_ text: String) {
        guard !isQuiet, !reports.hasFailed else { return }
        _ = didWrite(reports.write(text.printable + "\n"))
    }

    /// Writes text with escape sequences for colours, unless `--quiet` is given. It must not contain text
    /// from outside, which could control the terminal.
    func sayStyled(_ text: String) {
        guard !isQuiet, !reports.hasFailed else { return }
        _ = didWrite(reports.write(text + "\n"))
    }

    /// Writes a report: JSON unchanged and even with `--quiet`, any other text wrapped to the width of the
    /// terminal.
    func report(_ text: String) {
        if text.hasPrefix("{") || text.hasPrefix("[") { return reportJSON(text) }
        say(reports.columns.map { Wrapping.fit(text.printable, to: $0) } ?? text)
    }

    /// Writes a report in JSON, even with `--quiet`.
    func reportJSON(_ text: String) {
        guard !reports.hasFailed else { return }
        _ = didWrite(reports.write(text.printable + "\n"))
    }

    /// Writes a part of a long or binary report. Returns false if the output has failed, so that more is
    /// useless.
    func writePart(_ piece: Span<UInt8>) -> Bool {
        !reports.hasFailed && didWrite(reports.write(piece))
    }

    /// Reports a failed write once, on standard error. Returns false if `code` is an `errno`, true if it is
    /// nil.
    private func didWrite(_ code: Int32?) -> Bool {
        guard let code else { return true }
        // EPIPE: the reader stopped on purpose, as `head` does.
        if code != EPIPE { fail("cannot write to standard output: \(SystemError.text(of: code))") }
        return false
    }

    /// Writes an error or a warning to standard error, even with `--quiet`.
    func fail(_ message: String) {
        _ = errors.write("larder: \(message.printable)\n")
    }

    /// Writes a line about the work of `larder` to standard error, unless `--quiet` is given, because
    /// another program uses standard output (`larder record`).
    func remark(_ line: String) {
        if !isQuiet { fail(line) }
    }

    /// Writes a line that is not part of the report, if standard error is a terminal.
    func note(_ line: String) {
        guard isInteractive else { return }
        _ = errors.write(line.printable + "\n")
    }
}

extension String {
    /// The text with control characters and bidirectional overrides escaped as in JSON, except line feeds and
    /// tabs. Titles and headers come from servers, and could otherwise control the terminal.
    var printable: String { Larder.printable(self) }
}

/// Standard output or standard error. The only state is an atomic flag that says whether a write has
/// failed; `main` turns that into exit status 3, as curl and git do.
///
/// Safe to use from any thread. Writes of different threads may mix; `ProgressDisplay` locks its own.
final class Output: Sendable {
    static let standard = Output(STDOUT_FILENO)
    static let errors = Output(STDERR_FILENO)

    private let file: Int32
    private let failed = Atomic(false)

    /// - Parameter file: the file descriptor, which stays open.
    init(_ file: Int32) {
        self.file = file
    }

    /// Whether a write has failed.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// The width of the terminal; nil if this is not a terminal.
    var columns: Int? {
        var size = winsize()
        guard isatty(file) == 1 else { return nil }
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes all of the text, and waits for slow readers. Returns the `errno` of a failure, else nil.
    func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
    }

    /// Writes all of the bytes, and waits for slow readers. Returns the `errno` of a failure, else nil.
    func write(_ bytes: Span<UInt8>) -> Int32? {
        bytes.withUnsafeBytes { writeAll($0) }
    }

    /// Writes until all bytes are written or a write fails. Returns the `errno` of a failure.
    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        let code = File.writeAll(bytes, to: file)
        guard code != 0 else { return nil }
        failed.store(true, ordering: .relaxed)
        return code
    }
}

/// Starts other programs without waiting for their end.
enum Program {
    /// Starts a program without input and output. Returns false if it cannot be started.
    static func start(_ name: String, _ operands: [String]) -> Bool {
        spawn(name, [name] + operands, output: nil)
    }

    /// Starts `larder` in a session of its own, so that Ctrl-C does not reach it. Returns its first line of
    /// output, which may be an error; nil if it cannot be started or ends without output. Its further output
    /// is not read.
    static func startDetached(_ operands: [String]) -> String? {
        guard let pipe = try? Pipe() else { return nil }
        defer { close(pipe.reading) }
        let hasStarted = spawn("/proc/self/exe", ["larder"] + operands, output: pipe.writing)
        close(pipe.writing)
        guard hasStarted else { return nil }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            // One byte at a time, so that nothing after the first line is read.
            let count = read(pipe.reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// `POSIX_SPAWN_SETSID`, which Swift does not import.
    private static let newSession: Int16 = 0x80

    /// Starts a program in a session of its own. Returns false if it cannot be started.
    ///
    /// - Parameter output: the file for its output and errors; nil for `/dev/null`. Its input is
    ///   `/dev/null`.
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
    /// Returns a command line of `larder` that can be pasted into a shell, with the name under which it was
    /// called.
    static func shellCommand(_ words: [String], program: String = program) -> String {
        ([program] + words).map(quoted).joined(separator: " ")
    }

    /// The absolute path of this program, for files such as systemd units that do not search `PATH`.
    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return program }
        defer { free(path) }
        return String(cString: path)
    }

    /// The name under which `larder` was called. `scripts/larder` sets it with `LARDER_CALLED`.
    static var program: String {
        let name = getenv("LARDER_CALLED").map { String(cString: $0) } ?? ""
        return name.isEmpty ? "larder" : name
    }

    /// Returns a word as it is typed in a shell, in single quotes if it contains anything but letters,
    /// digits and `-./:_=`.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x2d...0x3a).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                || byte == 0x5f
                || byte == 0x3d
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
