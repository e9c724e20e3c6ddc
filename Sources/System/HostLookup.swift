internal import Glibc

/// Asks the resolver of the system whether host names exist.
package enum HostLookup {
    /// The result of a lookup.
    package enum Answer: Sendable, Equatable {
        /// The name has an IPv4 or IPv6 address.
        case hasAddress
        /// No name server knows an address.
        case isUnknown
        /// No name server answered.
        case noAnswer
    }

    /// Returns the answer for a host name. Blocks for several seconds if no name server answers.
    package static func answer(for name: String) -> Answer {
        var list: UnsafeMutablePointer<addrinfo>?
        defer { if let list { freeaddrinfo(list) } }
        switch getaddrinfo(name, nil, nil, &list) {
        case 0: return .hasAddress
        case EAI_NONAME, nameWithoutAddress: return .isUnknown
        default: return .noAnswer
        }
    }

    /// `EAI_NODATA`: the name exists but has no address. Glibc declares it only with `_GNU_SOURCE`.
    private static let nameWithoutAddress: Int32 = -5
}
