package import Database
package import Web

extension StoreReader {
    /// Returns the frozen copy of a page: the page as a browser showed it, as HTML without scripts. Nil if
    /// there is none, or if it shows another version of the page.
    ///
    /// - Parameter fields: The fields of the request for the page.
    package func frozenCopy(
        of page: StoredResponse, fields: HTTPFields? = nil
    ) throws(StoreError) -> StoredResponse? {
        guard page.status == 200, let body = page.body,
            let frozen = try response(for: page.href, request: .frozen, fields: fields),
            frozen.body != nil, frozen.flags.contains(.isPrivate) == page.flags.contains(.isPrivate)
        else { return nil }
        if frozen.snapshot < page.snapshot {
            let then = try response(for: page.href, ofSnapshot: frozen.snapshot)
            guard then?.body?.sha256 == body.sha256 else { return nil }
        }
        return frozen
    }
}

extension StoredResponse {
    /// The response with the body of the page's frozen copy, and the fields that describe it.
    package func withContent(of frozen: StoredResponse) -> StoredResponse {
        var page = self
        page.body = frozen.body
        page.type = "text/html"
        page.fields = HTTPFields(block: fields.utf8.span).describingFrozenCopy.block
        return page
    }
}

extension HTTPFields {
    /// The fields of a page, with those that describe its body replaced by those of its frozen copy.
    package var describingFrozenCopy: HTTPFields {
        var fields = self
        for name in ["Content-Type", "Content-Encoding", "ETag", "Last-Modified"] { fields.remove(name) }
        fields.set("Content-Type", "text/html; charset=utf-8")
        return fields
    }
}
