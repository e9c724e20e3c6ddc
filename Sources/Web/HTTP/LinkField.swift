/// A link in a `Link` field (RFC 8288).
package struct LinkField: Sendable, Equatable {
    /// A parameter of a link, such as `rel`.
    package struct Parameter: Sendable, Equatable {
        /// The name in lower case, with its asterisk if it has one.
        package let name: String
        /// The value without quotes and escapes; empty if there was none.
        package let value: String
    }

    /// The URL reference between the angle brackets. It is relative to the response's URL.
    package let target: String
    /// The range of the reference in the UTF-8 of the parsed text.
    package let targetRange: Range<Int>
    package let parameters: [Parameter]

    /// The value of the first parameter with a name, which must be in lower case.
    package subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// The relation types, in lower case. If `rel` occurs more than once, only the first counts.
    package var relations: [String] {
        (self["rel"] ?? "").utf8.split { HTTPGrammar.isAnySpace($0) }.map { HTTPGrammar.lowercased($0) }
    }

    /// The source of the link, if that is not the response itself.
    package var anchor: String? { self["anchor"] }

    /// Ignores further links and parameters.
    private static let maxLinks = 1000
    private static let maxParameters = 64

    /// Parses the links of one value or of several values joined by commas. Skips a malformed link and
    /// continues after the next comma.
    package static func parse(_ text: String) -> [LinkField] {
        var scanner = FieldScanner(text)
        var links: [LinkField] = []
        while links.count < maxLinks {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { break }
            guard scanner.consume(0x3C) else {
                scanner.skipElement()
                continue
            }
            let target = HTTPGrammar.trimmed(scanner.take { $0 != 0x3E })
            guard scanner.consume(0x3E) else { break }
            links.append(
                LinkField(
                    target: HTTPGrammar.text(target), targetRange: target.indices,
                    parameters: parseParameters(&scanner)))
            scanner.skipElement()
        }
        return links
    }

    private static func parseParameters(_ scanner: inout FieldScanner) -> [Parameter] {
        var parameters: [Parameter] = []
        while parameters.count < maxParameters {
            scanner.skip { HTTPGrammar.isSpace($0) }
            guard scanner.consume(0x3B) else { break }
            scanner.skipSpace()
            let name = HTTPGrammar.lowercased(scanner.token())
            scanner.skipSpace()
            var value: [UInt8] = []
            if scanner.consume(0x3D) {
                scanner.skipSpace()
                value = scanner.parameterValue { $0 == 0x3B || $0 == 0x2C }
            }
            if !name.isEmpty { parameters.append(Parameter(name: name, value: HTTPGrammar.text(value))) }
        }
        return parameters
    }
}
