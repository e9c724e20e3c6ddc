package import Web

/// The sender of a request or the receiver of a copy, as far as Larder can prove it.
package struct Requester: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A user who entered a URL or followed a link, or a program that acts for itself.
        case user
        /// A page of the mirror. Its address may stand for several origins; the most likely is first. Never
        /// empty.
        case page([String])
        /// A document of the mirror that is being loaded into a window or a frame by an unknown page.
        case unknownPage
        /// One of the portal's own pages.
        case portal
        /// A page that is not part of the mirror, or that hides its address.
        case foreignPage
        /// A file that leaves the store: an archive, a folder or a saved page.
        case export
    }

    package let kind: Kind
    /// Whether the requester may get responses that were fetched with credentials. On the user's own machine
    /// it may. Other machines, clients of a shared proxy and exports may only if the user allows it.
    package let canReceivePrivate: Bool

    package init(_ kind: Kind, canReceivePrivate: Bool) {
        self.kind = kind
        self.canReceivePrivate = canReceivePrivate
    }

    /// The origins of a page of the mirror.
    package var origins: [String] {
        if case .page(let origins) = kind { origins } else { [] }
    }

    /// Whether the requester is a page of the URL's own site, or no page of another site at all: the user,
    /// the portal or an export.
    package func isSameSite(as url: WebURL, _ isSameSite: (_ host: String, _ other: String) -> Bool) -> Bool {
        switch kind {
        case .user, .portal, .export: true
        case .unknownPage, .foreignPage: false
        case .page(let origins):
            origins.contains { origin in WebURL(origin).map { isSameSite($0.host, url.host) } ?? false }
        }
    }
}

/// A resource that a requester wants.
package enum ProtectedResource: Equatable, Sendable {
    /// The portal's own pages.
    case portal
    /// The frame inside the bar that the portal adds to mirrored pages.
    case portalBar
    /// A resource that is the same for all requesters: the shim, and the names of origins.
    case common
    /// A stored or loaded response, or the information that there is none.
    ///
    /// - Parameters:
    ///   - isPrivate: whether it was fetched with credentials.
    ///   - isPublished: whether it belongs to the site that a server shows to other machines.
    case response(WebURL, isPrivate: Bool, isPublished: Bool)
}

/// The way in which the requester uses a response.
package enum ResponseUse: Equatable, Sendable {
    /// A user looks at it in a window of its own, which the requester cannot read.
    case window
    /// A window that a script may have opened, without a click or key press of the user.
    case openedWindow
    /// A document in a frame, which other origins cannot read.
    case frame
    /// A part of the requester's own document, or bytes that it reads.
    case part
}

/// The decision whether a requester gets a response.
package enum Access: Equatable, Sendable {
    case granted
    /// Refused because of site isolation. The requester does not learn whether the response is stored.
    case refused
    /// Refused because the response was fetched with credentials, and the requester may not get such
    /// responses.
    case withheld
}

/// Returns whether a requester may get a resource. The mirror, the portal, search, exports and the proxy all
/// use this function.
///
/// - Parameter isSameSite: whether two hosts belong to one site (registrable domain).
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
        // A user who follows a link sees the portal. The page with the link does not.
        case .page, .unknownPage:
            return use == .window || use == .openedWindow ? .granted : .refused
        case .foreignPage: return use == .window ? .granted : .refused
        case .export: return .refused
        }
    case .response(let url, let isPrivate, let isPublished):
        if isPrivate, !requester.canReceivePrivate { return .withheld }
        switch requester.kind {
        case .user, .portal, .export: return .granted
        case .foreignPage:
            // A script could open windows by itself and learn from each whether a URL is stored.
            return use == .window || isPublished && !isPrivate ? .granted : .refused
        case .page, .unknownPage:
            guard isPrivate, use == .part else { return .granted }
            return requester.isSameSite(as: url, isSameSite) ? .granted : .refused
        }
    }
}
