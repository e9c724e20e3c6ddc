internal import Glibc
internal import Store

/// Measures what `Benchmarks/store` asks for. Prints one JSON object a measurement.
///
///     StoreBenchmark fill FOLDER COUNT       so many URLs, as one snapshot of one site
///     StoreBenchmark read FOLDER ROUNDS      opening, looking up and counting
///     StoreBenchmark collect FOLDER SHARE    down to so many hundredths of what it takes
///     StoreBenchmark put FOLDER FILE         a large body into a store
///     StoreBenchmark get FOLDER              and out of it
///     StoreBenchmark frontier PLACE COUNT    so many URLs into the frontier that workers share, on a
/// PostgreSQL
@main enum StoreBenchmark {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(StoreError) {
            switch (words.first, words.count, words.last.flatMap { Int($0) }) {
            case ("fill", 3, let count?): try Filling(StoreFolder(words[1])).run(count: count)
            case ("read", 3, let rounds?): try Reading(StoreFolder(words[1]), rounds: max(rounds, 1)).run()
            case ("collect", 3, let share?): try Collecting(StoreFolder(words[1])).run(share: share)
            case ("put", 3, _): try LargeBody(StoreFolder(words[1])).put(file: words[2])
            case ("get", 2, _): try LargeBody(StoreFolder(words[1])).get()
            case ("frontier", 3, let count?): try FrontierGrowth(StoreFolder(words[1])).run(count: count)
            default: stop("unknown words: \(words)")
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
