import Glibc
import TestOrigin

/// A child process that runs a `CrawlProcess`. The caller waits for its end or kills it.
struct CrawlChild {
    struct Ending {
        /// Whether the process ended with the status 0.
        let isWell: Bool
        /// The exit status, or the negated number of the signal that ended the process.
        let status: Int32
        let lines: [String]
        let maxKilobytes: Int

        /// The URLs that the crawl reported as missing.
        var missing: Set<String> {
            Set(lines.filter { $0.hasPrefix("missing ") }.map { String($0.split(separator: " ")[1]) })
        }

        /// The number after a word of the last line; 0 without one.
        func count(of word: String) -> Int {
            let words = (lines.last ?? "").split(separator: " ")
            guard let place = words.firstIndex(where: { $0 == word }), place + 1 < words.count else {
                return 0
            }
            return Int(words[place + 1]) ?? 0
        }
    }

    private let child: ChildProcess

    init(folder: String, url: String) throws(TestError) {
        child = try ChildProcess(
            ChildProcess.built("Soak"), ["crawl", folder, url], environment: ["TZ": "UTC"], errors: .shared)
    }

    func kill() {
        child.signal(SIGKILL)
    }

    func wait() -> Ending {
        let ending = child.wait()
        return Ending(
            isWell: ending.status == 0, status: ending.status,
            lines: ending.output.split(separator: "\n").map { String($0) },
            maxKilobytes: ending.mostKilobytes)
    }
}
