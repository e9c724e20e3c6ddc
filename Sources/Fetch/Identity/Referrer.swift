internal import Web

/// What a Referer says, by the policy that browsers have when a page names none: strict-origin-when-cross-origin.
enum Referrer {
    /// The whole address within its origin, the origin alone beyond, and nothing from https to http.
    static func value(from page: WebURL, to target: WebURL) -> String? {
        guard page.isHTTP else { return nil }
        if page.origin == target.origin { return page.key.href }
        return page.scheme == "https" && target.scheme == "http" ? nil : page.origin + "/"
    }
}
