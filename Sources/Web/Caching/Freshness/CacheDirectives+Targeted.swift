extension CacheDirectives {
    /// What a response says to caches of this kind, and whether a targeted field said it; then `Expires` does not count
    /// (RFC 9213, section 2.2).
    static func effective(
        of fields: HTTPFields, for profile: CacheProfile
    ) -> (directives: CacheDirectives, isTargeted: Bool) {
        for name in profile.targetedFields {
            if let text = fields.combined(name), let targeted = CacheDirectives(targeted: text) {
                return (targeted, true)
            }
        }
        return (CacheDirectives(fields), false)
    }

    /// Reads a targeted field, which is a dictionary of RFC 9651. Nil when it is empty or malformed, or a directive that we
    /// know has a value of another type: then it is as if the field were not there.
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

    /// A flag, or the names of fields as a string, as a token or as a list of these.
    private static func read(_ value: StructuredDictionary.Value, into reach: inout Reach?) -> Bool {
        let items: [StructuredDictionary.Item]
        switch value {
        case .item(.boolean(let isSet)):
            reach = isSet ? .everything : nil
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
        reach = names.isEmpty ? .everything : .fields(names)
        return true
    }
}
