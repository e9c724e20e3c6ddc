internal import Web

/// Finds requests of pages whose URLs contain the name of the page, such as `/api/products/3/reviews` of `/products/3`,
/// and derives those of similar pages from them. The crawl uses the controls of only a few pages of a kind in a browser;
/// for all other pages of the kind, it requests the derived URLs.
struct PageTemplates {
    /// The URL of a request with a gap for the name of a page.
    struct Template: Hashable {
        /// The place in the URL of the page that has the name.
        enum Source: Hashable {
            /// The last component of the path, without its file extension.
            case lastComponent
            /// The value of a query item with this name.
            case query(String)
        }

        let source: Source
        let before: String
        let after: String

        /// The URL that the page requests by this template; nil if its own URL has no such name.
        func url(for page: WebURL) -> WebURL? {
            PageTemplates.names(of: page).first { $0.source == source }.flatMap {
                WebURL(before + $0.name + after)
            }
        }
    }

    /// The pages that have requested something by a template, by the pattern of their URLs (`PagePattern`); two are enough.
    private var supporters: [String: [Template: Set<String>]] = [:]
    /// The templates by which two pages have requested something, by pattern.
    private var confirmed: [String: [Template]] = [:]
    private var confirmedCount = 0
    /// The templates that are tried on other pages, by the entries of the requests.
    private var trials: [UInt32: (pattern: String, template: Template, name: String)] = [:]
    /// The number of templates that were tried, by pattern.
    private var trialCounts: [String: Int] = [:]
    /// Whether templates were confirmed since the last call of `takeHasNewTemplates`.
    private var hasNewTemplates = false

    /// The maximum number of confirmed templates. Each confirmation goes through all entries.
    private static let templateLimit = 16
    /// The maximum number of patterns, and of templates of a pattern.
    private static let patternLimit = 1000

    /// The maximum numbers of templates that are tried on the evidence of one page: of a pattern, and of the whole crawl.
    private static let trialLimitOfPattern = 8
    private static let trialLimit = 64

    var isEmpty: Bool { confirmedCount == 0 }

    /// Notes the requests of a rendered page. Returns the templates that only this page follows so far, which may be
    /// tried on other pages with its pattern.
    mutating func note(_ page: WebURL, requests: [WebURL]) -> (pattern: String, new: [Template]) {
        let pattern = PagePattern.text(of: page)
        var new: [Template] = []
        guard confirmedCount < Self.templateLimit,
            supporters.count < Self.patternLimit || supporters[pattern] != nil
        else {
            return (pattern, [])
        }
        for request in requests where request.origin == page.origin {
            for (source, name) in Self.names(of: page) {
                guard let template = Self.template(in: request.href, source, name) else { continue }
                if addSupporter(of: template, named: name, pattern: pattern) { new.append(template) }
            }
        }
        return (pattern, new)
    }

    /// Adds a page to those that follow a template. Returns whether it is the first one.
    private mutating func addSupporter(
        of template: Template, named name: String, pattern: String
    ) -> Bool {
        guard confirmedCount < Self.templateLimit, supporters[pattern]?.count ?? 0 < Self.patternLimit else {
            return false
        }
        let before = supporters[pattern]?[template]?.count ?? 0
        guard before < 2 else { return false }
        supporters[pattern, default: [:]][template, default: []].insert(name)
        if before == 1, supporters[pattern]?[template]?.count == 2 {
            confirmed[pattern, default: []].append(template)
            confirmedCount += 1
            hasNewTemplates = true
        }
        return before == 0
    }

    /// Whether one more template of a pattern may be tried.
    func canTry(_ pattern: String) -> Bool {
        trialCounts[pattern, default: 0] < Self.trialLimitOfPattern
            && trialCounts.values.reduce(0, +) < Self.trialLimit
    }

    /// Notes that a template is being tried.
    mutating func noteTried(_ pattern: String) { trialCounts[pattern, default: 0] += 1 }

    /// Notes that the request of another page by a template is being tried.
    mutating func noteTrial(_ number: UInt32, _ template: Template, of page: WebURL, pattern: String) {
        guard let name = Self.names(of: page).first(where: { $0.source == template.source })?.name else {
            return
        }
        trials[number] = (pattern, template, name)
    }

    /// Notes the answer to a request. Anything but a page supports its template: a server may answer any URL with a page.
    mutating func noteAnswer(_ number: UInt32, isPage: Bool) {
        guard let trial = trials.removeValue(forKey: number), !isPage else { return }
        _ = addSupporter(of: trial.template, named: trial.name, pattern: trial.pattern)
    }

    /// Whether templates were confirmed since the last call.
    mutating func takeHasNewTemplates() -> Bool {
        defer { hasNewTemplates = false }
        return hasNewTemplates
    }

    /// The URLs that the page requests by confirmed templates.
    func requests(of page: WebURL) -> [WebURL] {
        guard let templates = confirmed[PagePattern.text(of: page)] else { return [] }
        return templates.compactMap { $0.url(for: page) }
    }

    /// The names in the URL of a page: the last component of its path, and the values of its query.
    private static func names(of page: WebURL) -> [(source: Template.Source, name: String)] {
        var names: [(source: Template.Source, name: String)] = []
        let last = page.path.split(separator: "/", omittingEmptySubsequences: true).last ?? ""
        let dot = last.lastIndex(of: ".")
        let ending = dot.map { last[last.index(after: $0)...].lowercased() } ?? ""
        let name = pageEndings.contains(ending) ? last[..<(dot ?? last.endIndex)] : last
        if !name.isEmpty { names.append((.lastComponent, String(name))) }
        for item in (page.query ?? "").split(separator: "&") {
            guard let equals = item.firstIndex(of: "="), item.index(after: equals) < item.endIndex else {
                continue
            }
            names.append((.query(String(item[..<equals])), String(item[item.index(after: equals)...])))
        }
        return names
    }

    /// File extensions of pages, which are not part of the name. Other dots are, as in `v1.9.0`.
    private static let pageEndings: Set<String> = [
        "html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi",
    ]

    /// The template that a requested URL follows if it contains the name as a whole component of its path, without file
    /// extension, or as a whole value of its query. A component counts more than a value, which is often the number of a page.
    private static func template(in href: String, _ source: Template.Source, _ name: String) -> Template? {
        let (bytes, wanted) = (Array(href.utf8), Array(name.utf8))
        guard let path = bytes.firstRange(of: Array("://".utf8))?.upperBound, bytes.count >= wanted.count
        else {
            return nil
        }
        let start = bytes[path...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        let query = bytes[path...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        let places =
            Array((start + 1)..<max(start + 1, query)).reversed() + Array(query..<bytes.endIndex).reversed()
        for at in places where at + wanted.count <= bytes.count {
            let end = at + wanted.count
            let isStart = [UInt8(ascii: "/"), UInt8(ascii: "=")].contains(bytes[at - 1])
            let isEnd = end == bytes.count || "/.&?".utf8.contains(bytes[end])
            if isStart, isEnd, bytes[at..<end].elementsEqual(wanted) {
                return Template(
                    source: source, before: String(decoding: bytes[..<at], as: UTF8.self),
                    after: String(decoding: bytes[end...], as: UTF8.self))
            }
        }
        return nil
    }
}
