internal import Glibc
internal import Web

/// Takes times, and prints them.
enum Meter {
    private static let clock = ContinuousClock()

    /// Seconds.
    static func time<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        let started = clock.now
        try body()
        return (clock.now - started) / .seconds(1)
    }

    /// What this process has had of the cores so far: other work on the machine does not count.
    static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func print(_ name: String, _ figures: [(String, Double)]) {
        var writer = JSONWriter()
        writer.object {
            $0.member("case", name)
            for (figure, value) in figures { $0.member(figure, value) }
        }
        Swift.print(writer.text)
        fflush(nil)
    }

    static func median(_ values: [Double]) -> Double { quantile(0.5, values) }

    static func quantile(_ share: Double, _ values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        return values.sorted()[min(Int(Double(values.count) * share), values.count - 1)]
    }
}
