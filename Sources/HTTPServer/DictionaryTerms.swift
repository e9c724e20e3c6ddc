/// The facts about an answer that are needed to compress it with an earlier version of its body (RFC 9842).
package struct DictionaryTerms: Sendable, Equatable {
    /// The value of `Use-As-Dictionary`.
    package let rule: String
    /// The URL under which the body is stored.
    package let href: String
    /// The SHA-256 of the stored body, before links are rewritten.
    package let storedSHA256: [UInt8]
    /// The id of the snapshot that received the response. Earlier versions are of the same site.
    package let snapshot: Int64
    /// The pattern of the URLs that have versions of the same content.
    package let match: String
    /// Whether its server forbids shared caches to store the response (RFC 9111, section 5.2.2.7).
    package let isPrivate: Bool

    package init(
        rule: String, href: String, storedSHA256: [UInt8], snapshot: Int64, match: String, isPrivate: Bool
    ) {
        (self.rule, self.href, self.storedSHA256) = (rule, href, storedSHA256)
        (self.snapshot, self.match, self.isPrivate) = (snapshot, match, isPrivate)
    }
}

/// The changes in an answer for one client that accepts other codings than those of the answer.
package struct CodedReply: Sendable {
    /// Fields of the answer that are left out, in lower case.
    package let replacedFields: [StaticString]
    /// Further header lines, each with its CRLF.
    package let lines: [UInt8]
    /// The whole body in a coding that the client accepts, such as `dcz` for a client that has the dictionary. Nil if the client
    /// gets the answer's body.
    package let body: (bytes: [UInt8], coding: String)?

    package init(
        replacedFields: [StaticString], lines: [UInt8], body: (bytes: [UInt8], coding: String)? = nil
    ) {
        (self.replacedFields, self.lines, self.body) = (replacedFields, lines, body)
    }
}
