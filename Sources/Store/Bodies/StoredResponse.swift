internal import Digest
package import Web

/// A response as it is held.
package struct StoredResponse: Sendable, Equatable {
    /// The number of its URL in this store.
    package let url: Int64
    package let href: String
    package let snapshot: Int64
    package let request: RequestKey
    /// The text of its `VaryKey`.
    package let variant: String
    package let status: Int
    package let role: UInt8
    package let flags: ResponseFlags
    package let type: String?
    package let fields: String
    /// When it was asked for, and when the answer came: seconds since 1970.
    package let requested: Int64
    package let fetched: Int64
    package var body: StoredBody?

    package var isRedirect: Bool { (300..<400).contains(status) }

    /// Nil where it only says that what was there is lost.
    var ifHeld: StoredResponse? { flags.contains(.isLost) ? nil : self }

    static let lostStatus = 504

    /// Whether a request with these fields selects this response. Bodies are stored without their content
    /// coding, so that the codings that a client accepts make no difference.
    ///
    /// - Parameter secrets: those of the store that has it.
    package func suits(_ fields: HTTPFields, _ secrets: SecretHasher) -> Bool {
        VaryKey.isMet(variant, by: fields, secrets)
    }

    /// The origin that it was asked for by, where it varies by that.
    package var origin: String? { VaryKey(stored: variant)["Origin"] }

    private static let validators: FieldNames = ["etag", "last-modified"]

    /// As the cache policies look at it. An imported response is never fresh, and has no validators.
    package func cacheEntry(profile: CacheProfile, rules: CacheRules) -> CacheEntry {
        let fields = HTTPFields(block: fields.utf8.span)
        let lifetime =
            rules.isEmpty ? nil : WebURL(href).flatMap { rules.lifetime(for: $0, fields.contentType) }
        // An archive's validators and lifetime are whatever its author wrote: a 304 for another body that has
        // the same ETag must not confirm this one.
        return CacheEntry(
            status: status, fields: isImported ? fields.removing(Self.validators) : fields,
            requestTime: HTTPDate(secondsSinceEpoch: requested),
            responseTime: HTTPDate(secondsSinceEpoch: fetched), profile: profile,
            forced: isImported ? .exactly(0) : lifetime,
            isInvalidated: isImported || flags.contains(.isInvalidated), isPart: flags.contains(.isPart))
    }
}

extension StoredResponse {
    /// The summary for the replacement check.
    package var judged: JudgedResponse? {
        guard let url = WebURL(href) else { return nil }
        return JudgedResponse(
            url, status: status, fields: HTTPFields(block: fields.utf8.span), digest: body?.fingerprint ?? 0,
            byteCount: body?.byteCount ?? 0, title: body?.title, isPrivate: flags.contains(.isPrivate))
    }
}

package struct StoredBody: Sendable, Equatable {
    package let id: Int64
    package let sha256: [UInt8]
    package let form: String
    package let byteCount: Int
    package let title: String?
    /// Nil until something asks for it.
    package var md5: [UInt8]?

    /// As `NewBody.fingerprint`.
    var fingerprint: UInt64 { byteCount == 0 ? 0 : sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// What the whole store holds.
package struct StoreSummary: Sendable, Equatable {
    package var responses = 0
    package var pages = 0
    package var assets = 0
    package var tombstones = 0
    package var bodies = 0
    /// The bodies' bytes, each counted once.
    package var bytes: Int64 = 0

    package init() {}
}

extension StoredResponse {
    /// What `init(_:)` reads, from `response` with its `url` and, where it has one, its `body`.
    static let columns = """
        url.id, url.href, response.snapshot, response.request, response.variant, response.status, response.role,
        response.flags, response.type, response.fields, response.requested, response.fetched,
        \(StoredBody.columns)
        """

    /// The order in which readers look through the responses of a URL, with `snapshot` and `site` joined to
    /// them: the newest of the published snapshots first, and in a snapshot the one that was fetched last. Imported
    /// responses come after all others (`Provenance.precedence`).
    static let shownFirst = """
        CASE WHEN \(Provenance.precedence) > 0 THEN 0 ELSE 1 END, \(isUnpublished), \(Provenance.precedence) DESC,
        response.snapshot DESC, response.fetched DESC, response.variant DESC
        """

    static let isUnpublished = "site.published IS NULL"

    /// The place of a row in that order. Behind the columns of the response, the row has `isUnpublished` and
    /// `Provenance.precedence`.
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

        /// Comes after every response from an origin.
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

/// Chooses among the answers of an address, in whatever order they come, the one for a request with some fields.
struct VariantChoice {
    typealias Candidate = (rank: StoredResponse.Rank, response: StoredResponse)

    /// Nil where any will do.
    private let fields: HTTPFields?
    private let secrets: SecretHasher
    /// The first of those that vary and suit, of those that do not vary, and of those that vary and do not suit.
    private var suiting: Candidate?
    private var plain: Candidate?
    private var other: Candidate?
    private var hasSeenOrigin = false

    init(_ fields: HTTPFields?, _ secrets: SecretHasher) { (self.fields, self.secrets) = (fields, secrets) }

    mutating func add(_ rank: StoredResponse.Rank, _ row: Row) {
        // An import does not answer in place of a response from the origin that suits the request less well.
        if rank.isSubordinate {
            guard !hasSeenOrigin else { return }
        } else if !hasSeenOrigin {
            hasSeenOrigin = true
            (suiting, plain, other) = (nil, nil, nil)
        }
        func isFirst(_ held: Candidate?) -> Bool { held.map { rank.isBefore($0.rank) } ?? true }
        if fields == nil || rank.variant.isEmpty {
            if isFirst(plain) { plain = (rank, StoredResponse(row)) }
        } else if isFirst(suiting) {
            let response = StoredResponse(row)
            if fields.map({ response.suits($0, secrets) }) ?? true {
                suiting = (rank, response)
            } else if isFirst(other) {
                other = (rank, response)
            }
        }
    }

    /// The one that suits. What came before it varied was for all at that time alone.
    var fitting: Candidate? {
        guard let plain else { return suiting }
        let isOutdated = [suiting, other].contains { $0.map { $0.rank.isBefore(plain.rank) } ?? false }
        return isOutdated ? suiting : plain
    }

    var response: StoredResponse? {
        if let fitting { return fitting.response }
        guard let plain, let other else { return (plain ?? other)?.response }
        return (plain.rank.isBefore(other.rank) ? plain : other).response
    }
}

extension StoredBody {
    static let columns = "body.id, body.sha256, body.form, body.size, body.title, body.md5"

    /// Nil where the row has no body.
    init?(_ row: Row, from column: Int32) {
        guard let id = row.optionalInteger(column) else { return nil }
        self.init(
            id: id, sha256: row.blob(column + 1), form: row.text(column + 2),
            byteCount: Int(row.integer(column + 3)), title: row.optionalText(column + 4),
            md5: row.optionalBlob(column + 5))
    }
}

extension StoredBody {
    /// Whether zstd may make little of such a body: of all that is not tiny and goes into a pack, and of what is larger
    /// where it is a text.
    static func mayBeFrame(form: String, byteCount: Int) -> Bool {
        (Limits.leastFramed...Limits.framedBody).contains(byteCount)
            && (byteCount <= Limits.packedBody || !form.hasPrefix(formOfOthers))
    }

    /// The same of a row: a text.
    static let isText = "form NOT LIKE '\(formOfOthers)%'"

    /// With what the form of everything begins that is no text, such as pictures.
    private static let formOfOthers = "opaque"

    /// Whether the content has the bytes that the body was kept for. Reads all of them, in constant memory.
    package func isWhole(_ content: BodyContent) throws(StoreError) -> Bool {
        let (digest, count) = try content.measure()
        return count == byteCount && digest.bytes == sha256
    }
}

// MARK: - ResponseFlags

/// What is to be known of a stored response beside what the server said.
package struct ResponseFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An unsafe request, or a HEAD, showed that it may no longer hold (RFC 9111, sections 4.3.5 and 4.4).
    package static let isInvalidated = ResponseFlags(rawValue: 1)
    /// Only a part of the body is held.
    package static let isPart = ResponseFlags(rawValue: 2)
    /// It came from a private address, or from this machine: where its links may lead.
    package static let fromPrivateNetwork = ResponseFlags(rawValue: 4)
    package static let fromThisMachine = ResponseFlags(rawValue: 8)
    /// Its head, or its `X-Robots-Tag`, says so.
    package static let saysNofollow = ResponseFlags(rawValue: 16)
    package static let saysNoindex = ResponseFlags(rawValue: 32)
    /// It says that there is nothing, with a status that says the contrary.
    package static let isSoftNotFound = ResponseFlags(rawValue: 64)
    /// Its request said from which origin it came, as those of CORS do: what it says on that
    /// (`Access-Control-*`) is all that there is to know.
    package static let askedByOrigin = ResponseFlags(rawValue: 128)
    /// Its request carried credentials: cookies, a login, a client certificate, or a header field that may be
    /// a secret (`RequestSecrets`).
    package static let isPrivate = ResponseFlags(rawValue: 256)

    /// Its body is kept in the content coding that its fields name.
    package static let isCoded = ResponseFlags(rawValue: 512)

    /// Its body was damaged. The row stands before what is older, and nothing is held.
    package static let isLost = ResponseFlags(rawValue: 1024)

    /// It was taken from an archive that says so of where it came from, which decides nothing of where its links may
    /// lead.
    package static let wasNear = ResponseFlags(rawValue: 2048)

    /// What is known of a body, and stays so as long as it does, whoever confirms it.
    package static let ofBody: ResponseFlags = [
        .saysNofollow, .saysNoindex, .isSoftNotFound, .askedByOrigin, .isPrivate, .isCoded,
    ]
    /// From where it came.
    package static let ofReach: ResponseFlags = [.fromPrivateNetwork, .fromThisMachine]
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

/// What tells answers to other requests than a plain GET apart: the method, and the MD5 of the body that was
/// sent.
///
/// With it a recorded API call is answered offline.
package struct RequestKey: Hashable, Sendable {
    /// Empty for a plain GET; else the method and the MD5 of the body, and behind that, where the body names
    /// moments, the MD5 of it without those, and the moments.
    package let text: String

    package static let get = RequestKey(stored: "")

    /// Stands beside a site's name for the manifest that is in force in a snapshot: no request is ever answered
    /// by it.
    package static let manifest = RequestKey(stored: "manifest")

    /// Stands beside a page for its words as a browser showed them: no request is ever answered by it.
    package static let shown = RequestKey(stored: "shown")

    /// The same for a picture of it.
    package static let pictured = RequestKey(stored: "pictured")

    /// Not what stands beside something for the larder itself.
    package var isOfRequest: Bool { text.isEmpty || text.contains(" ") }

    /// A HEAD is answered by what a GET got.
    package init(method: String, body: Span<UInt8>) {
        let isPlain = body.isEmpty && (method == "GET" || method == "HEAD")
        text = isPlain ? "" : "\(method) \(DigestStream.digest(.md5, of: body).hex)"
    }

    /// The same for a body whose type tells what makes no difference in it: the order of the members and the
    /// space of JSON, and the boundary of a form's parts, which is drawn anew each time.
    package init(method: String, body: Span<UInt8>, type: MediaType?) {
        let plain = type.flatMap { RecordedBody.canonical(body, $0) }
        let exact = plain.map { RequestKey(method: method, body: $0.span) }
        let key = exact ?? RequestKey(method: method, body: body)
        guard key != .get, let (rest, moments) = type.flatMap({ RecordedBody.outline(body, $0) }) else {
            self = key
            return
        }
        let list = moments.map(String.init).joined(separator: ",")
        self.init(stored: "\(key.text) \(DigestStream.digest(.md5, of: rest.span).hex) \(list)")
    }

    /// What a query asks for, for whom the moments that it names may be others; nil where it names none.
    package init?(query: String) {
        self.init(method: "GET", body: query.utf8.span, type: MediaType("application/x-www-form-urlencoded"))
        guard isOfTime else { return nil }
    }

    /// One that was kept.
    package init(stored text: String) {
        self.text = text
    }

    /// How far the moments that it names are from those of a request that sent the same `time` seconds before,
    /// each seen from when it was sent: the last hour is the last hour. Nil where more differs, and where that
    /// is another time, as of another day in a calendar.
    package func distance(to other: RequestKey, sentBefore time: Int64) -> Int64? {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        guard own.count == 4, others.count == 4, own[0] == others[0], own[2] == others[2] else { return nil }
        let moments = own[3].split(separator: ",").compactMap { Int64($0) }
        let otherMoments = others[3].split(separator: ",").compactMap { Int64($0) }
        guard moments.count == otherMoments.count else { return nil }
        var sum: Int64 = 0
        for (moment, otherMoment) in zip(moments, otherMoments) where moment != otherMoment {
            let distance = abs(moment - time - otherMoment)
            guard distance <= Self.sameTime else { return nil }
            sum += distance
        }
        return sum
    }

    /// Pages ask for whole days, too.
    private static let sameTime: Int64 = 36 * 3600

    /// Whether both name as many moments in what is otherwise the same.
    package func isLike(_ other: RequestKey) -> Bool {
        let (own, others) = (text.split(separator: " "), other.text.split(separator: " "))
        return own.count == 4 && others.count == 4 && own[2] == others[2]
    }

    /// Whether it names moments.
    package var isOfTime: Bool { text.utf8.count { $0 == 0x20 } == 3 }

    /// Empty for a plain GET.
    package var method: String { text.isEmpty ? "GET" : String(text.prefix { $0 != " " }) }
}

extension VaryKey {
    /// The key under which a body is kept without its content coding: what the request accepted as coding
    /// tells nothing apart. Nil for an answer that no other request selects.
    package init?(decoded response: HTTPFields, request: HTTPFields, secrets: SecretHasher) {
        self.init(response: response, request: request.withoutAcceptedCodings, secrets: secrets)
    }

    /// Kept for an answer that no other request selects.
    package static let never = "*"

    /// Whether a request with these fields selects what is kept under the text of a key.
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
