/// What an address is for, by IANA's registries of special-purpose addresses. The raw values are words for a report.
package enum AddressKind: String, Sendable {
    case publicAddress = "a public address"
    /// RFC 1918, unique local (RFC 4193), shared by a carrier (RFC 6598), and what was once site-local.
    case privateAddress = "a private address"
    case loopback = "a loopback address"
    /// RFC 3927 and fe80::/10. Here clouds answer with a machine's own secrets.
    case linkLocal = "a link-local address"
    /// Linux connects it to the machine itself.
    case unspecified = "an unspecified address"
    case multicast = "a multicast address"
    /// For documentation, benchmarks, protocols, or nothing yet.
    case reserved = "a reserved address"

    /// What a request needs at least to go there.
    package var reach: Reach {
        switch self {
        case .publicAddress: .publicNetwork
        case .privateAddress: .privateNetwork
        case .loopback, .linkLocal, .unspecified, .multicast, .reserved: .thisMachine
        }
    }
}

extension IPAddress {
    package var kind: AddressKind {
        switch self {
        case .v4(let value): Self.kind(of: value)
        case .v6(let high, let low): Self.kind(high, low)
        }
    }

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
        if let inner = embedded(high, low) { return kind(of: inner) }
        if high >> 56 == 0xFF { return .multicast }
        if high >> 57 == 0xFC >> 1 { return .privateAddress }
        switch high >> 54 {
        case 0xFE80 >> 6: return .linkLocal
        case 0xFEC0 >> 6: return .privateAddress
        default: break
        }
        // RFC 8215: a network's own translators, behind which anything of it may be.
        if high >> 16 == 0x0064_FF9B_0001 { return .privateAddress }
        // Only 2000::/3 was ever given out; of it, 2001:db8::/32 and 3fff::/20 are for documentation.
        let isReserved = high >> 61 != 1 || high >> 32 == 0x2001_0DB8 || high >> 44 == 0x3FFF0
        return isReserved ? .reserved : .publicAddress
    }

    /// The IPv4 address that one of IPv6 leads to: mapped, translated (RFC 6052, 2765), 6to4, or Teredo's client.
    private static func embedded(_ high: UInt64, _ low: UInt64) -> UInt32? {
        let last = UInt32(truncatingIfNeeded: low)
        if high == 0, low >> 32 == 0xFFFF { return last }
        if high == 0, low >> 48 == 0xFFFF, low >> 32 & 0xFFFF == 0 { return last }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return last }
        if high >> 48 == 0x2002 { return UInt32(truncatingIfNeeded: high >> 16) }
        if high >> 32 == 0x2001_0000 { return ~last }
        return nil
    }
}
