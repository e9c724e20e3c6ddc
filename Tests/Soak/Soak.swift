import Glibc
import TestOrigin

/// Long crawls of generated sites, in processes that can be killed and measured.
///
///     Soak kill [KILLS] [PAGES]      kills crawls at random times, and compares the continued ones with a whole crawl
///     Soak faults [PAGES] [SEED]     crawls an origin with random faults
///     Soak traps [PRODUCTS] [SEED]   crawls an origin with random faults, a catalogue, a forum and traps
///     Soak pages [PAGES]             compares the cost of a page at the beginning and the end of a long crawl
///     Soak crawl FOLDER URL          the crawl that the others start
@main enum Soak {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        func number(_ place: Int, default standard: Int) -> Int {
            words.count > place ? Int(words[place]) ?? standard : standard
        }
        do {
            let isWell: Bool
            switch words.first {
            case "kill":
                isWell = try KillRun(pages: number(2, default: 300)).run(kills: number(1, default: 50))
            case "faults":
                isWell = try FaultRun(pages: number(1, default: 20_000), seed: number(2, default: 1)).run()
            case "traps":
                isWell = try TrapRun(products: number(1, default: 100_000), seed: number(2, default: 1)).run()
            case "pages": isWell = try PagesRun(pages: number(1, default: 1_000_000)).run()
            case "crawl" where words.count == 3:
                isWell = try CrawlProcess(folder: words[1], url: words[2]).run()
            default:
                say("usage: Soak kill|faults|traps|pages [COUNT]")
                exit(2)
            }
            exit(isWell ? 0 : 1)
        } catch {
            say("\(error)")
            exit(1)
        }
    }

    /// Prints a line without buffering, so that a reader of a pipe gets it at once.
    static func say(_ words: String...) {
        let line = Array((words.joined(separator: " ") + "\n").utf8)
        _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
