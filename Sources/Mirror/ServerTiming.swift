/// The durations of the steps for `Server-Timing`, shown by browser tools. Empty for answers from memory.
struct ServerTiming {
    private var steps: [(name: StaticString, duration: Duration)] = []

    mutating func add(_ name: StaticString, _ duration: Duration) {
        steps.append((name, duration))
    }

    /// Runs and measures a step.
    mutating func measure<Value, Failure: Error>(
        _ name: StaticString, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let start = ContinuousClock.now
        defer { add(name, ContinuousClock.now - start) }
        return try body()
    }

    /// The field line; empty without steps.
    var line: [UInt8] {
        guard !steps.isEmpty else { return [] }
        let words = steps.map { step in
            let microseconds = Int(step.duration / .microseconds(1))
            let thousandths = String(microseconds % 1000)
            let fraction = String(repeating: "0", count: 3 - thousandths.utf8.count) + thousandths
            return "\(step.name);dur=\(microseconds / 1000).\(fraction)"
        }
        return Array("Server-Timing: \(words.joined(separator: ", "))\r\n".utf8)
    }
}
