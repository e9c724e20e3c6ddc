internal import Glibc
internal import Search
internal import Store

/// The program behind `Benchmarks/search --million`.
///
///     SearchBenchmark fill FOLDER SOURCE COUNT    fills a store with texts that are made from those of another store
///     SearchBenchmark questions SOURCE COUNT      prints queries that fit these texts, one per line
///     SearchBenchmark ask FOLDER ROUNDS           measures the queries on standard input
///     SearchBenchmark texts FOLDER                prints all texts in the input format of Xapian's scriptindex
@main enum SearchBenchmark {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(StoreError) {
            switch (words.first, words.count, words.last.flatMap { Int($0) }) {
            case ("fill", 4, let count?):
                try MadeTexts(of: StoreFolder(words[2])).fill(StoreFolder(words[1]), count: count)
            case ("questions", 3, let count?):
                for question in try MadeTexts(of: StoreFolder(words[1])).questions(count) { print(question) }
            case ("ask", 3, let rounds?): try Asking(StoreFolder(words[1])).run(rounds: max(1, rounds))
            case ("texts", 2, _): try Asking(StoreFolder(words[1])).printTexts()
            default: stop("unknown arguments: \(words)")
            }
        } catch {
            stop("\(error)")
        }
    }

    static func stop(_ text: String) -> Never {
        _ = write(2, text + "\n", text.utf8.count + 1)
        exit(1)
    }
}

/// Measures the time of each query.
struct Asking {
    private let folder: StoreFolder
    private let clock = ContinuousClock()

    init(_ folder: StoreFolder) { self.folder = folder }

    func run(rounds: Int) throws(StoreError) {
        var questions: [(text: String, question: SearchQuery)] = []
        while let line = readLine() {
            if let question = try? SearchQuery(line) { questions.append((line, question)) }
        }
        let start = clock.now
        let searcher = Searcher(try StoreReader(folder))
        if let (_, question) = questions.first { _ = try searcher.search(question, SearchOptions()) }
        print("opening the index, with the first query: \(Self.milliseconds(clock.now - start)) ms")
        var taken: [(time: Duration, cpu: Duration, text: String, hits: Int)] = []
        for round in 0..<rounds {
            taken = []
            for (text, question) in questions {
                let (start, before) = (clock.now, Self.cpuTime)
                let report = try searcher.search(question, SearchOptions())
                taken.append((clock.now - start, Self.cpuTime - before, text, report.hits.count))
            }
            print(
                "round \(round): \(taken.count) queries: \(Self.shares(taken.map(\.time))), CPU time \(Self.shares(taken.map(\.cpu)))"
            )
        }
        for slow in taken.sorted(by: { $1.cpu < $0.cpu }).prefix(12) {
            let times = "\(Self.milliseconds(slow.time)) ms, \(Self.milliseconds(slow.cpu)) ms of CPU time"
            print("  \(times): \(slow.text) (\(slow.hits) hits)")
        }
    }

    func printTexts() throws(StoreError) {
        guard let index = try SearchIndex.openIfExists(folder) else {
            SearchBenchmark.stop("there is no index")
        }
        var id = Int64.min
        while let text = try index.text(after: id) {
            id = text.id
            let body = String(decoding: text.body, as: UTF8.self).replacing("\n", with: "\n=")
            print("id=\(id)\ntitle=\(text.title.replacing("\n", with: " "))\ntext=\(body)\n")
        }
    }

    private static func shares(_ times: [Duration]) -> String {
        let times = times.sorted()
        return [0.5, 0.9, 0.99].map { share in
            "p\(Int(share * 100)) \(milliseconds(times[min(Int(Double(times.count) * share), times.count - 1)]))"
        }.joined(separator: ", ") + " ms"
    }

    private static func milliseconds(_ time: Duration) -> Double {
        (time / .microseconds(10)).rounded() / 100
    }

    private static var cpuTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
