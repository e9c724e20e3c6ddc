/// The identity of a variant of a URL: the fields that `Vary` lists, with their values in the request (RFC
/// 9111, section 4.1).
///
/// For a field that may carry a secret (`RequestSecrets`), the key contains a keyed hash instead of the
/// value.
package struct VaryKey: Sendable, Hashable {
    /// The text to store. It has one line for each field, sorted by name: `name: value`, or only the name if
    /// the request lacked the field. Empty for a response that does not vary. Equal keys have equal texts.
    package let text: String

    /// The key of a response to a request. Nil if no other request can select the response, since it varies
    /// by more than header fields (`*`), or by a secret for which there is no key.
    package init?(response: HTTPFields, request: HTTPFields, secrets: SecretHasher) {
        let names = Set(response.elements("Vary").map { HTTPGrammar.lowercased($0.utf8) })
        guard !names.contains("*"), names.count <= Self.maxNames,
            names.allSatisfy({ HTTPGrammar.isToken($0.utf8) })
        else { return nil }
        self.init(names: names.sorted(), request: request, secrets)
    }

    /// Creates a key from its stored text.
    package init(stored text: String) { self.text = text }

    private init?(names: [String], request: HTTPFields, _ secrets: SecretHasher) {
        var lines: [String] = []
        for name in names {
            guard let value = Self.normalized(name, request) else {
                lines.append(name)
                continue
            }
            guard
                let stored = RequestSecrets.isHarmless(name) ? value : secrets.storedText(of: value, in: name)
            else {
                return nil
            }
            lines.append("\(name): \(stored)")
        }
        text = lines.joined(separator: "\n")
    }

    /// A response that varies by more fields counts as `Vary: *`.
    private static let maxNames = 64

    /// The value of a field in the request; nil if the request lacked the field or the response does not vary
    /// by it.
    package subscript(name: String) -> String? {
        let start = HTTPGrammar.lowercased(name.utf8) + ": "
        return text.utf8.split(separator: 0x0A).first { $0.starts(with: start.utf8) }
            .map { HTTPGrammar.text($0.dropFirst(start.utf8.count)) }
    }

    /// The names and values in the lines that have a value.
    private static func fieldsWithValues(in text: String) -> [HTTPFields.Field] {
        text.utf8.split(separator: 0x0A).compactMap { line in
            guard let colon = line.firstIndex(of: 0x3A) else { return nil }
            let value = HTTPGrammar.text(line[colon...].dropFirst(2))
            return .init(name: HTTPGrammar.text(line[..<colon]), value: value)
        }
    }

    /// The header fields of the request by which the response varies, without those that may carry a secret.
    package var harmlessFields: HTTPFields {
        HTTPFields(Self.fieldsWithValues(in: text).filter { RequestSecrets.isHarmless($0.name) })
    }

    /// The same fields and, in addition, those whose secret is stored unchanged because a crawl without the
    /// user's credentials sent it.
    package var openFields: HTTPFields {
        HTTPFields(
            Self.fieldsWithValues(in: text).compactMap { field in
                if RequestSecrets.isHarmless(field.name) { return field }
                guard field.value.hasPrefix(SecretHasher.openPrefix) else { return nil }
                let value = field.value.dropFirst(SecretHasher.openPrefix.utf8.count)
                return HTTPFields.Field(name: field.name, value: String(value))
            })
    }

    /// The text for display and reports: one line for each field, without the values of secrets.
    package var shown: String {
        text.utf8.split(separator: 0x0A).map { line in
            let text = HTTPGrammar.text(line)
            guard let field = Self.fieldsWithValues(in: text).first, !RequestSecrets.isHarmless(field.name)
            else {
                return text
            }
            return "\(field.name): (withheld)"
        }.joined(separator: "\n")
    }

    /// The stored text of a key from an earlier version, with its secrets hashed.
    ///
    /// - Parameters:
    ///   - text: `*`, or the text of a key.
    ///   - hadSecret: set to true if a secret was stored without hashing.
    /// - Returns: nil if no request can match the key: earlier versions stored hashes without a key of
    ///   `Cookie` and `Authorization`.
    package static func hashingSecrets(
        of text: String, _ secrets: SecretHasher, hadSecret: inout Bool
    ) -> String? {
        var lines: [String] = []
        for line in text.utf8.split(separator: 0x0A) {
            let line = HTTPGrammar.text(line)
            guard let field = fieldsWithValues(in: line).first, !RequestSecrets.isHarmless(field.name),
                !field.value.hasPrefix(SecretHasher.hashPrefix),
                !field.value.hasPrefix(SecretHasher.openPrefix)
            else {
                lines.append(line)
                continue
            }
            if field.value.hasPrefix("#"), ["cookie", "authorization"].contains(field.name) { return nil }
            hadSecret = true
            guard let stored = secrets.storedText(of: field.value, in: field.name) else { return nil }
            lines.append("\(field.name): \(stored)")
        }
        return lines.joined(separator: "\n")
    }

    /// Whether a request selects the response that was stored under this key.
    package func matches(_ request: HTTPFields, _ secrets: SecretHasher) -> Bool {
        key(for: request, secrets) == self
    }

    /// The key of another request, if its response varies by the same fields: the key to look up in the
    /// store. Nil if one of these fields has a secret for which there is no key.
    package func key(for request: HTTPFields, _ secrets: SecretHasher) -> VaryKey? {
        var lines: [String] = []
        for line in text.utf8.split(separator: 0x0A) {
            let name = HTTPGrammar.text(line.prefix { $0 != 0x3A })
            let isOpen = line.dropFirst(name.utf8.count + 2).starts(with: SecretHasher.openPrefix.utf8)
            guard
                let key = VaryKey(names: [name], request: request, isOpen ? secrets.withOpenValues : secrets)
            else {
                return nil
            }
            lines.append(key.text)
        }
        return VaryKey(stored: lines.joined(separator: "\n"))
    }

    /// The value of a field without differences that do not matter: repetition of the field, spaces around
    /// commas and, in fields for content negotiation, case, order, other spaces and a weight of 1. Nil if the
    /// request lacks the field.
    private static func normalized(_ name: String, _ request: HTTPFields) -> String? {
        guard request.contains(name) else { return nil }
        var elements = request.elements(name)
        switch name {
        case "accept-encoding", "accept-language", "accept-charset":
            elements = elements.map { withoutDefaultWeight(HTTPGrammar.lowercased($0.utf8)) }.sorted()
        case "accept": elements = elements.map(withoutDefaultWeight).sorted()
        default: break
        }
        // The value must not contain a line end, which separates the lines of the key.
        let value = elements.joined(separator: ",")
        guard value.utf8.contains(0x0A) else { return value }
        return HTTPGrammar.text(value.utf8.map { $0 == 0x0A ? 0x20 : $0 })
    }

    /// An element without spaces and without a weight of 1, which is the default.
    private static func withoutDefaultWeight(_ element: String) -> String {
        guard element.utf8.contains(where: { $0 == 0x3B || HTTPGrammar.isSpace($0) }) else { return element }
        let bytes = element.utf8.filter { !HTTPGrammar.isSpace($0) }
        for one in [";q=1.000", ";q=1.00", ";q=1.0", ";q=1"]
        where bytes.reversed().starts(with: one.utf8.reversed()) {
            return HTTPGrammar.text(bytes.dropLast(one.utf8.count))
        }
        return HTTPGrammar.text(bytes)
    }
}
