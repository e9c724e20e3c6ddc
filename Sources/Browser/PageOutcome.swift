internal import Web

/// The result of rendering a page.
package struct PageOutcome: Sendable {
    /// How the rendering ended.
    package enum Ending: Sendable, Equatable {
        case complete
        /// The time limit was exceeded, or the page sent too many requests, dialogs or windows. The outcome
        /// contains everything read by then.
        case outOfTime
        /// A script of the page blocked all others and was stopped. The outcome has what could be read
        /// afterwards.
        case hung
        case crashed
        /// The URL is a file to download, not a page.
        case download
        /// The page could not be opened, for the given reason.
        case failed(String)
    }

    package var ending: Ending
    /// The URL that the tab showed at the end.
    package var address: String
    package var title: String?
    /// The links of the document, its open shadow roots and its same-origin frames, and the URLs of windows
    /// that it opened: absolute http and https URLs, in order and without duplicates.
    package var links: [String] = []
    package var text: String?
    /// Whether the page was still loading when its text was read, because its time was over.
    package var isTextPartial = false
    /// The first viewport as a PNG, its fonts ready and its animations at their end.
    package var picture: [UInt8]?
    /// The page as a PDF.
    package var pdf: [UInt8]?
    package var document: String?
    /// The page as it was shown, as HTML without scripts.
    package var frozen: String?
    /// The messages of the sockets and event streams of the page until it was read; nil without any.
    package var sockets: SocketRecording?
    /// The values of large entries of `localStorage`, by their keys. Very long values are cut off.
    package var storage: [String: String] = [:]
    /// The name of the button by which a banner was answered that asks for consent; nil without one.
    package var consent: String?
    /// The maximum length of ``frozen`` in UTF-16 code units.
    static let maxFrozenLength = 8 << 20
    /// The fragments of views of the document that were found after controls had been used, and not shown.
    var laterRoutes: [String] = []
    /// All requests of the page, its frames and its workers, in order. Each redirect is a request of its own.
    package var requests: [ObservedRequest] = []
    /// The unwanted actions of the page, one notice for each kind.
    package var notices: [PageNotice] = []
    package var elapsed: Duration = .zero
    /// For a person's window, the cookies of the browser's profile; otherwise the cookies of the page's
    /// context at the end, if they are wanted.
    package var cookies: [BrowserCookie] = []

    /// The maximum number of links. Further ones are dropped.
    package static let maxLinks = 10_000
    /// The maximum number of requests. A page that sends more is stopped.
    package static let maxRequests = 5_000
    /// How many more requests each further view of a document may send.
    static let maxRequestsPerView = 100

    package init(ending: Ending, address: String) {
        self.ending = ending
        self.address = address
    }

    /// Adds the outcome of ``PageVisit/visitToLaterViews(of:)``.
    package mutating func add(laterViews outcome: PageOutcome) {
        laterRoutes = []
        elapsed += outcome.elapsed
        requests += outcome.requests
        let known = Set(links)
        links += outcome.links.lazy.filter { !known.contains($0) }.prefix(Self.maxLinks - links.count)
        for notice in outcome.notices {
            if let place = notices.firstIndex(where: { $0.kind == notice.kind }) {
                notices[place].count += notice.count
            } else {
                notices.append(notice)
            }
        }
    }
}

/// A cookie in the browser's cookie store.
package struct BrowserCookie: Sendable, Equatable {
    package var name: String
    package var value: String
    /// The host, with a leading dot if the cookie also applies to its subdomains.
    package var domain: String
    package var path: String
    /// The expiry in seconds since 1970; nil for a session cookie.
    package var expires: Int?
    package var isSecure = false
    package var isHTTPOnly = false

    package init(_ name: String, _ value: String, domain: String, path: String = "/", expires: Int? = nil) {
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.expires = expires
    }
}

extension BrowserCookie {
    /// Reads a cookie as the DevTools protocol describes it.
    init?(_ json: JSONValue) {
        guard let name = json["name"]?.string, let value = json["value"]?.string,
            let domain = json["domain"]?.string, let path = json["path"]?.string
        else { return nil }
        self.init(name, value, domain: domain, path: path)
        if json["session"]?.bool != true {
            expires = json["expires"]?.double.map { Int(min(max($0, 0), 1e12)) }
        }
        isSecure = json["secure"]?.bool ?? false
        isHTTPOnly = json["httpOnly"]?.bool ?? false
    }
}

/// One request of a page and its result.
package struct ObservedRequest: Sendable, Equatable {
    package var url: String
    package var method: String
    /// The browser's name of the resource type: Document, Stylesheet, Image, Font, Script, Fetch, WebSocket
    /// and so on.
    package var type: String
    /// The status of the response; nil if there was none.
    package var status: Int?
    /// The browser's error if the response is missing or incomplete, such as `net::ERR_CONNECTION_REFUSED`.
    package var failure: String?
    /// Whether the browser withheld the response from the page because of CORS.
    package var isRefusedByCORS = false
    /// Whether a script sent the request, rather than an element of the document.
    package var isFromScript = false
    /// Whether the request was sent after controls of the page had been used.
    package var isAfterAction = false
    /// Whether the request was sent after the text of the page had been read, by a view or a control.
    package var isAfterText = false
    /// The value of the `Larder` field of the response, by which a mirror says which stored response it is; nil if there is
    /// none.
    package var mirrorSource: String?
    /// Whether the request was sent right after a banner was answered that asks for consent.
    package var isOfConsent = false

    /// Whether the method changes nothing on the server (RFC 9110, section 9.2.1).
    package var isSafe: Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }

    package init(url: String, method: String, type: String, status: Int? = nil, failure: String? = nil) {
        self.url = url
        self.method = method
        self.type = type
        self.status = status
        self.failure = failure
    }
}

/// Unwanted actions of a page, of one kind.
package struct PageNotice: Sendable, Equatable {
    /// The kind of action.
    package enum Kind: String, Sendable, CaseIterable {
        case dialog, window, download, permission, crash
        case tooManyRequests = "too-many-requests"
        case scriptError = "script-error"
        /// The page opened a WebSocket.
        case webSocket = "web-socket"
        /// Messages of sockets or event streams were recorded.
        case messagesRecorded = "messages-recorded"
        /// Messages of sockets or event streams were not recorded, because a limit was reached.
        case messagesTruncated = "messages-not-recorded"
        /// Views of the document that a fragment names and that were not shown.
        case view = "view-not-shown"
        /// Views of the document that were not shown because many views like them needed nothing new.
        case repeatedView = "view-like-others"
        /// A banner that asks for consent was answered; the text is the name of the button.
        case consent
    }

    package var kind: Kind
    package var count: Int
    /// The message of the first action; for script errors, the first 20 messages.
    package var texts: [String]

    package var text: String { texts.first ?? "" }

    package init(_ kind: Kind, count: Int, texts: [String]) {
        self.kind = kind
        self.count = count
        self.texts = texts
    }
}

/// Counts the unwanted actions of a page by kind.
struct NoticeRecord: Sendable {
    private(set) var notices: [PageNotice] = []

    /// Counts actions of a kind, and returns the new count of that kind.
    @discardableResult
    mutating func note(_ kind: PageNotice.Kind, _ text: String, count: Int = 1) -> Int {
        guard count > 0 else { return 0 }
        let place = notices.firstIndex { $0.kind == kind } ?? notices.count
        if place == notices.count { notices.append(PageNotice(kind, count: 0, texts: [])) }
        notices[place].count += count
        if notices[place].texts.count < (kind == .scriptError ? 20 : 1) {
            notices[place].texts.append(String(decoding: text.utf8.prefix(Self.maxTextLength), as: UTF8.self))
        }
        return notices[place].count
    }

    /// The maximum length of a text in bytes. Longer ones are cut.
    private static let maxTextLength = 1000
}
