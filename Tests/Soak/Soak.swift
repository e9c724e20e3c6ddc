import Glibc
import TestOrigin

/// Long crawls of origins made for it, in processes that can be killed and measured.
///
///     Soak kill [KILLS] [PAGES]      kill -9 at random moments: the next run ends as if nothing had happened
///     Soak faults [PAGES] [SEED]     an origin that drops, delays, truncates, lies and refuses at random
///     Soak traps [PAGES] [SEED]      the same origin with a catalogue, a forum, events and facets beside
///     traps Soak pages [PAGES]             what a page costs at the beginning and at the end, and the most
///     memory Soak crawl FOLDER URL          the crawl itself, for the others to start
@main enum Soak {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        func number(_ place: Int, or usual: Int) -> Int {
            words.count > place ? Int(words[place]) ?? usual : usual
        }
        do {
            let isWell: Bool
            switch words.first {
            case "kill": isWell = try KillRun(pages: number(2, or: 300)).run(kills: number(1, or: 50))
            case "faults": isWell = try FaultRun(pages: number(1, or: 20_000), seed: number(2, or: 1)).run()
            case "traps": isWell = try TrapRun(products: number(1, or: 100_000), seed: number(2, or: 1)).run()
            case "pages": isWell = try PagesRun(pages: number(1, or: 1_000_000)).run()
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

    /// A line at once, also into a pipe.
    static func say(_ words: String...) {
        let line = Array((words.joined(separator: " ") + "\n").utf8)
        _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
