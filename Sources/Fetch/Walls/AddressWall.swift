/// Decides, by the address alone, whether a request may go there.
///
/// The loop asks it for the address that is really connected to, whatever the name resolved to before, and again for
/// each request on a connection that was open already. Behind a proxy it sees only addresses that stand in the URL
/// itself.
package struct AddressWall: Sendable {
    package let reach: Reach

    package init(_ reach: Reach) {
        self.reach = reach
    }

    /// Why a connection to this address is refused; nil when it is not.
    package func refusal(of address: IPAddress) -> String? {
        guard address.kind.reach > reach else { return nil }
        let from = reach == .publicNetwork ? "a public page" : "a page of the private network"
        return "\(address) is \(address.kind.rawValue), where \(from) may not lead"
    }
}
