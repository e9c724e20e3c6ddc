/// Who leads to whom, as far as depths may still change.
struct DepthWays: Sendable {
    private var targets: [UInt32: [Target]] = [:]

    struct Target: Sendable, Equatable {
        let number: UInt32
        /// A link to a page leads one further; a redirect, and what a page needs, are as far away as what leads there.
        let distance: UInt16
    }

    mutating func add(from source: UInt32, to number: UInt32, distance: UInt16) {
        targets[source, default: []].append(Target(number: number, distance: distance))
    }

    func targets(of source: UInt32) -> [Target] { targets[source] ?? [] }
}
