/// How near to this machine a request may come. A page leads no nearer than where it came from itself, so that nobody
/// on the web can have larder ask what only this machine or its network can reach.
package enum Reach: Int, Comparable, Sendable {
    case publicNetwork
    case privateNetwork
    /// Everything: loopback, link-local services such as a cloud's metadata, and what has no business in a URL.
    case thisMachine

    package static func < (left: Reach, right: Reach) -> Bool { left.rawValue < right.rawValue }
}
