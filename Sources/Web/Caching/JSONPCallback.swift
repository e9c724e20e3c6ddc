/// The callback of a JSONP request (`/api?q=a&callback=jQuery36_1764000000`): the function of the page that the response, a
/// script, calls with the data.
///
/// Libraries choose another name for each request. The response to an earlier request fits all the same, if the function that
/// it calls is made another name of the requested one (``alias(of:)``).
package struct JSONPCallback: Sendable, Hashable {
    /// The name of the function, such as `jQuery36_1764000000` or `app.received7`.
    package let name: String
    /// The URL without the parameter.
    package let rest: WebURL

    /// The names of the parameter, in lower case.
    private static let parameters: Set<String> = [
        "callback", "cb", "jsonp", "jsonpcallback", "jsonp_callback", "jsoncallback", "json_callback",
        "_callback",
    ]

    /// Nil if the URL has no such parameter, or if its value is not the name of a function.
    package init?(of url: WebURL) {
        guard url.isHTTP, let query = url.query else { return nil }
        let pairs = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let place = pairs.firstIndex { pair in
            Self.parameters.contains(HTTPGrammar.lowercased(pair.prefix { $0 != UInt8(ascii: "=") }))
        }
        guard let place else { return nil }
        let value = pairs[place].drop { $0 != UInt8(ascii: "=") }.dropFirst()
        guard Self.isName(value) else { return nil }
        name = HTTPGrammar.text(value)
        let others = pairs[..<place] + pairs[(place + 1)...]
        let rest = url.replacingQuery(
            others.isEmpty ? nil : HTTPGrammar.text(Array(others.joined(separator: [UInt8(ascii: "&")]))))
        guard let rest else { return nil }
        self.rest = rest
    }

    /// A statement that makes the function of this callback another name of the requested one.
    package func alias(of requested: JSONPCallback) -> String { "\(name)=\(requested.name);" }

    /// Whether a text consists of JavaScript names with dots between them, of ASCII letters only.
    private static func isName(_ text: Substring.UTF8View) -> Bool {
        text.count <= maxNameBytes
            && text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { part in
                part.first.map { !$0.isASCIIDigit } ?? false
                    && part.allSatisfy {
                        $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "$")
                    }
            }
    }

    private static let maxNameBytes = 128
}
