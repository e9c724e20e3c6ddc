internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Web

/// A response whose links are wanted, and which is to be kept.
struct ScanJob: Sendable {
    enum Source: Sendable {
        /// Fresh from the network.
        case fetched(FetchedResponse)
        /// Stored by an earlier run of this visit: nothing to keep, only its links are needed again.
        case held(StoredResponse)
    }

    let number: UInt32
    let url: WebURL
    let role: Frontier.Role
    let referrer: String?
    let source: Source
    /// Seconds since 1970.
    let time: Int64
    var flags: ResponseFlags = []
    /// What the request said that brought it, by which answers may vary.
    var sentFields = HTTPFields()
    /// What it has to be.
    var required: Bundle?
    /// Its content is to be told by its words.
    var wantsWords = false

    /// It is a page that need not be kept, should it ask for that.
    var mayBeLeftOut = false

    /// What becomes of a login that it turns out to be; nil where nobody looks.
    var login: LoginWatch?

    enum LoginWatch: Sendable {
        /// A redirect led there: it stands for the page that was asked for.
        case wasLedTo
        /// It does, unless its address says that it is one.
        case mayBeInPlace
    }

    /// What the job holds in memory.
    var byteCount: Int {
        if case .fetched(let response) = source, case .bytes(let bytes) = response.body { bytes.count } else { 0 }
    }
}

/// What a scan found.
struct ScanResult: Sendable {
    let number: UInt32
    /// What the job held in memory.
    let byteCount: Int
    var links: [FoundLink] = []
    /// Nil for what nobody looked into.
    var format: BodyFormat?
    /// To know the content of a page again.
    var print: ContentPrint?
    /// What it asks of crawlers.
    var directives: PageDirectives = []
    /// It was not kept, since it asks for that: only where it leads counts.
    var isLeftOut = false
    /// It asks who is there; nil where it does not, or nobody looked.
    var login: Login?
    /// There is a field for a password in it.
    var asksForPassword = false

    enum Login: Sendable {
        /// It stands for another page, and was not kept.
        case inPlace
        /// Its address says so.
        case byItself
    }

    /// Its title speaks of nothing being there.
    var saysNotFound = false
    /// The rule by which it is not stored.
    var storageBan: String?
    /// Why the response was not kept.
    var refusal: Failure?
    /// Why the response could not be kept; the crawl ends with it.
    var failure: StoreError?
}

/// A link as the frontier wants it: resolved, without its fragment, once for each document.
struct FoundLink: Sendable, Equatable {
    /// The page leads on there by itself.
    var isRefresh = false
    let url: WebURL
    let role: Frontier.Role
    /// It may be no link at all: a string in a script that looks like one.
    var isGuess = false
    /// It is a link to a page that is not to be followed from here.
    var isNofollow = false
    /// It is asked for by CORS.
    var isCORS = false
}
