internal import Markup
internal import Web

/// Finds requests that continue a list, such as `/posts?page=2` and `/posts?page=3`, and derives the requests that follow.
///
/// A page shows such a list piece by piece while a person scrolls or presses "more". A browser that renders the page stops
/// after some pieces, and only some pages of a kind are rendered at all. From the requests of rendered pages, this value
/// learns rules: a parameter that grows by a fixed step, or one whose value is in the response before. The rules apply to all
/// responses from URLs with the same path pattern.
///
/// A page may also request more about each element of a list, such as `/replies?parent=17`. If two requests name elements of
/// the same response, the requests for its other elements follow.
struct RequestSeries {
    /// How the next value of a parameter follows.
    private enum Step: Hashable {
        /// The number grows.
        case number(Int)
        /// The value is a member of the response, by its path (``ListPlaces``).
        case member(String, isEncoded: Bool)
    }

    private struct Rule {
        let parameter: String
        let step: Step
    }

    /// A request for more about one element of a list.
    private struct ElementRule {
        /// The pattern of the list's request.
        let list: String
        /// The pattern of the derived requests, which limits their number.
        let pattern: String
        /// The member of the elements that identifies them (``ListPlaces/identifiers``).
        let place: String
        /// The path, with the origin; nil for that of the list.
        let path: String?
        let items: [Item]
        /// The parameter that has the identifier.
        let parameter: String
        /// The parameters whose values are those of the list's request.
        let sharedNames: Set<String>
    }

    private var rules: [String: Rule] = [:]
    private var elementRules: [ElementRule] = []
    /// The responses of assets, by entry.
    private var answers: [UInt32: ListPlaces] = [:]
    /// The bodies of each list. A list ends when one of its bodies comes again, as servers answer beyond the end.
    private var bodies: [String: Set<UInt64>] = [:]
    private var identifierCount = 0
    private var derivedCounts: [String: Int] = [:]
    /// The responses for whose elements requests were derived, by the pattern of these requests.
    private var expanded: [String: Set<UInt32>] = [:]

    /// The maximum number of identifiers that are remembered in all responses together. Further ones are ignored.
    private static let maxIdentifiers = 200_000
    /// The maximum number of rules of each kind.
    private static let maxRules = 64
    /// The maximum number of requests that one rule derives.
    static let maxRequestsOfRule = 1000
    /// The maximum number of responses that are remembered. Further ones make and follow no rules.
    private static let maxAnswers = 20_000

    var isEmpty: Bool { rules.isEmpty && elementRules.isEmpty }

    /// Notes the response of an asset.
    mutating func noteAnswer(_ number: UInt32, _ list: ListPlaces) {
        guard answers.count < Self.maxAnswers else { return }
        let count = list.identifiers.values.reduce(0) { $0 + $1.count }
        answers[number] = identifierCount + count > Self.maxIdentifiers ? list.withoutIdentifiers : list
        identifierCount += count
    }

    /// Learns from the requests of a rendered page. Returns whether there are new rules.
    mutating func note(_ requests: [(number: UInt32, url: WebURL)]) -> Bool {
        var groups: [String: [(number: UInt32, items: [Item])]] = [:]
        for request in requests where answers[request.number] != nil {
            guard let items = Self.items(of: request.url) else { continue }
            groups[request.url.origin + request.url.path, default: []].append((request.number, items))
        }
        let before = rules.count + elementRules.count
        for (path, group) in groups.sorted(by: { $0.key < $1.key }) {
            for (first, second) in Self.pairs(group) {
                guard rules.count < Self.maxRules,
                    let (name, old, new) = Self.difference(first.items, second.items)
                else { continue }
                let pattern = Self.pattern(path, second.items)
                guard rules[pattern] == nil else { continue }
                if let step = step(name, from: old, to: new, after: first.number) {
                    rules[pattern] = Rule(parameter: name, step: step)
                } else {
                    noteElements(old, new, named: name, pattern, path, second.items, of: requests)
                }
            }
        }
        return rules.count + elementRules.count > before
    }

    /// Learns from two requests that differ in the values of one parameter, if both values identify elements of a list.
    private mutating func noteElements(
        _ old: String, _ new: String, named name: String, _ pattern: String, _ path: String,
        _ items: [Item], of requests: [(number: UInt32, url: WebURL)]
    ) {
        guard elementRules.count < Self.maxRules, !elementRules.contains(where: { $0.pattern == pattern })
        else { return }
        for list in requests {
            guard let answer = answers[list.number], let listItems = Self.items(of: list.url),
                let place = answer.identifiers.keys.sorted().first(where: {
                    answer.identifiers[$0]?.contains(old) ?? false
                        && answer.identifiers[$0]?.contains(new) ?? false
                })
            else { continue }
            let listPath = list.url.origin + list.url.path
            let shared = items.filter { $0.name != name && listItems.contains($0) }.map(\.name)
            return elementRules.append(
                ElementRule(
                    list: Self.pattern(listPath, listItems), pattern: pattern, place: place,
                    path: listPath == path ? nil : path, items: items, parameter: name,
                    sharedNames: Set(shared)))
        }
    }

    /// The requests for more about the elements of the list that a response has.
    mutating func elementRequests(after number: UInt32, _ url: WebURL) -> [WebURL] {
        guard !elementRules.isEmpty, let answer = answers[number], let items = Self.items(of: url) else {
            return []
        }
        let path = url.origin + url.path
        let pattern = Self.pattern(path, items)
        var requests: [WebURL] = []
        for rule in elementRules
        where rule.list == pattern && expanded[rule.pattern, default: []].insert(number).inserted {
            for identifier in answer.identifiers[rule.place] ?? []
            where derivedCounts[rule.pattern, default: 0] < Self.maxRequestsOfRule {
                let own = rule.items.map { item in
                    if item.name == rule.parameter { return "\(item.name)=\(identifier)" }
                    let shared = rule.sharedNames.contains(item.name)
                    return (shared ? items.first { $0.name == item.name } ?? item : item).text
                }
                derivedCounts[rule.pattern, default: 0] += 1
                if let request = WebURL((rule.path ?? path) + "?" + own.joined(separator: "&")) {
                    requests.append(request)
                }
            }
        }
        return requests
    }

    /// The request that continues the list after a response; nil at its end, or if no rule applies.
    mutating func next(after number: UInt32, _ url: WebURL) -> WebURL? {
        guard !rules.isEmpty, let answer = answers[number], let items = Self.items(of: url) else {
            return nil
        }
        let path = url.origin + url.path
        var pattern = Self.pattern(path, items)
        var rule = rules[pattern]
        if rule == nil {
            // The first piece of a list often has no parameter.
            let found = rules.first { other, rule in
                Self.pattern(path, items + [Item(name: rule.parameter, value: "")]) == other
            }
            if let found, case .member = found.value.step { (pattern, rule) = (found.key, found.value) }
        }
        guard let rule, derivedCounts[pattern, default: 0] < Self.maxRequestsOfRule else { return nil }
        let list =
            path + "?"
            + items.filter { $0.name != rule.parameter }.map(\.text).sorted().joined(separator: "&")
        guard bodies[list, default: []].insert(answer.fingerprint).inserted else { return nil }
        let position = items.firstIndex { $0.name == rule.parameter }
        let value: String
        switch rule.step {
        case .number(let step):
            guard let position, let old = Int(items[position].value) else { return nil }
            let (sum, overflows) = old.addingReportingOverflow(step)
            guard !overflows else { return nil }
            value = String(sum)
        case .member(let place, let isEncoded):
            guard let found = answer.places[place] else { return nil }
            value = isEncoded ? Self.encoded(found) : found
        }
        var changed = items
        let item = Item(name: rule.parameter, value: value)
        if let position { changed[position] = item } else { changed.append(item) }
        derivedCounts[pattern, default: 0] += 1
        return WebURL("?" + changed.map(\.text).joined(separator: "&"), base: url)
    }

    /// The step from one value to the next one; nil if they do not look like places in a list.
    private func step(_ name: String, from old: String, to new: String, after number: UInt32) -> Step? {
        if Self.isPlace(name), let first = Int(old), let second = Int(new), second > first, first >= 0 {
            let step = second - first
            // Lists start with 0 or 1, or with their second piece. Times and identifiers do not.
            if first <= step + 1, first % step <= 1 { return .number(step) }
        }
        let places = (answers[number]?.places ?? [:]).filter { place, value in
            (value == new || Self.encoded(value) == new) && (Self.isPlace(name) || Self.isPlace(place))
        }
        // Members of the response itself come before those of its last element.
        let place = places.keys.min { ($0.contains("[") ? 1 : 0, $0) < ($1.contains("[") ? 1 : 0, $1) }
        return place.map { .member($0, isEncoded: Self.encoded(places[$0] ?? "") == new) }
    }

    /// Whether a name is that of a place in a list.
    private static func isPlace(_ name: String) -> Bool {
        let plain = name.lowercased()
        return ["p", "pg", "pn", "i"].contains(plain) || placeWords.contains { plain.contains($0) }
    }

    private static let placeWords = [
        "page", "offset", "start", "skip", "from", "begin", "cursor", "next", "after", "before", "since",
        "token",
        "continu", "marker", "last", "max_id", "min_id", "until", "position", "batch", "more",
    ]

    // MARK: - Queries

    private struct Item: Equatable {
        var name: String
        var value: String

        var text: String { "\(name)=\(value)" }
    }

    /// The items of a query, as they are written; nil if one has no value.
    private static func items(of url: WebURL) -> [Item]? {
        var items: [Item] = []
        for part in (url.query ?? "").split(separator: "&") {
            guard let equals = part.firstIndex(of: "=") else { return nil }
            items.append(
                Item(name: String(part[..<equals]), value: String(part[part.index(after: equals)...])))
        }
        return items
    }

    /// The path with gaps in place of numbers, and the names of the parameters.
    private static func pattern(_ path: String, _ items: [Item]) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).enumerated().map {
            place, part in
            // The first parts are those of the origin.
            place > 2 && part.utf8.contains(where: \.isASCIIDigit) ? "…" : String(part)
        }
        return parts.joined(separator: "/") + "?" + items.map(\.name).sorted().joined(separator: "&")
    }

    /// The only parameter in which two queries differ, with both values.
    private static func difference(_ old: [Item], _ new: [Item]) -> (name: String, old: String, new: String)?
    {
        let changed = new.filter { !old.contains($0) }
        let lost = old.filter { !new.contains($0) }
        guard changed.count == 1, lost.count <= 1, let change = changed.first else { return nil }
        guard let before = lost.first else { return (change.name, "", change.value) }
        return before.name == change.name ? (change.name, before.value, change.value) : nil
    }

    /// Requests that may follow each other: each with the next ones, in the order of their numbers.
    private static func pairs<T>(_ group: [T]) -> [(T, T)] {
        let first = group.prefix(16)
        return first.indices.dropLast().flatMap { index in
            first[(index + 1)...].map { (first[index], $0) }
        }
    }

    private static func encoded(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            let isPlain = byte.isASCIIDigit || 0x61...0x7A ~= byte | 0x20 || "-_.~*".utf8.contains(byte)
            let code = String(byte, radix: 16, uppercase: true)
            text += isPlain ? String(Unicode.Scalar(byte)) : byte < 16 ? "%0\(code)" : "%\(code)"
        }
        return text
    }
}

/// The values in a response that may be the place where a list continues.
struct ListPlaces: Sendable, Equatable {
    let fingerprint: UInt64
    /// Values by their path: `meta.next`, or `posts[].id` for a member of the last element of an array.
    private(set) var places: [String: String] = [:]
    /// The values that identify the elements of an array, by their path: `posts[].id`.
    private(set) var identifiers: [String: [String]] = [:]

    /// Longer values and further ones are ignored.
    private static let maxValueBytes = 512
    private static let maxValues = 64
    private static let maxIdentifiers = 1000
    private static let maxDepth = 4
    private static let identifierNames: Set<String> = ["id", "_id", "uuid", "guid", "key", "pk", "slug"]
    /// Larger bodies are no pieces of a list.
    static let maxBytes = 1 << 20

    var withoutIdentifiers: ListPlaces {
        var list = self
        list.identifiers = [:]
        return list
    }

    /// Whether bodies of a format may be pieces of a list.
    static func areIn(_ format: BodyFormat) -> Bool {
        switch format {
        case .json, .html, .xhtml, .xml, .plainText: true
        case .opaque, .css, .javaScript, .svg, .webManifest, .importMap, .speculationRules, .jsonLD, .hls,
            .dash,
            .webVTT, .sitemap, .feed, .pagefindIndex:
            false
        }
    }

    /// The fingerprint of a body without the numbers of its own query and the ones before and after them. Beyond the end of
    /// a list, many servers send pages that differ only in these.
    static func fingerprint(of body: Span<UInt8>, at url: WebURL) -> UInt64 {
        var own: Set<Int> = []
        for part in (url.query ?? "").split(separator: "&") {
            guard let value = part.split(separator: "=").last.flatMap({ Int($0) }), value > 0, value < .max
            else { continue }
            own.formUnion([value - 1, value, value + 1])
        }
        var kept: [UInt8] = []
        kept.reserveCapacity(body.count)
        var place = 0
        while place < body.count {
            guard body[place].isASCIIDigit else {
                kept.append(body[place])
                place += 1
                continue
            }
            let start = place
            var number: Int? = 0
            while place < body.count, body[place].isASCIIDigit {
                let digit = Int(body[place] - UInt8(ascii: "0"))
                number = number.flatMap { $0 > (.max - 9) / 10 ? nil : $0 * 10 + digit }
                place += 1
            }
            if number.map(own.contains) == true { continue }
            for index in start..<place { kept.append(body[index]) }
        }
        return Mixing.mix(kept[...])
    }

    /// - Parameter body: the body of a response; only the values of JSON are read.
    init(_ body: Span<UInt8>, fingerprint: UInt64, isJSON: Bool) {
        self.fingerprint = fingerprint
        guard isJSON else { return }
        do throws(JSONError) {
            add(try JSONValue.parse(body), at: "", depth: 0)
        } catch {
            // Such a body names no place.
        }
    }

    private mutating func add(_ value: JSONValue, at path: String, depth: Int) {
        guard depth <= Self.maxDepth, places.count < Self.maxValues else { return }
        switch value.content {
        case .null, .bool: break
        case .number(let number): places[path] = number.text
        case .string(let text):
            if !text.isEmpty, text.utf8.count <= Self.maxValueBytes { places[path] = text }
        case .array(let elements):
            for element in elements.prefix(Self.maxIdentifiers) {
                addIdentifier(of: element, at: path + "[]")
            }
            if let last = elements.last { add(last, at: path + "[]", depth: depth + 1) }
        case .object(let members):
            for member in members {
                add(member.value, at: path.isEmpty ? member.key : "\(path).\(member.key)", depth: depth + 1)
            }
        }
    }

    private mutating func addIdentifier(of element: JSONValue, at path: String) {
        for member in element.members ?? [] where Self.identifierNames.contains(member.key.lowercased()) {
            switch member.value.content {
            case .number(let number): identifiers["\(path).\(member.key)", default: []].append(number.text)
            case .string(let text) where Self.isPlain(text):
                identifiers["\(path).\(member.key)", default: []].append(text)
            case .string, .null, .bool, .array, .object: break
            }
        }
    }

    /// Whether a text is the same in a query. Others would have to be encoded.
    private static func isPlain(_ text: String) -> Bool {
        (1...maxValueBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}
