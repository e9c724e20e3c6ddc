internal import Web

/// What became of a visit to a page.
package struct PageOutcome: Sendable {
    package enum Ending: Sendable, Equatable {
        case complete
        /// Its time was up, or it went on asking, or telling, without end. What was there is taken.
        case outOfTime
        /// One of its scripts did not let anybody else run. What was there is taken where that was stopped.
        case hung
        case crashed
        /// It is none: a file.
        case download
        /// There is no page, and why.
        case failed(String)
    }

    package var ending: Ending
    /// Where the tab ended.
    package var address: String
    package var title: String?
    /// Where the document, its open shadow roots and frames of its origin lead, and windows that it opened:
    /// absolute, of http and https alone, in order and without duplicates.
    package var links: [String] = []
    package var text: String?
    /// The first viewport as a PNG, its fonts ready and its animations at their end.
    package var picture: [UInt8]?
    /// As a PDF.
    package var paper: [UInt8]?
    package var document: String?
    /// Everything that it asked for, its workers and frames too, in order; redirects are requests of their
    /// own.
    package var requests: [SeenRequest] = []
    /// What it did that nobody wanted, each kind once.
    package var notices: [PageNotice] = []
    package var elapsed: Duration = .zero
    /// What the profile has, of pages that a person was shown; else what the page ended with, where that is
    /// wanted.
    package var cookies: [BrowserCookie] = []

    package static let linkLimit = 10_000
    package static let requestLimit = 5_000
    /// For each further view of a document as many more.
    static let requestLimitOfView = 100

    package init(ending: Ending, address: String) {
        self.ending = ending
        self.address = address
    }
}

/// A cookie that a browser keeps.
package struct BrowserCookie: Sendable, Equatable {
    package var name: String
    package var value: String
    /// With a dot before it where it is for the hosts below too.
    package var domain: String
    package var path: String
    /// In seconds since 1970; nil for one that ends with the session.
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
    /// As the browser tells of one.
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

/// One request of a page, with what became of it.
package struct SeenRequest: Sendable, Equatable {
    package var url: String
    package var method: String
    /// The browser's word: Document, Stylesheet, Image, Font, Script, Fetch, WebSocket and so on.
    package var type: String
    /// Nil as long as there is none.
    package var status: Int?
    /// The browser's word for why there is no whole answer: `net::ERR_CONNECTION_REFUSED`.
    package var failure: String?
    /// What its server says does not let the page have it.
    package var isRefusedByCORS = false

    package init(url: String, method: String, type: String, status: Int? = nil, failure: String? = nil) {
        self.url = url
        self.method = method
        self.type = type
        self.status = status
        self.failure = failure
    }
}

/// Something that a page did and nobody wanted.
package struct PageNotice: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case dialog, window, download, permission, crash
        case tooManyRequests = "too-many-requests"
        case scriptError = "script-error"
        /// What comes over one cannot be kept.
        case webSocket = "web-socket"
        /// One that a fragment names, and that was not shown.
        case view = "view-not-shown"
    }

    package var kind: Kind
    package var count: Int
    /// What the first one said; of errors in scripts the first 20.
    package var texts: [String]

    package var text: String { texts.first ?? "" }

    package init(_ kind: Kind, count: Int, texts: [String]) {
        self.kind = kind
        self.count = count
        self.texts = texts
    }
}

/// Counts what a page did and nobody wanted.
struct NoticeRecord: Sendable {
    private(set) var notices: [PageNotice] = []

    /// Gives how many of the kind there are now.
    @discardableResult
    mutating func note(_ kind: PageNotice.Kind, _ text: String, count: Int = 1) -> Int {
        guard count > 0 else { return 0 }
        let place = notices.firstIndex { $0.kind == kind } ?? notices.count
        if place == notices.count { notices.append(PageNotice(kind, count: 0, texts: [])) }
        notices[place].count += count
        if notices[place].texts.count < (kind == .scriptError ? 20 : 1) {
            notices[place].texts.append(String(decoding: text.utf8.prefix(Self.textLimit), as: UTF8.self))
        }
        return notices[place].count
    }

    private static let textLimit = 1000
}
