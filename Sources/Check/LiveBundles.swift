internal import Bundles
internal import Digest
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// Fetches bundles on a few threads and hashes the bodies while they arrive, without storing them.
///
/// A bundle is requested up to three times: first with decoding; again without decoding, if it has a digest of the encoded
/// body; and again if it does not match or is gone, since servers of one site may have different releases during a
/// deployment. If the two responses differ, the finding is a skew.
struct LiveBundles {
    private let targets: [CheckTarget]
    /// The index of the base among the URLs of a target.
    private let base: Int
    /// The nearest network zone that requests for the bundles may connect to.
    private let nearestZone: NetworkZone
    private let evidence: Evidence
    private let interruption: Interruption
    private let tally: ProgressCounter

    /// The maximum number of threads. One thread hashes as fast as two transfers deliver.
    private static let maxThreads = 4
    /// The maximum number of connections of all threads together, to be polite to the server.
    private static let maxConnections = 16
    /// The maximum number of bundles that are fetched a second time. If more of them fail, the first result is reported
    /// for the rest: the server then has a general problem, which more requests do not explain.
    private static let maxRefetchedBundles = 100

    init(
        _ targets: [CheckTarget], base: Int, nearestZone: NetworkZone, _ evidence: Evidence,
        _ interruption: Interruption,
        _ tally: ProgressCounter
    ) {
        self.targets = targets
        self.base = base
        self.nearestZone = nearestZone
        self.evidence = evidence
        self.interruption = interruption
        self.tally = tally
    }

    /// Fetches and examines all bundles; the result is nil for those that an interruption left out. Blocks.
    ///
    /// - Parameter good: returns a matching body of the bundle at this index from another place, if there is
    ///   one.
    func examine(_ good: (Int) -> Examination.MatchingBody?) throws(LarderError) -> [Examination?] {
        var results = try fetch(targets.indices.map { LiveRequest(number: $0) }, tally)
        let coded = results.indices.filter { results[$0]?.needsEncodedBody == true }
        for (number, result) in zip(coded, try fetch(coded.map { .init(number: $0, keepsCoding: true) })) {
            guard let result, let first = results[number] else { continue }
            results[number]?.examination = first.examination(withEncoded: result)
        }
        let refetched = results.indices.filter { results[$0]?.isWorthRefetching == true }.prefix(
            Self.maxRefetchedBundles)
        let again = refetched.map { LiveRequest(number: $0, good: good($0)) }
        for (task, result) in zip(again, try fetch(again)) {
            guard let result, let first = results[task.number] else { continue }
            results[task.number]?.examination = first.examination(
                afterRefetch: result, comparedWith: task.good)
        }
        return results.map { $0?.examination }
    }

    /// Fetches the bundles of local bodies that do not match, and returns where each local body first differs
    /// from the fetched one; nil if they cannot be compared.
    func differences(of bodies: [(number: Int, content: BodyContent)]) throws(LarderError) -> [Difference?] {
        let tasks = bodies.prefix(Self.maxRefetchedBundles).map {
            LiveRequest(number: $0.number, good: Examination.MatchingBody(place: "", content: $0.content))
        }
        return try fetch(tasks).map { $0?.difference?.reversed }
    }

    /// Returns the result of each task, in their order.
    ///
    /// - Throws: `LarderError` if this machine fails, because that would affect all other bundles too.
    private func fetch(_ tasks: [LiveRequest], _ tally: ProgressCounter? = nil) throws(LarderError)
        -> [LiveResult?]
    {
        guard !tasks.isEmpty else { return [] }
        let threads = min(Machine.coreCount, Self.maxThreads)
        let (targets, base, nearestZone) = (targets, base, nearestZone)
        let (evidence, interruption) = (evidence, interruption)
        do throws(FetchFailure) {
            return try ParallelWork.share(tasks.count, atMost: threads, named: "larder-live", interruption) {
                (next, give) throws(FetchFailure) in
                let bodies = LiveBodyReceiver(tasks, targets, base: base, evidence)
                try FetchBatch.run(
                    options: .forReading, running: max(1, Self.maxConnections / threads), receiver: bodies,
                    interruption: interruption,
                    next: {
                        guard let place = next() else { return nil }
                        let task = tasks[place]
                        var request = FetchRequest(
                            number: UInt32(place), url: targets[task.number].urls[base],
                            nearestZone: nearestZone)
                        request.keepsCoding = task.keepsCoding
                        if let wanted = targets[task.number].bundle.acceptSignature {
                            request.fields.set("Accept-Signature", wanted)
                        }
                        return request
                    },
                    each: { place, outcome in
                        give(place, bodies.finish(place, outcome))
                        tally?.add()
                    })
                if let failure = bodies.failure { throw failure }
            }
        } catch {
            throw LarderError(error)
        }
    }
}

/// One request for the bundle of a target.
struct LiveRequest: Sendable {
    /// The index of the target.
    let number: Int
    /// Whether the body is hashed without decoding its content coding.
    var keepsCoding = false
    /// The body that the response is compared with.
    var good: Examination.MatchingBody?
}

/// Hashes the bodies of a batch while they arrive. Belongs to the thread of the batch's loop.
///
/// For each request, the loop calls `begin` once, then `take` for each piece, then `finish`. A retried request begins again.
final class LiveBodyReceiver: BodyReceiver {
    /// A response that is being received.
    private struct Reception {
        let bundle: Bundle
        let meter: BundleMeter
        let isCoded: Bool
        var comparison: Comparison?
        var byteCount = 0

        /// Whether the body exceeds its size so far that the transfer is aborted: it may be endless.
        var isTooLarge: Bool {
            bundle.byteCount.map { byteCount - $0 > LiveBodyReceiver.maxSurplusBytes } ?? false
        }
    }

    /// The number of bytes beyond its expected size after which the transfer of a body is aborted.
    private static let maxSurplusBytes = 4 * 1024 * 1024

    /// The comparison of an arriving body with a body that matches.
    private struct Comparison {
        let good: BodyPieces
        var meter = DifferenceMeter()
    }

    private let tasks: [LiveRequest]
    private let targets: [CheckTarget]
    /// The index of the base among the URLs of a target.
    private let base: Int
    private let evidence: Evidence
    /// The URLs that redirects lead to, by the index of the task.
    private var redirected: [UInt32: WebURL] = [:]
    /// The responses that are being received, by the index of their task.
    private var receptions: [UInt32: Reception] = [:]
    private var statuses: [UInt32: Int] = [:]
    /// A failure of this machine, as opposed to a server.
    private(set) var failure: FetchFailure?

    init(_ tasks: [LiveRequest], _ targets: [CheckTarget], base: Int, _ evidence: Evidence) {
        self.tasks = tasks
        self.targets = targets
        self.base = base
        self.evidence = evidence
    }

    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool {
        statuses[number] = status
        receptions[number] = nil
        let task = tasks[Int(number)]
        let url = redirected[number] ?? targets[task.number].urls[base]
        guard (200..<300).contains(status) else {
            redirected[number] = fields["Location"].flatMap { WebURL($0, base: url) }
            return false
        }
        let stated = ResponseIntegrity(
            of: SignedMessage(url: url, status: status, fields: fields), at: SystemClock.secondsSinceEpoch())
        let bundle = targets[task.number].bundle.addingHeaderEvidence(of: fields, evidence)
        let isCoded = fields.isCoded && !task.keepsCoding
        receptions[number] = Reception(
            bundle: bundle, meter: BundleMeter(bundle, stated, isCoded: isCoded), isCoded: isCoded,
            comparison: task.good.flatMap { BodyPieces($0.content) }.map { Comparison(good: $0) })
        return true
    }

    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool {
        guard let run = receptions[number] else { return false }
        run.meter.update(bytes)
        receptions[number]?.byteCount += bytes.count
        if let good = run.comparison?.good {
            let piece = bytes.withUnsafeBufferPointer { Array($0) }
            receptions[number]?.comparison?.meter.update(piece, expected: good.next)
        }
        return receptions[number]?.isTooLarge == false
    }

    /// Returns the result of a request. Call it once for each, after the response has ended.
    func finish(_ place: Int, _ outcome: Result<FetchedResponse, FetchFailure>) -> LiveResult {
        let number = UInt32(place)
        let status = statuses.removeValue(forKey: number)
        let run = receptions.removeValue(forKey: number)
        redirected[number] = nil
        if let run, run.isTooLarge {
            let counted = Measurement(uncoded: Measurement.Body(byteCount: run.byteCount, digests: []))
            var finding = run.bundle.finding(on: counted)
            finding.remarks = ["it continues, and the rest was not downloaded"]
            return LiveResult(status: status, examination: Examination(finding))
        }
        switch outcome {
        case .failure(let failure):
            if failure.kind == .machine { self.failure = self.failure ?? failure }
            return LiveResult(status: status, examination: .missing(failure.description))
        case .success:
            guard var run else {
                return LiveResult(status: status, examination: .missing("no response"))
            }
            let measured = run.meter.measurement()
            var result = LiveResult(
                status: status, examination: Examination(run.bundle.finding(on: measured), measured: measured)
            )
            result.claimedBundle = run.bundle
            result.measured = measured
            result.needsEncodedBody = run.isCoded && !run.bundle.algorithms(of: .encoded).isEmpty
            if let good = run.comparison?.good {
                result.difference = run.comparison?.meter.finish(expected: good.next)
            }
            return result
        }
    }
}

/// The result of one request for a bundle.
struct LiveResult: Sendable {
    /// Nil if there was no response.
    let status: Int?
    var examination: Examination
    /// The bundle with the digests that the response itself gives.
    var claimedBundle: Bundle?
    var measured: Measurement?
    /// Whether the bundle has a digest of the encoded body, but the body was decoded on arrival.
    var needsEncodedBody = false
    /// The first difference from the body that it was compared with.
    var difference: Difference?

    /// Whether a second request makes sense: during a deployment, servers of one site may differ.
    var isWorthRefetching: Bool {
        switch examination.finding.verdict {
        case .mismatch: true
        case .missing: status == 404 || status == 410
        case .verified, .unverifiable, .skew: false
        }
    }

    /// Returns the finding that also uses the digests of the encoded body, which another request measured.
    func examination(withEncoded other: LiveResult) -> Examination {
        guard let measured, let sent = other.measured?.decoded, let bundle = other.claimedBundle else {
            return examination
        }
        let both = Measurement(decoded: measured.decoded, encoded: sent, measured.response)
        return Examination(bundle.finding(on: both), measured: both)
    }

    /// Returns the finding after a second request: if both responses differ, the server has two releases.
    func examination(afterRefetch other: LiveResult, comparedWith good: Examination.MatchingBody?)
        -> Examination
    {
        if let skew = skew(with: other) {
            return Examination(Finding(.skew(skew), remarks: examination.finding.remarks))
        }
        var examination = examination
        if let good, let difference = other.difference { examination.add(difference, from: good) }
        return examination
    }

    private func skew(with other: LiveResult) -> Skew? {
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

/// Reads the bytes of a body piece by piece.
final class BodyPieces {
    private var rest: [UInt8]?
    private let file: File?

    private static let pieceSize = 64 * 1024

    /// Returns nil if the file cannot be opened.
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

    /// Returns the next piece; nil at the end, and after a read error.
    func next() -> [UInt8]? {
        if let rest = rest.take() { return rest }
        let piece = try? file?.read(atMost: Self.pieceSize)
        return piece?.isEmpty == false ? piece : nil
    }
}
