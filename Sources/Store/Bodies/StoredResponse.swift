package import Database
internal import Digest
package import Web

/// A response in the store.
package struct StoredResponse: Sendable, Equatable {
    /// The id of its URL in this store.
    package let url: Int64
    package let href: String
    package let snapshot: Int64
    package let request: RequestKey
    /// The text of its `VaryKey`; empty if the response does not vary.
    package let variant: String
    package let status: Int
    /// The role, as Markup's raw value: 0 for a page, 1 for an asset, 2 for a guide.
    package let role: UInt8
    package let flags: ResponseFlags
    /// The media type, without parameters.
    package var type: String?
    /// The header block, with one header per line.
    package var fields: String
    /// When the request was sent, in seconds since 1970.
    package let requested: Int64
    /// When the response arrived, in seconds since 1970.
    package let fetched: Int64
    package var body: StoredBody?

    package var isRedirect: Bool { (300..<400).contains(status) }

    /// The response; nil if its row only records that its body was lost.
    var unlessLost: StoredResponse? { flags.contains(.isLost) ? nil : self }

    /// The status of rows that only record that a body was lost (504 Gateway Timeout).
    static let lostStatus = 504

    /// Whether a request with these headers selects this response. Bodies are stored without their content
    /// coding, so that the codings that a client accepts make no difference.
    ///
    /// - Parameter secrets: The hasher of the store that contains the response.
    package func matches(_ fields: HTTPFields, _ secrets: SecretHasher) -> Bool {
        VaryKey.isMet(variant, by: fields, secrets)
    }

    /// The `Origin` header of its request, if the response varies by it.
    package var origin: String? { VaryKey(stored: variant)["Origin"] }

    private static let validators: FieldNames = ["etag", "last-modified"]

    /// The response as the cache policies see it. An imported response is never fresh and has no validators.
    package func cacheEntry(profile: CacheProfile, rules: CacheRules) -> CacheEntry {
        let fields = HTTPFields(block: fields.utf8.span)
        let lifetime =
            rules.isEmpty ? nil : WebURL(href).flatMap { rules.lifetime(for: $0, fields.contentType) }
        // The author of an archive chose its validators and lifetimes: a 304 for a different body with the
        // same ETag must not confirm this one.
        return CacheEntry(
            status: status, fields: isImported ? fields.removing(Self.validators) : fields,
            requestTime: HTTPDate(secondsSinceEpoch: requested),
            responseTime: HTTPDate(secondsSinceEpoch: fetched), profile: profile,
            forced: isImported ? .exactly(0) : lifetime,
            isInvalidated: isImported || flags.contains(.isInvalidated), isPart: flags.contains(.isPart))
    }
}

extension StoredResponse {
    /// The summary for the check whether a new response may replace this one.
    package var judged: ResponseSummary? {
        guard let url = WebURL(href) else { return nil }
        return ResponseSummary(
            url, status: status, fields: HTTPFields(block: fields.utf8.span), digest: body?.fingerprint ?? 0,
            byteCount: body?.byteCount ?? 0, title: body?.title, isPrivate: flags.contains(.isPrivate))
    }
}

/// A body in the store, without its bytes.
package struct StoredBody: Sendable, Equatable {
    package let id: Int64
    package let sha256: [UInt8]
    /// How the bytes are read: format and character set, such as `html;utf-8`.
    package let form: String
    package let byteCount: Int
    package let title: String?
    /// Nil until it is computed for the first time.
    package var md5: [UInt8]?

    /// The same as `NewBody.fingerprint`; 0 for an empty body.
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
    /// The columns that `init(_:)` reads, from `response` joined with its `url` and, if it has one, its
    /// `body`.
    static let columns = """
        url.id, url.href, response.snapshot, response.request, response.variant, response.status, response.role,
        response.flags, response.type, response.fields, response.requested, response.fetched,
        \(StoredBody.columns)
        """

    /// The order in which readers look through the responses of a URL, for rows joined with `snapshot` and
    /// `site`: the newest of the published snapshots first, and in a snapshot the response that was fetched
    /// last. Imported responses come after all others (`Provenance.precedence`).
    static let shownFirst = """
        CASE WHEN \(Provenance.precedence) > 0 THEN 0 ELSE 1 END, \(isUnpublished), \(Provenance.precedence) DESC,
        response.snapshot DESC, response.fetched DESC, response.variant DESC
        """

    /// An SQL condition: the site has no live snapshot yet.
    static let isUnpublished = "site.published IS NULL"

    /// The position of a row in that order. After the columns of the response, the row has `isUnpublished`
    /// and `Provenance.precedence`.
    struct Rank {
        let isUnpublished: Bool
        let precedence: Int64
        let snapshot: Int64
        private let fetched: Int64
        let variant: String

        init(_ row: Row) {
            isUnpublished = row.integer(18) != 0
            precedence = row.integer(19)
            snapshot = row.integer(2)
            fetched = row.integer(11)
            variant = row.text(4)
        }

        /// Whether it comes after every response from an origin.
        var isSubordinate: Bool { precedence == 0 }

        func isBefore(_ other: Rank) -> Bool {
            if isSubordinate != other.isSubordinate { return other.isSubordinate }
            if isUnpublished != other.isUnpublished { return other.isUnpublished }
            if precedence != other.precedence { return precedence > other.precedence }
            if snapshot != other.snapshot { return snapshot > other.snapshot }
            if fetched != other.fetched { return fetched > other.fetched }
            return other.variant.utf8.lexicographicallyPrecedes(variant.utf8)
        }
    }

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
    /// Whether a response from an origin was added. If so, imports are ignored.
    private var hasSeenOrigin = false

    init(_ fields: HTTPFields?, _ secrets: SecretHasher) { (self.fields, self.secrets) = (fields, secrets) }

    mutating func add(_ rank: StoredResponse.Rank, _ row: Row) {
        // An import never replaces a response from the origin, even if it matches the request better.
        if rank.isSubordinate {
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
    static let columns = "body.id, body.sha256, body.form, body.size, body.title, body.md5"

    /// Nil if the row has no body.
    init?(_ row: Row, from column: Int32) {
        guard let id = row.optionalInteger(column) else { return nil }
        self.init(
            id: id, sha256: row.blob(column + 1), form: row.text(column + 2),
            byteCount: Int(row.integer(column + 3)), title: row.optionalText(column + 4),
            md5: row.optionalBlob(column + 5))
    }
}

extension StoredBody {
    /// Whether zstd may compress such a body well. True for bodies that go into a pack and are not tiny, and
    /// for larger ones if they are text.
    static func isCompressible(form: String, byteCount: Int) -> Bool {
        (Limits.minCompressedBodyBytes...Limits.maxCompressedTextBytes).contains(byteCount)
            && (byteCount <= Limits.maxPackedBodyBytes || !form.hasPrefix(nonTextForm))
    }

    /// A condition on rows of bodies: the body is text.
    static let isText = "form NOT LIKE '\(nonTextForm)%'"

    /// The prefix of the form of everything that is not text, such as images.
    private static let nonTextForm = "opaque"

    /// Whether the content has the size and digest of the body. Reads all of it, in constant memory.
    package func isIntact(_ content: BodyContent) throws(StoreError) -> Bool {
        let (digest, count) = try content.measure()
        return count == byteCount && digest.bytes == sha256
    }
}

// MARK: - ResponseFlags

/// Facts about a stored response in addition to its status and headers.
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
    /// The response came from a private address. With `fromThisMachine`, this determines what its links may
    /// request.
    package static let fromPrivateNetwork = ResponseFlags(rawValue: 4)
    /// The response came from this machine.
    package static let fromThisMachine = ResponseFlags(rawValue: 8)
    /// The page's head, or its `X-Robots-Tag`, says "nofollow".
    package static let saysNofollow = ResponseFlags(rawValue: 16)
    /// The page's head, or its `X-Robots-Tag`, says "noindex".
    package static let saysNoindex = ResponseFlags(rawValue: 32)
    /// The page says that nothing was found, although its status indicates success.
    package static let isSoftNotFound = ResponseFlags(rawValue: 64)
    /// The request had an `Origin` header, as CORS requests do. The `Access-Control-*` headers are therefore
    /// complete.
    package static let hadOriginHeader = ResponseFlags(rawValue: 128)
    /// The request had credentials: cookies, a login, a client certificate, or a header that may be a secret
    /// (`RequestSecrets`).
    package static let isPrivate = ResponseFlags(rawValue: 256)

    /// The body is stored in the content coding that the headers name.
    package static let isCoded = ResponseFlags(rawValue: 512)

    /// The body was damaged and is gone. The row replaces older responses, but has no content.
    package static let isLost = ResponseFlags(rawValue: 1024)

    /// The response was imported from an archive that claims a private network or this machine as its source.
    /// This does not determine what its links may request.
    package static let claimedNonPublicZone = ResponseFlags(rawValue: 2048)

    /// The flags that describe the body and remain when a later snapshot confirms it.
    package static let bodyFlags: ResponseFlags = [
        .saysNofollow, .saysNoindex, .isSoftNotFound, .hadOriginHeader, .isPrivate, .isCoded,
    ]
    /// The flags of the network zone.
    package static let zoneFlags: ResponseFlags = [.fromPrivateNetwork, .fromThisMachine]
}

extension ResponseFlags {
    /// The flags of a response from a network zone.
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

/// Distinguishes the responses to different requests for a URL: by the method, and by the MD5 of the
/// request's body. It makes recorded API calls work offline.
package struct RequestKey: Hashable, Sendable {
    /// Empty for a plain GET; otherwise the method and the MD5 of the body. If the body contains times, these
    /// follow: the MD5 of the body without them, and a list of the times.
    package let text: String

    package static let get = RequestKey(stored: "")

    /// A pseudo-request for the manifest that is in force in a snapshot, stored at the name of the site.
    /// Never answers a request.
    package static let manifest = RequestKey(stored: "manifest")

    /// A pseudo-request for the text of a page as a browser showed it. Never answers a request.
    package static let shown = RequestKey(stored: "shown")

    /// A pseudo-request for a picture of a page as a browser showed it. Never answers a request.
    package static let pictured = RequestKey(stored: "pictured")

    /// A pseudo-request for a page as a browser showed it, as HTML without scripts: its frozen copy.
    package static let frozen = RequestKey(stored: "frozen")

    /// Whether this is the key of a real request and not one of the pseudo-requests.
    package var isRealRequest: Bool { text.isEmpty || text.contains(" ") }

    /// A HEAD has the key of a GET, so that the stored response to a GET answers it.
    package init(method: String, body: Span<UInt8>) {
        let isPlain = body.isEmpty && (method == "GET" || method == "HEAD")
        text = isPlain ? "" : "\(method) \(DigestStream.digest(.md5, of: body).hex)"
    }

    /// Ignores differences without meaning that the type of the body allows: the order of members and the
    /// white space of JSON, and the random boundary of multipart forms.
    package init(method: String, body: Span<UInt8>, type: MediaType?) {
        let plain = type.flatMap { RecordedBody.canonical(body, $0) }
        let exact = plain.map { RequestKey(method: method, body: $0.span) }
        let key = exact ?? RequestKey(method: method, body: body)
        guard key != .get, let (rest, moments) = type.flatMap({ RecordedBody.separatingTimes(body, $0) })
        else {
            self = key
            return
        }
        let list = moments.map(String.init).joined(separator: ",")
        self.init(stored: "\(key.text) \(DigestStream.digest(.md5, of: rest.span).hex) \(list)")
    }

    /// The key of a query that contains times, so that it can be compared with the same query at other times.
    /// Nil if it contains none.
    package init?(query: String) {
        self.init(method: "GET", body: query.utf8.span, type: MediaType("application/x-www-form-urlencoded"))
        guard containsTimes else { return nil }
    }

    /// A key from its stored text.
    package init(stored text: String) {
        self.text = text
    }

    /// Returns the sum of the differences between the times in this request and in one that was sent `time`
    /// seconds earlier, each relative to when its request was sent: "the last hour" is the same at any time.
    /// Nil if the requests differ in more, or if one difference exceeds 36 hours. Equal absolute times, such
    /// as a day in a calendar, do not add to the sum.
    package func distance(to other: RequestKey, sentBefore time: Int64) -> Int64? {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        guard own.count == 4, others.count == 4, own[0] == others[0], own[2] == others[2] else { return nil }
        let moments = own[3].split(separator: ",").compactMap { Int64($0) }
        let otherMoments = others[3].split(separator: ",").compactMap { Int64($0) }
        guard moments.count == otherMoments.count else { return nil }
        var sum: Int64 = 0
        for (moment, otherMoment) in zip(moments, otherMoments) where moment != otherMoment {
            let distance = abs(moment - time - otherMoment)
            guard distance <= Self.maxTimeDifferenceSeconds else { return nil }
            sum += distance
        }
        return sum
    }

    /// Requests whose times differ by more are different requests. Some pages request whole days.
    private static let maxTimeDifferenceSeconds: Int64 = 36 * 3600

    /// Whether the requests differ in their times only.
    package func differsOnlyInTimes(from other: RequestKey) -> Bool {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        return own.count == 4 && others.count == 4 && own[2] == others[2]
    }

    /// Whether the request contains times.
    package var containsTimes: Bool { text.utf8.count { $0 == 0x20 } == 3 }

    /// The method of the request; "GET" for a plain GET.
    package var method: String { text.isEmpty ? "GET" : String(text.prefix { $0 != " " }) }
}

extension VaryKey {
    /// The key for a body that is stored without its content coding. `Accept-Encoding` is therefore ignored.
    /// Nil for a response that no other request selects.
    package init?(decoded response: HTTPFields, request: HTTPFields, secrets: SecretHasher) {
        self.init(response: response, request: request.withoutAcceptedCodings, secrets: secrets)
    }

    /// The text of the key of a response that no other request selects.
    package static let never = "*"

    /// Whether a request with these headers selects a response that is stored under this key.
    package static func isMet(
        _ text: String, by fields: @autoclosure () -> HTTPFields, _ secrets: SecretHasher
    ) -> Bool {
        text.isEmpty
            || text != never && VaryKey(stored: text).matches(fields().withoutAcceptedCodings, secrets)
    }
}

extension HTTPFields {
    fileprivate var withoutAcceptedCodings: HTTPFields {
        guard contains("Accept-Encoding") else { return self }
        var fields = self
        fields.remove("Accept-Encoding")
        return fields
    }
}
