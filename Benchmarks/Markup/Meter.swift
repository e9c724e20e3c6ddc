internal import Glibc
internal import Web

/// Measures passes over a set of files, and prints the figures.
struct Meter {
    let set: FileSet
    let rounds: Int

    /// Small sets are read repeatedly until this number of bytes is reached, because short times are not accurate.
    private static let minByteCount = 20_000_000

    /// Prints the time of a pass over the whole set. `body` receives the index of a file, and returns a count of
    /// `unit`.
    func measure(_ name: String, counting unit: String, _ body: (Int) -> Int) {
        let passes = max(1, Self.minByteCount / max(set.byteCount, 1))
        var count = 0
        let seconds = (0..<rounds).map { _ in
            let start = Self.cpuSeconds()
            for _ in 0..<passes {
                count = 0
                for index in set.bodies.indices { count += body(index) }
            }
            return (Self.cpuSeconds() - start) / Double(passes)
        }
        var writer = JSONWriter()
        writer.object {
            $0.member("set", set.name)
            $0.member("case", name)
            $0.member("files", set.bodies.count)
            $0.member("bytes", set.byteCount)
            $0.member("count", count)
            $0.member("unit", unit)
            $0.member("seconds") { $0.array { for time in seconds { $0.value(time) } } }
        }
        print(writer.text)
        fflush(nil)
    }

    /// The CPU time of this process. Unlike wall time, it does not depend on other processes.
    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
