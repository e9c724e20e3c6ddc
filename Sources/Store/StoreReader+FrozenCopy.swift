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
        try renderedResponse(.frozen, of: page, fields)
    }

    /// Returns the messages of the sockets and event streams of a page (`SocketRecording`), as JSON. Nil if there are
    /// none, or if they belong to another version of the page.
    ///
    /// - Parameter fields: The fields of the request for the page.
    package func liveMessages(
        of page: StoredResponse, fields: HTTPFields? = nil
    ) throws(StoreError) -> [UInt8]? {
        guard let body = try renderedResponse(.liveMessages, of: page, fields)?.body else { return nil }
        return try content(of: body)?.load()
    }

    /// Content that a browser made from this version of a page, and that is as private as the page.
    private func renderedResponse(
        _ key: RequestKey, of page: StoredResponse, _ fields: HTTPFields?
    ) throws(StoreError) -> StoredResponse? {
        guard page.hasPageStatus, let body = page.body,
            let rendered = try response(for: page.href, request: key, fields: fields),
            rendered.body != nil, rendered.flags.contains(.isPrivate) == page.flags.contains(.isPrivate)
        else { return nil }
        if rendered.snapshot < page.snapshot {
            let then = try response(for: page.href, ofSnapshot: rendered.snapshot)
            guard then?.body?.sha256 == body.sha256 else { return nil }
        }
        return rendered
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
