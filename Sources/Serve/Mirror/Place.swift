internal import Web

/// What a request asks for, by its host and its target.
enum Place: Equatable {
    /// The larder's own pages.
    case portal
    /// The portal, which a browser looks for at a plain name of this machine; the address that is meant.
    case portalRedirect(to: String)
    /// The script that leads addresses to the larder which other scripts make.
    case shim
    /// It asks for the name of an origin, or to be led to an URL.
    case name(of: String)
    case way(to: WebURL)
    /// An earlier or another name of an origin; the address that is meant.
    case moved(to: String)
    /// The origin's name has a digest that nobody has named yet.
    case unknown
    /// What is held of one of these URLs, the likelier first. Empty where a target means none.
    case copy([String])
    /// The same as of an earlier snapshot.
    case past(Int64, [String])
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
        if layout.isPortal(name) { return service(target) ?? .portal }
        guard let root = layout.root, layout.sharesOrigin || layout.isLocalRoot(name) else {
            // To other machines only the portal has a name, and it asks for its password.
            if layout.isExposed { return isMachines(name) ? .portal : .refused }
            switch layout.names.reading(name) {
            case .origins(let origins):
                if let service = service(target) { return service }
                if origins == layout.root?.origins,
                    let home = WebURL(origins[0] + "/").flatMap(layout.address)
                {
                    return .moved(to: home.dropLast() + target)
                }
                let addresses = Self.spellings(of: target).flatMap { part in origins.map { $0 + part } }
                return OriginNames.snapshot(in: name).map { .past($0.number, addresses) } ?? .copy(addresses)
            case .alias(let origin):
                guard let address = WebURL(origin + "/").flatMap(layout.address) else { return .refused }
                return .moved(to: address.dropLast() + target)
            case .unknownDigest: return .unknown
            case nil: return .refused
            }
        }
        guard isMachines(name) else { return .refused }
        if let service = service(target) { return service }
        return .copy(Self.spellings(of: target).flatMap { root.addresses(of: $0, layout.seals) })
    }

    /// Whether browsers are redirected from the name to the portal's own. At a plain name, a site may have been at
    /// the root before, whose service worker would see the portal's pages.
    func redirectsToPortal(_ authority: String) -> Bool {
        guard !layout.isExposed, layout.root == nil, let name = name(of: authority) else { return false }
        return layout.isLoopback(name)
    }

    /// Whether the site at the root is at the name, on this machine.
    func isLocalRoot(_ authority: String) -> Bool { name(of: authority).map(layout.isLocalRoot) ?? false }

    private func isMachines(_ name: String) -> Bool {
        layout.isLoopback(name) || others.contains(name) || takesAddresses && Self.isAddress(name)
    }

    /// What every origin has for the shim.
    private func service(_ target: String) -> Place? {
        guard target.hasPrefix(Shim.folder) else { return nil }
        if Shim.isTarget(target) { return .shim }
        if target.hasPrefix(Shim.names) {
            return WebURL(String(target.dropFirst(Shim.names.utf8.count))).map { .name(of: $0.origin) }
        }
        // If all origins share one name, the redirect would reveal an address with the root's seal to every client.
        guard target.hasPrefix(Shim.ways), !layout.sharesOrigin else { return nil }
        return WebURL(String(target.dropFirst(Shim.ways.utf8.count))).map { .way(to: $0) }
    }

    /// The original URLs that one of the larder's addresses may show.
    func originals(of local: WebURL) -> [String] {
        let authority = local.port.map { "\(local.host):\($0)" } ?? local.host
        switch place(authority: authority, target: local.target) {
        case .copy(let addresses), .past(_, let addresses): return addresses
        case .portal, .portalRedirect, .shim, .name, .way, .moved, .unknown, .refused: return []
        }
    }

    /// The host without the port, in lower case. Nil when the port is another one: then the name is not ours.
    private func name(of authority: String) -> String? {
        WebURL("\(layout.scheme)://\(authority)/").flatMap { url in
            url.hasCredentials || url.path != "/" || url.effectivePort != Int(layout.port) ? nil : url.host
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        name.hasPrefix("[") || name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// As it was asked for, and as the URL standard would have written it: Chromium sends the `|` of a path
    /// as `%7C`.
    private static func spellings(of target: String) -> [String] {
        target.utf8.contains("%7C".utf8) ? [target, target.replacing("%7C", with: "|")] : [target]
    }
}
