internal import Glibc
package import Web

/// Decides from an IP address whether a request may connect to it (protection against SSRF).
///
/// The fetch loop checks the address that the socket connects to, whatever the host name resolved to before,
/// and checks it again for each request on a reused connection. With a proxy it can check only addresses that
/// are part of the URL itself.
package struct NetworkGuard: Sendable {
    /// The nearest network zone that the request may connect to.
    package let nearestZone: NetworkZone

    package init(_ nearestZone: NetworkZone) {
        self.nearestZone = nearestZone
    }

    /// The reason why a connection to the address is refused; nil if it is allowed.
    package func refusal(of address: IPAddress) -> String? {
        guard address.kind.zone > nearestZone else { return nil }
        let from = nearestZone == .publicNetwork ? "a public page" : "a page of the private network"
        return "\(address) is \(address.kind.rawValue), which \(from) may not request"
    }
}

/// The kind of an address, by IANA's registries of special-purpose addresses. The raw values are used in
/// messages.
package enum AddressKind: String, Sendable {
    case publicAddress = "a public address"
    /// RFC 1918, unique local (RFC 4193), carrier-grade NAT (RFC 6598) and the former site-local addresses.
    case privateAddress = "a private address"
    case loopback = "a loopback address"
    /// RFC 3927 and fe80::/10. Cloud providers serve a machine's credentials at such an address.
    case linkLocal = "a link-local address"
    /// Linux connects it to the machine itself.
    case unspecified = "an unspecified address"
    case multicast = "a multicast address"
    /// Reserved for documentation, benchmarks or protocols, or not assigned.
    case reserved = "a reserved address"

    /// The network zone of addresses of this kind.
    package var zone: NetworkZone {
        switch self {
        case .publicAddress: .publicNetwork
        case .privateAddress: .privateNetwork
        case .loopback, .linkLocal, .unspecified, .multicast, .reserved: .thisMachine
        }
    }
}

extension IPAddress {
    /// The kind of this address. An IPv6 address that contains an IPv4 address is of the same kind as that.
    package var kind: AddressKind {
        switch self {
        case .v4(let value): Self.kind(of: value)
        case .v6(let high, let low): Self.kind(high, low)
        }
    }

    /// The special-purpose blocks of IPv4: address, prefix length, kind.
    private static let blocks: [(UInt32, length: UInt32, AddressKind)] = [
        (0x0000_0000, 8, .unspecified), (0x0A00_0000, 8, .privateAddress), (0x6440_0000, 10, .privateAddress),
        (0x7F00_0000, 8, .loopback), (0xA9FE_0000, 16, .linkLocal), (0xAC10_0000, 12, .privateAddress),
        (0xC000_0000, 24, .reserved), (0xC000_0200, 24, .reserved), (0xC0A8_0000, 16, .privateAddress),
        (0xC612_0000, 15, .reserved), (0xC633_6400, 24, .reserved), (0xCB00_7100, 24, .reserved),
        (0xE000_0000, 4, .multicast), (0xF000_0000, 4, .reserved),
    ]

    private static func kind(of value: UInt32) -> AddressKind {
        blocks.first { value >> (32 - $0.length) == $0.0 >> (32 - $0.length) }?.2 ?? .publicAddress
    }

    private static func kind(_ high: UInt64, _ low: UInt64) -> AddressKind {
        if high == 0, low >> 32 == 0 {
            switch low {
            case 0: return .unspecified
            case 1: return .loopback
            default: return kind(of: UInt32(truncatingIfNeeded: low))
            }
        }
        if let inner = embeddedIPv4(high, low) { return kind(of: inner) }
        if high >> 56 == 0xFF { return .multicast }
        if high >> 57 == 0xFC >> 1 { return .privateAddress }
        switch high >> 54 {
        case 0xFE80 >> 6: return .linkLocal
        case 0xFEC0 >> 6: return .privateAddress
        default: break
        }
        // RFC 8215: translators of the local network. Any host of that network may be behind them.
        if high >> 16 == 0x0064_FF9B_0001 { return .privateAddress }
        // Only 2000::/3 has been allocated. In it, 2001:db8::/32 and 3fff::/20 are for documentation.
        let isReserved = high >> 61 != 1 || high >> 32 == 0x2001_0DB8 || high >> 44 == 0x3FFF0
        return isReserved ? .reserved : .publicAddress
    }

    /// The IPv4 address that an IPv6 address contains: mapped, translated (RFC 6052, 2765), 6to4, or that of
    /// a Teredo client.
    private static func embeddedIPv4(_ high: UInt64, _ low: UInt64) -> UInt32? {
        let last = UInt32(truncatingIfNeeded: low)
        if high == 0, low >> 32 == 0xFFFF { return last }
        if high == 0, low >> 48 == 0xFFFF, low >> 32 & 0xFFFF == 0 { return last }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return last }
        if high >> 48 == 0x2002 { return UInt32(truncatingIfNeeded: high >> 16) }
        if high >> 32 == 0x2001_0000 { return ~last }
        return nil
    }
}

// MARK: - IPAddress

/// An IPv4 or IPv6 address.
package enum IPAddress: Hashable, Sendable {
    case v4(UInt32)
    case v6(high: UInt64, low: UInt64)

    /// Parses an IPv4 address in dotted decimals, or an IPv6 address with or without brackets. The scope ID
    /// of an IPv6 address (`%eth0`) is dropped.
    package init?(_ text: String) {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        if let scope = text.firstIndex(of: "%") { text = String(text[..<scope]) }
        self.init(numeric: text)
    }

    /// Parses an address without brackets and without a scope ID.
    init?(numeric text: UnsafePointer<CChar>) {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self = .v4(UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6)
    }

    /// The address of a socket; nil for other families.
    init?(_ address: UnsafePointer<sockaddr>) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: self = .v4(UInt32(bigEndian: bytes.load(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6: self.init(bytes.load(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }

    private init(_ address: in6_addr) {
        let (high, low) = withUnsafeBytes(of: address) { bytes in
            (bytes.load(as: UInt64.self), bytes.load(fromByteOffset: 8, as: UInt64.self))
        }
        self = .v6(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch self {
        case .v4(let value):
            var address = in_addr(s_addr: value.bigEndian)
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        case .v6(let high, let low):
            var halves = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &halves, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
