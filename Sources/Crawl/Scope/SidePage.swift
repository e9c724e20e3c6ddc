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

    /// Recognises a page by the parameters of its query, or by the names that MediaWiki gives to its own pages, or as a second
    /// URL of a page of gitweb.
    ///
    /// These names mean nothing else in practice, so that the URL is enough.
    package init?(_ url: WebURL) {
        if let query = url.query, let side = Self.matchQuery(query) {
            self = side
        } else if let side = Self.matchSpecialPage(url) {
            self = side
        } else if RepositoryPage(url)?.kind == .copy {
            self = .history
        } else {
            return nil
        }
    }

    /// Recognises a side page by its query.
    private static func matchQuery(_ query: String) -> SidePage? {
        for item in query.utf8.split(whereSeparator: \.separatesQueryItems) {
            let name = String(decoding: item.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self).lowercased()
            guard let values = parameters[name] else { continue }
            let value = String(decoding: item.dropFirst(name.utf8.count + 1), as: UTF8.self).lowercased()
            if let meaning = values[value] ?? values["*"], meaning.applies(to: value, in: query) {
                return meaning.page
            }
        }
        return nil
    }

    /// The meaning of a parameter's value: the side page that it requests.
    private struct ParameterMeaning {
        /// The form of the values that have this meaning. Other applications use the same parameters for something else.
        enum Form {
            case any
            /// A time in seconds since 1970, by which DokuWiki numbers old versions.
            case time
            /// The hash of a commit, or a tag.
            case commit
            /// A word beside a parameter that names a revision of a repository.
            case ofRevision
        }

        let page: SidePage
        var form = Form.any

        func applies(to value: String, in query: String) -> Bool {
            let bytes = value.utf8
            return switch form {
            case .any: true
            case .time: bytes.count >= 9 && bytes.allSatisfy(\.isASCIIDigit)
            case .commit:
                value.hasPrefix("refs/tags/")
                    || bytes.count >= 40 && bytes.allSatisfy { $0.isASCIIDigit || 0x61...0x66 ~= $0 }
            case .ofRevision:
                query.queryItems.contains { item in ["h=", "hb=", "st="].contains(where: item.hasPrefix) }
            }
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
        // gitweb. A file or folder of a commit, other than the latest one of a branch, is an old version.
        "a": meanings(
            "atom blame_incremental blobdiff blobdiff_plain blob_plain commitdiff commitdiff_plain opml patch patches "
                + "project_index rss search_help snapshot"
        ).merging(
            ["blame", "history", "search"].map {
                ($0, ParameterMeaning(page: .history, form: .ofRevision))
            }
        ) { first, _ in first },
        "hb": ["*": ParameterMeaning(page: .history, form: .commit)],
        "hpb": ["*": ParameterMeaning(page: .history, form: .commit)],
        "format": meanings("atom csv ics json pdf raw rss sql tab tsv txt xml yaml"),
        "export": meanings("csv json ods pdf tsv txt xls xlsx xml"),
        "oldid": ["*": ParameterMeaning(page: .history)],
        "diff": [
            "prev": ParameterMeaning(page: .history), "next": ParameterMeaning(page: .history),
            "cur": ParameterMeaning(page: .history),
            "*": ParameterMeaning(page: .history, form: .time),
        ],
        "rev": ["*": ParameterMeaning(page: .history, form: .time)],
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
            query.utf8.split(whereSeparator: \.separatesQueryItems).first { $0.starts(with: "title=".utf8) }?
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
        lastPart(of: url).flatMap { paths[$0] == nil ? nil : $0 }
    }

    /// The last part of the path in lower case; nil if it is longer or shorter than the names of side pages.
    private static func lastPart(of url: WebURL) -> String? {
        let path = url.path.utf8
        let end = path.last == UInt8(ascii: "/") ? path.index(before: path.endIndex) : path.endIndex
        let start = path[..<end].lastIndex(of: UInt8(ascii: "/")).map(path.index(after:)) ?? path.startIndex
        guard nameLengths.contains(path.distance(from: start, to: end)) else { return nil }
        return String(decoding: path[start..<end], as: UTF8.self).lowercased()
    }

    /// A page that a side page belongs to, if the site has it.
    struct Sibling: Equatable {
        /// The name of the side pages: `/raw/` for the part of the path, and ``oldVersion`` for the hash of a commit.
        let name: String
        let page: SidePage
        /// The path of the page.
        let path: String
    }

    /// The pages to which this one may belong, whose paths differ in one part. Repository browsers show a file at
    /// `/blob/main/a.txt`, its source text at `/raw/main/a.txt`, and an old version at `/blob/0123456789ab/a.txt`.
    static func siblings(of url: WebURL) -> [Sibling] {
        let path = url.path
        guard hasNameOfSibling(path.utf8) else { return [] }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard (3...maxParts).contains(parts.count) else { return [] }
        var siblings: [Sibling] = []
        func add(_ names: [String], at place: Int, _ name: String, _ page: SidePage) {
            for other in names where other != parts[place] {
                let path = parts[..<place] + [Substring(other)] + parts[(place + 1)...]
                siblings.append(Sibling(name: name, page: page, path: path.joined(separator: "/")))
            }
        }
        for (place, part) in parts.enumerated() {
            if let page = partsOfSidePages[String(part)] {
                add(partsOfPages, at: place, "/\(part)/", page)
            } else if place > 0, partsOfPages.contains(String(parts[place - 1])), isHash(part) {
                add(branches, at: place, oldVersion, .history)
            }
        }
        return siblings
    }

    /// Whether a part of the path is one of the names without which `siblings(of:)` finds nothing. Most paths have
    /// none, and this allocates no memory, because it is called for every URL that a crawl discovers.
    private static func hasNameOfSibling(_ path: String.UTF8View) -> Bool {
        var start = path.startIndex
        while true {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            let byteCount = path.distance(from: start, to: end)
            let isName = namesOfSiblings.contains {
                $0.utf8.count == byteCount && path[start..<end].elementsEqual($0.utf8)
            }
            if isName { return true }
            guard end < path.endIndex else { return false }
            start = path.index(after: end)
        }
    }

    /// The names of `siblings(of:)`, whether the site has them or not.
    static func siblingNames(of url: WebURL) -> Set<String> { Set(siblings(of: url).map(\.name)) }

    /// The name of pages that show a file or folder at a commit.
    static let oldVersion = "/commit/"

    /// Longer paths have no such parts.
    private static let maxParts = 32
    /// The parts of paths under which repository browsers and wikis show pages.
    private static let partsOfPages = ["blob", "tree", "src", "file", "browse", "browser", "view", "show"]
    /// The parts of paths by which they show the same page in another way.
    private static let partsOfSidePages: [String: SidePage] = [
        "raw": .history, "raw-file": .history, "plain": .history, "blame": .history, "annotate": .history,
        "history": .history, "log": .history, "commits": .history, "diff": .history, "rdiff": .history,
        "comparison": .history, "patch": .history, "export": .history, "edit": .form, "rename": .form,
    ]
    private static let namesOfSiblings = partsOfPages + partsOfSidePages.keys
    private static let branches = ["tip", "default", "HEAD", "master", "main", "trunk"]

    private static func isHash(_ part: Substring) -> Bool {
        let bytes = part.utf8
        return bytes.count >= 12 && bytes.contains(where: \.isASCIIDigit)
            && bytes.allSatisfy { $0.isASCIIDigit || 0x61...0x66 ~= $0 }
    }

    /// Recognises a page in a format for programs, by the ending of its path. Returns the ending, and the path without
    /// it, which is that of the page if there is one.
    static func format(of url: WebURL) -> (name: String, path: String)? {
        let path = url.path
        guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")),
            formatLengths.contains(path.utf8.distance(from: dot, to: path.endIndex))
        else { return nil }
        let ending = path[dot...].lowercased()
        return formats.contains(ending) ? (ending, String(path[..<dot])) : nil
    }

    /// Endings of paths in formats for programs.
    private static let formats: Set<String> = [
        ".json", ".jsonld", ".csv", ".tsv", ".yaml", ".yml", ".rdf", ".ttl", ".nt",
        ".n3",
    ]
    /// The lengths of `formats` in bytes. Most URLs are decided by it, without a look-up.
    private static let formatLengths = 3...7

    /// The last two parts of the path, such as `post/create` in `/topics/3/post/create`, if they name a form. Below a page
    /// that has no page `/topics/3/post`, they mean nothing else.
    static func nestedForm(of url: WebURL) -> String? {
        guard let name = lastPart(of: url), nestedForms.contains(name) else { return nil }
        let parts = url.path.split(separator: "/").suffix(2)
        guard parts.count == 2, let noun = parts.first, !noun.utf8.contains(where: \.isASCIIDigit) else {
            return nil
        }
        return "\(noun.lowercased())/\(name)"
    }

    private static let nestedForms: Set<String> = [
        "add", "create", "edit", "new", "quote", "reply", "update",
    ]

    /// Whether a name means a form without another name of side pages in the same folder. In a crawl with a login, the forms
    /// to edit an object may be all that the site shows of it.
    static func isForm(_ name: String, hasSession: Bool) -> Bool {
        name.contains("/") || !hasSession && ["edit", "quote", "reply"].contains(name)
    }

    /// The lengths of the names in `paths`, in bytes. Most URLs are decided by it, without a look-up.
    private static let nameLengths = 3...10

    /// The side pages by the last part of their path.
    private static let paths: [String: SidePage] = {
        var paths: [String: SidePage] = [:]
        let history =
            "history _history revisions diff _diff compare _compare blame annotate backlinks raw print"
        let form =
            "add edit _edit create _create new _new rename _rename move delete _delete upload reply quote"
        for word in history.split(separator: " ") { paths[String(word)] = .history }
        for word in form.split(separator: " ") { paths[String(word)] = .form }
        return paths
    }()

    /// Whether this last part of a path, in lower case, is the name of side pages or of nested forms.
    static func isSideName(_ name: String) -> Bool { paths[name] != nil || nestedForms.contains(name) }

    /// Whether a reference of functions or commands has a page with this name. Wikis and forums have none beside their pages.
    static func isNameInReference(_ name: String) -> Bool { namesInReferences.contains(name) }

    private static let namesInReferences: Set<String> = [
        "all", "describe", "fetch", "find", "get", "getall", "inspect", "list", "ls", "prune", "query",
        "read",
        "retrieve", "rm", "run", "search", "set", "start", "stop",
    ]

    /// The minimum number of folders with pages of at least two of the names. In fewer, the names mean something else.
    static let minFolders = 3
}
