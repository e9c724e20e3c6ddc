internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Web

/// A response to be scanned for links, and stored.
struct ScanJob: Sendable {
    /// The source of the response.
    enum Source: Sendable {
        /// A response from the network.
        case fetched(FetchedResponse)
        /// A response that is already stored, of which only the links are needed.
        case stored(StoredResponse)
    }

    let number: UInt32
    let url: WebURL
    let role: Frontier.Role
    let referrer: String?
    var referrerNumber: UInt32?
    let source: Source
    /// The time of the response, in seconds since 1970.
    let time: Int64
    var flags: ResponseFlags = []
    /// The request to which this is the response.
    var request = RequestKey.get
    /// The headers of the request, on which the response may depend (`Vary`).
    var sentFields = HTTPFields()
    /// The names of those request headers that a script of the page set.
    var scriptFields: [String] = []
    /// The bundle that the body must match.
    var required: Bundle?
    /// The response that an earlier snapshot has.
    var storedBefore: StoredResponse?
    /// Whether to compute a fingerprint of the page's text.
    var wantsWords = false
    /// Whether to compute the pieces of the page's text. The scan does this only if the page's URL or one of its links to
    /// itself has a query.
    var wantsPieces = false
    /// Whether a link of another page to this one with a query is known.
    var hasKnownQueries = false

    /// Whether the page is left out if it says `noindex`.
    var mayBeLeftOut = false

    /// The meaning of a login page at this URL; nil to not check for login pages.
    var login: LoginCheck?

    /// Which page is lost if the response is a login page.
    enum LoginCheck: Sendable {
        /// The page that redirected to this URL.
        case isRedirectTarget
        /// The page at this URL. If the URL looks like that of a login page, none is lost.
        case mayReplacePage
    }

    /// The size of the body in memory; 0 if it is in a file or in the store.
    var byteCount: Int {
        if case .fetched(let response) = source, case .bytes(let bytes) = response.body {
            bytes.count
        } else {
            0
        }
    }
}

struct ScanResult: Sendable {
    let number: UInt32
    /// The size of the job's body in memory.
    let byteCount: Int
    var links: [FoundLink] = []
    /// The settings that the body makes for module loaders, and the names of modules that it requests from them.
    var notes: [LoaderNote] = []
    /// The base URL of the document's links; nil for its own URL.
    var base: WebURL?
    /// Whether the page says `nofollow`.
    var isNofollow = false
    /// The reasons for which rendering may find more links than the scan.
    var renderReasons: RenderReasons = []
    /// A hash of the names of the page's scripts; 0 if it has none, or was not scanned.
    var scripts: UInt64 = 0
    /// A hash of the names in the page's inline scripts; 0 if it has none, or was not scanned.
    var inlineScripts: UInt32 = 0
    /// Whether the response was stored by an earlier run or snapshot.
    var isReused = false
    /// The response of an earlier snapshot with the same body, if this one was fetched.
    var storedWithSameBody: StoredResponse?
    /// Links that an earlier snapshot found by rendering the same body.
    var linksOfLastRendering: [FoundLink] = []
    /// The format of the body; nil if it was not scanned.
    var format: BodyFormat?
    /// The fingerprint of the page's text.
    var print: ContentPrint?
    /// A digest of the page's body, by which copies of a page are recognised; nil if views are not recognised.
    var bodyDigest: UInt64?
    /// The pieces of the page's text; nil if they were not computed.
    var pieces: TextPieces?
    /// Values by which a script may request the next part of a list, if this asset may be a part of one.
    var listPlaces: ListPlaces?
    /// The `Accept-Signature` of requests for the assets that must be signed, as the page's `integrity` attributes
    /// demand.
    var acceptSignatures: [SignatureRequests.Entry] = []
    /// The page's directives to crawlers.
    var directives: PageDirectives = []
    /// Whether the body was not scanned because it is too large.
    var isTooLarge = false
    /// Whether the document has more links than the crawl follows.
    var isOverlong = false
    /// Whether the page was not stored because it says `noindex`. Its links are followed.
    var isLeftOut = false
    /// The kind of login page that this is; nil if it is not one, or was not checked.
    var login: Login?
    /// Whether the page has a password field.
    var asksForPassword = false

    /// The kinds of login pages.
    enum Login: Sendable {
        /// A login page in place of another page, which was not stored.
        case inPlaceOfPage
        /// A login page at a URL that looks like that of one.
        case atLoginURL
    }

    /// Whether the title says "not found".
    var saysNotFound = false
    /// The rule that forbids storing the response.
    var storageBan: String?
    /// The reason for which the response was not stored.
    var refusal: Failure?
    /// The stored response that is kept instead.
    var keptResponse: StoredResponse?
    /// Earlier replacements that turned out to be wrong and were undone.
    var restored: [ReplacementCheck.Restored] = []
    /// The error because of which the response could not be stored. It ends the crawl.
    var storeError: StoreError?
}
