package import Web

/// Who sent a request or receives a copy, as far as Larder can prove it.
package struct Requester: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A person who typed an address or followed a link, or a program that speaks for itself.
        case user
        /// A page of the mirror, by the origins that its address may stand for, the likelier first. Never
        /// empty.
        case page([String])
        /// A document of the mirror that is being loaded into a window or a frame by an unknown page.
        case unknownPage
        /// One of the portal's own pages.
        case portal
        /// A page that is not part of the mirror, or one that hides its address.
        case foreignPage
        /// A file that leaves the store: an archive, a folder, a saved page.
        case export
    }

    package let kind: Kind
    /// Whether responses that were fetched with credentials may go there. On the user's own machine they
    /// may; to other machines, to clients of a shared proxy and into exports only if the user says so.
    package let mayHavePrivate: Bool

    package init(_ kind: Kind, mayHavePrivate: Bool) {
        self.kind = kind
        self.mayHavePrivate = mayHavePrivate
    }

    /// The origins of a page of the mirror.
    package var origins: [String] {
        if case .page(let origins) = kind { origins } else { [] }
    }

    /// Whether the requester is a page of the URL's own site, or no mirrored page at all.
    package func isSameSite(as url: WebURL, _ isSameSite: (_ host: String, _ other: String) -> Bool) -> Bool {
        switch kind {
        case .user, .portal, .export: true
        case .unknownPage, .foreignPage: false
        case .page(let origins):
            origins.contains { origin in WebURL(origin).map { isSameSite($0.host, url.host) } ?? false }
        }
    }
}

/// A resource that a requester asks for.
package enum ProtectedResource: Equatable, Sendable {
    /// The portal's own pages.
    case portal
    /// The frame inside the bar that the portal adds to mirrored pages.
    case portalBar
    /// A resource that is the same for all requesters: the shim, and the names of origins.
    case common
    /// A stored or loaded response, or the statement that there is none.
    ///
    /// - Parameters:
    ///   - isPrivate: It was fetched with credentials.
    ///   - isPublished: It belongs to the site that a server shows to other machines.
    case response(WebURL, isPrivate: Bool, isPublished: Bool)
}

/// How the requester uses a response.
package enum ResponseUse: Equatable, Sendable {
    /// A person looks at it in a window of its own, out of the requester's reach.
    case window
    /// A window that a script may have opened, without a person's click or key.
    case openedWindow
    /// It is a document in a frame, out of the reach of other origins.
    case frame
    /// It becomes part of the requester's own document, or its bytes are read.
    case part
}

/// Whether a requester gets a response.
package enum Access: Equatable, Sendable {
    case granted
    /// Refused, since site isolation forbids it. Nothing tells whether the response is stored.
    case refused
    /// Refused, since the response was fetched with credentials and must not go there.
    case withheld
}

/// Decides whether a requester may get a resource. The mirror, the portal, search, exports and the proxy all
/// ask this function; what it does not grant is refused.
///
/// - Parameter isSameSite: Whether two hosts belong to one site (registrable domain).
package func access(
    to resource: ProtectedResource, by requester: Requester, for use: ResponseUse,
    isSameSite: (_ host: String, _ other: String) -> Bool
) -> Access {
    switch resource {
    case .common: return .granted
    case .portalBar: return use == .part ? .refused : .granted
    case .portal:
        switch requester.kind {
        case .user, .portal: return .granted
        // A person who follows a link sees the portal; the page that has the link does not.
        case .page, .unknownPage:
            return use == .window || use == .openedWindow ? .granted : .refused
        case .foreignPage: return use == .window ? .granted : .refused
        case .export: return .refused
        }
    case .response(let url, let isPrivate, let isPublished):
        if isPrivate, !requester.mayHavePrivate { return .withheld }
        switch requester.kind {
        case .user, .portal, .export: return .granted
        case .foreignPage:
            // A script could open windows by itself, and learn from each whether the URL is stored.
            return use == .window || isPublished && !isPrivate ? .granted : .refused
        case .page, .unknownPage:
            guard isPrivate, use == .part else { return .granted }
            return requester.isSameSite(as: url, isSameSite) ? .granted : .refused
        }
    }
}
