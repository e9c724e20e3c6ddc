internal import Glibc

/// An address of the internet, of either family.
package enum IPAddress: Hashable, Sendable {
    case v4(UInt32)
    case v6(high: UInt64, low: UInt64)

    /// Reads dotted decimals, or what stands for IPv6, in brackets or not; a zone behind it is dropped.
    package init?(_ text: String) {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        if let zone = text.firstIndex(of: "%") { text = String(text[..<zone]) }
        self.init(numeric: text)
    }

    /// Without brackets or a zone.
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
