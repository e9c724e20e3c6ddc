import Glibc
import Store
import TestOrigin

/// Kills crawls at random times, and continues each with a second run, whose result must equal that of an uninterrupted
/// crawl.
struct KillRun {
    let pages: Int
    private let origin: TestOrigin

    init(pages: Int) throws {
        self.pages = pages
        let origin = try TestOrigin()
        let site = SyntheticSite(pageCount: pages)
        origin.otherwise { request in
            site.answer(to: request.target).delayed(.milliseconds(10 + request.target.utf8.count % 30))
        }
        self.origin = origin
    }

    /// Returns false if a result differs from that of an uninterrupted crawl, and prints the differences.
    func run(kills: Int) throws -> Bool {
        let (expected, time) = try undisturbed()
        Soak.say("undisturbed: \(expected.rows.count) responses in \(Int(time / .milliseconds(1))) ms")
        var isWell = true
        var random = SystemRandomNumberGenerator()
        var midway = 0
        for number in 1...max(1, kills) {
            let outcome = try kill(
                after: .milliseconds(Int.random(in: 0...Int(time / .milliseconds(1)), using: &random)),
                expected)
            if outcome.storedCount > 0, outcome.storedCount < expected.rows.count { midway += 1 }
            guard !outcome.differences.isEmpty else { continue }
            isWell = false
            Soak.say("kill \(number): \(outcome.differences.joined(separator: "\n  "))")
        }
        let result = isWell ? "all equal" : "some differ"
        Soak.say("\(kills) kills, \(midway) of them with a part of the site stored: \(result)")
        return isWell
    }

    func undisturbed() throws -> (StoreImage, Duration) {
        let scratch = try TemporaryFolder("larder-soak")
        let clock = ContinuousClock()
        let start = clock.now
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        guard ending.isWell else { throw SoakError("the undisturbed crawl ended with \(ending.status)") }
        return (try StoreImage(StoreFolder(scratch.path), base: origin.base), clock.now - start)
    }

    struct Outcome {
        var storedCount = 0
        var differences: [String] = []
    }

    func kill(after delay: Duration, _ expected: StoreImage) throws -> Outcome {
        let scratch = try TemporaryFolder("larder-soak")
        let folder = StoreFolder(scratch.path)
        let child = try CrawlChild(folder: scratch.path, url: origin.url("/"))
        usleep(UInt32(delay / .microseconds(1)))
        child.kill()
        let wasDone = child.wait().isWell
        // If the crawl was killed before it created the store, nothing is stored.
        let left = try? StoreImage(folder, base: origin.base)
        let stored = left?.reusableTargets ?? []
        origin.forgetRequests()
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        var outcome = Outcome(storedCount: stored.count)
        if !ending.isWell { outcome.differences.append("the second run ended with \(ending.status)") }
        // If the first run was already complete, the second one is an update, which may repeat requests.
        let repeated =
            wasDone || left?.published != nil
            ? [] : origin.requests.map(\.target).filter { stored.contains($0) }
        if !repeated.isEmpty {
            outcome.differences.append("requested again \(repeated.count): \(repeated.prefix(5))")
        }
        let image = try StoreImage(folder, base: origin.base)
        outcome.differences += image.differences(from: expected)
        if image.published == nil { outcome.differences.append("it is not published") }
        return outcome
    }
}

struct SoakError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
