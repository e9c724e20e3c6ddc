import Glibc
import Store
import TestOrigin

/// Crawls that are killed at random moments, and what the next run makes of what they left.
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

    /// False when any of them ended otherwise than an undisturbed run; each that did is printed.
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
            if outcome.heldCount > 0, outcome.heldCount < expected.rows.count { midway += 1 }
            guard !outcome.complaints.isEmpty else { continue }
            isWell = false
            Soak.say("kill \(number): \(outcome.complaints.joined(separator: "\n  "))")
        }
        let result = isWell ? "all well" : "not well"
        Soak.say("\(kills) kills, \(midway) of them with something held and something not: \(result)")
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
        var heldCount = 0
        var complaints: [String] = []
    }

    func kill(after delay: Duration, _ expected: StoreImage) throws -> Outcome {
        let scratch = try TemporaryFolder("larder-soak")
        let folder = StoreFolder(scratch.path)
        let child = try CrawlChild(folder: scratch.path, url: origin.url("/"))
        usleep(UInt32(delay / .microseconds(1)))
        child.kill()
        let wasDone = child.wait().isWell
        // Killed before there was a store, nothing is held.
        let left = try? StoreImage(folder, base: origin.base)
        let held = left?.held ?? []
        origin.forgetRequests()
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        var outcome = Outcome(heldCount: held.count)
        if !ending.isWell { outcome.complaints.append("the second run ended with \(ending.status)") }
        // One that was done already is a snapshot of its own, which asks again.
        let again =
            wasDone || left?.published != nil
            ? [] : origin.requests.map(\.target).filter { held.contains($0) }
        if !again.isEmpty { outcome.complaints.append("asked again for \(again.count): \(again.prefix(5))") }
        let image = try StoreImage(folder, base: origin.base)
        outcome.complaints += image.differences(from: expected)
        if image.published == nil { outcome.complaints.append("it is not published") }
        return outcome
    }
}

struct SoakError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
