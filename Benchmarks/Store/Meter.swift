internal import Glibc
internal import Web

/// Measures times, and prints figures.
enum Meter {
    private static let clock = ContinuousClock()

    /// The duration of `body` in seconds.
    static func time<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        let started = clock.now
        try body()
        return (clock.now - started) / .seconds(1)
    }

    /// The CPU time of this process. Unlike wall time, it does not depend on other processes.
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
