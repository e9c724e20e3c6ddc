@testable import Crawl

/// A simulated host, to which requests are sent at a pace in simulated time.
struct SimulatedHost {
    enum Answer {
        case page
        case refusal(retryAfter: Duration?)
    }

    /// The host's duration and response for a request that starts now.
    typealias Behaviour = (_ now: Duration, _ running: Int) -> (Duration, Answer)

    private struct Transfer {
        let start: Duration
        let end: Duration
        let answer: Answer
    }

    var pace: HostPace
    private(set) var now: Duration = .zero
    private(set) var objections = 0
    private(set) var maxRunningRequests = 0
    private(set) var starts: [Duration] = []
    private(set) var latencies: [Duration] = []
    private var running: [Transfer] = []

    init(pace: HostPace = HostPace(maxLimit: 16)) {
        self.pace = pace
    }

    /// Sends requests until this number of pages was received, or the host is given up. Refused requests are repeated.
    mutating func fetch(_ count: Int, _ behaviour: Behaviour) {
        var left = count
        while left > 0 || !running.isEmpty, !pace.isHopeless {
            while left > 0, pace.startableCount(now: now) > 0 {
                pace.didStart(now: now)
                left -= 1
                starts.append(now)
                let (latency, answer) = behaviour(now, running.count)
                running.append(Transfer(start: now, end: now + latency, answer: answer))
                maxRunningRequests = max(maxRunningRequests, running.count)
            }
            let due = left > 0 ? pace.nextStart.flatMap { $0 > now ? $0 : nil } : nil
            guard let next = [running.map(\.end).min(), due].compactMap({ $0 }).min() else { return }
            now = next
            left += finishTransfers()
        }
    }

    /// Ends the due transfers. Returns the number of refused requests.
    private mutating func finishTransfers() -> Int {
        var refused = 0
        for transfer in running where transfer.end <= now {
            let latency = transfer.end - transfer.start
            latencies.append(latency)
            switch transfer.answer {
            case .page: pace.didRespond(after: latency, now: now)
            case .refusal(let retryAfter):
                objections += 1
                refused += 1
                pace.didObject(after: latency, retryAfter: retryAfter, now: now)
            }
        }
        running.removeAll { $0.end <= now }
        return refused
    }
}

/// A generator of pseudorandom numbers that are the same in every run.
struct Noise {
    private var state: UInt64 = 0

    /// Returns a number from 0 up to, but not including, 1.
    mutating func next() -> Double {
        state += 1
        return Double(Mixing.mix(state) >> 11) / Double(1 << 53)
    }
}
