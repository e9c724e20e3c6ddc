import TestOrigin

/// Compares the CPU time per page at the beginning and at the end of a crawl of very many pages, and checks its memory.
struct PagesRun {
    let pages: Int

    private static let maxKilobytes = 300 * 1024
    private static let maxCostRatio = 1.3

    func run() throws -> Bool {
        let origin = try TestOrigin()
        let site = SyntheticSite(pageCount: pages)
        origin.otherwise { [weak origin] request in
            if request.target.hasSuffix("00.html") { origin?.forgetRequests() }
            return site.answer(to: request.target)
        }
        let scratch = try TemporaryFolder("larder-soak")
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        let marks = ending.lines.compactMap(Mark.init)
        guard ending.isWell, let last = marks.last else {
            Soak.say("the crawl exited with \(ending.status): \(ending.lines.last ?? "no output")")
            return false
        }
        for tenth in 1...10 {
            guard let mark = marks.last(where: { $0.pages * 10 <= last.pages * tenth }) else { continue }
            Soak.say(
                "\(mark.pages) pages: \(mark.milliseconds) ms, \(mark.cpu) ms of CPU time, \(mark.kilobytes) KB"
            )
        }
        // The first twentieth is not measured, because the crawl speeds up at first.
        let begin = cost(of: marks, from: 0.05, to: 0.25)
        // The last mark includes the work after the last page.
        let end = cost(of: marks.dropLast(), from: 0.75, to: 0.95)
        Soak.say("\(ending.lines.last ?? "")")
        Soak.say("CPU time per page: \(begin) µs at the beginning, \(end) µs at the end")
        Soak.say("peak memory: \(ending.maxKilobytes) KB")
        return end <= begin * Self.maxCostRatio && ending.maxKilobytes <= Self.maxKilobytes
    }

    /// A progress report of the crawl.
    private struct Mark {
        let milliseconds: Int
        let pages: Int
        let cpu: Int
        let kilobytes: Int

        init?(_ line: String) {
            let words = line.split(separator: " ")
            guard words.count == 5, words[0] == "at", let time = Int(words[1]), let pages = Int(words[2]),
                let cpu = Int(words[3]), let kilobytes = Int(words[4])
            else { return nil }
            (milliseconds, self.pages, self.cpu, self.kilobytes) = (time, pages, cpu, kilobytes)
        }
    }

    /// The CPU time per page in microseconds, between two fractions of the crawl.
    private func cost(of marks: some Collection<Mark>, from: Double, to: Double) -> Double {
        let all = Double(pages)
        let inside = marks.filter { Double($0.pages) >= all * from && Double($0.pages) <= all * to }
        guard let first = inside.first, let last = inside.last, last.pages > first.pages else { return 0 }
        return (Double(last.cpu - first.cpu) * 1000 / Double(last.pages - first.pages)).rounded()
    }
}
