internal import Origins
internal import Web

/// The meaning of a request's host and target: one of Larder's own resources, or stored responses.
enum RequestTarget: Equatable {
    /// The web interface.
    case portal
    /// The portal, requested at a plain name of this machine. `to` is the portal's own address.
    case portalRedirect(to: String)
    /// The shim, the script that rewrites the URLs that other scripts make.
    case shim
    /// The mirror name of an origin, which the shim requests.
    case originName(of: String)
    /// A redirect to the mirror address of a URL, which the shim requests.
    case redirectToStored(to: WebURL)
    /// An earlier or alternative name of an origin. `to` is the current address.
    case moved(to: String)
    /// An origin name with a digest whose origin is not known.
    case unknownOrigin
    /// The stored response for one of these URLs, the most likely first. Empty if the target names no URL.
    case stored([String])
    /// The same in the earlier snapshot with this number.
    case inSnapshot(Int64, [String])
    /// A host name that is not the server's. A foreign page may have made the name resolve to this machine
    /// (DNS rebinding).
    case refused
}

/// The host names that a mirror answers to.
struct MirrorHostNames: Sendable {
    let layout: OriginLayout
    /// Names and addresses of this machine other than loopback's, in lower case.
    let others: Set<String>
    /// Whether any IP address is accepted as a host. An address cannot be used for DNS rebinding.
    let takesAddresses: Bool

    init(layout: OriginLayout, others: Set<String> = [], takesAddresses: Bool = false) {
        self.layout = layout
        self.others = others
        self.takesAddresses = takesAddresses
    }

    /// The meaning of the `Host` header and the target of a request.
    func resolve(authority: String, target: String) -> RequestTarget {
        guard let name = name(of: authority) else { return .refused }
        if layout.isPortal(name) { return shimTarget(target) ?? .portal }
        guard let root = layout.root, layout.sharesOrigin || layout.isLocalRoot(name) else {
            // To other machines, only the portal has a name, and it requires its password.
            if layout.isExposed { return isNameOfMachine(name) ? .portal : .refused }
            switch layout.names.decode(name) {
            case .origins(let origins):
                if let known = shimTarget(target) { return known }
                if origins == layout.root?.origins,
                    let home = WebURL(origins[0] + "/").flatMap(layout.address)
                {
                    return .moved(to: home.dropLast() + target)
                }
                let addresses = Self.spellings(of: target).flatMap { part in origins.map { $0 + part } }
                return OriginNames.snapshot(in: name).map { .inSnapshot($0.number, addresses) }
                    ?? .stored(addresses)
            case .alias(let origin):
                guard let address = WebURL(origin + "/").flatMap(layout.address) else { return .refused }
                return .moved(to: address.dropLast() + target)
            case .unknownDigest: return .unknownOrigin
            case nil: return .refused
            }
        }
        guard isNameOfMachine(name) else { return .refused }
        if let known = shimTarget(target) { return known }
        return .stored(Self.spellings(of: target).flatMap { root.addresses(of: $0, layout.seals) })
    }

    /// Whether browsers are redirected from the name to the portal's own. At a plain name, a site may have
    /// been at the root before, whose service worker would see the portal's pages.
    func redirectsToPortal(_ authority: String) -> Bool {
        guard !layout.isExposed, layout.root == nil, let name = name(of: authority) else { return false }
        return layout.isLoopback(name)
    }

    /// Whether the site at the root is at the name, on this machine.
    func isLocalRoot(_ authority: String) -> Bool { name(of: authority).map(layout.isLocalRoot) ?? false }

    private func isNameOfMachine(_ name: String) -> Bool {
        layout.isLoopback(name) || others.contains(name) || takesAddresses && Self.isAddress(name)
    }

    /// The meaning of a target below the shim's folder, which exists on every origin.
    private func shimTarget(_ target: String) -> RequestTarget? {
        guard target.hasPrefix(Shim.folder) else { return nil }
        if Shim.isTarget(target) { return .shim }
        if target.hasPrefix(Shim.names) {
            return WebURL(String(target.dropFirst(Shim.names.utf8.count))).map { .originName(of: $0.origin) }
        }
        // If all origins share one name, the redirect would reveal an address with the root's seal to every
        // client.
        guard target.hasPrefix(Shim.ways), !layout.sharesOrigin else { return nil }
        return WebURL(String(target.dropFirst(Shim.ways.utf8.count))).map { .redirectToStored(to: $0) }
    }

    /// The original URLs that a mirror address may stand for.
    func originals(of local: WebURL) -> [String] {
        let authority = local.port.map { "\(local.host):\($0)" } ?? local.host
        switch resolve(authority: authority, target: local.target) {
        case .stored(let addresses), .inSnapshot(_, let addresses): return addresses
        case .portal, .portalRedirect, .shim, .originName, .redirectToStored, .moved, .unknownOrigin,
            .refused:
            return []
        }
    }

    /// The host of the authority in lower case, without the port. Nil if the port is not the server's.
    private func name(of authority: String) -> String? {
        WebURL("\(layout.scheme)://\(authority)/").flatMap { url in
            url.hasCredentials || url.path != "/" || url.effectivePort != Int(layout.port) ? nil : url.host
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        name.hasPrefix("[") || name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// The target as it was sent, and with `|` as the URL standard would write it: Chromium sends the `|` of
    /// a path as `%7C`.
    private static func spellings(of target: String) -> [String] {
        target.utf8.contains("%7C".utf8) ? [target, target.replacing("%7C", with: "|")] : [target]
    }
}
