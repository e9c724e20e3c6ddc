import Fetch
import Testing

@testable import Crawl

@Suite struct RetryPlanTests {
    private let plan = RetryPlan()

    private static func fetch(_ kind: FetchFailure.Kind) -> Failure { .fetch(FetchFailure(kind, "")) }

    @Test(arguments: [
        (Failure.status(429), 4), (.status(408), 4), (.status(425), 4), (.status(500), 2), (.status(502), 4),
        (.status(503), 4), (.status(504), 4), (.status(520), 4), (.status(501), 1), (.status(505), 1),
        (.status(404), 1), (.status(410), 1), (.status(403), 1), (.status(401), 1), (.status(304), 1),
        (.redirects, 1), (.redirectWithoutTarget, 1), (fetch(.timeout), 4), (fetch(.broken), 4),
        (fetch(.unreachable), 4),
        (fetch(.unknownHost), 2), (fetch(.insecure), 1), (fetch(.invalidResponse), 1), (fetch(.tooLarge), 1),
        (fetch(.refused), 1),
    ])
    func `temporary failures have four attempts, errors two, permanent failures one`(
        failure: Failure, attempts: Int
    ) {
        var attempt = 1
        while case .again = plan.decision(afterAttempt: attempt, of: failure, jitter: 0) { attempt += 1 }
        #expect(attempt == attempts)
        let reason: RetryPlan.Reason = attempts == 1 ? .lasting : .attempts(attempts)
        #expect(plan.decision(afterAttempt: attempt, of: failure, jitter: 0) == .giveUp(reason))
    }

    @Test(arguments: [
        (1, 0.0, 250), (1, 0.5, 375), (1, 1.0, 500), (2, 0.0, 500), (2, 1.0, 1000), (3, 0.0, 1000),
        (3, 1.0, 2000),
        (10, 1.0, 60_000), (100, 0.0, 30_000), (1, -5.0, 250), (1, 7.0, 500),
    ])
    func `the delay doubles up to a minute, with half of it random`(
        attempt: Int, jitter: Double, milliseconds: Int
    ) {
        let plan = RetryPlan(maxAttempts: 1000)
        #expect(
            plan.decision(afterAttempt: attempt, of: .status(503), jitter: jitter)
                == .again(after: .milliseconds(milliseconds)))
    }

    @Test(arguments: [
        (Duration.seconds(120), 0.0, RetryPlan.Decision.again(after: .seconds(120))),
        (.seconds(80), 0.5, .again(after: .seconds(85))),
        (.seconds(300), 0.0, .again(after: .seconds(300))),
        (.seconds(301), 0.0, .giveUp(.asksToWait(.seconds(301)))),
        (.zero, 0.0, .again(after: .milliseconds(250))),
    ])
    func `Retry-After replaces the delay, and one that is too long ends the retries`(
        retryAfter: Duration, jitter: Double, decision: RetryPlan.Decision
    ) {
        #expect(
            plan.decision(afterAttempt: 1, of: .status(429), retryAfter: retryAfter, jitter: jitter)
                == decision)
    }

    @Test func `jitter differs between entries and attempts, but not between runs`() {
        let numbers = (0..<1000).map { RetryPlan.jitter(of: UInt32($0), attempt: 1) }
        #expect(Set(numbers).count == 1000)
        #expect(numbers.allSatisfy { $0 >= 0 && $0 < 1 })
        let mean = numbers.reduce(0, +) / 1000
        #expect(mean > 0.45 && mean < 0.55)
        #expect(RetryPlan.jitter(of: 7, attempt: 1) == RetryPlan.jitter(of: 7, attempt: 1))
        #expect(RetryPlan.jitter(of: 7, attempt: 1) != RetryPlan.jitter(of: 7, attempt: 2))
    }
}
