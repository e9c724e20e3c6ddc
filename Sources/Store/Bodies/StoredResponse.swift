package import Database
internal import Digest
package import Web

/// A row of `response` with its URL and body: the answer of a server to one request, in one snapshot. It has no
/// bytes of the body; `StoreReader.content(of:)` returns them.
package struct StoredResponse: Sendable, Equatable {
    /// The id of the URL in this store.
    package let url: Int64
    /// The URL.
    package let href: String
    /// The id of the snapshot that received the response first. Later snapshots may have confirmed it.
    package let snapshot: Int64
    package let request: RequestKey
    /// The text of the `VaryKey`, or `VaryKey.never`; empty if the response does not vary.
    package let variant: String
    package let status: Int
    /// The role, as Markup's raw value: 0 for a page, 1 for an asset, 2 for a guide.
    package let role: UInt8
    package let flags: ResponseFlags
    /// The media type without parameters.
    package var type: String?
    /// The header fields as text, one per line (`HTTPFields(block:)`).
    package var fields: String
    /// When the request was sent, in seconds since 1970.
    package let requested: Int64
    /// When the response arrived, in seconds since 1970.
    package let fetched: Int64
    /// Nil if the response has no body, for example a redirect or a lost response.
    package var body: StoredBody?

    package var isRedirect: Bool { (300..<400).contains(status) }

    /// Whether the status is that of a page that a browser shows: 200, or 404 or 410 with a body. A crawl stores such a
    /// body only if it is an application, which shows the page. In archives, it can be the text of an error page.
    package var hasPageStatus: Bool { status == 200 || (status == 404 || status == 410) && body != nil }

    /// The response; nil if its body was lost (`ResponseFlags.isLost`).
    var unlessLost: StoredResponse? { flags.contains(.isLost) ? nil : self }

    /// The status of the row of a lost response: "Gateway Timeout", which is also the answer for a response that is
    /// not stored.
    static let lostStatus = 504

    /// Whether a request with these headers selects this response among the variants of its URL (RFC 9111, section
    /// 4.1). The codings and the dictionary of the request make no difference, because bodies are stored decoded.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the request.
    ///   - secrets: The hasher of the store that contains the response.
    package func matches(_ fields: HTTPFields, _ secrets: SecretHasher) -> Bool {
        VaryKey.isSelected(variant, by: fields, secrets)
    }

    /// The `Origin` header of the request, if the response varies by it.
    package var origin: String? { VaryKey(stored: variant)["Origin"] }

    /// The header fields by which a cache asks a server whether a response has changed.
    private static let validators: FieldNames = ["etag", "last-modified"]

    /// The entry for the cache policies.
    ///
    /// - Parameters:
    ///   - profile: The rules of the cache: private or shared.
    ///   - rules: The user's rules for how long responses are fresh.
    package func cacheEntry(profile: CacheProfile, rules: CacheRules) -> CacheEntry {
        let fields = HTTPFields(block: fields.utf8.span)
        let lifetime =
            rules.isEmpty ? nil : WebURL(href).flatMap { rules.lifetime(for: $0, fields.contentType) }
        // An imported response is never fresh and has no validators, since the author of the archive chose its
        // headers: a 304 that the server sends for another body with the same ETag must not confirm this one.
        return CacheEntry(
            status: status, fields: isImported ? fields.removing(Self.validators) : fields,
            requestTime: HTTPDate(secondsSinceEpoch: requested),
            responseTime: HTTPDate(secondsSinceEpoch: fetched), profile: profile,
            forced: isImported ? .exactly(0) : lifetime,
            isInvalidated: isImported || flags.contains(.isInvalidated), isPart: flags.contains(.isPart))
    }
}

extension StoredResponse {
    /// The summary by which `ReplacementCheck` compares the response with a new one. Nil if the URL is invalid.
    package var replacementSummary: ResponseSummary? {
        guard let url = WebURL(href) else { return nil }
        return ResponseSummary(
            url, status: status, fields: HTTPFields(block: fields.utf8.span), digest: body?.fingerprint ?? 0,
            byteCount: body?.byteCount ?? 0, title: body?.title, isPrivate: flags.contains(.isPrivate))
    }
}

/// A row of `body`: the facts about a stored body, without its bytes.
package struct StoredBody: Sendable, Equatable {
    package let id: Int64
    package let sha256: [UInt8]
    /// The format and the character set by which links are read, as in `BodyFormat(form:)`. The same bytes in two
    /// forms are two bodies.
    package let form: String
    package let byteCount: Int
    /// The title, if the body is a page.
    package let title: String?
    /// Nil until it is computed for the first time.
    package var md5: [UInt8]?

    /// The first 8 bytes of the digest, or 0 for an empty body. Equal to `NewBody.fingerprint` of the same bytes.
    var fingerprint: UInt64 { byteCount == 0 ? 0 : sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The numbers of responses and bodies in the whole store.
package struct StoreSummary: Sendable, Equatable {
    package var responses = 0
    package var pages = 0
    package var assets = 0
    package var tombstones = 0
    package var bodies = 0
    /// The size of all bodies, each counted once.
    package var bytes: Int64 = 0

    package init() {}
}

extension StoredResponse {
    /// The columns that `init(_:)` reads. The statement must join `response` with `url` and, with a left join,
    /// `body`, and select these columns first.
    static let columns = """
        url.id, url.href, response.snapshot, response.request, response.variant, response.status, response.role,
        response.flags, response.type, response.fields, response.requested, response.fetched,
        \(StoredBody.columns)
        """

    /// The number of these columns: the index of the first column after them.
    static let columnCount: Int32 = 18

    /// The terms of an `ORDER BY` that sorts the responses of a URL by preference, the best first. The statement must
    /// join `response` with `snapshot` and `site`. `Rank` is the same order in Swift. The terms, most important
    /// first:
    ///
    /// 1. Responses from the origin come before imports that are below them (`Rank.isBelowOrigin`).
    /// 2. Responses of sites with a live snapshot come before those of sites without one.
    /// 3. Responses of newer snapshots come first. An import into a named site has the place of the site's last
    ///    response before it (`Provenance.precedence`).
    /// 4. Within a snapshot, the response that was fetched last comes first.
    /// 5. The text of the variant only makes the order unique.
    static let readerOrder = """
        CASE WHEN \(Provenance.precedence) > 0 THEN 0 ELSE 1 END, \(hasNoLiveSnapshot), \(Provenance.precedence) DESC,
        response.snapshot DESC, response.fetched DESC, response.variant DESC
        """

    /// An SQL condition on `site`: none of its snapshots is live yet.
    static let hasNoLiveSnapshot = "site.published IS NULL"

    /// The position of a response in `readerOrder`. Its row must have `hasNoLiveSnapshot` and `Provenance.precedence` after
    /// `columns`.
    struct Rank {
        let hasNoLiveSnapshot: Bool
        let precedence: Int64
        let snapshot: Int64
        private let fetched: Int64
        let variant: String

        init(_ row: Row) {
            hasNoLiveSnapshot = row.integer(columnCount) != 0
            precedence = row.integer(columnCount + 1)
            snapshot = row.integer(2)
            fetched = row.integer(11)
            variant = row.text(4)
        }

        /// Whether every response from the origin is preferred to this one. True for a subordinate import
        /// (`StoredResponse.isSubordinate`), and for an import into a named site if that site has no earlier response
        /// from the origin.
        var isBelowOrigin: Bool { precedence == 0 }

        /// Whether the response is preferred to the other one.
        func isBefore(_ other: Rank) -> Bool {
            if isBelowOrigin != other.isBelowOrigin { return other.isBelowOrigin }
            if hasNoLiveSnapshot != other.hasNoLiveSnapshot { return other.hasNoLiveSnapshot }
            if precedence != other.precedence { return precedence > other.precedence }
            if snapshot != other.snapshot { return snapshot > other.snapshot }
            if fetched != other.fetched { return fetched > other.fetched }
            return other.variant.utf8.lexicographicallyPrecedes(variant.utf8)
        }
    }

    /// Reads a row that begins with `columns`.
    init(_ row: Row) {
        url = row.integer(0)
        href = row.text(1)
        snapshot = row.integer(2)
        request = RequestKey(stored: row.text(3))
        variant = row.text(4)
        status = Int(row.integer(5))
        role = UInt8(truncatingIfNeeded: row.integer(6))
        flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(7)))
        type = row.optionalText(8)
        fields = row.text(9)
        requested = row.integer(10)
        fetched = row.integer(11)
        body = StoredBody(row, from: 12)
    }
}

/// Chooses the response to a request with some headers among the responses of a URL, which may come in any
/// order (RFC 9111 4.1, calculating cache keys with Vary).
///
/// Example: a URL has the responses A (does not vary, snapshot 1), B (`Vary: Cookie`, matches, snapshot 2) and
/// C (`Vary: Cookie`, does not match, snapshot 3). B is chosen, because since snapshot 2 the response A no
/// longer stands for all requests. Without B, no response matches; C is returned as the newest, and the caller
/// finds out with `StoredResponse.matches`.
struct VariantChoice {
    typealias Candidate = (rank: StoredResponse.Rank, response: StoredResponse)

    /// Nil if any response is acceptable.
    private let fields: HTTPFields?
    private let secrets: SecretHasher
    /// The first by rank of the responses that vary and match, of those that do not vary, and of those that
    /// vary and do not match.
    private var varyingMatch: Candidate?
    private var plain: Candidate?
    private var varyingMismatch: Candidate?
    /// Whether a response was added that is not below the origin (`Rank.isBelowOrigin`). If so, those below it are ignored.
    private var hasSeenOrigin = false

    init(_ fields: HTTPFields?, _ secrets: SecretHasher) { (self.fields, self.secrets) = (fields, secrets) }

    mutating func add(_ rank: StoredResponse.Rank, _ row: Row) {
        // A response below the origin never replaces one that is not, even if it matches the request better.
        if rank.isBelowOrigin {
            guard !hasSeenOrigin else { return }
        } else if !hasSeenOrigin {
            hasSeenOrigin = true
            (varyingMatch, plain, varyingMismatch) = (nil, nil, nil)
        }
        func isBefore(_ candidate: Candidate?) -> Bool { candidate.map { rank.isBefore($0.rank) } ?? true }
        if fields == nil || rank.variant.isEmpty {
            if isBefore(plain) { plain = (rank, StoredResponse(row)) }
        } else if isBefore(varyingMatch) {
            let response = StoredResponse(row)
            if fields.map({ response.matches($0, secrets) }) ?? true {
                varyingMatch = (rank, response)
            } else if isBefore(varyingMismatch) {
                varyingMismatch = (rank, response)
            }
        }
    }

    /// The response that matches. A response that does not vary no longer matches if a newer one varies.
    var match: Candidate? {
        guard let plain else { return varyingMatch }
        let isOutdated = [varyingMatch, varyingMismatch].contains {
            $0.map { $0.rank.isBefore(plain.rank) } ?? false
        }
        return isOutdated ? varyingMatch : plain
    }

    /// The response that matches, or else the first by rank; nil if none was added.
    var response: StoredResponse? {
        if let match { return match.response }
        guard let plain, let varyingMismatch else { return (plain ?? varyingMismatch)?.response }
        return (plain.rank.isBefore(varyingMismatch.rank) ? plain : varyingMismatch).response
    }
}

extension StoredBody {
    /// The columns that `init(_:from:)` reads, from `body`.
    static let columns = "body.id, body.sha256, body.form, body.size, body.title, body.md5"

    /// Reads the columns from `column` on. Nil if they are null, because the response has no body.
    init?(_ row: Row, from column: Int32) {
        guard let id = row.optionalInteger(column) else { return nil }
        self.init(
            id: id, sha256: row.blob(column + 1), form: row.text(column + 2),
            byteCount: Int(row.integer(column + 3)), title: row.optionalText(column + 4),
            md5: row.optionalBlob(column + 5))
    }
}

extension StoredBody {
    /// Whether to try to compress a body with zstd. Packs may have frames of up to `Limits.maxPackedBodyBytes` bytes, so bodies
    /// up to this size are worth a try, except for tiny ones. A larger body can only become small enough if it is text.
    static func isCompressible(form: String, byteCount: Int) -> Bool {
        (Limits.minCompressedBodyBytes...Limits.maxCompressedTextBytes).contains(byteCount)
            && (byteCount <= Limits.maxPackedBodyBytes || !form.hasPrefix(nonTextForm))
    }

    /// An SQL condition on `body`: the body is text.
    static let isText = "form NOT LIKE '\(nonTextForm)%'"

    /// The start of the form of a body that is not text, such as an image.
    private static let nonTextForm = "opaque"

    /// Whether the content has the size and digest of the body: it is neither damaged nor incomplete. Reads all of
    /// it, in constant memory.
    package func isIntact(_ content: BodyContent) throws(StoreError) -> Bool {
        let (digest, count) = try content.measure()
        return count == byteCount && digest.bytes == sha256
    }
}

// MARK: - ResponseFlags

/// Facts about a stored response in addition to its status and headers, in the column `flags`. The raw values are
/// part of the format of the store. `Provenance` defines more of them (1 << 12 to 1 << 15).
package struct ResponseFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An unsafe request, or a HEAD, showed that the response may be outdated (RFC 9111, sections 4.3.5 and
    /// 4.4).
    package static let isInvalidated = ResponseFlags(rawValue: 1)
    /// Only a part of the body is stored.
    package static let isPart = ResponseFlags(rawValue: 2)
    /// The response came from an address in a private network. See `zone`: the links of the response may request only
    /// from its own network zone or a more public one.
    package static let fromPrivateNetwork = ResponseFlags(rawValue: 4)
    /// The response came from an address of this machine.
    package static let fromThisMachine = ResponseFlags(rawValue: 8)
    /// The page's head, or its `X-Robots-Tag`, says "nofollow".
    package static let saysNofollow = ResponseFlags(rawValue: 16)
    /// The page's head, or its `X-Robots-Tag`, says "noindex".
    package static let saysNoindex = ResponseFlags(rawValue: 32)
    /// The page says that nothing was found, although its status indicates success.
    package static let isSoftNotFound = ResponseFlags(rawValue: 64)
    /// The request had an `Origin` header, as CORS requests do. The response then has all `Access-Control-*` headers
    /// that the server sends.
    package static let hadOriginHeader = ResponseFlags(rawValue: 128)
    /// The request had credentials: cookies, a login, a client certificate, or a header field that may carry a secret
    /// (`RequestSecrets`).
    package static let isPrivate = ResponseFlags(rawValue: 256)

    /// The body is stored in the content coding that the headers name.
    package static let isCoded = ResponseFlags(rawValue: 512)

    /// The body was damaged and has been removed. The row remains, without headers and body and with
    /// `StoredResponse.lostStatus`, so that readers do not see an older response in its place.
    package static let isLost = ResponseFlags(rawValue: 1024)

    /// The archive from which the response was imported says that it came from a private network or from this
    /// machine. Since archives are untrusted, `zone` ignores the flag; it only makes mirrored origins share the
    /// response with fewer others.
    package static let claimedNonPublicZone = ResponseFlags(rawValue: 2048)

    /// The flags that stay valid when a later request finds the stored body unchanged.
    package static let bodyFlags: ResponseFlags = [
        .saysNofollow, .saysNoindex, .isSoftNotFound, .hadOriginHeader, .isPrivate, .isCoded,
    ]
    /// The flags from which `zone` is derived.
    package static let zoneFlags: ResponseFlags = [.fromPrivateNetwork, .fromThisMachine]
}

extension ResponseFlags {
    /// Creates the flags of a response that came from a network zone.
    package init(zone: NetworkZone) {
        self =
            switch zone {
            case .publicNetwork: []
            case .privateNetwork: .fromPrivateNetwork
            case .thisMachine: .fromThisMachine
            }
    }

    /// The network zone that the response came from.
    package var zone: NetworkZone {
        if contains(.fromThisMachine) { return .thisMachine }
        return contains(.fromPrivateNetwork) ? .privateNetwork : .publicNetwork
    }
}

/// The identity of a request for a URL, by its method and its body. The store keeps the responses to requests with
/// different keys side by side, so that recorded API calls work offline.
///
/// A plain GET or HEAD has the empty key. Any other key consists of the method and the MD5 of the body; if the body
/// contains times, of four parts separated by spaces:
///
///     POST <MD5 of the body> <MD5 of the body without the times> 1764000000,1764003600
///
/// Apart from the keys of requests, there are keys for content that Larder derives from a page or a site. Their text is
/// one word, and no request has them.
package struct RequestKey: Hashable, Sendable {
    /// The text in the store.
    package let text: String

    /// The key of a plain GET or HEAD.
    package static let get = RequestKey(stored: "")

    /// The key of the manifest that a snapshot was verified with. The name of the site takes the place of the URL.
    package static let manifest = RequestKey(stored: "manifest")

    /// The key of the text of a page as a browser showed it.
    package static let renderedText = RequestKey(stored: "shown")

    /// The key of a picture of a page as a browser showed it.
    package static let renderedPicture = RequestKey(stored: "pictured")

    /// The key of the frozen copy of a page: HTML without scripts, as a browser showed it. Readers may get it in
    /// place of the page.
    package static let frozen = RequestKey(stored: "frozen")

    /// The key of the messages of a page's sockets and event streams (`SocketRecording`), as JSON.
    package static let liveMessages = RequestKey(stored: "messages")

    /// The key of an answer with an error status (400 to 599) that a script of a rendered page got to a GET. Pages get it
    /// offline where no other response is stored; it replaces none.
    package static let errorAnswer = RequestKey(stored: "error")

    /// The keys of content that a browser made from a page.
    static let rendered: [RequestKey] = [renderedText, renderedPicture, frozen, liveMessages]

    /// The list of ``rendered`` in SQL.
    static let renderedInSQL = "(" + rendered.map { "'\($0.text)'" }.joined(separator: ", ") + ")"

    /// Whether this is the key of a request, and not that of derived content.
    package var isRealRequest: Bool { text.isEmpty || text.contains(" ") }

    /// Creates the key of a request with this exact body. A HEAD without a body has the key of a GET, so that the
    /// stored response to a GET answers it.
    package init(method: String, body: Span<UInt8>) {
        let isPlainGet = body.isEmpty && (method == "GET" || method == "HEAD")
        text = isPlainGet ? "" : "\(method) \(DigestStream.digest(.md5, of: body).hex)"
    }

    /// Creates the key of a request. Bodies that differ only in the order of JSON members, the white space of JSON or
    /// the random boundary of a multipart form have the same key.
    ///
    /// - Parameter type: The media type of the body; nil to compare bodies byte by byte.
    package init(method: String, body: Span<UInt8>, type: MediaType?) {
        let canonicalBody = type.flatMap { RecordedBody.canonical(body, $0) }
        let key =
            canonicalBody.map { RequestKey(method: method, body: $0.span) }
            ?? RequestKey(method: method, body: body)
        guard key != .get, let (rest, times) = type.flatMap({ RecordedBody.separatingTimes(body, $0) })
        else {
            self = key
            return
        }
        let list = times.map(String.init).joined(separator: ",")
        self.init(stored: "\(key.text) \(DigestStream.digest(.md5, of: rest.span).hex) \(list)")
    }

    /// Creates the key of a GET by which a script asks for another form of a page, one word. Nil for other requests.
    ///
    /// Archives do not contain such responses: other programs would take one for the page itself.
    ///
    /// - Parameter form: `HTTPFields.requestedForm`.
    package init?(form: String?) {
        guard let form else { return nil }
        let bytes = Array(form.utf8)
        self.init(stored: "form-" + DigestStream.digest(.md5, of: bytes.span).hex)
    }

    /// Creates a key with the times in a URL, from ``RecordedBody/separatingTimes(of:)``. Such keys are
    /// compared by `distance(to:sentBefore:)` and not stored.
    init(rest: [UInt8], times: [Int64]) {
        let list = times.map(String.init).joined(separator: ",")
        self.init(stored: "GET - \(DigestStream.digest(.md5, of: rest.span).hex) \(list)")
    }

    /// Creates a key from its stored text, which is not checked.
    package init(stored text: String) {
        self.text = text
    }

    /// Returns how much the times in this request differ from those in an earlier request, as the sum of the
    /// differences in seconds. Nil if the requests differ in anything else, or if one difference exceeds 36 hours.
    ///
    /// A pair of equal times, such as a day in a calendar, does not add to the sum. Other times are compared relative
    /// to when their request was sent, so that two requests for "the last hour" have distance 0.
    ///
    /// - Parameter age: The number of seconds between the earlier request and this one.
    package func distance(to other: RequestKey, sentBefore age: Int64) -> Int64? {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        // The four parts are those in the comment of the type.
        guard own.count == 4, others.count == 4, own[0] == others[0], own[2] == others[2] else { return nil }
        let times = own[3].split(separator: ",").compactMap { Int64($0) }
        let otherTimes = others[3].split(separator: ",").compactMap { Int64($0) }
        guard times.count == otherTimes.count else { return nil }
        var sum: Int64 = 0
        for (time, otherTime) in zip(times, otherTimes) where time != otherTime {
            // Keys of imported archives may contain any numbers.
            let (sinceOther, overflows) = time.subtractingReportingOverflow(otherTime)
            let (difference, overflowsToo) = sinceOther.subtractingReportingOverflow(age)
            guard !overflows, !overflowsToo, difference.magnitude <= Self.maxTimeDifferenceSeconds else {
                return nil
            }
            sum += abs(difference)
        }
        return sum
    }

    /// Returns the same sum for a request for the present, if the stored response was made for the present of an earlier time;
    /// nil if not. An update confirms a response without a request for its own present, so that the time of the fetch says
    /// nothing about the times in the request.
    ///
    /// - Parameters:
    ///   - now: The present time in seconds since 1970.
    ///   - fetched: When the earlier response was received or confirmed.
    package func distanceBetweenPresents(to other: RequestKey, now: Int64, fetched: Int64) -> Int64? {
        guard let latest = latestTime, let otherLatest = other.latestTime,
            (latest - now).magnitude <= Self.maxTimeDifferenceSeconds, otherLatest < latest,
            otherLatest <= fetched + Self.maxTimeDifferenceSeconds
        else { return nil }
        let age = latest - otherLatest
        return distance(to: other, sentBefore: age).map { $0 + age }
    }

    /// The latest time in the request; nil if there is none, or an imported one that is out of range.
    private var latestTime: Int64? {
        let parts = text.split(separator: " ")
        let latest = parts.count == 4 ? parts[3].split(separator: ",").compactMap { Int64($0) }.max() : nil
        return latest.flatMap { (1...Self.maxTime).contains($0) ? $0 : nil }
    }

    /// The end of the year 9999.
    private static let maxTime: Int64 = 253_402_300_799

    /// The maximum difference between two times, in seconds. It is over a day, because some pages round times to
    /// whole days.
    private static let maxTimeDifferenceSeconds: Int64 = 36 * 3600

    /// Whether the bodies of both requests are equal except for the times in them. The methods are not compared.
    func differsOnlyInTimes(from other: RequestKey) -> Bool {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        return own.count == 4 && others.count == 4 && own[2] == others[2]
    }

    /// Whether the body of the request contains times: the key has four parts.
    var containsTimes: Bool { text.utf8.count { $0 == 0x20 } == 3 }

    /// The method of the request; "GET" for the empty key. Meaningless for the keys of derived content.
    package var method: String { text.isEmpty ? "GET" : String(text.prefix { $0 != " " }) }
}

extension VaryKey {
    /// Creates the key of a response whose body is stored without its content coding, so that `Accept-Encoding` and
    /// the dictionary that the request offered are ignored. Nil if no other request can select the response; store `never` in place of the key.
    package init?(decoded response: HTTPFields, request: HTTPFields, secrets: SecretHasher) {
        self.init(response: response, request: request.withoutAcceptedCodings, secrets: secrets)
    }

    /// The text to store for a response that no other request selects.
    package static let never = "*"

    /// Whether a request with these headers selects a response.
    ///
    /// - Parameters:
    ///   - text: The stored text of the response's key, or `never`.
    ///   - fields: The header fields of the request. They are evaluated only if the response varies.
    package static func isSelected(
        _ text: String, by fields: @autoclosure () -> HTTPFields, _ secrets: SecretHasher
    ) -> Bool {
        text.isEmpty
            || text != never && VaryKey(stored: text).matches(fields().withoutAcceptedCodings, secrets)
    }
}

extension HTTPFields {
    fileprivate var withoutAcceptedCodings: HTTPFields {
        let names = ["Accept-Encoding"] + DictionaryOffer.fieldNames
        guard names.contains(where: contains) else { return self }
        var fields = self
        for name in names { fields.remove(name) }
        return fields
    }
}
