/// One link of a `Link` field (RFC 8288).
package struct LinkField: Sendable, Equatable {
    package struct Parameter: Sendable, Equatable {
        /// In lower case, with its asterisk if it has one.
        package let name: String
        /// What quotes and escapes stand for; empty when there was no value.
        package let value: String
    }

    /// The reference between the angle brackets, to be resolved against the response's URL.
    package let target: String
    /// Where the reference stands in the UTF-8 of the text that was parsed.
    package let targetRange: Range<Int>
    package let parameters: [Parameter]

    /// The value of the first parameter of this name, which is given in lower case.
    package subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// The relation types, in lower case. Of several `rel` only the first counts.
    package var relations: [String] {
        (self["rel"] ?? "").utf8.split { HTTPGrammar.isAnySpace($0) }.map { HTTPGrammar.lowercased($0) }
    }

    /// What the link starts from when it is not the response itself.
    package var anchor: String? { self["anchor"] }

    package var title: String? {
        self["title*"].flatMap { ExtendedValue($0)?.text } ?? self["title"]
    }

    /// More links or parameters than this are not looked at.
    private static let linkLimit = 1000
    private static let parameterLimit = 64

    /// Reads the links of one value, or of several joined by commas. What is malformed ends or leaves out a
    /// link, and the next one is found behind the next comma.
    package static func parse(_ text: String) -> [LinkField] {
        var scanner = FieldScanner(text)
        var links: [LinkField] = []
        while links.count < linkLimit {
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
        while parameters.count < parameterLimit {
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

/// A parameter value with its character set and language, as `filename*` and `title*` have it (RFC 8187).
struct ExtendedValue: Equatable {
    let text: String
    let language: String

    /// Nil when the form or a percent escape is malformed or the character set is neither UTF-8 nor ISO
    /// 8859-1.
    init?(_ value: String) {
        var scanner = FieldScanner(value)
        let charset = HTTPGrammar.lowercased(scanner.take { $0 != 0x27 })
        guard scanner.consume(0x27) else { return nil }
        language = HTTPGrammar.text(scanner.take { $0 != 0x27 })
        guard scanner.consume(0x27) else { return nil }
        var bytes: [UInt8] = []
        while let byte = scanner.next {
            _ = scanner.consume(byte)
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = scanner.next?.hexDigitValue, let low = scanner.following?.hexDigitValue else {
                return nil
            }
            scanner.advance(2)
            bytes.append(high << 4 | low)
        }
        switch charset {
        case "utf-8":
            guard let decoded = String(validating: bytes, as: UTF8.self) else { return nil }
            text = decoded
        case "iso-8859-1":
            var decoded = ""
            decoded.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            text = decoded
        default: return nil
        }
    }
}
