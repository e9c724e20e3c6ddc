internal import Bundles
internal import Digest
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// Fetches the bundles of a check from the live site on a few threads, and hashes the bodies while they arrive, without
/// storing them.
///
/// A bundle is requested up to three times: first with decoding; again without decoding, if it has a digest of the encoded
/// body; and again if it does not match or is gone, since servers of one site may have different releases during a
/// deployment. If the two responses differ, the finding is a skew.
struct LiveBundles {
    private let targets: [CheckTarget]
    /// The index, in `CheckTarget.urls`, of the URLs to fetch. A check may compare several base URLs.
    private let baseIndex: Int
    /// The nearest network zone that requests for the bundles may connect to, such as the public network for a manifest
    /// from there.
    private let nearestZone: NetworkZone
    /// The kinds of weak evidence to report.
    private let evidence: Evidence
    private let interruption: Interruption
    private let progress: ProgressCounter

    /// The maximum number of threads. One thread hashes as fast as two transfers deliver.
    private static let maxThreads = 4
    /// The maximum number of connections of all threads together, to be polite to the server.
    private static let maxConnections = 16
    /// The maximum number of bundles that are fetched a second time. If more of them fail, the first result is reported
    /// for the rest: the server then has a general problem, which more requests do not explain.
    private static let maxRefetchedBundles = 100

    /// - Parameter progress: counts the bundles that were fetched for the first time.
    init(
        _ targets: [CheckTarget], baseIndex: Int, nearestZone: NetworkZone, _ evidence: Evidence,
        _ interruption: Interruption, _ progress: ProgressCounter
    ) {
        self.targets = targets
        self.baseIndex = baseIndex
        self.nearestZone = nearestZone
        self.evidence = evidence
        self.interruption = interruption
        self.progress = progress
    }

    /// Fetches and examines all bundles; the result is nil for those that an interruption left out. Blocks.
    ///
    /// - Parameter matchingBody: returns a local body that matches the bundle of the target with this index, if there
    ///   is one. A live body that does not match is compared with it, to report the first difference.
    func examine(
        comparingWith matchingBody: (Int) -> Examination.MatchingBody?
    ) throws(LarderError) -> [Examination?] {
        var results = try fetch(targets.indices.map { LiveRequest(targetIndex: $0) }, progress)
        let encoded = results.indices.filter { results[$0]?.needsEncodedBody == true }
        let encodedResults = try fetch(encoded.map { LiveRequest(targetIndex: $0, keepsCoding: true) })
        for (target, result) in zip(encoded, encodedResults) {
            guard let result, let first = results[target] else { continue }
            results[target]?.examination = first.examination(withEncoded: result)
        }
        let refetched = results.indices.filter { results[$0]?.isWorthRefetching == true }.prefix(
            Self.maxRefetchedBundles)
        let matchingBodies = refetched.map(matchingBody)
        let requests = zip(refetched, matchingBodies).map {
            LiveRequest(targetIndex: $0, comparedBody: $1?.content)
        }
        for ((target, matching), result) in zip(zip(refetched, matchingBodies), try fetch(requests)) {
            guard let result, let first = results[target] else { continue }
            results[target]?.examination = first.examination(afterRefetch: result, comparedWith: matching)
        }
        return results.map { $0?.examination }
    }

    /// Fetches the bundles of local bodies that do not match, and returns where each local body first differs
    /// from the fetched one; nil if they cannot be compared.
    ///
    /// - Parameter bodies: the local bodies, each with the index of its target.
    func differences(
        of bodies: [(targetIndex: Int, content: BodyContent)]
    ) throws(LarderError) -> [Difference?] {
        let requests = bodies.prefix(Self.maxRefetchedBundles).map {
            LiveRequest(targetIndex: $0.targetIndex, comparedBody: $0.content)
        }
        // `fetch` reports how the fetched body differs from the compared one. Here, the compared one is wrong.
        return try fetch(requests).map { $0?.difference?.reversed }
    }

    /// Returns the result of each request, in their order; nil for those that an interruption left out.
    ///
    /// - Throws: `LarderError` if this machine fails, because that would affect all other bundles too.
    private func fetch(
        _ requests: [LiveRequest], _ progress: ProgressCounter? = nil
    ) throws(LarderError) -> [LiveResult?] {
        guard !requests.isEmpty else { return [] }
        let threads = min(Machine.coreCount, Self.maxThreads)
        let (targets, baseIndex, nearestZone) = (targets, baseIndex, nearestZone)
        let (evidence, interruption) = (evidence, interruption)
        do throws(FetchFailure) {
            return try ParallelWork.share(requests.count, atMost: threads, named: "larder-live", interruption)
            {
                (nextIndex, give) throws(FetchFailure) in
                let bodies = LiveBodyReceiver(requests, targets, baseIndex: baseIndex, evidence)
                try FetchBatch.run(
                    options: .forReading, running: max(1, Self.maxConnections / threads), receiver: bodies,
                    interruption: interruption,
                    next: {
                        guard let index = nextIndex() else { return nil }
                        let target = targets[requests[index].targetIndex]
                        var request = FetchRequest(
                            number: UInt32(index), url: target.urls[baseIndex], nearestZone: nearestZone)
                        request.keepsCoding = requests[index].keepsCoding
                        if let value = target.bundle.acceptSignature {
                            request.fields.set("Accept-Signature", value)
                        }
                        return request
                    },
                    each: { index, outcome in
                        give(index, bodies.finish(index, outcome))
                        progress?.add()
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
    let targetIndex: Int
    /// Whether the body is hashed without decoding its content coding.
    var keepsCoding = false
    /// The body with which the response is compared byte by byte; nil for no comparison.
    var comparedBody: BodyContent?
}

/// Hashes the bodies of a batch while they arrive. Belongs to the thread of the batch's loop.
///
/// For each response, the loop calls `begin`, and if that returns true, `take` for each piece. Redirects and retries begin
/// again. `finish` is called at the end of each request. The number of a request is its index in `requests`.
final class LiveBodyReceiver: BodyReceiver {
    /// A successful response that is being received.
    private struct IncomingResponse {
        /// The bundle of the target, with the weak evidence of the response's header fields.
        let bundle: Bundle
        let meter: BundleMeter
        /// Whether the body has a content coding, which is decoded before it is hashed.
        let isDecoded: Bool
        var comparison: Comparison?
        var byteCount = 0

        /// Whether the body exceeds its size so far that the transfer is aborted: it may be endless.
        var isTooLarge: Bool {
            bundle.byteCount.map { byteCount - $0 > LiveBodyReceiver.maxSurplusBytes } ?? false
        }
    }

    /// The number of bytes beyond its expected size after which the transfer of a body is aborted.
    private static let maxSurplusBytes = 4 * 1024 * 1024

    /// The comparison of an arriving body with `LiveRequest.comparedBody`.
    private struct Comparison {
        let expected: BodyPieces
        var meter = DifferenceMeter()
    }

    private let requests: [LiveRequest]
    private let targets: [CheckTarget]
    /// The index, in `CheckTarget.urls`, of the URLs that are fetched.
    private let baseIndex: Int
    private let evidence: Evidence
    /// The targets of redirects, by the number of the request. Signatures of a response cover its own URL.
    private var redirectTargets: [UInt32: WebURL] = [:]
    private var responses: [UInt32: IncomingResponse] = [:]
    private var statuses: [UInt32: Int] = [:]
    /// A failure of this machine, as opposed to a server.
    private(set) var failure: FetchFailure?

    init(_ requests: [LiveRequest], _ targets: [CheckTarget], baseIndex: Int, _ evidence: Evidence) {
        self.requests = requests
        self.targets = targets
        self.baseIndex = baseIndex
        self.evidence = evidence
    }

    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool {
        statuses[number] = status
        responses[number] = nil
        let request = requests[Int(number)]
        let target = targets[request.targetIndex]
        let url = redirectTargets[number] ?? target.urls[baseIndex]
        guard (200..<300).contains(status) else {
            redirectTargets[number] = fields["Location"].flatMap { WebURL($0, base: url) }
            return false
        }
        let integrity = ResponseIntegrity(
            of: SignedMessage(url: url, status: status, fields: fields), at: SystemClock.secondsSinceEpoch())
        let bundle = target.bundle.addingHeaderEvidence(of: fields, evidence)
        let isDecoded = fields.isCoded && !request.keepsCoding
        responses[number] = IncomingResponse(
            bundle: bundle, meter: BundleMeter(bundle, integrity, isCoded: isDecoded), isDecoded: isDecoded,
            comparison: request.comparedBody.flatMap { BodyPieces($0) }.map { Comparison(expected: $0) })
        return true
    }

    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool {
        guard let response = responses[number] else { return false }
        response.meter.update(bytes)
        responses[number]?.byteCount += bytes.count
        if let expected = response.comparison?.expected {
            let piece = bytes.withUnsafeBufferPointer { Array($0) }
            responses[number]?.comparison?.meter.update(piece, expected: expected.next)
        }
        return responses[number]?.isTooLarge == false
    }

    /// Returns the result of the request with this index. Call it once for each, after the response has ended.
    func finish(_ index: Int, _ outcome: Result<FetchedResponse, FetchFailure>) -> LiveResult {
        let number = UInt32(index)
        let status = statuses.removeValue(forKey: number)
        let response = responses.removeValue(forKey: number)
        redirectTargets[number] = nil
        if let response, response.isTooLarge {
            let counted = Measurement(uncoded: Measurement.Body(byteCount: response.byteCount, digests: []))
            var finding = response.bundle.finding(on: counted)
            finding.remarks = ["it continues, and the rest was not downloaded"]
            return LiveResult(status: status, examination: Examination(finding))
        }
        switch outcome {
        case .failure(let failure):
            if failure.kind == .machine { self.failure = self.failure ?? failure }
            return LiveResult(status: status, examination: .missing(failure.description))
        case .success:
            guard var response else {
                return LiveResult(status: status, examination: .missing("no response"))
            }
            let bundle = response.bundle
            let measured = response.meter.measurement()
            var result = LiveResult(
                status: status, examination: Examination(bundle.finding(on: measured), measured: measured))
            result.bundle = bundle
            result.measured = measured
            result.needsEncodedBody = response.isDecoded && !bundle.algorithms(of: .encoded).isEmpty
            if let expected = response.comparison?.expected {
                result.difference = response.comparison?.meter.finish(expected: expected.next)
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
    /// The bundle, with the weak evidence of the response's header fields. Nil without a complete response, as `measured`.
    var bundle: Bundle?
    var measured: Measurement?
    /// Whether the bundle has a digest of the encoded body, but the body was decoded on arrival.
    var needsEncodedBody = false
    /// The first difference from `LiveRequest.comparedBody`; nil if there is none.
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
        // The other request did not decode its body, so the bytes that it measured are the encoded body.
        guard let measured, let encoded = other.measured?.decoded, let bundle = other.bundle else {
            return examination
        }
        let both = Measurement(decoded: measured.decoded, encoded: encoded, measured.response)
        return Examination(bundle.finding(on: both), measured: both)
    }

    /// Returns the finding after a second request: a skew if both responses differ, else this finding, with the first
    /// difference of the second response from the matching body.
    func examination(
        afterRefetch other: LiveResult, comparedWith matching: Examination.MatchingBody?
    ) -> Examination {
        if let skew = skew(with: other) {
            return Examination(Finding(.skew(skew), remarks: examination.finding.remarks))
        }
        var examination = examination
        if let matching, let difference = other.difference { examination.add(difference, from: matching) }
        return examination
    }

    /// The skew between two responses for one URL; nil if both have the same body, or if one of them may have failed for
    /// another reason.
    private func skew(with other: LiveResult) -> Skew? {
        guard let measured, let again = other.measured else {
            // Without a verified second response, different statuses may only be two failures.
            guard let status, let second = other.status, other.examination.finding.verdict == .verified else {
                return nil
            }
            return .responses(by: "status", first: "\(status)", second: "\(second)")
        }
        for digest in measured.decoded.digests {
            guard let second = again.decoded.digest(digest.algorithm), second != digest else { continue }
            return .responses(by: digest.algorithm.label, first: digest.hex, second: second.hex)
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
