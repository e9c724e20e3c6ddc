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
            mostKilobytes: ending.mostKilobytes)
    }
}
