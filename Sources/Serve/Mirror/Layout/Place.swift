internal import Web

/// What a request asks for, by its host and its target.
enum Place: Equatable {
    /// The larder's own pages.
    case portal
    /// The script that leads addresses to the larder which other scripts make.
    case shim
    /// What is held of one of these URLs, the likelier first. Never empty.
    case copy([String])
    /// A name that is not ours: somebody else's page may have had a browser look it up as this machine.
    case refused
}

/// By which names a larder is asked.
struct LarderNames: Sendable {
    let layout: OriginLayout
    /// Names and addresses of this machine, beside loopback's, in lower case.
    let others: Set<String>
    /// Any address may ask: it came by no name that anybody could have forged.
    let takesAddresses: Bool

    init(layout: OriginLayout, others: Set<String> = [], takesAddresses: Bool = false) {
        self.layout = layout
        self.others = others
        self.takesAddresses = takesAddresses
    }

    func place(authority: String, target: String) -> Place {
        guard let name = name(of: authority) else { return .refused }
        guard let root = layout.root else {
            let isPortal = Portal.isName(name)
            let origins = isPortal ? [] : OriginNames.origins(of: name)
            guard isPortal || !origins.isEmpty else { return .refused }
            if Shim.isTarget(target) { return .shim }
            return isPortal ? .portal : .copy(Self.spellings(of: target).flatMap { part in origins.map { $0 + part } })
        }
        guard Portal.isName(name) || others.contains(name) || takesAddresses && Self.isAddress(name) else {
            return .refused
        }
        if Shim.isTarget(target) { return .shim }
        let addresses = Self.spellings(of: target).flatMap(root.addresses)
        return addresses.isEmpty ? .portal : .copy(addresses)
    }

    /// The original URLs that one of the larder's addresses may show.
    func originals(of local: WebURL) -> [String] {
        let authority = local.port.map { "\(local.host):\($0)" } ?? local.host
        guard case .copy(let addresses) = place(authority: authority, target: local.target) else { return [] }
        return addresses
    }

    /// The host without the port, in lower case. Nil when the port is another one: then the name is not ours.
    private func name(of authority: String) -> String? {
        WebURL("http://\(authority)/").flatMap { url in
            url.hasCredentials || url.path != "/" || url.effectivePort != Int(layout.port) ? nil : url.host
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        name.hasPrefix("[") || name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// As it was asked for, and as the URL standard would have written it: Chromium sends the `|` of a path as `%7C`.
    private static func spellings(of target: String) -> [String] {
        target.utf8.contains("%7C".utf8) ? [target, target.replacing("%7C", with: "|")] : [target]
    }
}
