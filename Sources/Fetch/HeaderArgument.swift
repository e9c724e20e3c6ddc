/// A request header as users and manifests write it: `Name: value` for all hosts, or `HOST Name: value` for one host or
/// origin, such as `example.com:8080 X-Key: 7`.
package struct HeaderArgument: Equatable, Sendable {
    /// The host or origin that gets the header; nil for all.
    package let host: String?
    package let name: String
    package let value: String

    /// Returns nil for a text without a colon behind a name.
    package init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        // A host may have a port, so a colon in the first word does not make it the name of a field.
        let hasHost =
            words.count == 2 && !words[0].hasSuffix(":") && words[1].split(separator: " ")[0].contains(":")
            && (!words[0].contains(":") || words[0].contains("://") || words[0].last?.isNumber == true)
        let field = hasHost ? words[1] : text[...]
        guard let colon = field.firstIndex(of: ":") else { return nil }
        host = hasHost ? String(words[0]) : nil
        name = String(field[..<colon])
        value = String(field[field.index(after: colon)...].drop { $0 == " " })
    }
}
