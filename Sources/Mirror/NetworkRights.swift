internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Web

/// The rights of a requester to cause requests to origins: the cache policy that it may choose, and the network zones that it
/// may reach.
struct NetworkRights {
    private let exchange: MirrorExchange

    private var request: Request { exchange.request }
    private var layout: OriginLayout { exchange.layout }
    private var requestContext: RequestContext { exchange.requestContext }
    private var isTransparent: Bool { exchange.context.layout.isTransparent }

    init(_ exchange: MirrorExchange) { self.exchange = exchange }

    /// The nearest network zone to which this requester may cause a request. For a page it is the zone that
    /// the page's own responses came from. Other machines may cause requests to the site at the root and to
    /// the public network.
    func nearestZone(to url: WebURL?) throws(StoreError) -> NetworkZone {
        if layout.isExposed, !isTransparent {
            guard let url, layout.root?.isRoot(url) ?? false else { return .publicNetwork }
            return try namedZone(.thisMachine, of: url)
        }
        switch requestContext.kind {
        case .user, .portal: return .thisMachine
        case .unknownPage, .foreignPage, .export: return .publicNetwork
        case .page(let origins):
            for origin in origins {
                if let zone = try exchange.view().reader.mostPublicZone(ofOrigin: origin) { return zone }
            }
            return .publicNetwork
        }
    }

    /// The nearest network zone to which a request may connect if a user named its host. A name may resolve to a nearer
    /// address than the one that the host's stored responses came from: then those decide.
    ///
    /// - Parameter zone: The zone in which the user named the host.
    func namedZone(_ zone: NetworkZone, of url: WebURL) throws(StoreError) -> NetworkZone {
        guard !url.isLocalByName else { return zone }
        var stored: NetworkZone?
        let starts = try exchange.rules().startOrigins(onHost: url.host)
        let pages = requestContext.origins.filter { WebURL($0)?.host == url.host }
        for origin in Set([url.origin] + pages + starts) {
            guard let found = try exchange.view().reader.mostPublicZone(ofOrigin: origin) else { continue }
            stored = min(found, stored ?? found)
        }
        return min(zone, stored ?? zone)
    }

    /// Whether the client is on this machine, and does not forward another client's request.
    private var isFromThisMachine: Bool {
        guard layout.isExposed else { return true }
        return !exchange.portal.visitor.isForwarded && LoginClient(socket: request.socket)?.isHere ?? false
    }

    /// The policy from the request, a rule, or the server's options. Pages of other origins cannot set it.
    func policy(at url: WebURL, _ loader: OriginLoader) throws(StoreError) -> CachePolicy {
        // For a proxy's clients, pages can send the field too; and a client on another machine would set it
        // for all others.
        if !request.isCrossOrigin, isTransparent || isFromThisMachine,
            !isTransparent || requestContext.kind == .user,
            let policy = exchange.fields["Larder-Policy"].flatMap({ CachePolicy(rawValue: $0) })
        {
            return policy
        }
        return try exchange.rules().rules(for: url).policy(for: url) ?? loader.policy
    }
}
