internal import Glibc

/// A run of the fuzzer with one target.
struct Session {
    let target: any Target
    let options: Options

    /// The maximum CPU time for one input. Beyond it, SIGPROF ends the process.
    private static let maxCPUSeconds = 1
    /// The maximum growth of the memory after the first quarter of the run. Beyond it, the run fails.
    private static let maxGrowthBytes = 64 << 20

    func run() throws(FuzzError) {
        var corpus: [[UInt8]] = []
        for folder in options.corpus {
            for path in InputFile.paths(below: folder, suffixes: target.suffixes) {
                corpus.append(try InputFile.read(path))
            }
        }
        guard !corpus.isEmpty else {
            throw FuzzError(
                "no file ending in \(target.suffixes) in \(options.corpus.joined(separator: ", "))")
        }
        let kept = try options.keep.map { path throws(FuzzError) in try InputFile(path) }
        // First all unchanged files up to 1 MiB.
        for body in corpus where body.count <= 1 << 20 { try attempt(body, kept) }

        var mutator = Mutator(
            corpus: corpus.map { target.seed($0) },
            pieces: target.pieces.map { Array($0.utf8) } + Self.rawPieces,
            dice: Dice(seed: options.seed))
        let start = ContinuousClock.now
        let end = start + .seconds(options.seconds)
        let settled = start + .seconds(options.seconds) / 4
        var rounds = 0
        var settledMemory: Int?
        while ContinuousClock.now < end {
            for _ in 0..<64 { try attempt(mutator.next(), kept) }
            rounds += 64
            if settledMemory == nil, ContinuousClock.now >= settled { settledMemory = Self.residentMemory() }
        }
        let growth = Self.residentMemory() - (settledMemory ?? 0)
        let took = start.duration(to: .now) / .seconds(1)
        print(
            "\(target.name): \(rounds) rounds, \(Int(Double(rounds) / took))/s, peak \(Self.peakMemory() >> 20) MiB, "
                + "\(growth >> 20) MiB more than after a quarter")
        guard growth < Self.maxGrowthBytes else { throw FuzzError("\(target.name): the memory grows") }
        kept?.remove()
    }

    private func attempt(_ input: [UInt8], _ kept: InputFile?) throws(FuzzError) {
        try kept?.write(input)
        Self.limitCPUTime(seconds: Self.maxCPUSeconds)
        let fault = target.fault(input)
        Self.limitCPUTime(seconds: 0)
        guard let fault else { return }
        // The text before the colon names the property. A smaller input must violate the same one.
        let property = fault.prefix { $0 != ":" }
        let small = Minimizer.minimized(input) { target.fault($0)?.hasPrefix(property) ?? false }
        try kept?.write(small)
        throw FuzzError(
            "\(target.name): \(target.fault(small) ?? fault)\n\(String(decoding: small, as: UTF8.self).debugDescription)"
        )
    }

    /// Bytes that are invalid in all languages: NUL, parts of UTF-8 sequences, and a byte order mark.
    private static let rawPieces: [[UInt8]] = [
        [0], [0x80], [0xC3], [0xE2, 0x82], [0xF4, 0x90], [0xFF], [0xFF, 0xFE],
    ]

    /// Limits the CPU time, which does not depend on other processes, until the next call. 0 removes the limit.
    private static func limitCPUTime(seconds: Int) {
        var timer = itimerval()
        timer.it_value.tv_sec = seconds
        setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &timer, nil)
    }

    private static func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss << 10
    }

    private static func residentMemory() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let words = line.prefix { $0 != 0 }.split(separator: CChar(bitPattern: UInt8(ascii: " ")))
        guard words.count > 1 else { return 0 }
        return (Int(String(decoding: words[1].map { UInt8(bitPattern: $0) }, as: UTF8.self)) ?? 0)
            * sysconf(Int32(_SC_PAGESIZE))
    }
}
