internal import CLinux
internal import Glibc

/// The addresses that this machine has.
enum MachineAddresses {
    /// Those of interfaces that are up, loopback and link-local ones left out: browsers cannot be led to the latter.
    static func current(_ families: [Int32]) -> [ListenAddress.Host] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var hosts: [ListenAddress.Host] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, families.contains(Int32(address.pointee.sa_family)),
                let host = host(address), !hosts.contains(host), isRoutable(host)
            else { continue }
            hosts.append(host)
        }
        return hosts
    }

    private static func host(_ address: UnsafeMutablePointer<sockaddr>) -> ListenAddress.Host? {
        let isIPv4 = Int32(address.pointee.sa_family) == AF_INET
        let size = isIPv4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        var name = [CChar](repeating: 0, count: 64)
        guard
            getnameinfo(address, socklen_t(size), &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return isIPv4 ? .ipv4(text) : .ipv6(text)
    }

    private static func isRoutable(_ host: ListenAddress.Host) -> Bool {
        switch host {
        case .ipv4(let text): !text.hasPrefix("127.") && !text.hasPrefix("169.254.")
        case .ipv6(let text): text != "::1" && !text.hasPrefix("fe80:")
        }
    }
}
