internal import Portal
internal import Store
package import Web

/// The frozen copy of a page: the page as a browser showed it, as HTML without scripts. It is served in place of a
/// page whose scripts do not work offline.
package enum FrozenCopy {
    /// The query with which a person asks for the page with its scripts.
    private static let scriptsQuery = "larder-scripts"

    /// The URL by which a person asks for the page with its scripts.
    package static func askingForScripts(_ url: WebURL) -> WebURL {
        url.replacingQuery(url.query.map { "\($0)&\(scriptsQuery)" } ?? scriptsQuery) ?? url
    }

    /// Scripts that user content of the page might become are not run.
    static let policy = ("Content-Security-Policy", "script-src 'none'; object-src 'none'")

    /// The URL without the query that asks for scripts; nil if it does not have it.
    static func withScripts(_ url: WebURL) -> WebURL? {
        guard let query = url.query else { return nil }
        if query == scriptsQuery { return url.replacingQuery(nil) }
        // `askingForScripts` appends it, so it is always last.
        guard query.hasSuffix("&" + scriptsQuery) else { return nil }
        return url.replacingQuery(String(query.dropLast(scriptsQuery.utf8.count + 1)))
    }

    /// The notice at the end of the document. It is in a shadow tree, so that the page's styles do not apply.
    ///
    /// - Parameter address: the address of the page in the mirror.
    static func notice(_ address: String, in language: PortalLanguage) -> [UInt8] {
        let target = WebURL(address).map { askingForScripts($0).href } ?? address
        var notice = Array(
            """
            <larder-notice><template shadowrootmode="open"><style>:host{all:initial;position:fixed;inset:0 0 auto 0;\
            z-index:2147483647;font:14px/2 system-ui,sans-serif;text-align:center;background:#fff3c4;color:#222}\
            a{color:#0645ad;margin-inline-start:1em}</style>
            """.utf8)
        notice.append(escaping: Sentence.frozenNotice.text(in: language))
        notice += "<a href=\"".utf8
        notice.append(escaping: target)
        notice += "\">".utf8
        notice.append(escaping: Sentence.frozenScripts.text(in: language))
        return notice + "</a></template></larder-notice>".utf8
    }
}

extension ResponseFinder {
    /// The frozen copy of a page; nil if there is none.
    func frozen(_ page: FoundResponse, _ requestFields: HTTPFields) throws(StoreError) -> FoundResponse? {
        try reader.frozenCopy(of: page.response, fields: requestFields).map { frozen in
            FoundResponse(
                response: frozen, fields: page.fields.describingFrozenCopy, url: page.url,
                change: page.change,
                isVariant: false)
        }
    }
}
