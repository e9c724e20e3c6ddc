internal import Glibc
internal import Search
internal import Store

/// Measures what `Benchmarks/search --million` asks for.
///
///     SearchBenchmark fill FOLDER SOURCE COUNT    so many texts, made of those of another store
///     SearchBenchmark questions SOURCE COUNT      what people might ask of them, a line each
///     SearchBenchmark ask FOLDER ROUNDS           the questions of the standard input
///     SearchBenchmark texts FOLDER                what scriptindex (Xapian) makes an index of
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
            case ("texts", 2, _): try Asking(StoreFolder(words[1])).tellTexts()
            default: stop("unknown words: \(words)")
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

/// Asks, and takes the time of each question.
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
        print("opening, with the first question: \(Self.milliseconds(clock.now - start)) ms")
        var taken: [(time: Duration, cpu: Duration, text: String, hits: Int)] = []
        for round in 0..<rounds {
            taken = []
            for (text, question) in questions {
                let (start, before) = (clock.now, Self.cpuTime)
                let report = try searcher.search(question, SearchOptions())
                taken.append((clock.now - start, Self.cpuTime - before, text, report.hits.count))
            }
            print(
                "round \(round): \(taken.count) questions: \(Self.shares(taken.map(\.time))), of the processor \(Self.shares(taken.map(\.cpu)))"
            )
        }
        for slow in taken.sorted(by: { $1.cpu < $0.cpu }).prefix(12) {
            let times = "\(Self.milliseconds(slow.time)) ms, \(Self.milliseconds(slow.cpu)) of the processor"
            print("  \(times): \(slow.text) (\(slow.hits) hits)")
        }
    }

    func tellTexts() throws(StoreError) {
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
