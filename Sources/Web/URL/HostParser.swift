/// The host parser of the standard, section 3.5.
enum HostParser {
    /// Appends the host's serialisation; false when the standard calls it a failure.
    static func append(_ host: Span<UInt8>, isSpecial: Bool, to output: inout [UInt8]) -> Bool {
        if host[0] == UInt8(ascii: "[") {
            guard host[host.count - 1] == UInt8(ascii: "]"),
                let address = IPv6Address(host.extracting(1..<(host.count - 1)))
            else { return false }
            output.append(UInt8(ascii: "["))
            address.append(to: &output)
            output.append(UInt8(ascii: "]"))
            return true
        }
        guard isSpecial else { return appendOpaque(host, to: &output) }
        let start = output.count
        guard appendDomain(host, to: &output) else { return false }

        switch Meaning(of: output.span.extracting(start...)) {
        case .name:
            return true
        case .address(let address):
            output.removeSubrange(start...)
            address.append(to: &output)
            return true
        case .nothing:
            return false
        }
    }

    /// What a domain in its ASCII form stands for.
    private enum Meaning {
        case name
        case address(IPv4Address)
        case nothing

        init(of domain: Span<UInt8>) {
            let forbidden = ByteSet.forbiddenDomain
            if domain.isEmpty || domain.indices.contains(where: { forbidden.contains(domain[$0]) }) {
                self = .nothing
            } else if IPv4Address.isNamed(by: domain) {
                self = IPv4Address(domain).map { .address($0) } ?? .nothing
            } else {
                self = .name
            }
        }
    }

    private static func appendOpaque(_ host: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        let forbidden = ByteSet.forbiddenHost
        guard host.indices.allSatisfy({ !forbidden.contains(host[$0]) }) else { return false }
        output.append(percentEncoding: host, .c0Control)
        return true
    }

    /// Domain to ASCII. A name that is ASCII already is put into lower case and not looked into.
    private static func appendDomain(_ host: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        if host.indices.contains(where: { host[$0] == UInt8(ascii: "%") }) {
            return appendDecodedDomain([UInt8](percentDecoding: host).span, to: &output)
        }
        return appendDecodedDomain(host, to: &output)
    }

    private static func appendDecodedDomain(_ domain: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        if domain.indices.contains(where: { domain[$0] >= 0x80 }) {
            return IDNA.shared.append(asciiFormOf: domain, to: &output)
        }
        for index in domain.indices { output.append(domain[index].lowercasedASCII) }
        return true
    }
}
