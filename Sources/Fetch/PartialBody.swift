internal import Glibc
package import Web

/// The beginning of a body whose transfer broke off, with the header fields that are needed to request the
/// rest.
package struct PartialBody: Sendable, Equatable {
    package var path: String
    package var byteCount: Int
    /// The header fields of the response that the body belongs to. `FetchLoop` adds a `Date` if it has none.
    package var fields: HTTPFields

    package init(path: String, byteCount: Int, fields: HTTPFields) {
        self.path = path
        self.byteCount = byteCount
        self.fields = fields
    }

    /// The validator for `If-Range` (RFC 9110, section 13.1.5): a strong entity tag, or, only if there is no
    /// tag at all, a `Last-Modified` before the `Date`, which makes it a strong validator (section 8.8.2.2).
    /// Nil if the response has no strong validator.
    package var ifRangeValidator: String? {
        if let tag = fields.entityTag { return tag.isWeak ? nil : tag.text }
        guard let text = fields["Last-Modified"], let modified = fields.date("Last-Modified"),
            let date = fields.date("Date"), date > modified
        else { return nil }
        return text
    }

    /// Whether a body with these header fields can be resumed. A body with a content coding cannot, because the
    /// file has its decoded bytes.
    static func canResume(with fields: HTTPFields) -> Bool {
        fields.elements("Accept-Ranges").first?.lowercased() != "none" && !fields.isCoded
    }

    /// Removes the file.
    package func discard() { unlink(path) }
}

extension PartialBody {
    /// How a response answers a request for the rest of a stored part.
    enum ResumeResponse: Equatable {
        /// The response has the rest. The fields are those of the whole body.
        case rest(HTTPFields)
        /// The response has the whole body: the body has changed, or the server does not support ranges.
        case wholeBody
        /// The response does not continue the stored part, for the reason given. The request fails, and the part is
        /// removed.
        case mismatch(String)
        /// The response does not concern the stored part, as with a 503. A later request can resume it.
        case unrelated
    }

    /// Classifies the response to a request for the rest. A 206 counts as the rest only if it is uncoded, begins
    /// exactly where the stored part ends and belongs to the same version of a body of the same length.
    func classify(status: Int, fields response: HTTPFields) -> ResumeResponse {
        switch status {
        case 200: return .wholeBody
        case 206: break
        case 416: return .mismatch("the server has no bytes from \(byteCount) on")
        default: return .unrelated
        }
        guard !response.isCoded else { return .mismatch("the rest was sent with a content coding") }
        guard let text = response["Content-Range"], let range = ContentRange(text), let bytes = range.range
        else {
            return .mismatch("the server does not say which part it sent")
        }
        guard bytes.lowerBound == byteCount, let total = range.total, bytes.upperBound <= total else {
            return .mismatch("bytes from \(byteCount) on were requested, and '\(text)' was sent")
        }
        if let length = fields.contentLength, length != total {
            return .mismatch("the length was \(length) and is \(total)")
        }
        guard isSameVersion(response) else { return .mismatch("the part belongs to another version") }
        return .rest(mergedFields(response, total: total))
    }

    /// RFC 9110, section 15.3.7: a 206 has the entity tag that a 200 would have, but may omit
    /// `Last-Modified`.
    private func isSameVersion(_ response: HTTPFields) -> Bool {
        if let tag = fields.entityTag { return response.entityTag?.matchesStrongly(tag) ?? false }
        // `If-Range` has named the date of the part, and the server sends the rest only if its own is the same.
        guard let lastModified = response["Last-Modified"] else { return true }
        return lastModified == fields["Last-Modified"]
    }

    /// RFC 9111, section 3.4: the fields of the part replace those of the whole body, except for those that
    /// describe the part.
    private func mergedFields(_ response: HTTPFields, total: Int) -> HTTPFields {
        var mergedFields = fields
        let fieldsOfPart = [
            "content-range", "content-length", "transfer-encoding", "connection", "keep-alive",
        ]
        let fresh = response.list.filter { !fieldsOfPart.contains($0.name.lowercased()) }
        for field in fresh { mergedFields.remove(field.name) }
        for field in fresh { mergedFields.append(field.name, field.value) }
        mergedFields.set("Content-Length", String(total))
        return mergedFields
    }
}
