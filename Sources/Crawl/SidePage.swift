package import Web

/// A page beside the content of a site, which few people read offline: it shows a page's history, or asks for
/// input. Wikis and other applications have several of them for each page, so that they would be most of a mirror.
///
/// Three signs are used: parameters of the query (`?action=history`) and names of MediaWiki's own pages
/// (`/wiki/Special:RecentChanges`), which are sufficient alone; and the last part of the path (`/Home/history`) or its ending
/// (`/data.json`), which the frontier compares with other pages first.
package enum SidePage: String, Sendable, CaseIterable {
    /// Histories, old versions and comparisons, what links to a page, and other formats of a page.
    case history
    /// Forms: to edit, to create, to log in and to register.
    case form

    /// Recognises a page by the parameters of its query, or by the names that MediaWiki gives to its own pages.
    ///
    /// These names mean nothing else in practice, so that the URL is enough.
    package init?(_ url: WebURL) {
        if let query = url.query, let side = Self.matchQuery(query) {
            self = side
        } else if let side = Self.matchSpecialPage(url) {
            self = side
        } else {
            return nil
        }
    }

    /// Recognises a side page by its query.
    private static func matchQuery(_ query: String) -> SidePage? {
        for item in query.utf8.split(separator: UInt8(ascii: "&")) {
            let name = String(decoding: item.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self).lowercased()
            guard let values = parameters[name] else { continue }
            let value = String(decoding: item.dropFirst(name.utf8.count + 1), as: UTF8.self).lowercased()
            if let meaning = values[value] ?? values["*"], meaning.applies(to: value) { return meaning.page }
        }
        return nil
    }

    /// The meaning of a parameter's value: the side page that it requests.
    private struct ParameterMeaning {
        let page: SidePage
        /// Whether only a time in seconds since 1970 has this meaning. DokuWiki numbers old versions by it, and other
        /// applications use the same parameter for something else.
        var isTime = false

        func applies(to value: String) -> Bool {
            !isTime || value.utf8.count >= 9 && value.utf8.allSatisfy(\.isASCIIDigit)
        }
    }

    /// The meanings of the words in two lists.
    private static func meanings(_ history: String, form: String = "") -> [String: ParameterMeaning] {
        var meanings: [String: ParameterMeaning] = [:]
        for word in history.split(separator: " ") {
            meanings[String(word)] = ParameterMeaning(page: .history)
        }
        for word in form.split(separator: " ") { meanings[String(word)] = ParameterMeaning(page: .form) }
        return meanings
    }

    /// The parameters, with what their values mean; `*` stands for any value.
    private static let parameters: [String: [String: ParameterMeaning]] = [
        // MediaWiki, MoinMoin and others.
        "action": meanings(
            "history info diff annotate recall credits raw likepages localsitemap mobilediff historysubmit viewsource",
            form:
                "edit submit editform formedit delete protect unprotect attachfile watch unwatch purge lostpassword "
                + "newaccount rollback markpatrolled copypage renamepage deletepage revert despam"),
        // DokuWiki.
        "do": meanings(
            "revisions diff backlink recent media export_raw export_xhtml export_xhtmlbody export_pdf export_odt "
                + "export_code",
            form:
                "edit login register profile profile_delete resendpwd admin subscribe unsubscribe draft preview logout locked "
                + "addtobook"),
        // gitweb.
        "a": meanings(
            "blame_incremental blobdiff blobdiff_plain commitdiff commitdiff_plain snapshot patch patches"),
        "oldid": ["*": ParameterMeaning(page: .history)],
        "diff": [
            "prev": ParameterMeaning(page: .history), "next": ParameterMeaning(page: .history),
            "cur": ParameterMeaning(page: .history),
            "*": ParameterMeaning(page: .history, isTime: true),
        ],
        "rev": ["*": ParameterMeaning(page: .history, isTime: true)],
        "rev2[0]": ["*": ParameterMeaning(page: .history)],
        "rev2%5b0%5d": ["*": ParameterMeaning(page: .history)],
        "old_version": ["*": ParameterMeaning(page: .history)],
        "printable": ["yes": ParameterMeaning(page: .history)],
        "mobileaction": ["*": ParameterMeaning(page: .history)],
        "veaction": ["*": ParameterMeaning(page: .form)], "redlink": ["1": ParameterMeaning(page: .form)],
        "replytocom": ["*": ParameterMeaning(page: .form)], "returnto": ["*": ParameterMeaning(page: .form)],
        "wpdestfile": ["*": ParameterMeaning(page: .form)],
    ]

    /// Recognises a page that MediaWiki makes itself, from the parameter `title` or the first part of the path with a colon.
    private static func matchSpecialPage(_ url: WebURL) -> SidePage? {
        let title = url.query.flatMap { query in
            query.utf8.split(separator: UInt8(ascii: "&")).first { $0.starts(with: "title=".utf8) }?
                .dropFirst(6)
        }
        let name =
            title
            ?? url.path.utf8.split(separator: UInt8(ascii: "/")).first {
                $0.contains(0x3A) || $0.contains(0x25)
            }
        guard let name, name.contains(0x3A) || name.contains(0x25) else { return nil }
        let plain = String(decoding: [UInt8](percentDecoding: Array(name).span), as: UTF8.self)
        guard let colon = plain.firstIndex(of: ":"), namespaces.contains(plain[..<colon].lowercased()) else {
            return nil
        }
        let page = plain[colon...].dropFirst().prefix { $0 != "/" && $0 != "?" }.lowercased()
        if indexes.contains(where: page.hasPrefix) { return nil }
        return forms.contains(where: page.hasPrefix) ? .form : .history
    }

    /// The namespace of pages that MediaWiki makes itself, in the languages with the largest wikis.
    private static let namespaces: Set<String> = [
        "special", "spezial", "spécial", "especial", "speciale", "speciaal", "specjalna", "служебная",
        "спеціальна",
        "特别", "特殊", "特別", "특수", "istimewa", "đặc_biệt", "speciální", "speciális", "toiminnot", "speciel",
        "spesial", "ειδικό", "özel", "خاص", "מיוחד", "специални", "specialaj", "posebno",
    ]
    /// Pages that list all others, by which pages without links are found, and pages that redirect to content.
    private static let indexes = [
        "allpages", "alle_seiten", "toutes_les_pages", "todas", "tutte_le_pagine", "categories", "mylanguage",
        "redirect", "filepath",
    ]
    /// Pages that ask for input.
    private static let forms = [
        "userlogin", "createaccount", "upload", "login", "anmelden", "connexion", "entrar", "entra",
        "movepage", "block",
        "preferences", "changepassword", "passwordreset", "emailuser", "watchlist", "export", "import",
    ]

    /// Recognises a page by the last part of its path, such as `/Home/history`. Such a name can mean something else,
    /// such as the history of a country. It counts only if several folders each have pages with at least two of these
    /// names, as in wikis.
    static func matchLastPathPart(of url: WebURL) -> (name: String, page: SidePage)? {
        guard let name = name(of: url), let page = paths[name] else { return nil }
        return (name, page)
    }

    /// The last part of the path in lower case; nil if that is not the name of a side page.
    static func name(of url: WebURL) -> String? {
        let path = url.path.utf8
        let end = path.last == UInt8(ascii: "/") ? path.index(before: path.endIndex) : path.endIndex
        let start = path[..<end].lastIndex(of: UInt8(ascii: "/")).map(path.index(after:)) ?? path.startIndex
        guard nameLengths.contains(path.distance(from: start, to: end)) else { return nil }
        let name = String(decoding: path[start..<end], as: UTF8.self).lowercased()
        return paths[name] == nil ? nil : name
    }

    /// Recognises a page in a format for programs, by the ending of its path. Returns the ending, and the path without
    /// it, which is that of the page if there is one.
    static func format(of url: WebURL) -> (name: String, path: String)? {
        let path = url.path
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/"),
            formats.contains(path[dot...].lowercased())
        else { return nil }
        return (path[dot...].lowercased(), String(path[..<dot]))
    }

    /// Endings of paths in formats for programs.
    private static let formats: Set<String> = [
        ".json", ".jsonld", ".csv", ".tsv", ".yaml", ".yml", ".rdf", ".ttl", ".nt",
        ".n3",
    ]

    /// The lengths of the names in `paths`, in bytes. Most URLs are decided by it, without a look-up.
    private static let nameLengths = 3...10

    /// The side pages by the last part of their path.
    private static let paths: [String: SidePage] = {
        var paths: [String: SidePage] = [:]
        let history =
            "history _history revisions diff _diff compare _compare blame annotate backlinks raw print"
        let form = "edit _edit _create new _new rename _rename move delete _delete upload reply quote"
        for word in history.split(separator: " ") { paths[String(word)] = .history }
        for word in form.split(separator: " ") { paths[String(word)] = .form }
        return paths
    }()

    /// The minimum number of folders with pages of at least two of the names. In fewer, the names mean something else.
    static let minFolders = 3
}
