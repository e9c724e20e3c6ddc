internal import Bundles
internal import Digest
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// Fetches bundles on a few threads, each of which hashes what comes to it: no body is ever held.
struct LiveBundles {
    private let targets: [CheckTarget]
    /// Its place in the targets' URLs.
    private let base: Int
    /// The nearest network zone that requests for them may connect to.
    private let nearestZone: NetworkZone
    private let evidence: Evidence
    private let interruption: Interruption
    private let tally: WorkTally

    /// A core can hash what two fetch; more connections than these in all would be no manners.
    private static let mostThreads = 4
    private static let mostRunning = 16
    /// When everything is wrong, to ask for all of it again would say nothing new.
    private static let mostAskedAgain = 100

    init(
        _ targets: [CheckTarget], base: Int, nearestZone: NetworkZone, _ evidence: Evidence,
        _ interruption: Interruption,
        _ tally: WorkTally
    ) {
        self.targets = targets
        self.base = base
        self.nearestZone = nearestZone
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

    /// Where bodies that are at hand and do not match first differ from what comes; nil where that says
    /// nothing.
    func differences(of bodies: [(number: Int, content: BodyContent)]) throws(LarderError) -> [Difference?] {
        let tasks = bodies.prefix(Self.mostAskedAgain).map {
            LiveBodies.Task(number: $0.number, good: Examination.GoodBody(place: "", content: $0.content))
        }
        return try look(tasks).map { $0?.difference?.reversed }
    }

    /// What came of each task, in their order. What fails in this machine says nothing about a bundle, and
    /// would go on for all the others.
    private func look(_ tasks: [LiveBodies.Task], _ tally: WorkTally? = nil) throws(LarderError)
        -> [LiveLook?]
    {
        guard !tasks.isEmpty else { return [] }
        let threads = min(Machine.coreCount, Self.mostThreads)
        let (targets, base, nearestZone) = (targets, base, nearestZone)
        let (evidence, interruption) = (evidence, interruption)
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
                        var request = FetchRequest(
                            number: UInt32(place), url: targets[task.number].urls[base],
                            nearestZone: nearestZone)
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

/// Measures the bodies of a batch while they come. It belongs to the thread of the batch's loop.
final class LiveBodies: BodyReceiver {
    /// A look at a target.
    struct Task: Sendable {
        /// Of the target.
        let number: Int
        /// The body is measured as it is sent.
        var keepsCoding = false
        /// What the body is compared with.
        var good: Examination.GoodBody?
    }

    private struct Run {
        let bundle: Bundle
        let meter: BundleMeter
        let isCoded: Bool
        var comparison: Comparison?
        var byteCount = 0

        /// So far beyond its size that nothing but its size need be said of it: it may never end.
        var isOver: Bool { bundle.byteCount.map { byteCount - $0 > LiveBodies.mostSurplus } ?? false }
    }

    private static let mostSurplus = 4 * 1024 * 1024

    private struct Comparison {
        let good: BodyPieces
        var meter = DifferenceMeter()
    }

    private let tasks: [Task]
    private let targets: [CheckTarget]
    private let evidence: Evidence
    /// The answers that are under way, by the places of their tasks.
    private var runs: [UInt32: Run] = [:]
    private var statuses: [UInt32: Int] = [:]
    /// What failed here, and not at a server.
    private(set) var failure: FetchFailure?

    init(_ tasks: [Task], _ targets: [CheckTarget], _ evidence: Evidence) {
        self.tasks = tasks
        self.targets = targets
        self.evidence = evidence
    }

    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool {
        statuses[number] = status
        runs[number] = nil
        guard (200..<300).contains(status) else { return false }
        let task = tasks[Int(number)]
        let bundle = targets[task.number].bundle.adding(fields, evidence)
        let isCoded = fields.isCoded && !task.keepsCoding
        runs[number] = Run(
            bundle: bundle, meter: BundleMeter(bundle, isCoded: isCoded), isCoded: isCoded,
            comparison: task.good.flatMap { BodyPieces($0.content) }.map { Comparison(good: $0) })
        return true
    }

    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool {
        guard let run = runs[number] else { return false }
        run.meter.update(bytes)
        runs[number]?.byteCount += bytes.count
        if let good = run.comparison?.good {
            let piece = bytes.withUnsafeBufferPointer { Array($0) }
            runs[number]?.comparison?.meter.update(piece, expected: good.next)
        }
        return runs[number]?.isOver == false
    }

    /// What the answer said. To be called once for each, when it is whole.
    func look(_ place: Int, _ outcome: Result<FetchedResponse, FetchFailure>) -> LiveLook {
        let number = UInt32(place)
        let status = statuses.removeValue(forKey: number)
        let run = runs.removeValue(forKey: number)
        if let run, run.isOver {
            let counted = Measurement(uncoded: Measurement.Body(byteCount: run.byteCount, digests: []))
            var finding = run.bundle.finding(on: counted)
            finding.remarks = ["it continues, and the rest was not downloaded"]
            return LiveLook(status: status, examination: Examination(finding))
        }
        switch outcome {
        case .failure(let failure):
            if failure.kind == .machine { self.failure = self.failure ?? failure }
            return LiveLook(status: status, examination: .missing(failure.description))
        case .success:
            guard var run else {
                return LiveLook(status: status, examination: .missing("no response"))
            }
            let measured = run.meter.measurement()
            var look = LiveLook(
                status: status, examination: Examination(run.bundle.finding(on: measured), measured: measured)
            )
            look.answered = run.bundle
            look.measured = measured
            look.wantsEncoded = run.isCoded && !run.bundle.algorithms(of: .encoded).isEmpty
            if let good = run.comparison?.good {
                look.difference = run.comparison?.meter.finish(expected: good.next)
            }
            return look
        }
    }
}

/// What one answer for a bundle told.
struct LiveLook: Sendable {
    /// Nil when no answer came.
    let status: Int?
    var examination: Examination
    /// With what the answer says of its body.
    var answered: Bundle?
    var measured: Measurement?
    /// The answer speaks of its bytes as they were sent, and they were decoded on the way.
    var wantsEncoded = false
    /// From the body that it was compared with.
    var difference: Difference?

    /// Worth asking again: while servers are brought up to date, one has what another has not.
    var isDoubtful: Bool {
        switch examination.finding.verdict {
        case .mismatch: true
        case .missing: status == 404 || status == 410
        case .verified, .unverifiable, .skew: false
        }
    }

    /// With the bytes as they were sent, which another look has measured.
    func examination(withEncoded other: LiveLook) -> Examination {
        guard let measured, let sent = other.measured?.decoded, let bundle = other.answered else {
            return examination
        }
        let both = Measurement(decoded: measured.decoded, encoded: sent)
        return Examination(bundle.finding(on: both), measured: both)
    }

    /// After the same was asked for once more: a server that says two things has two releases.
    func examination(askedAgain other: LiveLook, comparedWith good: Examination.GoodBody?) -> Examination {
        if let skew = skew(with: other) {
            return Examination(Finding(.skew(skew), remarks: examination.finding.remarks))
        }
        var examination = examination
        if let good, let difference = other.difference { examination.add(difference, from: good) }
        return examination
    }

    private func skew(with other: LiveLook) -> Skew? {
        guard let measured, let again = other.measured else {
            guard let status, let second = other.status, other.examination.finding.verdict == .verified else {
                return nil
            }
            return .generation(by: "status", first: "\(status)", second: "\(second)")
        }
        for digest in measured.decoded.digests {
            guard let second = again.decoded.digest(digest.algorithm), second != digest else { continue }
            return .generation(by: digest.algorithm.label, first: digest.hex, second: second.hex)
        }
        return nil
    }
}

/// The bytes of a body, a piece each time that somebody asks.
final class BodyPieces {
    private var rest: [UInt8]?
    private let file: File?

    private static let pieceSize = 64 * 1024

    /// Nil when it cannot be opened.
    init?(_ content: BodyContent) {
        switch content {
        case .bytes(let bytes):
            rest = bytes
            file = nil
        case .file(let path):
            guard let file = try? File(path, O_RDONLY) else { return nil }
            self.file = consume file
        }
    }

    /// Nil at the end, and where it cannot be read any further.
    func next() -> [UInt8]? {
        if let rest = rest.take() { return rest }
        let piece = try? file?.read(atMost: Self.pieceSize)
        return piece?.isEmpty == false ? piece : nil
    }
}
