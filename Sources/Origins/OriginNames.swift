internal import Digest
internal import Synchronization
package import Web

/// Converts origins to host names below `localhost`, and back. Any thread may use it.
///
/// The registrable domain becomes one label. Hosts of one site therefore stay one site to a browser, and
/// hosts of different sites stay different: cookies, `SameSite` and `document.domain` have the same limits as
/// on the web. `https://www.bbc.co.uk` is `www.bbc-co-uk.localhost`: dots become dashes, and dashes are
/// doubled. A port that is not the scheme's default is a label in front (`http://127.0.0.1:9000` is
/// `port-9000.127-0-0-1.localhost`). `http://[2001:db8::1]` is `ipv6-2001-db8--1.localhost`.
///
/// Most labels can be decoded by themselves. A label that would be ambiguous or too long is replaced by a
/// digest, which can be decoded only after its origin was named or passed to `learn`.
///
/// In an earlier snapshot, `https://www.bbc.co.uk` is `www.past-7-bbc-co-uk.localhost`. To a browser, this is
/// another site than the live one. The relations between origins within the snapshot are the same as in the
/// live one.
package final class OriginNames: Sendable {
    /// The names by the system's list of public suffixes.
    package static let system = OriginNames(suffixes: .system)

    /// The meaning of a name below `localhost`.
    package enum DecodedName: Equatable {
        /// The origins that have this name, the most likely first.
        case origins([String])
        /// Not the origin's name, but one that an earlier version of Larder used, or that a user typed. Requests
        /// for it are redirected.
        case alias(of: String)
        /// The name contains a digest whose origin is not known.
        case unknownDigest
    }

    private let suffixes: PublicSuffixes
    private let memory = Mutex(NameMemory())

    private struct NameMemory {
        /// A cache of names, by host and port: pages contain many links to few hosts. Nothing is added when it is
        /// full.
        var namesByHost: [String: String] = [:]
        /// The registrable domains or subdomains that digest labels stand for. Cleared when it is full.
        var textByDigest: [String: String] = [:]
    }

    /// The maximum number of entries in each table of `NameMemory`.
    private static let maxCachedNames = 20_000
    private static let suffix = ".localhost"
    /// The DNS limits (RFC 1035, section 2.3.4). Longer labels and names are replaced by digests.
    private static let maxLabelBytes = 63
    private static let maxNameBytes = 253

    package init(suffixes: PublicSuffixes) { self.suffixes = suffixes }

    // MARK: - Names

    /// The name of an http or https URL's origin, without the server's port. Nil for other schemes.
    package func name(of url: WebURL) -> String? {
        guard url.isHTTP, !url.host.isEmpty else { return nil }
        return name(host: url.host, port: url.port)
    }

    /// The name of the origin in a snapshot; nil if it would be too long.
    package func name(of url: WebURL, in snapshot: Int64?) -> String? {
        guard let snapshot else { return name(of: url) }
        guard let name = name(of: url) else { return nil }
        let labels = name.dropLast(Self.suffix.utf8.count)
        let start = labels.lastIndex(of: ".").map { labels.index(after: $0) } ?? labels.startIndex
        let prefix = "\(Self.snapshotPrefix)\(snapshot)-"
        var label = String(labels[start...])
        if prefix.utf8.count + label.utf8.count > Self.maxLabelBytes {
            label = digestLabel(for: registrableDomain(of: url.host))
        }
        let fullName = labels[..<start] + prefix + label + Self.suffix
        return fullName.utf8.count <= Self.maxNameBytes ? String(fullName) : nil
    }

    /// Splits the name of an origin in an earlier snapshot into the snapshot's number and the live name. Returns nil
    /// for live names.
    package static func snapshot(in name: String) -> (number: Int64, name: String)? {
        guard name.hasSuffix(suffix) else { return nil }
        let labels = name.dropLast(suffix.utf8.count)
        let start = labels.lastIndex(of: ".").map { labels.index(after: $0) } ?? labels.startIndex
        let label = labels[start...]
        guard label.hasPrefix(snapshotPrefix) else { return nil }
        let digits = label.dropFirst(snapshotPrefix.utf8.count).prefix { $0 != "-" }
        guard (1...15).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.utf8.first != UInt8(ascii: "0"), let number = Int64(digits)
        else { return nil }
        let rest = label.dropFirst(snapshotPrefix.utf8.count + digits.utf8.count)
        guard rest.utf8.count > 1 else { return nil }
        return (number, labels[..<start] + rest.dropFirst() + suffix)
    }

    /// Whether a browser treats two hosts as one site, whatever their ports.
    package func isSameSite(_ host: String, _ other: String) -> Bool {
        host == other || registrableDomain(of: host) == registrableDomain(of: other)
    }

    /// Whether the host can share cookies with its subdomains. Addresses and public suffixes cannot.
    package func sharesCookies(_ host: String) -> Bool {
        suffixes.registrableDomain(of: host) != nil && !suffixes.isEmpty
    }

    private func name(host: String, port: Int?) -> String {
        let key = port.map { "\(host):\($0)" } ?? host
        if let known = memory.withLock({ $0.namesByHost[key] }) { return known }
        let name = (port.map { "port-\($0)." } ?? "") + encodeLabels(of: host) + Self.suffix
        memory.withLock { memory in
            if memory.namesByHost.count < Self.maxCachedNames { memory.namesByHost[key] = name }
        }
        return name
    }

    /// The registrable domain of a host. Without a list of public suffixes, each host is a site of its own,
    /// so that unrelated hosts are not treated as one site.
    private func registrableDomain(of host: String) -> String {
        guard !suffixes.isEmpty, !host.hasSuffix(".") else { return host }
        return suffixes.registrableDomain(of: host) ?? host
    }

    /// The labels that stand for a host, without the suffix. Digests replace the parts that could not be decoded.
    private func encodeLabels(of host: String) -> String {
        let site = registrableDomain(of: host)
        var label = Self.encodeLabel(of: site)
        // The label is tried by decoding it. One that begins like a snapshot's would be decoded as such, and one name
        // belongs to the portal.
        let canBeDecoded =
            label.utf8.count <= Self.maxLabelBytes && Self.decodeSite(from: label) == site
            && !Self.isDigestLabel(label)
            && Self.snapshot(in: label + Self.suffix) == nil && label + Self.suffix != OriginLayout.portalName
        if !canBeDecoded { label = digestLabel(for: site) }
        guard host.utf8.count > site.utf8.count else { return label }
        let subdomain = host.dropLast(site.utf8.count + 1)
        let fullName = "\(subdomain).\(label)"
        // A label that begins like a port or a digest would be decoded as one.
        let isPlain =
            Self.portPrefix(of: fullName[...]) == nil && !Self.isDigestLabel(Self.firstLabel(subdomain))
        let fits =
            fullName.utf8.count + Self.suffix.utf8.count + "port-65535.".utf8.count <= Self.maxNameBytes
        return isPlain && fits ? fullName : "\(digestLabel(for: String(subdomain))).\(label)"
    }

    /// The label for a registrable domain or an address. It must not begin like an internationalised label,
    /// which browsers would decode.
    private static func encodeLabel(of site: String) -> String {
        var bytes: [UInt8] = []
        if site.utf8.first == UInt8(ascii: "[") {
            bytes = Array(ipv6Prefix.utf8) + site.utf8.dropFirst().dropLast().map { $0 == colon ? dash : $0 }
            return String(decoding: bytes, as: UTF8.self)
        }
        for byte in site.utf8 {
            switch byte {
            case dot: bytes.append(dash)
            case dash: bytes += [dash, dash]
            default: bytes.append(byte)
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasPrefix("xn--") ? "-" + text : text
    }

    // MARK: - Decoding names

    /// Decodes a host name. Returns nil if no origin has the name.
    ///
    /// A name is accepted only if encoding the decoded origin yields the same name. So each origin has exactly one
    /// name, and cannot be reached at another one, where a browser would treat it as a different origin.
    package func decode(_ name: String) -> DecodedName? {
        if let (snapshot, liveName) = Self.snapshot(in: name) {
            let decoded = decode(liveName)
            let origins: [String]
            switch decoded {
            case .origins(let known): origins = known
            // If the label and the snapshot do not fit into one label, a digest replaces the label.
            case .alias(let origin):
                origins = WebURL(origin).map { Self.possibleOrigins($0.host, $0.port) } ?? []
            case .unknownDigest, nil: return decoded
            }
            guard let url = origins.first.flatMap({ WebURL($0 + "/") }),
                self.name(of: url, in: snapshot) == name
            else {
                return nil
            }
            return .origins(origins)
        }
        guard name.utf8.count > Self.suffix.utf8.count, name.hasSuffix(Self.suffix) else { return nil }
        let labels = name.dropLast(Self.suffix.utf8.count)
        let port = Self.portPrefix(of: labels)
        let host = decodeHost(port.map { labels.dropFirst("port-\($0).".utf8.count) } ?? labels)
        switch host {
        case .host(let host) where Self.isHost(host) && self.name(host: host, port: port) == name:
            return .origins(Self.possibleOrigins(host, port))
        case .unknownDigest: return .unknownDigest
        case .host(let host):
            if let (host, port) = Self.decodeOldName(labels), Self.isHost(host) {
                return .alias(of: Self.possibleOrigins(host, port)[0])
            }
            return Self.isHost(host) ? .alias(of: Self.possibleOrigins(host, port)[0]) : nil
        }
    }

    /// Remembers the digest labels in an origin's name, so that they can be decoded. Unnecessary for most origins.
    package func learn(_ origin: String) { _ = WebURL(origin).flatMap(name) }

    private enum DecodedHost {
        case host(String)
        case unknownDigest
    }

    /// Decodes labels without the suffix and the port.
    private func decodeHost(_ labels: Substring) -> DecodedHost {
        let dot = labels.lastIndex(of: ".")
        let label = String(dot.map { labels[labels.index(after: $0)...] } ?? labels)
        var subdomain = dot.map { String(labels[..<$0]) }
        var site: String? = Self.decodeSite(from: label)
        memory.withLock { memory in
            if Self.isDigestLabel(label) { site = memory.textByDigest[label] }
            if let known = subdomain, Self.isDigestLabel(known) {
                subdomain = memory.textByDigest[known] ?? ""
            }
        }
        guard let site, subdomain?.isEmpty != true else { return .unknownDigest }
        return .host(subdomain.map { "\($0).\(site)" } ?? site)
    }

    /// Decodes the label of a registrable domain or an address: the inverse of `encodeLabel`.
    private static func decodeSite(from label: String) -> String {
        if label.hasPrefix(ipv6Prefix) {
            let address = label.dropFirst(ipv6Prefix.utf8.count).utf8.map { $0 == dash ? colon : $0 }
            let host = "[\(String(decoding: address, as: UTF8.self))]"
            if isHost(host) { return host }
        }
        var bytes: [UInt8] = []
        var rest = Array(label.utf8)[...]
        if rest.starts(with: "-xn--".utf8) { rest.removeFirst() }
        while let byte = rest.popFirst() {
            if byte != dash {
                bytes.append(byte)
            } else if rest.first == dash {
                rest.removeFirst()
                bytes.append(dash)
            } else {
                bytes.append(dot)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The origins that have one name, the most likely first: names do not contain the scheme. A scheme's default
    /// port is omitted.
    private static func possibleOrigins(_ host: String, _ port: Int?) -> [String] {
        switch port {
        case nil: ["https://\(host)", "http://\(host)"]
        case 80: ["https://\(host):80"]
        case 443: ["http://\(host):443"]
        case let port?: ["http://\(host):\(port)", "https://\(host):\(port)"]
        }
    }

    /// Whether the URL standard would write the host like this.
    private static func isHost(_ host: String) -> Bool {
        guard !host.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") }) else {
            return false
        }
        return WebURL("http://\(host)/").map { $0.host == host && $0.port == nil && !$0.hasCredentials }
            ?? false
    }

    /// The port in a first label such as `port-9000`, if another label follows.
    private static func portPrefix(of labels: Substring) -> Int? {
        let first = firstLabel(labels)
        guard first.hasPrefix("port-"), first.endIndex < labels.endIndex else { return nil }
        return parsePort(first.dropFirst("port-".utf8.count))
    }

    private static func parsePort(_ digits: Substring) -> Int? {
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.utf8.first != UInt8(ascii: "0"), let port = Int(digits), port <= 65535
        else { return nil }
        return port
    }

    private static func firstLabel(_ labels: some StringProtocol) -> Substring {
        Substring(labels.prefix { $0 != "." })
    }

    // MARK: - Digests

    private static let snapshotPrefix = "past-"
    private static let digestPrefix = "hash-"
    private static let digestLength = 26

    /// Returns the label that stands for a text, and remembers the text. It has 130 bits of the SHA-256 hash in
    /// Base32, so that a collision cannot be constructed.
    private func digestLabel(for text: String) -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var (bits, count) = (UInt32(0), 0)
        var characters: [UInt8] = []
        for byte in DigestStream.digest(.sha256, of: Array(text.utf8).span).bytes {
            (bits, count) = (bits << 8 | UInt32(byte), count + 8)
            while count >= 5 {
                count -= 5
                characters.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
        }
        let label =
            Self.digestPrefix + String(decoding: characters.prefix(Self.digestLength), as: UTF8.self)
        memory.withLock { memory in
            // Emptying the table is harmless: a name that is encoded again is remembered again, and the server calls
            // `learn` for all stored origins when a browser requests an unknown digest.
            if memory.textByDigest.count >= Self.maxCachedNames { memory.textByDigest.removeAll() }
            memory.textByDigest[label] = text
        }
        return label
    }

    private static func isDigestLabel(_ label: some StringProtocol) -> Bool {
        label.utf8.count == digestPrefix.utf8.count + digestLength && label.hasPrefix(digestPrefix)
            && label.utf8.dropFirst(digestPrefix.utf8.count).allSatisfy {
                (0x61...0x7a).contains($0) || (0x32...0x37).contains($0)
            }
    }

    // MARK: - Names of earlier versions

    /// Decodes names such as `example.com--8443.localhost` and `2001-db8--1.ipv6.localhost`, which were used
    /// until version 0.1. Nil for names that are decoded the same way today.
    private static func decodeOldName(_ labels: Substring) -> (host: String, port: Int?)? {
        var host = labels
        var port: Int?
        if let dashes = host.utf8.lastIndex(of: dash), dashes > host.startIndex,
            host[..<dashes].utf8.last == dash,
            let number = self.parsePort(host[host.utf8.index(after: dashes)...])
        {
            host = host[..<dashes].dropLast()
            port = number
        }
        if host.hasSuffix(".ipv6") {
            let address = host.dropLast(".ipv6".utf8.count).utf8.map { $0 == dash ? colon : $0 }
            return ("[\(String(decoding: address, as: UTF8.self))]", port)
        }
        return port == nil || host.isEmpty ? nil : (String(host), port)
    }

    private static let ipv6Prefix = "ipv6-"
    private static let colon = UInt8(ascii: ":")
    private static let dash = UInt8(ascii: "-")
    private static let dot = UInt8(ascii: ".")
}
