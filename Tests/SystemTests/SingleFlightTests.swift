import Synchronization
import System
import Testing

@Suite struct SingleFlightTests {
    private typealias Flight = SingleFlight<String, Result<Int, SystemError>>

    /// What came of loads, and the loads that are not complete yet.
    private final class Desk: Sendable {
        let outcomes = Mutex<[Result<Int, SystemError>]>([])
        let open = Mutex<[Flight.Completion]>([])

        func complete(_ place: Int, _ outcome: Result<Int, SystemError>) {
            open.withLock { $0[place] }(outcome)
        }
    }

    private let flight = Flight()
    private let desk = Desk()

    private func ask(_ key: String) {
        flight.load(key) { [desk] outcome in
            desk.outcomes.withLock { $0.append(outcome) }
        } by: { [desk] completion in
            desk.open.withLock { $0.append(completion) }
        }
    }

    @Test(
        arguments: [
            .success(7), .failure(SystemError(5, doing: "load", "/")),
        ] as [Result<Int, SystemError>])
    func `those who ask while a load is under way share its outcome`(outcome: Result<Int, SystemError>) {
        for _ in 1...3 { ask("a") }
        ask("b")
        #expect(desk.open.withLock { $0.count } == 2)
        desk.complete(0, outcome)
        #expect(desk.outcomes.withLock { $0 } == [outcome, outcome, outcome])
        #expect(flight.count == 1)
    }

    @Test
    func
        `what was loaded is loaded again when it is asked for later, and a second completion counts for nothing`()
    {
        ask("a")
        desk.complete(0, .success(1))
        ask("a")
        desk.complete(0, .success(2))
        #expect(desk.outcomes.withLock { $0 } == [.success(1)])
        desk.complete(1, .success(3))
        #expect(desk.outcomes.withLock { $0 } == [.success(1), .success(3)])
    }

    @Test func `one who asks again while being told starts a new load`() {
        flight.load("a") { [flight, desk] _ in
            flight.load(
                "a", done: { outcome in desk.outcomes.withLock { $0.append(outcome) } },
                by: { $0(.success(2)) })
        } by: {
            $0(.success(1))
        }
        #expect(desk.outcomes.withLock { $0 } == [.success(2)])
        #expect(flight.count == 0)
    }

    @Test func `many threads get one load each time`() throws {
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
