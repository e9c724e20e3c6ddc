/// What an answer to an unsafe request makes doubtful (RFC 9111, section 4.4).
package enum Invalidation {
    /// The URLs whose stored responses must be asked about before they are used again: that of the request, and those that
    /// `Location` and `Content-Location` name on the same origin, so that nobody can empty another's cache. None after an
    /// error, or when the method changes nothing.
    package static func targets(of request: CacheRequest, status: Int, fields: HTTPFields) -> [WebURL] {
        guard request.method.isUnsafe, (200...399).contains(status) else { return [] }
        var targets = [request.url.withoutFragment]
        for name in ["Location", "Content-Location"] {
            guard let url = fields[name].flatMap({ WebURL($0, base: request.url) })?.withoutFragment,
                url.origin != "null", url.origin == request.url.origin, !targets.contains(url)
            else { continue }
            targets.append(url)
        }
        return targets
    }
}
