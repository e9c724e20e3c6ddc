/// What tells the variants of one URL apart: the fields that `Vary` names, with the values that the request
/// had (RFC 9111, section 4.1).
package struct VaryKey: Sendable, Hashable {
    /// One line for each field, sorted by name, each `name: value`, or the name alone where the request
    /// lacked it. Empty for a response that does not vary. Fit for a database: equal texts are equal keys.
    package let text: String

    /// The key of a response to a request; nil when it varies by more than fields tell (`*`), so that it
    /// matches no request.
    package init?(response: HTTPFields, request: HTTPFields) {
        let names = Set(response.elements("Vary").map { HTTPGrammar.lowercased($0.utf8) })
        guard !names.contains("*"), names.count <= Self.nameLimit,
            names.allSatisfy({ HTTPGrammar.isToken($0.utf8) })
        else { return nil }
        self.init(names: names.sorted(), request: request)
    }

    /// A key that was stored.
    package init(stored text: String) { self.text = text }

    private init(names: [String], request: HTTPFields) {
        text = names.map { name in
            let values = Self.normalized(name, request)
            return values.map { "\(name): \($0)" } ?? name
        }.joined(separator: "\n")
    }

    /// More fields than this are as good as all of them.
    private static let nameLimit = 64

    /// What the request said in a field by which the response varies; nil where it lacked that, or it does
    /// not vary by it.
    package subscript(name: String) -> String? {
        let start = HTTPGrammar.lowercased(name.utf8) + ": "
        return text.utf8.split(separator: 0x0A).first { $0.starts(with: start.utf8) }
            .map { HTTPGrammar.text($0.dropFirst(start.utf8.count)) }
    }

    /// What the request said in the fields by which the response varies; of secrets, a hash.
    package var fields: HTTPFields {
        let lines = text.utf8.split(separator: 0x0A).compactMap { line -> HTTPFields.Field? in
            guard let colon = line.firstIndex(of: 0x3A) else { return nil }
            let value = HTTPGrammar.text(line[colon...].dropFirst(2))
            return .init(name: HTTPGrammar.text(line[..<colon]), value: value)
        }
        return HTTPFields(lines)
    }

    /// Whether a request selects the response that was stored under this key.
    package func matches(_ request: HTTPFields) -> Bool { rekeyed(for: request) == self }

    /// The key that a request would have had, if the response varied by the same fields: what to look for in
    /// the store.
    package func rekeyed(for request: HTTPFields) -> VaryKey {
        let names = text.utf8.split(separator: 0x0A).map { HTTPGrammar.text($0.prefix { $0 != 0x3A }) }
        return VaryKey(names: names, request: request)
    }

    /// FNV-1a.
    private static func hashed(_ elements: [some StringProtocol]) -> String {
        let hash = elements.joined(separator: ",").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return "#" + String(hash, radix: 16)
    }

    /// The value of a field with what makes no difference made equal: repetition, space around commas, and in
    /// the fields of content negotiation case, order, inner space and a weight of 1 too. Nil when the request
    /// lacks the field.
    private static func normalized(_ name: String, _ request: HTTPFields) -> String? {
        guard request.contains(name) else { return nil }
        var elements = request.elements(name)
        switch name {
        case "accept-encoding", "accept-language", "accept-charset":
            elements = elements.map { weighted(HTTPGrammar.lowercased($0.utf8)) }.sorted()
        case "accept": elements = elements.map(weighted).sorted()
        // A secret is told apart, and not kept.
        case "cookie", "authorization": elements = [hashed(elements)]
        default: break
        }
        // A line of the key is one line, whatever came in a value.
        let value = elements.joined(separator: ",")
        guard value.utf8.contains(0x0A) else { return value }
        return HTTPGrammar.text(value.utf8.map { $0 == 0x0A ? 0x20 : $0 })
    }

    /// An element without spaces and without the weight that it has anyway.
    private static func weighted(_ element: String) -> String {
        guard element.utf8.contains(where: { $0 == 0x3B || HTTPGrammar.isSpace($0) }) else { return element }
        let bytes = element.utf8.filter { !HTTPGrammar.isSpace($0) }
        for one in [";q=1.000", ";q=1.00", ";q=1.0", ";q=1"]
        where bytes.reversed().starts(with: one.utf8.reversed()) {
            return HTTPGrammar.text(bytes.dropLast(one.utf8.count))
        }
        return HTTPGrammar.text(bytes)
    }
}
