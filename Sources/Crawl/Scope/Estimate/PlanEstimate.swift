/// What a prefetch of a site would fetch, judged by a sample: a range wherever the sample allows no more.
package struct PlanEstimate: Sendable {
    /// From what is sure to what may be; no upper end where the sample shows none.
    package struct Bounds: Sendable, Equatable {
        package var low: Int
        package var high: Int?

        package init(low: Int, high: Int?) {
            self.low = low
            self.high = high
        }

        static func + (left: Bounds, right: Bounds) -> Bounds {
            Bounds(low: left.low + right.low, high: left.high.flatMap { high in right.high.map { high + $0 } })
        }
    }

    /// The pages whose URLs look alike.
    package struct Group: Sendable, Equatable {
        /// `example.com/blog/{year}/{month}/*.html`
        package var pattern: String
        /// How many of them the sample has.
        package var sampled: Int
        package var pages: Bounds
        /// Of the pages alone.
        package var byteCount: Bounds
    }

    /// The largest first.
    package var groups: [Group]
    package var pages: Bounds
    /// Pages and what they need.
    package var byteCount: Bounds
    /// In seconds.
    package var seconds: Bounds
    package var traps: [TrapReason]
    /// Too many lists of pages wait unseen for an upper end to be told: a larger sample would tell more.
    package var isSampleTooSmall = false
}
