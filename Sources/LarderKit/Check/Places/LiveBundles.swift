internal import Bundles
internal import Fetch
internal import Store
internal import System
internal import Web

/// Fetches bundles on a few threads, each of which hashes what comes to it: no body is ever held.
struct LiveBundles {
    private let targets: [CheckTarget]
    /// Its place in the targets' URLs.
    private let base: Int
    private let evidence: Evidence
    private let interruption: Interruption
    private let tally: WorkTally

    /// A core can hash what two fetch; more connections than these in all would be no manners.
    private static let mostThreads = 4
    private static let mostRunning = 16
    /// When everything is wrong, to ask for all of it again would say nothing new.
    private static let mostAskedAgain = 100

    init(_ targets: [CheckTarget], base: Int, _ evidence: Evidence, _ interruption: Interruption, _ tally: WorkTally) {
        self.targets = targets
        self.base = base
        self.evidence = evidence
        self.interruption = interruption
        self.tally = tally
    }

    /// Nil for what an interruption left undone. Blocks.
    ///
    /// - Parameter good: a body of the bundle with this number that was found to match elsewhere.
    func examine(_ good: (Int) -> Examination.GoodBody?) throws(LarderError) -> [Examination?] {
        var looks = try look(targets.indices.map { LiveBodies.Task(number: $0) }, tally)
        let coded = looks.indices.filter { looks[$0]?.wantsEncoded == true }
        for (number, look) in zip(coded, try look(coded.map { .init(number: $0, keepsCoding: true) })) {
            guard let look, let first = looks[number] else { continue }
            looks[number]?.examination = first.examination(withEncoded: look)
        }
        let doubtful = looks.indices.filter { looks[$0]?.isDoubtful == true }.prefix(Self.mostAskedAgain)
        let again = doubtful.map { LiveBodies.Task(number: $0, good: good($0)) }
        for (task, look) in zip(again, try look(again)) {
            guard let look, let first = looks[task.number] else { continue }
            looks[task.number]?.examination = first.examination(askedAgain: look, comparedWith: task.good)
        }
        return looks.map { $0?.examination }
    }

    /// Where bodies that are at hand and do not match first differ from what comes; nil where that says nothing.
    func differences(of bodies: [(number: Int, content: BodyContent)]) throws(LarderError) -> [Difference?] {
        let tasks = bodies.prefix(Self.mostAskedAgain).map {
            LiveBodies.Task(number: $0.number, good: Examination.GoodBody(place: "", content: $0.content))
        }
        return try look(tasks).map { $0?.difference?.reversed }
    }

    /// What came of each task, in their order. What fails in this machine says nothing about a bundle, and would go on for all
    /// the others.
    private func look(_ tasks: [LiveBodies.Task], _ tally: WorkTally? = nil) throws(LarderError) -> [LiveLook?] {
        guard !tasks.isEmpty else { return [] }
        let threads = min(Machine.coreCount, Self.mostThreads)
        let (targets, base, evidence, interruption) = (targets, base, evidence, interruption)
        do throws(FetchFailure) {
            return try WorkTeam.share(tasks.count, atMost: threads, named: "larder-live", interruption) {
                (next, give) throws(FetchFailure) in
                let bodies = LiveBodies(tasks, targets, evidence)
                try FetchBatch.run(
                    options: .forReading, running: max(1, Self.mostRunning / threads), receiver: bodies,
                    interruption: interruption,
                    next: {
                        guard let place = next() else { return nil }
                        let task = tasks[place]
                        var request = FetchRequest(number: UInt32(place), url: targets[task.number].urls[base])
                        request.keepsCoding = task.keepsCoding
                        return request
                    },
                    each: { place, outcome in
                        give(place, bodies.look(place, outcome))
                        tally?.add()
                    })
                if let failure = bodies.failure { throw failure }
            }
        } catch {
            throw LarderError(error)
        }
    }
}
