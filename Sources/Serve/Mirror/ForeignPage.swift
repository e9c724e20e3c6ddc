internal import Web

/// Tells whether a page from elsewhere has a browser ask, so that no such page can have the larder load what it names, put
/// it on the list of what is to be fetched, or send a change on in the name of an origin.
///
/// Browsers say who asks: `Origin` of changes and of what scripts read, else `Sec-Fetch-Site` and `Referer`. One origin's
/// page asks another's for its pictures, so that of those two neither is enough: to a browser `a.com.localhost` and
/// `b.com.localhost` are different sites, as they are to each other what any page is to the larder. Whoever says nothing is
/// no browser of the last years, and could ask the network itself.
enum ForeignPage {
    static func asks(_ fields: HTTPFields, authority: String, layout: OriginLayout) -> Bool {
        func isOurs(_ address: String) -> Bool {
            guard let origin = WebURL(address)?.origin else { return false }
            return origin == WebURL("http://\(authority)/")?.origin || layout.isOurs(origin)
        }
        if let origin = fields["Origin"] { return !isOurs(origin) }
        switch fields["Sec-Fetch-Site"] {
        case "same-origin", "none": return false
        case nil:
            guard let page = fields["Referer"] else { return false }
            return !isOurs(page)
        case _?:
            if let page = fields["Referer"], isOurs(page) { return false }
            // A person followed a link, and sees where it led.
            return fields["Sec-Fetch-User"] != "?1" || fields["Sec-Fetch-Dest"] != "document"
        }
    }
}
