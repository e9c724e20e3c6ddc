import Glibc
import TestOrigin

/// The real `larder`, run as a person would run it.
struct Command {
    struct Ending {
        /// Negative: the signal that ended it.
        let status: Int32
        let output: String
        let errors: String
    }

    let process: pid_t
    private let output: Int32
    private let errors: Int32

    /// - Parameters:
    ///   - environment: added to a bare one, in which HOME is an empty folder.
    ///   - shell: a script that runs it as `exec "$0" "$@"`, and changes something around it.
    ///   - blocksOutput: false makes its standard output a pipe that refuses to wait for its reader.
    init(
        _ arguments: [String], home: TemporaryFolder, environment: [String: String] = [:], shell: String? = nil,
        blocksOutput: Bool = true
    ) throws(SystemError) {
        let (outputEnd, outputStart) = try Self.pipe()
        if !blocksOutput { _ = fcntl(outputStart, F_SETFL, O_NONBLOCK) }
        let (errorsEnd, errorsStart) = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, outputStart, 1)
        posix_spawn_file_actions_adddup2(&actions, errorsStart, 2)
        for descriptor in [outputEnd, outputStart, errorsEnd, errorsStart] {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var variables = ["HOME": home.path, "PATH": "/usr/bin:/bin"]
        variables.merge(environment) { $1 }
        let program = shell == nil ? Self.binary : "/bin/sh"
        let words = ((shell.map { ["sh", "-c", $0] } ?? []) + [Self.binary] + arguments).map { strdup($0) } + [nil]
        let settings = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, program, &actions, nil, words, settings)
        close(outputStart)
        close(errorsStart)
        guard code == 0 else { throw SystemError("starting \(Self.binary)", errno: code) }
        self.process = process
        output = outputEnd
        errors = errorsEnd
    }

    /// Runs it to its end.
    static func run(
        _ arguments: String..., home: TemporaryFolder, environment: [String: String] = [:]
    ) throws(SystemError) -> Ending {
        try Command(arguments, home: home, environment: environment).wait()
    }

    /// Makes its next write to standard output one that nobody reads.
    func stopReading() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        dup2(nothing, output)
        close(nothing)
    }

    func signal(_ number: Int32) {
        kill(process, number)
    }

    /// What it printed so far, as soon as that contains `text`; everything when it ends before.
    func read(until text: String) -> String {
        var bytes: [UInt8] = []
        while !bytes.isEmpty ? !String(decoding: bytes, as: UTF8.self).contains(text) : true {
            var byte: UInt8 = 0
            guard Glibc.read(output, &byte, 1) == 1 else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Small outputs only: the errors are read when the output has ended.
    func wait() -> Ending {
        let text = Self.readAll(output)
        let complaints = Self.readAll(errors)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return Ending(status: signal == 0 ? status >> 8 & 0xff : -signal, output: text, errors: complaints)
    }

    private static func readAll(_ descriptor: Int32) -> String {
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    private static func pipe() throws(SystemError) -> (end: Int32, start: Int32) {
        var ends: [Int32] = [0, 0]
        // Close on exec, so that a command that runs beside this one does not hold it open.
        guard Glibc.pipe(&ends) == 0 else { throw SystemError("making a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Beside the tests' own binary, where the package manager builds it.
    private static let binary: String = {
        let own = realpath("/proc/self/exe", nil)
        defer { free(own) }
        let path = own.map { String(cString: $0) } ?? ""
        return path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) + "/larder"
    }()
}

/// The tests' own kind, by a name that larder's has not.
typealias HomeFolder = TemporaryFolder
