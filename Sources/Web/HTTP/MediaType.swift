/// A MIME type from a `Content-Type` field, a `type` attribute or a data URL, parsed as in the WHATWG's MIME
/// Sniffing standard.
package struct MediaType: Hashable, Sendable, CustomStringConvertible {
    /// A parameter, such as `charset`.
    package struct Parameter: Hashable, Sendable {
        /// The name in lower case.
        package let name: String
        package let value: String
    }

    /// Type and subtype, in lower case, without parameters: `text/html`.
    package let essence: String
    /// The parameters in order. If a name is repeated, the first one counts.
    package let parameters: [Parameter]

    /// Returns nil if the text is not a MIME type, for example if the subtype is missing.
    package init?(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    private init?(bytes: [UInt8]) {
        var scanner = FieldScanner(bytes)
        scanner.skip(while: HTTPGrammar.isAnySpace)
        let type = scanner.take { $0 != 0x2F }
        guard HTTPGrammar.isToken(type), scanner.consume(0x2F) else { return nil }
        var subtype = scanner.take { $0 != 0x3B }
        while let last = subtype.last, HTTPGrammar.isAnySpace(last) { subtype.removeLast() }
        guard HTTPGrammar.isToken(subtype) else { return nil }
        essence = HTTPGrammar.lowercased(type) + "/" + HTTPGrammar.lowercased(subtype)

        var parameters: [Parameter] = []
        while scanner.consume(0x3B), parameters.count < Self.maxParameters {
            scanner.skip(while: HTTPGrammar.isAnySpace)
            let name = scanner.take { $0 != 0x3B && $0 != 0x3D }
            guard scanner.consume(0x3D) else { continue }
            var value: [UInt8]
            if scanner.next == 0x22 {
                value = scanner.quotedString()
                scanner.skip { $0 != 0x3B }
            } else {
                value = Array(scanner.take { $0 != 0x3B })
                while let last = value.last, HTTPGrammar.isAnySpace(last) { value.removeLast() }
                guard !value.isEmpty else { continue }
            }
            guard HTTPGrammar.isToken(name), value.allSatisfy(Self.isQuotable) else { continue }
            let lowered = HTTPGrammar.lowercased(name)
            if !parameters.contains(where: { $0.name == lowered }) {
                parameters.append(Parameter(name: lowered, value: String(decoding: value, as: UTF8.self)))
            }
        }
        self.parameters = parameters
    }

    private init(essence: String, parameters: [Parameter]) {
        self.essence = essence
        self.parameters = parameters
    }

    /// The media type with a charset appended. It must not have one.
    func adding(charset: String?) -> MediaType {
        guard let charset else { return self }
        return MediaType(
            essence: essence, parameters: parameters + [Parameter(name: "charset", value: charset)])
    }

    /// The maximum number of parameters, far more than real types have; further ones are ignored. The search for repeated
    /// names takes quadratic time.
    private static let maxParameters = 64

    /// Whether a byte can occur in an "HTTP quoted-string token code point". These are at most U+00FF, whose
    /// UTF-8 begins with at most C3.
    private static func isQuotable(_ byte: UInt8) -> Bool {
        byte == 0x09 || (byte >= 0x20 && byte != 0x7F && byte < 0xC4)
    }

    /// The value of a parameter. Its name must be in lower case.
    package subscript(parameter: String) -> String? {
        parameters.first { $0.name == parameter }?.value
    }

    /// The label of the encoding, as written.
    package var charset: String? { self["charset"] }

    /// The part before the slash.
    package var type: Substring { essence.prefix { $0 != "/" } }

    /// The part after the slash.
    var subtype: Substring { essence.drop { $0 != "/" }.dropFirst() }

    /// The serialization by the standard. Values that are not tokens are quoted.
    package var description: String {
        var text = essence
        for parameter in parameters {
            text += ";\(parameter.name)="
            if HTTPGrammar.isToken(parameter.value.utf8) {
                text += parameter.value
            } else {
                text += HTTPGrammar.quoted(parameter.value)
            }
        }
        return text
    }
}

extension MediaType {
    package var isHTML: Bool { essence == "text/html" }

    /// Whether the type is XML, including XHTML and SVG.
    package var isXML: Bool {
        essence == "text/xml" || essence == "application/xml" || essence.hasSuffix("+xml")
    }

    /// Whether browsers run the type as JavaScript. Includes the legacy types.
    package var isJavaScript: Bool { Self.javaScriptEssences.contains(essence) }

    package var isJSON: Bool {
        essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json")
    }

    private static let javaScriptEssences: Set<String> = [
        "application/ecmascript", "application/javascript", "application/x-ecmascript",
        "application/x-javascript",
        "text/ecmascript", "text/javascript", "text/javascript1.0", "text/javascript1.1",
        "text/javascript1.2",
        "text/javascript1.3", "text/javascript1.4", "text/javascript1.5", "text/jscript", "text/livescript",
        "text/x-ecmascript", "text/x-javascript",
    ]
}

/// A media type or range of types in a rule: `text/css`, `image/*`, `*/*`.
package struct MediaTypePattern: Sendable, Hashable {
    package let text: String
    /// The type in lower case; nil matches any.
    private let type: String?
    private let subtype: String?

    /// Returns nil if the text is neither a media type without parameters nor one with `*` as subtype or as
    /// both parts.
    package init?(_ text: String) {
        let parts = HTTPGrammar.lowercased(text.utf8).utf8.split(
            separator: 0x2F, omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ HTTPGrammar.isToken($0) }) else { return nil }
        let (type, subtype) = (HTTPGrammar.text(parts[0]), HTTPGrammar.text(parts[1]))
        guard type != "*" || subtype == "*" else { return nil }
        self.text = text
        self.type = type == "*" ? nil : type
        self.subtype = subtype == "*" ? nil : subtype
    }

    /// Whether the pattern matches a media type. Only `*/*` matches a response without one.
    package func matches(_ mediaType: MediaType?) -> Bool {
        guard let mediaType else { return type == nil }
        return (type ?? String(mediaType.type)) == mediaType.type
            && (subtype ?? String(mediaType.subtype)) == mediaType.subtype
    }
}
