/// Where a host is, whatever the name service says.
package struct HostAddress: Sendable, Equatable {
    package let host: String
    package let port: Int
    package let addresses: [IPAddress]

    package init(host: String, port: Int, addresses: [IPAddress]) {
        self.host = host
        self.port = port
        self.addresses = addresses
    }

    /// Reads `host:port:address`, with more addresses behind commas; those of IPv6 stand in brackets or not, and a star
    /// stands for every host. Nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), (1...65_535).contains(port) else {
            return nil
        }
        var addresses: [IPAddress] = []
        for part in parts[2].split(separator: ",", omittingEmptySubsequences: false) {
            guard let address = IPAddress(String(part)) else { return nil }
            addresses.append(address)
        }
        self.init(host: parts[0].lowercased(), port: port, addresses: addresses)
    }

    /// As libcurl takes it.
    var text: String { "\(host):\(port):" + addresses.map(\.description).joined(separator: ",") }
}
