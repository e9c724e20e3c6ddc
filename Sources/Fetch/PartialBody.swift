internal import Glibc
package import Web

/// The beginning of a body whose transfer broke off, and what is needed to ask for the rest.
package struct PartialBody: Sendable, Equatable {
    package var path: String
    package var byteCount: Int
    /// Of the answer that began the body, with a `Date`.
    package var fields: HTTPFields

    package init(path: String, byteCount: Int, fields: HTTPFields) {
        self.path = path
        self.byteCount = byteCount
        self.fields = fields
    }

    /// What If-Range names the version by (RFC 9110, section 13.1.5): a strong entity tag, or, only where
    /// there is no tag at all, a date of modification that lies far enough back to be a strong validator
    /// (section 8.8.2.2). Nil when nothing tells the versions of this body apart.
    package var condition: String? {
        if let tag = fields.entityTag { return tag.isWeak ? nil : tag.text }
        guard let text = fields["Last-Modified"], let modified = fields.date("Last-Modified"),
            let date = fields.date("Date"), date > modified
        else { return nil }
        return text
    }

    /// Whether an answer with these fields may be cut in two: coded content cannot, for what is held was
    /// decoded.
    static func isPossible(with fields: HTTPFields) -> Bool {
        fields.elements("Accept-Ranges").first?.lowercased() != "none" && !fields.isCoded
    }

    /// Removes the file.
    package func discard() { unlink(path) }
}

extension PartialBody {
    /// What an answer to the request for the rest means.
    enum Meaning: Equatable {
        /// The rest follows; these are the fields of the whole.
        case rest(HTTPFields)
        /// The whole follows, for it has changed or the server knows no ranges.
        case anew
        case mismatch(String)
        /// It says nothing about what is held.
        case unrelated
    }

    func meaning(status: Int, fields answered: HTTPFields) -> Meaning {
        switch status {
        case 200: return .anew
        case 206: break
        case 416: return .mismatch("the server has no bytes from \(byteCount) on")
        default: return .unrelated
        }
        guard !answered.isCoded else { return .mismatch("the rest was sent with a content coding") }
        guard let text = answered["Content-Range"], let range = ContentRange(text), let bytes = range.range
        else {
            return .mismatch("the server does not say which part it sent")
        }
        guard bytes.lowerBound == byteCount, let total = range.total, bytes.upperBound <= total else {
            return .mismatch("bytes from \(byteCount) on were requested, and '\(text)' was sent")
        }
        if let length = fields.contentLength, length != total {
            return .mismatch("the length was \(length) and is \(total)")
        }
        guard isSameVersion(answered) else { return .mismatch("the part belongs to another version") }
        return .rest(whole(answered, total: total))
    }

    /// RFC 9110, section 15.3.7: a 206 carries the entity tag that a 200 would, but needs not repeat the
    /// date.
    private func isSameVersion(_ answered: HTTPFields) -> Bool {
        if let tag = fields.entityTag { return answered.entityTag?.matchesStrongly(tag) ?? false }
        guard let date = answered["Last-Modified"] else { return true }
        return date == fields["Last-Modified"]
    }

    /// RFC 9111, section 3.4: the fields of the part replace those of the whole, but for what speaks of the
    /// part.
    private func whole(_ answered: HTTPFields, total: Int) -> HTTPFields {
        var whole = fields
        let own = ["content-range", "content-length", "transfer-encoding", "connection", "keep-alive"]
        let fresh = answered.list.filter { !own.contains($0.name.lowercased()) }
        for field in fresh { whole.remove(field.name) }
        for field in fresh { whole.append(field.name, field.value) }
        whole.set("Content-Length", String(total))
        return whole
    }
}
