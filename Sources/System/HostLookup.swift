internal import Glibc

/// Finds out whether host names exist, with the resolver of the system.
package enum HostLookup {
    package enum Answer: Sendable, Equatable {
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
        // The second value means that the name exists without an address (`EAI_NODATA`).
        case EAI_NONAME, -5: return .isUnknown
        default: return .noAnswer
        }
    }
}
