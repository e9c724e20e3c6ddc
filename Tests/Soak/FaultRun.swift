import Store
import Synchronization
import TestOrigin

/// Compares a crawl of a misbehaving origin with a crawl of the same site without faults. The stored content must be the
/// same, except for URLs that never succeed, which the report must list as missing.
struct FaultRun {
    let pages: Int
    let seed: Int

    func run() throws -> Bool {
        let site = SyntheticSite(pageCount: pages)
        let good = try crawl { site.answer(to: $0) }
        Soak.say("well-behaved: \(good.summary)")
        let faults = Faults(seed: UInt64(seed)) { site.answer(to: $0) }
        let bad = try crawl { faults.answer(to: $0) }
        Soak.say("misbehaving:  \(bad.summary); faults: \(faults.counts)")
        let gone = Set(good.image.rows.filter { $0.value.hasPrefix("404") }.keys)
        let lost = Set(good.image.rows.keys.filter { faults.isHopeless($0) })
        let missing = Set(bad.ending.missing.map { String($0.dropFirst(bad.base.utf8.count)) })
        let differences = bad.image.differences(from: good.image).filter { line in
            !lost.contains { line.hasPrefix("\($0): nothing") }
        }
        let unreported = lost.union(gone).subtracting(missing)
        let wronglyMissing = missing.subtracting(lost).subtracting(gone)
        Soak.say("never available: \(lost.count), reported as missing: \(missing.intersection(lost).count)")
        for line in differences { Soak.say("differs: \(line)") }
        if !unreported.isEmpty { Soak.say("not in the report: \(unreported.sorted().prefix(10))") }
        if !wronglyMissing.isEmpty { Soak.say("given up too early: \(wronglyMissing.sorted().prefix(10))") }
        return bad.ending.isWell && differences.isEmpty && unreported.isEmpty && wronglyMissing.isEmpty
    }

    private struct Outcome {
        let base: String
        let ending: CrawlChild.Ending
        let image: StoreImage
        let time: Duration

        var summary: String { "\(ending.lines.last ?? "nothing") in \(Int(time / .milliseconds(1))) ms" }
    }

    private func crawl(_ answer: @escaping @Sendable (String) -> OriginAnswer) throws -> Outcome {
        let origin = try TestOrigin()
        origin.otherwise { [weak origin] request in
            // The recorded requests are not needed, and would fill the memory.
            if request.target.hasSuffix("00.html") { origin?.forgetRequests() }
            return answer(request.target)
        }
        let scratch = try TemporaryFolder("larder-soak")
        let clock = ContinuousClock()
        let start = clock.now
        let ending = try CrawlChild(folder: scratch.path, url: origin.url("/")).wait()
        let image = try StoreImage(StoreFolder(scratch.path), base: origin.base)
        return Outcome(base: origin.base, ending: ending, image: image, time: clock.now - start)
    }
}

/// Replaces some responses of an origin with faults, which are the same for the same seed. Each URL succeeds at the
/// fourth attempt at the latest, except for some images that never do.
final class Faults: Sendable {
    private enum Kind: String, CaseIterable {
        case hangUp, reset, truncated, cutOff, wrongLength, brokenChunk, late, busy, tooMany, broken, gateway
    }

    private struct State {
        var attempts: [String: Int] = [:]
        var counts: [Kind: Int] = [:]
    }

    private let rightAnswer: @Sendable (String) -> OriginAnswer
    private let seed: UInt64
    private let state = Mutex(State())

    init(seed: UInt64, rightAnswer: @escaping @Sendable (String) -> OriginAnswer) {
        self.rightAnswer = rightAnswer
        self.seed = seed
    }

    /// Whether no attempt succeeds.
    func isHopeless(_ target: String) -> Bool {
        target.hasPrefix("/image-") && random(target, 1000) % 20 == 0
    }

    func answer(to target: String) -> OriginAnswer {
        let attempt = state.withLock { state in
            state.attempts[target, default: 0] += 1
            return state.attempts[target] ?? 0
        }
        let answer = rightAnswer(target)
        let isHopeless = isHopeless(target)
        guard isHopeless || attempt < 4 && random(target, attempt) % 100 < 15 else { return answer }
        let kind = Kind.allCases[Int(random(target, attempt + 500) % UInt64(Kind.allCases.count))]
        // A late response would be a success.
        guard !isHopeless || kind != .late else { return .failure(500) }
        state.withLock { $0.counts[kind, default: 0] += 1 }
        return faultyAnswer(answer, kind)
    }

    private func faultyAnswer(_ answer: OriginAnswer, _ kind: Kind) -> OriginAnswer {
        let half = answer.body.count / 2
        return switch kind {
        case .hangUp: .hangUp
        case .reset: .reset
        case .truncated: answer.body.isEmpty ? .hangUp : answer.truncated(after: half)
        case .cutOff: answer.body.isEmpty ? .reset : answer.reset(after: half)
        case .wrongLength:
            answer.body.isEmpty ? .hangUp : answer.claiming(length: answer.body.count + 500).closing()
        case .brokenChunk: answer.chunked(100).brokenChunk(after: half)
        case .late: answer.delayed(.milliseconds(80))
        // Retry-After delays all requests to the host, so that only some responses have it.
        case .busy: .failure(503, fields: half % 16 == 0 ? [("Retry-After", "1")] : [])
        case .tooMany: .failure(429)
        case .broken: .failure(500)
        case .gateway: .failure(502)
        }
    }

    var counts: String {
        state.withLock {
            $0.counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" }
        }
        .joined(separator: ", ")
    }

    private func random(_ target: String, _ salt: Int) -> UInt64 {
        var value = seed &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(salt)
        for byte in target.utf8 { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        value = (value ^ value >> 31) &* 0xBF58_476D_1CE4_E5B9
        return value ^ value >> 29
    }
}
