import Glibc
import TestOrigin

/// `StoreFaults`, a process that writes to a store and may be killed at it.
struct Child {
    struct Ending {
        /// Negative: the signal that ended it.
        let status: Int32
        /// A letter for each thing that it did.
        let steps: String
        let errors: String
    }

    private let process: pid_t
    private let output: Int32
    private let errors: Int32

    init(_ words: String...) throws(SystemError) {
        let (outputEnd, outputStart) = try Self.pipe()
        let (errorsEnd, errorsStart) = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, outputStart, 1)
        posix_spawn_file_actions_adddup2(&actions, errorsStart, 2)
        let arguments = ([Self.binary] + words).map { strdup($0) } + [nil]
        let settings = [nil] as [UnsafeMutablePointer<CChar>?]
        defer { for text in arguments { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, Self.binary, &actions, nil, arguments, settings)
        close(outputStart)
        close(errorsStart)
        guard code == 0 else { throw SystemError("starting \(Self.binary)", errno: code) }
        self.process = process
        output = outputEnd
        errors = errorsEnd
    }

    /// Waits until it has done so many things, or ended.
    func wait(forSteps count: Int) -> String {
        var steps: [UInt8] = []
        var letter: UInt8 = 0
        while steps.count < count, read(output, &letter, 1) == 1 { steps.append(letter) }
        return String(decoding: steps, as: UTF8.self)
    }

    func kill() {
        Glibc.kill(process, SIGKILL)
    }

    func wait() -> Ending {
        let steps = Self.readAll(output)
        let complaints = Self.readAll(errors)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return Ending(status: signal == 0 ? status >> 8 & 0xff : -signal, steps: steps, errors: complaints)
    }

    private static func readAll(_ descriptor: Int32) -> String {
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    private static func pipe() throws(SystemError) -> (end: Int32, start: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw SystemError("making a pipe") }
        // Close on exec, so that a child that runs beside this one does not hold it open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Beside the tests' own binary, where the package manager builds it.
    private static let binary: String = {
        let own = realpath("/proc/self/exe", nil)
        defer { free(own) }
        let path = own.map { String(cString: $0) } ?? ""
        return path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) + "/StoreFaults"
    }()
}
