/// The network of the server that sent a response: the public network, a private network or this machine.
///
/// A page may request only from its own zone or a more public one, so that no page on the web can make Larder
/// send requests to this machine or its network. Zones are ordered from the most public to the nearest.
package enum NetworkZone: Int, Comparable, Sendable {
    case publicNetwork
    case privateNetwork
    /// Loopback, link-local addresses such as a cloud's metadata service, and all addresses that are not
    /// valid in a URL. A request that may connect to this zone may connect everywhere.
    case thisMachine

    /// The name in stored settings.
    package var name: String {
        switch self {
        case .publicNetwork: "public"
        case .privateNetwork: "private"
        case .thisMachine: "this-machine"
        }
    }

    package init?(name: String) {
        switch name {
        case "public": self = .publicNetwork
        case "private": self = .privateNetwork
        case "this-machine": self = .thisMachine
        default: return nil
        }
    }

    package static func < (left: NetworkZone, right: NetworkZone) -> Bool { left.rawValue < right.rawValue }
}
