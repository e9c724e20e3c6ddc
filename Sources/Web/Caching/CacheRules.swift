/// Rules of the user that override the server's caching directives for some URLs and media types.
package struct CacheRules: Sendable {
    /// The settings for the URLs and media types that the rule matches. A setting that is nil is not set.
    package struct Rule: Sendable, Hashable {
        /// The URLs that the rule matches; nil matches any.
        package var pattern: URLGlob?
        package var mediaType: MediaTypePattern?
        package var lifetime: ForcedLifetime?
        package var storage: StoragePolicy?
        package var policy: CachePolicy?
        /// Whether a stored response to the URL without its query may answer a request.
        package var dropsQuery: Bool?
        /// Further parameters that distinguish versions of one resource, in addition to the well-known ones.
        package var versions: [String]?
        /// Whether the order of the query's parameters does not matter.
        package var ignoresOrder: Bool?
        /// Whether responses to POST are stored, for identical requests.
        package var keepsPosts: Bool?
        /// The responses that are not stored; nil if the rule sets no such condition.
        package var rejection: Rejection?
        /// The rule as the user wrote it.
        package var text = ""

        package init(pattern: URLGlob? = nil, mediaType: MediaTypePattern? = nil) {
            self.pattern = pattern
            self.mediaType = mediaType
        }

        /// Whether the rule applies to a response. Evaluates the type only if the rule has a media type.
        func matches(_ url: WebURL, _ type: @autoclosure () -> MediaType?) -> Bool {
            (pattern?.matches(url) ?? true) && (mediaType?.matches(type()) ?? true)
        }
    }

    /// The conditions under which a rule rejects a response, in addition to those on its URL and type. All must be
    /// met.
    package struct Rejection: Sendable, Hashable {
        var status: Int?
        var largerThan: Int?
        var smallerThan: Int?
        /// Bytes that occur in the beginning of the body.
        var words: [UInt8]?

        func isMet(by subject: ResponseInspection.Subject, byteCount: Int) -> Bool {
            if let status, subject.status != status { return false }
            if let largerThan, byteCount <= largerThan { return false }
            if let smallerThan, byteCount >= smallerThan { return false }
            guard let words, let first = words.first else { return true }
            return subject.beginning.indices.contains { place in
                subject.beginning[place] == first && subject.beginning[place...].starts(with: words)
            }
        }
    }

    /// The rules. For each setting, the first rule that matches and contains the setting counts.
    package var rules: [Rule]
    package var inspection: ResponseInspection

    package init(_ rules: [Rule] = [], inspection: ResponseInspection = .acceptingAll) {
        self.rules = rules
        self.inspection = inspection
    }

    package var isEmpty: Bool { rules.isEmpty }

    /// The lifetime that the rules set for a response; nil if they set none.
    package func lifetime(for url: WebURL, _ type: @autoclosure () -> MediaType?) -> ForcedLifetime? {
        first(\.lifetime, url, type())
    }

    /// The storage policy that the rules set for a response; nil if they set none.
    package func storage(for url: WebURL, _ type: @autoclosure () -> MediaType?) -> StoragePolicy? {
        first(\.storage, url, type())
    }

    /// The rule that forbids storing responses for a URL on disk; nil if none does.
    package func storageBan(for url: WebURL, _ type: MediaType?) -> Rule? {
        let rule = rules.first { $0.storage != nil && $0.matches(url, type) }
        return rule?.storage == .allowed ? nil : rule
    }

    /// The policy for a request. Without a type, as before the response is known, only rules without a media
    /// type and those for `*/*` match.
    package func policy(for url: WebURL, _ type: MediaType? = nil) -> CachePolicy? {
        first(\.policy, url, type)
    }

    package func dropsQuery(of url: WebURL) -> Bool { first(\.dropsQuery, url, nil) ?? false }

    /// The parameters of the URL's query that do not affect the response.
    package func cacheBusters(of url: WebURL, isStrict: Bool = false) -> CacheBusters {
        var busters = isStrict ? CacheBusters.strict : .known
        if let names = first(\.versions, url, nil) { busters.names.formUnion(names) }
        return busters
    }

    package func ignoresOrder(of url: WebURL) -> Bool { first(\.ignoresOrder, url, nil) ?? false }

    package func keepsPosts(to url: WebURL) -> Bool { first(\.keepsPosts, url, nil) ?? false }

    /// The rule that rejects a response; nil if none does.
    package func rejection(of subject: ResponseInspection.Subject, byteCount: Int) -> Rule? {
        rules.first { rule in
            guard let rejection = rule.rejection, rule.matches(subject.url, subject.fields.contentType) else {
                return false
            }
            return rejection.isMet(by: subject, byteCount: byteCount)
        }
    }

    /// Whether no response can be rejected, so that its body need not be examined.
    package var acceptsEverything: Bool { inspection.acceptsAll && rules.allSatisfy { $0.rejection == nil } }

    /// The value of a setting in the first rule that contains the setting and matches.
    private func first<Value>(
        _ setting: (Rule) -> Value?, _ url: WebURL, _ type: @autoclosure () -> MediaType?
    ) -> Value? {
        for index in rules.indices {
            if let value = setting(rules[index]), rules[index].matches(url, type()) { return value }
        }
        return nil
    }
}

extension CacheRules.Rule {
    /// An error in the text of a rule.
    package enum ParseError: Error, Sendable, Equatable, CustomStringConvertible {
        case empty
        case pattern(String)
        case setting(String)
        /// The rule has a pattern but no settings.
        case nothingSet

        package var description: String {
            switch self {
            case .empty: "it is empty"
            case .pattern(let pattern): "\(pattern) is not a URL pattern"
            case .setting(let word): "\"\(word)\" is not a setting of a rule"
            case .nothingSet: "it sets nothing"
            }
        }
    }

    /// Parses a rule as a user writes it: a pattern of URLs and, separated by spaces, its settings.
    ///
    ///     https://api.example.com/** type=application/json max-age=600 memory-only
    ///     /search no-query policy=prefer-cache
    ///
    /// - `type=`: only for responses of this media type
    /// - `max-age=`: the minimum lifetime in seconds; with `!` before the number, the exact one
    /// - `allowed`, `memory-only`, `not-allowed`: where responses may be stored
    /// - `policy=`: a cache policy (`CachePolicy`)
    /// - `no-query`: a response to the URL without the query, or with another one, may be served instead
    /// - `version=rev,build`: parameters that distinguish versions, any of which may be served instead
    /// - `any-order`: a response to the same parameters in another order may be served instead
    /// - `post`: responses to POST are stored, for identical requests
    /// - `refuse`: responses are not stored; with `status=`, `larger-than=`, `smaller-than=` or `text=`, only
    ///   those that meet all these conditions. In a text, `%20` is a space.
    package init(_ text: String) throws(ParseError) {
        var words = text.utf8.split { HTTPGrammar.isAnySpace($0) }.map { HTTPGrammar.text($0) }[...]
        guard let first = words.popFirst() else { throw .empty }
        guard let pattern = URLGlob(first) else { throw .pattern(first) }
        self.init(pattern: pattern)
        self.text = text
        var conditions = CacheRules.Rejection()
        var lastCondition: String?
        for word in words {
            if conditions.parseCondition(word) {
                lastCondition = word
            } else if !parseSetting(word) {
                throw .setting(word)
            }
        }
        if rejection != nil {
            rejection = conditions
        } else if let lastCondition {
            throw .setting(lastCondition)
        }
        guard
            lifetime != nil || storage != nil || policy != nil || dropsQuery != nil || keepsPosts != nil
                || versions != nil || rejection != nil || ignoresOrder != nil
        else {
            throw .nothingSet
        }
    }

    private mutating func parseSetting(_ word: String) -> Bool {
        let parts = word.utf8.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            .map { HTTPGrammar.text($0) }
        switch (parts[0], parts.count == 2 ? parts[1] : nil) {
        case ("type", let value?):
            mediaType = MediaTypePattern(value)
            return mediaType != nil
        case ("max-age", let value?):
            let isExact = value.utf8.first == 0x21
            guard let seconds = HTTPGrammar.cappedInteger(value.utf8.dropFirst(isExact ? 1 : 0)) else {
                return false
            }
            lifetime = isExact ? .exactly(seconds) : .atLeast(seconds)
            return true
        case ("policy", let value?):
            policy = CachePolicy(rawValue: value)
            return policy != nil
        case ("refuse", nil):
            rejection = CacheRules.Rejection()
            return true
        case ("no-query", nil):
            dropsQuery = true
            return true
        case ("version", let value?):
            let names = value.utf8.split(separator: UInt8(ascii: ",")).map { HTTPGrammar.lowercased($0) }
            versions = names
            return !names.isEmpty
        case ("any-order", nil):
            ignoresOrder = true
            return true
        case ("post", nil):
            keepsPosts = true
            return true
        case (_, nil):
            storage = StoragePolicy(rawValue: word)
            return storage != nil
        default: return false
        }
    }
}

extension CacheRules.Rejection {
    /// Sets the condition that a word describes. Returns false if the word is not a condition.
    fileprivate mutating func parseCondition(_ word: String) -> Bool {
        let parts = word.utf8.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return false }
        switch HTTPGrammar.text(parts[0]) {
        case "status":
            guard let number = HTTPGrammar.cappedInteger(parts[1]), (100...599).contains(number) else {
                return false
            }
            status = Int(number)
        case "larger-than":
            guard let size = Self.parseSize(parts[1]) else { return false }
            largerThan = size
        case "smaller-than":
            guard let size = Self.parseSize(parts[1]) else { return false }
            smallerThan = size
        case "text":
            let text = Array(parts[1])
            words = [UInt8](percentDecoding: text.span)
        default:
            return false
        }
        return true
    }

    /// Parses a size in bytes such as `500`, `20k`, `3M` or `1G`. The units are powers of 1000.
    private static func parseSize(_ text: Substring.UTF8View.SubSequence) -> Int? {
        let unit: Int
        switch text.last {
        case UInt8(ascii: "k"): unit = 1000
        case UInt8(ascii: "M"): unit = 1_000_000
        case UInt8(ascii: "G"): unit = 1_000_000_000
        default: unit = 1
        }
        guard let number = HTTPGrammar.cappedInteger(unit == 1 ? text : text.dropLast()) else { return nil }
        return Int(number) * unit
    }
}

// MARK: - ResponseInspection

/// A check of a response before it is stored. It detects responses with misleading content: an
/// error page with status 200, or the login form of a captive portal in place of a script.
package struct ResponseInspection: Sendable {
    /// The response to check.
    package struct Subject: Sendable {
        package let url: WebURL
        package let status: Int
        package let fields: HTTPFields
        /// The beginning of the body, as far as the caller has it.
        package let beginning: [UInt8]

        package init(url: WebURL, status: Int, fields: HTTPFields, beginning: [UInt8] = []) {
            self.url = url
            self.status = status
            self.fields = fields
            self.beginning = beginning
        }
    }

    /// Returns whether to reject a response; nil accepts all.
    private let rejects: (@Sendable (Subject) -> Bool)?

    /// The closure returns whether to reject a response. It may be called on any thread.
    package init(rejecting rejects: @escaping @Sendable (Subject) -> Bool) { self.rejects = rejects }

    private init() { rejects = nil }

    /// Whether all responses are accepted, so that the beginning of the body need not be read.
    var acceptsAll: Bool { rejects == nil }

    package func accepts(_ subject: Subject) -> Bool { !(rejects?(subject) ?? false) }

    static let acceptingAll = ResponseInspection()

    /// Rejects an HTML page with status 200 if the URL's file extension promises another type, whatever media
    /// type the server declares.
    package static let rejectingHTMLStandIns = ResponseInspection { subject in
        let path = subject.url.path.utf8
        guard subject.status == 200, let dot = path.lastIndex(of: 0x2E),
            neverHTMLExtensions.contains(HTTPGrammar.lowercased(path[path.index(after: dot)...]))
        else { return false }
        let type = subject.fields.contentType?.essence
        return type == "text/html" || type == "application/xhtml+xml" || startsHTMLPage(subject.beginning)
    }

    /// Whether the bytes are the beginning of an HTML page.
    private static func startsHTMLPage(_ bytes: [UInt8]) -> Bool {
        let text = bytes.drop { HTTPGrammar.isAnySpace($0) || $0 == 0x0C || $0 >= 0x80 }
        return ["<!doctype html", "<html"].contains {
            text.prefix($0.utf8.count).map { $0 | 0x20 }.elementsEqual($0.utf8.map { $0 | 0x20 })
        }
    }

    /// File extensions under which servers do not serve pages.
    private static let neverHTMLExtensions: Set<String> = [
        "avif", "bmp", "css", "csv", "gif", "gz", "ico", "jpeg", "jpg", "js", "json", "map", "mjs", "mp3",
        "mp4", "oga",
        "ogg", "ogv", "otf", "pdf", "png", "ttf", "wasm", "wav", "webm", "webmanifest", "webp", "woff",
        "woff2", "zip",
    ]
}
