extension WebURL {
    /// The same with another query, or none; without a fragment.
    package func replacingQuery(_ query: String?) -> WebURL? {
        WebURL(beforeTarget + path + (query.map { "?" + $0 } ?? ""))
    }

    /// The same by http for https, and by https for http; nil where a port of its own ties it to its scheme.
    package var otherScheme: WebURL? {
        guard isHTTP, port == nil, let colon = href.utf8.firstIndex(of: 0x3A) else { return nil }
        return WebURL((scheme == "https" ? "http" : "https") + href[colon...])?.withoutFragment
    }

    /// The same with a slash at the path's end where it had none, and without where it had one. Nil for the root, which
    /// has no other form.
    var otherSlash: WebURL? {
        let path = self.path
        guard isHTTP, path.utf8.count > 1 else { return nil }
        let other = path.utf8.last == 0x2F ? HTTPGrammar.text(path.utf8.dropLast()) : path + "/"
        return WebURL(beforeTarget + other + (query.map { "?" + $0 } ?? ""))
    }

    private var beforeTarget: String {
        HTTPGrammar.text(withoutFragment.href.utf8.dropLast(target.utf8.count))
    }
}
