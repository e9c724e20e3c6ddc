import Synchronization
import System
import Testing

@Suite struct SingleFlightTests {
    private typealias Flight = SingleFlight<String, Result<Int, SystemError>>

    /// Records the outcomes of loads, and the completions of loads in progress.
    private final class LoadLog: Sendable {
        let outcomes = Mutex<[Result<Int, SystemError>]>([])
        let completions = Mutex<[Flight.Completion]>([])

        func complete(_ place: Int, _ outcome: Result<Int, SystemError>) {
            completions.withLock { $0[place] }(outcome)
        }
    }

    private let flight = Flight()
    private let log = LoadLog()

    private func load(_ key: String) {
        flight.load(key) { [log] outcome in
            log.outcomes.withLock { $0.append(outcome) }
        } by: { [log] completion in
            log.completions.withLock { $0.append(completion) }
        }
    }

    @Test(
        arguments: [
            .success(7), .failure(SystemError(5, doing: "load", "/")),
        ] as [Result<Int, SystemError>])
    func `calls during a load share its outcome`(outcome: Result<Int, SystemError>) {
        for _ in 1...3 { load("a") }
        load("b")
        #expect(log.completions.withLock { $0.count } == 2)
        log.complete(0, outcome)
        #expect(log.outcomes.withLock { $0 } == [outcome, outcome, outcome])
        #expect(flight.count == 1)
    }

    @Test
    func
        `a call after a completed load starts another one, and a second completion is ignored`()
    {
        load("a")
        log.complete(0, .success(1))
        load("a")
        log.complete(0, .success(2))
        #expect(log.outcomes.withLock { $0 } == [.success(1)])
        log.complete(1, .success(3))
        #expect(log.outcomes.withLock { $0 } == [.success(1), .success(3)])
    }

    @Test func `a call from within a completion starts another load`() {
        flight.load("a") { [flight, log] _ in
            flight.load(
                "a", done: { outcome in log.outcomes.withLock { $0.append(outcome) } },
                by: { $0(.success(2)) })
        } by: {
            $0(.success(1))
        }
        #expect(log.outcomes.withLock { $0 } == [.success(2)])
        #expect(flight.count == 0)
    }

    @Test func `each call of many threads receives one outcome`() throws {
        let loads = Atomic(0)
        let answers = Atomic(0)
        let threads = try (1...4).map { number in
            try NamedThread.start("asker-\(number)") { [flight] in
                for key in 0..<500 {
                    flight.load("\(key)") { _ in
                        answers.add(1, ordering: .relaxed)
                    } by: { completion in
                        loads.add(1, ordering: .relaxed)
                        completion(.success(key))
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(answers.load(ordering: .relaxed) == 2000)
        #expect((500...2000).contains(loads.load(ordering: .relaxed)))
        #expect(flight.count == 0)
    }
}
