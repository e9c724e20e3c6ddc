/// What the user wants otherwise than servers say, for some URLs and media types.
package struct CacheRules: Sendable {
    package struct Rule: Sendable, Hashable {
        /// Nil for any.
        package var pattern: URLGlob?
        package var mediaType: MediaTypePattern?
        package var lifetime: ForcedLifetime?
        package var storage: StoragePolicy?
        package var policy: CachePolicy?
        /// Whether a URL that is not held may be answered by the same without its query.
        package var dropsQuery: Bool?
        /// Parameters that tell versions of one thing apart, beside those that are known to.
        package var versions: [String]?
        /// Whether the order of a query's parameters says nothing of what is asked for.
        package var ignoresOrder: Bool?
        /// Whether what a POST was answered is kept, for the same POST.
        package var keepsPosts: Bool?
        /// Which answers are not kept; nil where the rule says nothing of it.
        package var refusal: Refusal?
        /// As a person wrote it.
        package var text = ""

        package init(pattern: URLGlob? = nil, mediaType: MediaTypePattern? = nil) {
            self.pattern = pattern
            self.mediaType = mediaType
        }

        /// - Parameter type: read only where the rule is about types.
        func matches(_ url: WebURL, _ type: @autoclosure () -> MediaType?) -> Bool {
            (pattern?.matches(url) ?? true) && (mediaType?.matches(type()) ?? true)
        }
    }

    /// What an answer that a rule refuses is like, beside its URL and type: all of these.
    package struct Refusal: Sendable, Hashable {
        var status: Int?
        var largerThan: Int?
        var smallerThan: Int?
        /// Stands in the beginning of the body.
        var words: [UInt8]?

        func fits(_ subject: ResponseInspection.Subject, byteCount: Int) -> Bool {
            if let status, subject.status != status { return false }
            if let largerThan, byteCount <= largerThan { return false }
            if let smallerThan, byteCount >= smallerThan { return false }
            guard let words, let first = words.first else { return true }
            return subject.beginning.indices.contains { place in
                subject.beginning[place] == first && subject.beginning[place...].starts(with: words)
            }
        }
    }

    /// For each question the first rule that matches and answers it counts.
    package var rules: [Rule]
    package var inspection: ResponseInspection

    package init(_ rules: [Rule] = [], inspection: ResponseInspection = .acceptingAll) {
        self.rules = rules
        self.inspection = inspection
    }

    package var isEmpty: Bool { rules.isEmpty }

    package func lifetime(for url: WebURL, _ type: @autoclosure () -> MediaType?) -> ForcedLifetime? {
        first(\.lifetime, url, type())
    }

    package func storage(for url: WebURL, _ type: @autoclosure () -> MediaType?) -> StoragePolicy? {
        first(\.storage, url, type())
    }

    /// The rule by which nothing of the URL is to be on the disk; nil where it may be.
    package func storageBan(for url: WebURL, _ type: MediaType?) -> Rule? {
        let rule = rules.first { $0.storage != nil && $0.matches(url, type) }
        return rule?.storage == .allowed ? nil : rule
    }

    /// The policy for a request. Until a response is known, by which to know the type, rules for a type do
    /// not count.
    package func policy(for url: WebURL, _ type: MediaType? = nil) -> CachePolicy? {
        first(\.policy, url, type)
    }

    package func dropsQuery(of url: WebURL) -> Bool { first(\.dropsQuery, url, nil) ?? false }

    /// The parameters of the URL's query that say nothing of what is asked for.
    package func busters(of url: WebURL, isStrict: Bool = false) -> CacheBusters {
        var busters = isStrict ? CacheBusters.strict : .known
        if let names = first(\.versions, url, nil) { busters.names.formUnion(names) }
        return busters
    }

    package func ignoresOrder(of url: WebURL) -> Bool { first(\.ignoresOrder, url, nil) ?? false }

    package func keepsPosts(to url: WebURL) -> Bool { first(\.keepsPosts, url, nil) ?? false }

    /// The rule that says that the answer is not kept.
    package func refusal(of subject: ResponseInspection.Subject, byteCount: Int) -> Rule? {
        rules.first { rule in
            guard let refusal = rule.refusal, rule.matches(subject.url, subject.fields.contentType) else {
                return false
            }
            return refusal.fits(subject, byteCount: byteCount)
        }
    }

    /// Nobody has to look at an answer for their sake.
    package var refusesNothing: Bool { inspection.acceptsAll && rules.allSatisfy { $0.refusal == nil } }

    private func first<Value>(
        _ answer: (Rule) -> Value?, _ url: WebURL, _ type: @autoclosure () -> MediaType?
    ) -> Value? {
        for index in rules.indices {
            if let value = answer(rules[index]), rules[index].matches(url, type()) { return value }
        }
        return nil
    }
}

extension CacheRules.Rule {
    /// The reason why a rule cannot be parsed.
    package enum Mistake: Error, Sendable, Equatable, CustomStringConvertible {
        case empty
        case pattern(String)
        case setting(String)
        /// It has a pattern but no settings.
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

    /// Reads a rule as a person writes it: a pattern of URLs, and behind it, with spaces between, what is
    /// wanted.
    ///
    ///     https://api.example.com/** type=application/json max-age=600 memory-only
    ///     /search no-query policy=prefer-cache
    ///
    /// `type=` names a media type, `max-age=` the least lifetime and `max-age=!` the exact one in seconds,
    /// `allowed`, `memory-only` and `not-allowed` the storage, `policy=` one of the eight policies;
    /// `no-query` lets an answer without the query, or with another one, stand in; `version=rev,build` names
    /// parameters that tell versions apart, any of which stands in for the others; `any-order` lets the same
    /// parameters in another order stand in; `post` keeps what a POST
    /// was answered, for the same POST. `refuse` keeps no answer that matches and, with `status=`,
    /// `larger-than=`, `smaller-than=` and `text=`, is so as well; in a text `%20` stands for a space.
    package init(_ text: String) throws(Mistake) {
        var words = text.utf8.split { HTTPGrammar.isAnySpace($0) }.map { HTTPGrammar.text($0) }[...]
        guard let first = words.popFirst() else { throw .empty }
        guard let pattern = URLGlob(first) else { throw .pattern(first) }
        self.init(pattern: pattern)
        self.text = text
        var conditions = CacheRules.Refusal()
        var lastCondition: String?
        for word in words {
            if conditions.set(word) { lastCondition = word } else if !set(word) { throw .setting(word) }
        }
        if refusal != nil { refusal = conditions } else if let lastCondition { throw .setting(lastCondition) }
        guard
            lifetime != nil || storage != nil || policy != nil || dropsQuery != nil || keepsPosts != nil
                || versions != nil || refusal != nil || ignoresOrder != nil
        else {
            throw .nothingSet
        }
    }

    private mutating func set(_ word: String) -> Bool {
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
            refusal = CacheRules.Refusal()
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

extension CacheRules.Refusal {
    /// False for a word that is no condition.
    fileprivate mutating func set(_ word: String) -> Bool {
        let parts = word.utf8.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return false }
        switch HTTPGrammar.text(parts[0]) {
        case "status":
            guard let number = HTTPGrammar.cappedInteger(parts[1]), (100...599).contains(number) else {
                return false
            }
            status = Int(number)
        case "larger-than":
            guard let size = Self.size(parts[1]) else { return false }
            largerThan = size
        case "smaller-than":
            guard let size = Self.size(parts[1]) else { return false }
            smallerThan = size
        case "text":
            words = Self.decoded(parts[1])
        default:
            return false
        }
        return true
    }

    /// `500`, `20k`, `3M`, `1G`: powers of 1000.
    private static func size(_ text: Substring.UTF8View.SubSequence) -> Int? {
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

    private static func decoded(_ text: Substring.UTF8View.SubSequence) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(HTTPGrammar.text(digits), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

// MARK: - ResponseInspection

/// A look at a response before it is stored, which may find that it is not what it claims to be: an error
/// page served with 200, the form of a captive portal in a script's place.
package struct ResponseInspection: Sendable {
    /// What is looked at.
    package struct Subject: Sendable {
        package let url: WebURL
        package let status: Int
        package let fields: HTTPFields
        /// The beginning of the body, as much as the caller has at hand.
        package let beginning: [UInt8]

        package init(url: WebURL, status: Int, fields: HTTPFields, beginning: [UInt8] = []) {
            self.url = url
            self.status = status
            self.fields = fields
            self.beginning = beginning
        }
    }

    /// Nil for one that refuses nothing.
    private let refuses: (@Sendable (Subject) -> Bool)?

    /// The closure is called on any thread, and says whether to refuse.
    package init(refusing refuses: @escaping @Sendable (Subject) -> Bool) { self.refuses = refuses }

    private init() { refuses = nil }

    /// Then nobody needs to read the beginning of a body for it.
    package var acceptsAll: Bool { refuses == nil }

    package func accepts(_ subject: Subject) -> Bool { !(refuses?(subject) ?? false) }

    package static let acceptingAll = ResponseInspection()

    /// Refuses a page of HTML with status 200 where the URL's ending promises something else, whatever the server calls
    /// it.
    package static let refusingStandIns = ResponseInspection { subject in
        let path = subject.url.path.utf8
        guard subject.status == 200, let dot = path.lastIndex(of: 0x2E),
            neverHTML.contains(HTTPGrammar.lowercased(path[path.index(after: dot)...]))
        else { return false }
        let type = subject.fields.contentType?.essence
        return type == "text/html" || type == "application/xhtml+xml" || beginsPage(subject.beginning)
    }

    /// What nothing else begins with.
    private static func beginsPage(_ bytes: [UInt8]) -> Bool {
        let text = bytes.drop { HTTPGrammar.isAnySpace($0) || $0 == 0x0C || $0 >= 0x80 }
        return ["<!doctype html", "<html"].contains {
            text.prefix($0.utf8.count).map { $0 | 0x20 }.elementsEqual($0.utf8.map { $0 | 0x20 })
        }
    }

    /// Endings under which no server has reason to serve a page.
    private static let neverHTML: Set<String> = [
        "avif", "bmp", "css", "csv", "gif", "gz", "ico", "jpeg", "jpg", "js", "json", "map", "mjs", "mp3",
        "mp4", "oga",
        "ogg", "ogv", "otf", "pdf", "png", "ttf", "wasm", "wav", "webm", "webmanifest", "webp", "woff",
        "woff2", "zip",
    ]
}
