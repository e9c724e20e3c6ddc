/// The directives of `Cache-Control` in a request or a response (RFC 9111, section 5.2; RFC 5861; RFC 8246).
///
/// If a directive is repeated, the first one counts. Times are in seconds, at most 2^31. A `max-age` or
/// `s-maxage` that is not a number is 0, which makes the response stale, as section 4.2.1 advises. Any other
/// malformed directive is ignored.
package struct CacheDirectives: Sendable, Equatable {
    /// The scope of `no-cache` and `private`.
    package enum Scope: Sendable, Equatable {
        case wholeResponse
        /// Only these fields; the names are in lower case.
        case fields([String])
    }

    /// How stale a response a request accepts.
    enum Staleness: Sendable, Equatable {
        case any
        case seconds(Int)
    }

    package var maxAge: Int?
    var sharedMaxAge: Int?
    var staleWhileRevalidate: Int?
    var staleIfError: Int?
    var minFresh: Int?
    var maxStale: Staleness?
    var noCache: Scope?
    package var isPrivate: Scope?
    package var isPublic = false
    package var noStore = false
    var noTransform = false
    package var onlyIfCached = false
    var mustRevalidate = false
    var proxyRevalidate = false
    var mustUnderstand = false
    var isImmutable = false

    package init() {}

    /// Parses one value of `Cache-Control`, or several joined by commas.
    package init(_ text: String) {
        var scanner = FieldScanner(text)
        var seen: Set<String> = []
        while true {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { break }
            let name = HTTPGrammar.lowercased(scanner.token())
            var argument: [UInt8]?
            scanner.skipSpace()
            if scanner.consume(0x3D) {
                scanner.skipSpace()
                argument = scanner.parameterValue { $0 == 0x2C }
            }
            scanner.skipElement()
            guard !name.isEmpty, seen.insert(name).inserted || name == "no-cache" || name == "private" else {
                continue
            }
            apply(name, argument)
        }
    }

    /// Parses all `Cache-Control` fields. Without one, `Pragma: no-cache` counts as `no-cache` (RFC 9111,
    /// section 5.4).
    package init(_ fields: HTTPFields) {
        if let text = fields.joinedValues("Cache-Control") {
            self.init(text)
        } else {
            self.init()
            if let pragma = fields.joinedValues("Pragma") { noCache = CacheDirectives(pragma).noCache }
        }
    }

    private mutating func apply(_ name: String, _ argument: [UInt8]?) {
        let number = argument.flatMap { HTTPGrammar.cappedInteger($0) }
        switch name {
        case "max-age": maxAge = number ?? 0
        case "s-maxage": sharedMaxAge = number ?? 0
        case "stale-while-revalidate": staleWhileRevalidate = number
        case "stale-if-error": staleIfError = number
        case "min-fresh": minFresh = number
        case "max-stale": maxStale = argument == nil ? .any : number.map { .seconds($0) }
        case "no-cache": noCache = Self.scope(argument, joining: noCache)
        case "private": isPrivate = Self.scope(argument, joining: isPrivate)
        case "public": isPublic = true
        case "no-store": noStore = true
        case "no-transform": noTransform = true
        case "only-if-cached": onlyIfCached = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    /// A directive with more names applies to the whole response.
    private static let maxFieldNames = 64

    /// The union of the scopes of two occurrences of a directive. A directive without names applies to the whole
    /// response.
    private static func scope(_ argument: [UInt8]?, joining earlier: Scope?) -> Scope {
        if earlier == .wholeResponse { return .wholeResponse }
        let names = (argument ?? []).split(separator: 0x2C).map {
            HTTPGrammar.lowercased(HTTPGrammar.trimmed($0))
        }
        .filter { !$0.isEmpty }
        var known: [String] = []
        if case .fields(let earlier) = earlier { known = earlier }
        let isPlausible = !names.isEmpty && known.count + names.count <= maxFieldNames
        return isPlausible ? .fields(known + names) : .wholeResponse
    }
}

extension CacheDirectives {
    /// The directives of a response that apply to a cache with this profile, and whether they come from a
    /// targeted field. `Expires` is ignored in that case (RFC 9213, section 2.2).
    static func effective(
        of fields: HTTPFields, for profile: CacheProfile
    ) -> (directives: CacheDirectives, isTargeted: Bool) {
        for name in profile.targetedFields {
            if let text = fields.joinedValues(name), let targeted = CacheDirectives(targeted: text) {
                return (targeted, true)
            }
        }
        return (CacheDirectives(fields), false)
    }

    /// Parses a targeted field, a dictionary of RFC 9651. Returns nil, so that the field is ignored, if it is
    /// empty or malformed or if a known directive has a value of the wrong type.
    init?(targeted text: String) {
        guard let dictionary = StructuredDictionary(text), !dictionary.members.isEmpty else { return nil }
        self.init()
        for member in dictionary.members where !apply(member) { return nil }
    }

    private mutating func apply(_ member: StructuredDictionary.Member) -> Bool {
        switch member.key {
        case "max-age": Self.read(member.value, into: &maxAge)
        case "s-maxage": Self.read(member.value, into: &sharedMaxAge)
        case "stale-while-revalidate": Self.read(member.value, into: &staleWhileRevalidate)
        case "stale-if-error": Self.read(member.value, into: &staleIfError)
        case "no-cache": Self.read(member.value, into: &noCache)
        case "private": Self.read(member.value, into: &isPrivate)
        case "public": Self.read(member.value, into: &isPublic)
        case "no-store": Self.read(member.value, into: &noStore)
        case "no-transform": Self.read(member.value, into: &noTransform)
        case "must-revalidate": Self.read(member.value, into: &mustRevalidate)
        case "proxy-revalidate": Self.read(member.value, into: &proxyRevalidate)
        case "must-understand": Self.read(member.value, into: &mustUnderstand)
        case "immutable": Self.read(member.value, into: &isImmutable)
        default: true
        }
    }

    private static func read(_ value: StructuredDictionary.Value, into seconds: inout Int?) -> Bool {
        guard case .item(.integer(let number)) = value else { return false }
        seconds = min(max(0, number), 1 << 31)
        return true
    }

    private static func read(_ value: StructuredDictionary.Value, into flag: inout Bool) -> Bool {
        guard case .item(.boolean(let isSet)) = value else { return false }
        flag = isSet
        return true
    }

    /// Reads a flag, or field names in a string, a token or a list of these.
    private static func read(_ value: StructuredDictionary.Value, into scope: inout Scope?) -> Bool {
        let items: [StructuredDictionary.Item]
        switch value {
        case .item(.boolean(let isSet)):
            scope = isSet ? .wholeResponse : nil
            return true
        case .item(let item): items = [item]
        case .list(let list): items = list
        }
        var names: [String] = []
        for item in items {
            switch item {
            case .string(let text), .token(let text):
                names += HTTPFields([HTTPFields.Field(name: "", value: text)]).elements("")
                    .map { HTTPGrammar.lowercased($0.utf8) }
            case .integer, .decimal, .bytes, .boolean, .date, .displayString: return false
            }
        }
        scope = names.isEmpty ? .wholeResponse : .fields(names)
        return true
    }
}
