package import Web

/// The rules for pages of other origins that request a response, from its CORS and CORP headers.
///
/// They are part of the answer, which all requesters share; the mirror applies them to each requester
/// (`Sharing.verdict` in Mirror) and adds the CORS headers that this requester needs.
package struct Sharing: Equatable, Sendable {
    /// The origins whose scripts may read the response.
    package enum Readers: Equatable, Sendable {
        /// Only the response's own origin.
        case none
        /// Every origin, without credentials (`Access-Control-Allow-Origin: *`).
        case all
        /// Every page of the mirror, without credentials. Used for scripts, style sheets and fonts whose
        /// server was never asked for CORS permission.
        case mirroredPages
        /// The origin that the server named. If `others` is true, the server names the origin of each request,
        /// so that its answer to other origins is unknown.
        case origin(String, credentials: Bool, others: Bool)
    }

    /// The kind of answer that the rules are for.
    package enum Subject: Equatable, Sendable {
        /// A page or file of the portal, which only the portal may read.
        case portal
        /// The shim and the names of origins, which every page may load.
        case common
        /// The content of the bar of a mirrored page: in a frame, or in a window of its own.
        case portalBar
        /// A response of a URL, or the statement that there is none.
        case response(WebURL)
    }

    package let subject: Subject
    package var readers = Readers.none
    /// Whether the response was fetched with credentials.
    package var isPrivate = false
    /// Whether the origin has just sent the response for this requester, whose request had credentials.
    package var isPersonal = false
    /// The value of `Cross-Origin-Resource-Policy`.
    package var embedding: String?
    /// Whether the media type is HTML, XML or JSON. Pages of other origins cannot load it as a script or style
    /// sheet.
    package var isData = false
    /// Whether no response is stored.
    package var isMissing = false
    /// Whether browsers must not store the response, because it is for one requester only. A browser's cache
    /// does not distinguish the ports of a host.
    package var isForOneRequester = false

    package static let portal = Sharing(subject: .portal)
    package static let common = Sharing(subject: .common)
    package static let portalBar = Sharing(subject: .portalBar)

    package init(subject: Subject) { self.subject = subject }
}
