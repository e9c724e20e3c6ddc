internal import Bundles
internal import Fetch
internal import Store
internal import Web

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
            finding.remarks = ["it goes on, and the rest was not waited for"]
            return LiveLook(status: status, examination: Examination(finding))
        }
        switch outcome {
        case .failure(let failure):
            if failure.kind == .machine { self.failure = self.failure ?? failure }
            return LiveLook(status: status, examination: .missing(failure.description))
        case .success:
            guard var run else { return LiveLook(status: status, examination: .missing("nothing was answered")) }
            let measured = run.meter.measurement()
            var look = LiveLook(
                status: status, examination: Examination(run.bundle.finding(on: measured), measured: measured))
            look.answered = run.bundle
            look.measured = measured
            look.wantsEncoded = run.isCoded && !run.bundle.algorithms(of: .encoded).isEmpty
            if let good = run.comparison?.good { look.difference = run.comparison?.meter.finish(expected: good.next) }
            return look
        }
    }
}
