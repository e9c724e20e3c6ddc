import Glibc
import TestOrigin

/// A `CrawlProcess` that was started, to be waited for or killed.
struct CrawlChild {
    struct Ending {
        /// It ended by itself and said that all is well.
        let isWell: Bool
        /// Negative: the signal that ended it.
        let status: Int32
        let lines: [String]
        let mostKilobytes: Int

        /// The URLs that it could not get.
        var missing: Set<String> {
            Set(lines.filter { $0.hasPrefix("missing ") }.map { String($0.split(separator: " ")[1]) })
        }

        /// The number behind a word of the last line.
        func count(of word: String) -> Int {
            let words = (lines.last ?? "").split(separator: " ")
            guard let place = words.firstIndex(where: { $0 == word }), place + 1 < words.count else { return 0 }
            return Int(words[place + 1]) ?? 0
        }
    }

    private let process: pid_t
    private let output: Int32

    init(folder: String, url: String) throws(SystemError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw SystemError("making a pipe") }
        // Closed on exec, so that a child that runs beside this one does not hold it open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let arguments = ([Self.binary, "crawl", folder, url] as [String]).map { strdup($0) } + [nil]
        defer { for text in arguments { free(text) } }
        let settings = [strdup("TZ=UTC"), nil]
        defer { for text in settings { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, Self.binary, &actions, nil, arguments, settings)
        close(ends[1])
        guard code == 0 else { throw SystemError("starting \(Self.binary)", errno: code) }
        self.process = process
        output = ends[0]
    }

    func kill() {
        Glibc.kill(process, SIGKILL)
    }

    func wait() -> Ending {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(output, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        close(output)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return Ending(
            isWell: status == 0, status: signal == 0 ? status >> 8 & 0xFF : -signal,
            lines: String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) },
            mostKilobytes: usage.ru_maxrss)
    }

    /// Beside the binary that runs, be it this one or that of the tests.
    private static let binary: String = {
        let own = realpath("/proc/self/exe", nil)
        defer { free(own) }
        let path = own.map { String(cString: $0) } ?? ""
        return path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) + "/Soak"
    }()
}
