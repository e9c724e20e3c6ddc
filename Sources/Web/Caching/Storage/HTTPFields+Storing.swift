extension HTTPFields {
    /// Those that speak of one connection, or of the proxy next to us (RFC 9110, section 7.6.1; RFC 9111, section 3.1).
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Without the fields that end with the connection, those that `Connection` names included.
    package var withoutConnectionFields: HTTPFields { removing(Self.connectionFields.union(listed("Connection"))) }

    /// What may be stored of a response's fields: no field of the connection, and none that `no-cache` or, in a shared
    /// cache, `private` lists (RFC 9111, sections 3.1, 5.2.2.4 and 5.2.2.7).
    package func storable(in profile: CacheProfile) -> HTTPFields {
        var names = Self.connectionFields.union(listed("Connection"))
        let directives = CacheDirectives.effective(of: self, for: profile).directives
        if case .fields(let listed)? = directives.noCache { names.formUnion(listed) }
        if profile.kind == .shared, case .fields(let listed)? = directives.isPrivate { names.formUnion(listed) }
        return removing(names)
    }

    /// Those that describe the body as it is stored, which a head without that body must not change (RFC 9111, section 3.2):
    /// its length, its coding, the part of the whole that it is, and the digests of its bytes.
    private static let bodyFields: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-digest", "content-md5", "digest",
    ]

    /// Stored fields, brought up to date by those of a 304 or of a HEAD's answer: each field that came replaces the
    /// stored ones of its name, the others stay.
    package func updated(by newer: HTTPFields, in profile: CacheProfile) -> HTTPFields {
        let changes = newer.storable(in: profile).removing(Self.bodyFields)
        // An age belongs to the message that it came with.
        var result = removing(Set(changes.list.map { HTTPGrammar.lowercased($0.name.utf8) }).union(["age"]))
        for field in changes.list { result.append(field.name, field.value) }
        return result
    }

    /// The names that a field lists, in lower case.
    private func listed(_ name: String) -> [String] { elements(name).map { HTTPGrammar.lowercased($0.utf8) } }

    /// Names are given in lower case.
    func removing(_ names: Set<String>) -> HTTPFields {
        HTTPFields(list.filter { !names.contains(HTTPGrammar.lowercased($0.name.utf8)) })
    }
}
