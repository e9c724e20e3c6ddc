/// The reason why a text that a user typed is not a usable URL, with advice on how to write one.
package struct URLInputError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    package let kind: Kind

    /// The kinds of mistakes.
    package enum Kind: Sendable, Equatable {
        /// Not a URL.
        case notAURL
        /// A single word, which is probably not a host. Contains the complete URL.
        case singleWord(String)
        /// A URL that is neither http nor https.
        case scheme
        /// A URL that contains a user name or password. Contains its host.
        case credentials(String)
    }

    fileprivate init(_ kind: Kind, _ description: String) {
        (self.kind, self.description) = (kind, description)
    }
}

extension WebURL {
    /// Parses an http or https URL as a user types it, and removes its fragment. As in a browser's address
    /// field, `example.com/a` means `https://example.com/a`. `localhost:3000` means `http://localhost:3000`,
    /// since few servers on this machine use TLS. A single word is rejected unless it is written as a
    /// complete URL.
    ///
    /// - Parameter allowsSingleWord: whether to accept a single word as a host, for sites under an invented name.
    package static func parseUserInput(_ text: String, allowsSingleWord: Bool = false) throws(URLInputError)
        -> WebURL
    {
        let hasScheme = startsWithScheme(text)
        var url = WebURL(hasScheme ? text : "https://" + text)
        if let given = url, !hasScheme, given.isLoopback { url = WebURL("http://" + text) }
        guard let url, !url.isHTTP || !url.host.isEmpty else {
            throw URLInputError(.notAURL, "\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw URLInputError(
                .scheme,
                "\(text) cannot be prefetched: only http and https can; name a page such as https://example.com/"
            )
        }
        guard !url.hasCredentials else {
            throw URLInputError(
                .credentials(url.host),
                "the URL of \(url.host) contains a user name or password: leave them out, they must not be stored"
            )
        }
        guard hasScheme || allowsSingleWord || !url.hasDotlessHost else {
            throw URLInputError(
                .singleWord(url.href),
                "\"\(text)\" is a word, not a URL: write it like https://example.com/, or in full as \(url.href)"
            )
        }
        return url.key
    }

    /// Whether the host has no dot. Such a host is usually a mistake, such as the name of a command or an
    /// option.
    private var hasDotlessHost: Bool {
        port == nil && !isLoopback && !host.utf8.contains(UInt8(ascii: ".")) && !host.hasPrefix("[")
            || host.hasPrefix("-")
    }

    /// Whether the text before the first slash ends with a colon: true for `https://a`, false for `a:80/` and
    /// `a/?u=https://b`.
    private static func startsWithScheme(_ text: String) -> Bool {
        let start = text.utf8.prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        return start.last == UInt8(ascii: ":")
    }

    /// Whether the host is the name or an address of this machine.
    private var isLoopback: Bool {
        // A host of digits and dots is an IPv4 address, since the parser rejects all others.
        let isIPv4 = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || isIPv4 && host.hasPrefix("127.")
    }
}
