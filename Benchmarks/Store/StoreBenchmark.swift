internal import Glibc
internal import Store

/// The program behind `Benchmarks/store`. Prints one JSON object per measurement.
///
///     StoreBenchmark fill FOLDER COUNT         stores COUNT URLs as one snapshot of one site
///     StoreBenchmark sites FOLDER COUNT SITES  stores COUNT URLs as one snapshot of each of SITES sites
///     StoreBenchmark read FOLDER ROUNDS        opens the store, looks up URLs and counts
///     StoreBenchmark collect FOLDER PERCENT    collects garbage until PERCENT of the size remain
///     StoreBenchmark put FOLDER FILE           stores a large body
///     StoreBenchmark get FOLDER                reads and verifies it
///     StoreBenchmark frontier ADDRESS COUNT    adds COUNT URLs to the shared frontier in PostgreSQL
@main enum StoreBenchmark {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(StoreError) {
            switch (words.first, words.count, words.last.flatMap { Int($0) }) {
            case ("fill", 3, let count?):
                var filling = Filling(StoreFolder(words[1]))
                try filling.run(count: count)
            case ("sites", 4, let sites?):
                guard let count = Int(words[2]), sites > 0 else { stop("unknown arguments: \(words)") }
                var filling = Filling(StoreFolder(words[1]))
                try filling.run(count: count, sites: sites)
            case ("read", 3, let rounds?): try Reading(StoreFolder(words[1]), rounds: max(rounds, 1)).run()
            case ("collect", 3, let share?): try Collecting(StoreFolder(words[1])).run(share: share)
            case ("put", 3, _): try LargeBody(StoreFolder(words[1])).put(file: words[2])
            case ("get", 2, _): try LargeBody(StoreFolder(words[1])).get()
            case ("frontier", 3, let count?): try FrontierGrowth(StoreFolder(words[1])).run(count: count)
            default: stop("unknown arguments: \(words)")
            }
        } catch {
            stop("\(error)")
        }
    }

    private static func stop(_ text: String) -> Never {
        _ = write(2, text + "\n", text.utf8.count + 1)
        exit(1)
    }
}
