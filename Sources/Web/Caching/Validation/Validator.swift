/// What tells one version of a representation from another: its entity tag, and the date of its last modification.
///
/// Dates are compared for equality, never by order: a file that was rolled back has changed, although it got older.
package struct Validator: Sendable, Equatable {
    package let entityTag: EntityTag?
    /// As it was sent, to be sent back byte by byte.
    package let lastModified: String?

    package init(_ fields: HTTPFields) {
        entityTag = fields.entityTag
        lastModified = fields["Last-Modified"].flatMap { $0.isEmpty ? nil : $0 }
    }

    package var isEmpty: Bool { entityTag == nil && lastModified == nil }

    /// The fields that ask whether this version is still the current one (RFC 9111, section 4.3.1). The date goes along
    /// for servers that do not know entity tags; those that do will not look at it.
    package var conditions: HTTPFields {
        var fields = HTTPFields()
        if let entityTag { fields.append("If-None-Match", entityTag.text) }
        if let lastModified { fields.append("If-Modified-Since", lastModified) }
        return fields
    }

    /// Whether a 304 with this validator may confirm the stored response that it is asked of: one that names another version
    /// must not (RFC 9111, section 4.3.4). One that names none speaks of the only one that we asked for.
    package func confirms(_ stored: Validator) -> Bool {
        if let entityTag {
            guard let storedTag = stored.entityTag else { return false }
            return entityTag.isWeak ? entityTag.matchesWeakly(storedTag) : entityTag.matchesStrongly(storedTag)
        }
        guard let lastModified, let storedDate = stored.lastModified else { return true }
        return Self.isSameDate(lastModified, storedDate)
    }

    /// Whether both name the same version: by their entity tags where both have one, else by their dates. False when
    /// they have nothing in common to compare.
    package func isSameVersion(as other: Validator) -> Bool {
        if let entityTag, let otherTag = other.entityTag { return entityTag.matchesWeakly(otherTag) }
        guard let lastModified, let otherDate = other.lastModified else { return false }
        return Self.isSameDate(lastModified, otherDate)
    }

    /// Dates in different forms can be the same, and what is no date is still equal to itself.
    static func isSameDate(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        guard let left = HTTPDate(left), let right = HTTPDate(right) else { return false }
        return left == right
    }
}
