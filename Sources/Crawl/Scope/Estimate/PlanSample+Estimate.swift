extension PlanSample {
    /// How the whole site would be fetched.
    package struct Manner: Sendable {
        /// Requests to one host at once.
        package var connections: Int
        /// What robots.txt asks for; zero for nothing.
        package var distance: Duration

        package init(connections: Int, distance: Duration = .zero) {
            self.connections = connections
            self.distance = distance
        }
    }

    /// The estimate by what was fetched so far. `traps` are told along.
    package func estimate(_ manner: Manner, traps: [TrapReason] = []) -> PlanEstimate {
        let tally = PatternTally(pages)
        let counts = tally.bounds(unheard(tally))
        var groups: [PlanEstimate.Group] = []
        for (row, bounds) in zip(tally.rows, counts) {
            groups.append(
                PlanEstimate.Group(
                    pattern: row.pattern, sampled: row.sampled, pages: bounds,
                    byteCount: byteCount(of: bounds, sizes: row.sizes)))
        }
        groups.sort { ($0.pages.low, $1.pattern) > ($1.pages.low, $0.pattern) }
        let all = groups.map(\.pages).reduce(PlanEstimate.Bounds(low: 0, high: 0), +)
        let requisites = further(all, \.newRequisites)
        let bytes = groups.map(\.byteCount).reduce(further(all, \.newRequisiteByteCount), +)
        return PlanEstimate(
            groups: groups, pages: all, byteCount: bytes, seconds: seconds(all + requisites, pages: all, manner),
            traps: traps, isSampleTooSmall: !tally.hasEndlessRow && isTooSmall)
    }

    /// How many standard errors a mean of a few sizes may be off.
    private static let errorsInDoubt = 3.0

    /// By the mean of the sizes and how much it may be off; with hardly a size known, by half of it and twice of it.
    private func byteCount(of count: PlanEstimate.Bounds, sizes: [Int]) -> PlanEstimate.Bounds {
        let known = sizes.isEmpty ? pages.map(\.byteCount) : sizes
        guard !known.isEmpty else { return PlanEstimate.Bounds(low: 0, high: count.high == 0 ? 0 : nil) }
        let mean = Double(known.reduce(0, +)) / Double(known.count)
        var (low, high) = (mean / 2, mean * 2)
        if sizes.count > 2 {
            let squares = known.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
            let error = Self.errorsInDoubt * (squares / Double(known.count - 1) / Double(known.count)).squareRoot()
            (low, high) = (max(Double(known.min() ?? 0), mean - error), min(Double(known.max() ?? 0), mean + error))
        }
        let sampled = sizes.reduce(0, +)
        return PlanEstimate.Bounds(
            low: sampled + Int(low * Double(max(0, count.low - sizes.count))),
            high: count.high.map { sampled + Int(high * Double(max(0, $0 - sizes.count))) })
    }

    /// What the pages need: what the sample needed, and for each further page as much as its second half needed on
    /// average.
    private func further(_ count: PlanEstimate.Bounds, _ amount: KeyPath<Page, Int>) -> PlanEstimate.Bounds {
        let known = pages.reduce(0) { $0 + $1[keyPath: amount] }
        let late = pages.suffix(max(1, pages.count / 2))
        let each = Double(late.reduce(0) { $0 + $1[keyPath: amount] }) / Double(max(1, late.count))
        return PlanEstimate.Bounds(
            low: known, high: count.high.map { known + Int(each * Double(max(0, $0 - pages.count))) })
    }

    /// At best all connections are busy, at worst a quarter of them.
    private func seconds(
        _ requests: PlanEstimate.Bounds, pages count: PlanEstimate.Bounds, _ manner: Manner
    ) -> PlanEstimate.Bounds {
        let latency = pages.reduce(Duration.zero) { $0 + $1.latency } / max(1, pages.count)
        func time(_ requests: Int, _ connections: Int) -> Int {
            let each = manner.distance > .zero ? max(latency, manner.distance) : latency / max(1, connections)
            return Int((each / .seconds(1) * Double(requests)).rounded(.up))
        }
        return PlanEstimate.Bounds(
            low: time(requests.low, manner.connections), high: requests.high.map { time($0, manner.connections / 4) })
    }
}
